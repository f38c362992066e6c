// Lanes of both halves: reuse, limits, fences, deadlines, and what bad tokens do to them. One process.
#include <arpa/inet.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/socket.h>

#include <cstring>

#include "base/file.h"
#include "fabric/ofi_pair.h"

namespace sluice::test {
namespace {

using fabric::Direction;
using fabric::FenceOutcome;
using fabric::RevokeReason;

class OfiLaneTest : public OfiPair {
 protected:
  [[nodiscard]] fabric::Token mint(std::span<std::byte> memory, Direction direction = Direction::get) const {
    auto token = client_->mint(window_over(memory, direction), from());
    EXPECT_THAT(token, IsOk());
    return std::move(*token);
  }
  [[nodiscard]] std::unique_ptr<fabric::Target> open(const fabric::ParsedToken& token) const {
    auto target = server_->open(token, policy(Direction::get));
    EXPECT_THAT(target, IsOk());
    return std::move(*target);
  }
  Result<std::uint64_t> write(fabric::Target& target, std::size_t bytes, std::uint64_t offset = 0) {
    bytes_ = pattern(bytes, 1);
    CompletionBox box;
    target.write(offset, bytes_, box.callback());
    return run(*server_, box);
  }
  void close(std::unique_ptr<fabric::Target> target) { OfiPair::close(*server_, *target); }
  static FenceOutcome end(fabric::Token token, RevokeReason reason) {
    return std::move(token).revoke_and_wait(reason, soon());
  }
  std::vector<std::byte> bytes_;
};

/// A socket name with another port.
fabric::ParsedToken with_port(fabric::ParsedToken token, std::uint16_t port) {
  const std::uint16_t network = htons(port);
  std::memcpy(token.endpoint_name.data() + 2, &network, sizeof network);
  return token;
}

/// Listens, and never answers.
class Tarpit {
 public:
  Tarpit() : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in name{};
    name.sin_family = AF_INET;
    name.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t length = sizeof name;
    auto* const address = reinterpret_cast<sockaddr*>(&name);
    EXPECT_EQ(::bind(socket_.get(), address, length), 0);
    EXPECT_EQ(::listen(socket_.get(), 4), 0);
    EXPECT_EQ(::getsockname(socket_.get(), address, &length), 0);
    port_ = ntohs(name.sin_port);
  }
  [[nodiscard]] std::uint16_t port() const { return port_; }

 private:
  FileDescriptor socket_;
  std::uint16_t port_ = 0;
};

TEST_P(OfiLaneTest, ACompletedWindowsLaneServesTheNextOneOfTheSameServer) {
  std::vector<std::byte> memory(1000);
  auto first = mint(memory);
  const auto first_name = parsed(first);
  EXPECT_EQ(end(std::move(first), RevokeReason::completed), FenceOutcome::fenced);
  auto second = mint(memory);
  const auto second_name = parsed(second);
  EXPECT_EQ(second_name.endpoint_name, first_name.endpoint_name);
  EXPECT_NE(second_name.key, first_name.key);
  EXPECT_EQ(end(std::move(second), RevokeReason::completed), FenceOutcome::fenced);
}

TEST_P(OfiLaneTest, LanesAreNotSharedBetweenServersNorBetweenWindowsThatAreOut) {
  std::vector<std::byte> memory(1000);
  auto first = mint(memory);
  auto beside = mint(memory);
  EXPECT_NE(parsed(beside).endpoint_name, parsed(first).endpoint_name);
  const auto name = parsed(first).endpoint_name;
  const auto beside_name = parsed(beside).endpoint_name;
  EXPECT_EQ(end(std::move(first), RevokeReason::completed), FenceOutcome::fenced);
  EXPECT_EQ(end(std::move(beside), RevokeReason::completed), FenceOutcome::fenced);
  auto other = client_->mint(window_over(memory, Direction::get), {address_, "other:9000"});
  ASSERT_THAT(other, IsOk());
  EXPECT_NE(parsed(*other).endpoint_name, name);
  EXPECT_NE(parsed(*other).endpoint_name, beside_name);
  EXPECT_EQ(end(std::move(*other), RevokeReason::completed), FenceOutcome::fenced);
}

TEST_P(OfiLaneTest, ADoubtfulWindowsLaneIsClosed) {
  std::vector<std::byte> memory(1000);
  auto token = mint(memory);
  auto target = open(parsed(token));
  EXPECT_THAT(write(*target, 1000), IsOk());
  EXPECT_EQ(end(std::move(token), RevokeReason::doubtful), FenceOutcome::fenced);
  fill_pattern(memory, 7);
  EXPECT_FALSE(write(*target, 1000).has_value());
  close(std::move(target));
  EXPECT_TRUE(holds_pattern(memory, 7));
}

TEST_P(OfiLaneTest, ClientLanesAreCapped) {
  if (GetParam() != "net") GTEST_SKIP() << "the count is the client's, not the provider's";
  std::vector<std::byte> memory(1000);
  std::vector<fabric::Token> tokens;
  for (std::size_t i = 0; i < limits::kClientLanes; ++i) tokens.push_back(mint(memory));
  EXPECT_THAT(client_->mint(window_over(memory, Direction::get), from()), Fails(ErrorCode::overloaded));
  EXPECT_EQ(end(std::move(tokens.back()), RevokeReason::completed), FenceOutcome::fenced);
  tokens.pop_back();
  // For another server: the parked lane makes room.
  auto token = client_->mint(window_over(memory, Direction::get), {address_, "other:9000"});
  ASSERT_THAT(token, IsOk());
  EXPECT_EQ(client_->lanes().size(), limits::kClientLanes);
}

TEST_P(OfiLaneTest, TheProgressThreadWatchesNothingWhileNoTokenIsOut) {
  auto progress = fabric::ofi::ClientProgress::instance();
  ASSERT_THAT(progress, IsOk());
  const std::size_t before = (*progress)->watched();
  std::vector<std::byte> memory(1000);
  auto token = mint(memory);
  EXPECT_EQ((*progress)->watched(), before + 1);
  EXPECT_EQ(end(std::move(token), RevokeReason::completed), FenceOutcome::fenced);
  EXPECT_EQ((*progress)->watched(), before);
}

TEST_P(OfiLaneTest, AStuckProgressThreadMeansQuarantineUntilItIsFree) {
  std::vector<std::byte> memory(5000);
  auto region = fabric::Region::make(Memory::host(memory)).value();
  const std::weak_ptr<fabric::Region> watched = region;
  auto token =
      client_->mint(fabric::Window::make(std::move(region), 0, 5000, Direction::get).value(), from());
  ASSERT_THAT(token, IsOk());
  FenceBox fence;
  {
    const auto lanes = client_->lanes();
    ASSERT_EQ(lanes.size(), 1U);
    const std::lock_guard stuck(lanes[0]->mutex);
    std::move(*token).revoke(RevokeReason::doubtful, Deadline::after(20ms), fence.callback());
    EXPECT_EQ(fence.wait(soon()), FenceOutcome::quarantined);
    EXPECT_EQ(client_->quarantined_bytes(), 5000U);
    EXPECT_FALSE(watched.expired());
  }
  const Deadline deadline = soon();
  while (client_->quarantined_bytes() != 0 && !deadline.expired()) std::this_thread::sleep_for(1ms);
  EXPECT_EQ(client_->quarantined_bytes(), 0U);
  EXPECT_TRUE(watched.expired());
  EXPECT_EQ(fence.count(), 1);
}

TEST_P(OfiLaneTest, AnIdleServersDescriptorIsQuiet) {
  std::vector<std::byte> memory(100000);
  auto token = mint(memory);
  auto target = open(parsed(token));
  EXPECT_THAT(write(*target, 100000), IsOk());
  while (server_->progress() == fabric::ServerFabric::Progress::again) {
  }
  int wakes = 0;
  const Deadline watch = Deadline::after(100ms);
  while (!watch.expired()) {
    pollfd waiting{server_->wait_descriptor(), POLLIN, 0};
    if (::poll(&waiting, 1, static_cast<int>(watch.remaining_ms().count())) > 0) ++wakes;
    while (server_->progress() == fabric::ServerFabric::Progress::again) {
    }
  }
  EXPECT_LE(wakes, 20) << "the server would spin";
  close(std::move(target));
  end(std::move(token), RevokeReason::completed);
}

TEST_P(OfiLaneTest, AWrongKeyMovesNothingAndSparesTheNextRequest) {
  std::vector<std::byte> memory(100000);
  auto token = mint(memory);
  fill_pattern(memory, 7);
  auto forged = parsed(token);
  forged.key ^= 0x5a5a5a5aU;
  auto target = open(forged);
  const auto result = write(*target, 1000);
  ASSERT_FALSE(result.has_value());
  EXPECT_THAT(result, HasOutcome(Outcome::uncertain));
  EXPECT_TRUE(holds_pattern(memory, 7));
  EXPECT_FALSE(write(*target, 1000).has_value()) << "its lane is closed";
  close(std::move(target));
  target = open(parsed(token));
  EXPECT_THAT(write(*target, 100000), IsOk());
  EXPECT_TRUE(holds_pattern(memory, 1));
  close(std::move(target));
  end(std::move(token), RevokeReason::completed);
}

TEST_P(OfiLaneTest, ATokenThatClaimsMoreThanTheWindowReachesNothingBeyondIt) {
  auto memory = GuardedBuffer::at_offset(100000, 0);
  auto token = mint(memory.span());
  auto forged = parsed(token);
  forged.bytes += 4096;
  auto target = open(forged);
  EXPECT_FALSE(write(*target, 4096, 100000 - 1).has_value());
  close(std::move(target));
  EXPECT_TRUE(memory.canaries_intact());
  end(std::move(token), RevokeReason::doubtful);
}

TEST_P(OfiLaneTest, AWindowCannotBeReachedThroughAnotherWindowsLane) {
  std::vector<std::byte> memory(1000);
  std::vector<std::byte> other(1000);
  auto token = mint(memory);
  auto other_token = mint(other);
  fill_pattern(memory, 7);
  auto crossed = parsed(other_token);
  crossed.key = parsed(token).key;
  auto target = open(crossed);
  EXPECT_FALSE(write(*target, 1000).has_value());
  close(std::move(target));
  EXPECT_TRUE(holds_pattern(memory, 7));
  end(std::move(token), RevokeReason::doubtful);
  end(std::move(other_token), RevokeReason::doubtful);
}

TEST_P(OfiLaneTest, DeadAndTarpitAddressesEndInTimeWhileOthersGoOn) {
  std::vector<std::byte> memory(100000);
  auto token = mint(memory);
  auto good = open(parsed(token));
  const Tarpit tarpit;
  const auto bytes = pattern(1000, 2);
  std::vector<std::unique_ptr<fabric::Target>> lost;
  std::vector<CompletionBox> boxes(4);
  for (const std::uint16_t port : {std::uint16_t{1}, tarpit.port()}) {
    lost.push_back(open(with_port(parsed(token), port)));
    for (int i = 0; i < 2; ++i)
      lost.back()->write(0, bytes, boxes[lost.size() * 2 - 2 + static_cast<std::size_t>(i)].callback());
  }
  std::size_t moved = 0;
  const auto ended = [&] { return std::ranges::all_of(boxes, [](const auto& box) { return box.done(); }); };
  const Deadline deadline = soon();
  while (!ended() && !deadline.expired()) {
    EXPECT_THAT(write(*good, 100000), IsOk());
    ++moved;
  }
  EXPECT_GT(moved, 1U);
  for (const auto& box : boxes) {
    ASSERT_TRUE(box.done());
    EXPECT_THAT(box.value(), Fails(ErrorCode::peer_gone));
    EXPECT_THAT(box.value(), HasOutcome(Outcome::refused));
  }
  for (auto& target : lost) close(std::move(target));
  close(std::move(good));
  end(std::move(token), RevokeReason::completed);
}

TEST_P(OfiLaneTest, OnlyTheHttpPeersOwnAddressIsConnectedTo) {
  std::vector<std::byte> memory(1000);
  auto token = mint(memory);
  auto how = policy(Direction::get);
  how.peer_address = "192.0.2.1";
  EXPECT_THAT(server_->open(parsed(token), how), Fails(ErrorCode::token_refused, "address"));
  how.allowed_peers = {address_};
  auto target = server_->open(parsed(token), how);
  ASSERT_THAT(target, IsOk());
  close(std::move(*target));
  end(std::move(token), RevokeReason::completed);
}

TEST_P(OfiLaneTest, NothingIsPostedAfterTheLease) {
  std::vector<std::byte> memory(1000);
  auto token = mint(memory);
  auto how = policy(Direction::get);
  how.lease = Deadline::after(0s);
  auto target = server_->open(parsed(token), how);
  ASSERT_THAT(target, IsOk());
  fill_pattern(memory, 7);
  const auto result = write(**target, 1000);
  EXPECT_THAT(result, Fails(ErrorCode::lease_expired));
  EXPECT_THAT(result, HasOutcome(Outcome::refused));
  close(std::move(*target));
  EXPECT_TRUE(holds_pattern(memory, 7));
  end(std::move(token), RevokeReason::completed);
}

TEST_P(OfiLaneTest, AnOperationThatCannotBePostedEndsWithTheLease) {
  std::vector<std::byte> memory(1000);
  auto token = mint(memory);
  const Tarpit tarpit;
  auto how = policy(Direction::get);
  how.lease = Deadline::after(100ms);
  auto target = server_->open(with_port(parsed(token), tarpit.port()), how);
  ASSERT_THAT(target, IsOk());
  const auto result = write(**target, 1000);
  EXPECT_THAT(result, Fails(ErrorCode::lease_expired));
  EXPECT_THAT(result, HasOutcome(Outcome::refused));
  close(std::move(*target));
  end(std::move(token), RevokeReason::completed);
}

TEST_P(OfiLaneTest, BadOperationsAreRefusedBeforeTheyArePosted) {
  std::vector<std::byte> memory(1000);
  auto token = mint(memory);
  auto target = open(parsed(token));
  const auto refused = [](const Result<std::uint64_t>& result) {
    EXPECT_THAT(result, Fails(ErrorCode::invalid_argument));
    EXPECT_THAT(result, HasOutcome(Outcome::refused));
  };
  refused(write(*target, 0));
  refused(write(*target, 1001));
  refused(write(*target, 1, 1000));
  refused(write(*target, 2, UINT64_MAX));
  refused(write(*target, target->max_operation_bytes() + 1));
  CompletionBox box;
  target->read(0, memory, box.callback());
  refused(run(*server_, box));
  close(std::move(target));
  end(std::move(token), RevokeReason::completed);
}

TEST_P(OfiLaneTest, ServerLanesAreCappedAndTheLeastRecentlyUsedIdleOneGoes) {
  if (GetParam() != "net") GTEST_SKIP() << "the count is the server's, not the provider's";
  std::vector<std::byte> memory(1000);
  auto token = mint(memory);
  auto kept = open(parsed(token));
  EXPECT_THAT(write(*kept, 1000), IsOk());
  for (std::size_t i = 0; i < limits::kServerLanes + 10; ++i)
    close(open(with_port(parsed(token), static_cast<std::uint16_t>(1 + i))));
  EXPECT_EQ(server_->lanes(), limits::kServerLanes);
  EXPECT_THAT(write(*kept, 1000), IsOk()) << "a lane in use went";

  std::vector<std::unique_ptr<fabric::Target>> all;
  for (std::size_t i = 0; i < limits::kServerLanes - 1; ++i)
    all.push_back(open(with_port(parsed(token), static_cast<std::uint16_t>(1000 + i))));
  EXPECT_THAT(server_->open(with_port(parsed(token), 9), policy(Direction::get)),
              Fails(ErrorCode::overloaded));
  for (auto& target : all) close(std::move(target));
  close(std::move(kept));
  end(std::move(token), RevokeReason::completed);
}

TEST_P(OfiLaneTest, AClientThatClosesFirstEndsTheServersOperations) {
  std::vector<std::byte> memory(8U << 20U);
  for (int round = 0; round < 5; ++round) {
    auto token = mint(memory);
    auto target = open(parsed(token));
    EXPECT_THAT(write(*target, 1000), IsOk());
    const auto bytes = pattern(1U << 20U, 3);
    std::vector<CompletionBox> boxes(8);
    for (std::size_t i = 0; i < boxes.size(); ++i) target->write(i << 20U, bytes, boxes[i].callback());
    EXPECT_EQ(end(std::move(token), RevokeReason::doubtful), FenceOutcome::fenced);
    std::memset(memory.data(), 0xc5, memory.size());
    EXPECT_TRUE(run_until(
        *server_, [&] { return std::ranges::all_of(boxes, [](const auto& box) { return box.done(); }); },
        soon()));
    EXPECT_EQ(server_->outstanding(), 0U);
    close(std::move(target));
    EXPECT_TRUE(all_are(memory, std::byte{0xc5}));
  }
}

TEST_P(OfiLaneTest, AMappedIpv4AddressMeansTheIpv4One) {
  address_ = "::ffff:127.0.0.1";
  std::vector<std::byte> memory(1000);
  auto token = mint(memory);
  EXPECT_EQ(parsed(token).endpoint_name.size(), sizeof(sockaddr_in));
  auto target = open(parsed(token));
  EXPECT_THAT(write(*target, 1000), IsOk());
  close(std::move(target));
  end(std::move(token), RevokeReason::completed);
}

TEST_P(OfiLaneTest, Ipv6LoopbackWorks) {
  address_ = "::1";
  std::vector<std::byte> memory(3U << 20U);
  auto source = pattern(memory.size(), 5);
  auto token = mint(memory);
  EXPECT_EQ(parsed(token).endpoint_name.size(), sizeof(sockaddr_in6));
  EXPECT_THAT(move_all(*server_, parsed(token), Direction::get, source), IsOk());
  end(std::move(token), RevokeReason::completed);
  EXPECT_TRUE(holds_pattern(memory, 5));
}

TEST_P(OfiLaneTest, AnAddressThatIsNotThisMachinesIsRefusedAtMint) {
  address_ = "192.0.2.1";
  std::vector<std::byte> memory(1000);
  EXPECT_FALSE(client_->mint(window_over(memory, Direction::get), from()).has_value());
  address_ = "127.0.0.1";
  auto token = mint(memory);
  end(std::move(token), RevokeReason::completed);
}

TEST_P(OfiLaneTest, DroppingAnOpenTargetTakesItsBuffersBack) {
  std::vector<std::byte> memory(1U << 20U);
  auto token = mint(memory);
  auto target = open(parsed(token));
  {
    const auto bytes = pattern(1U << 20U, 2);
    for (int i = 0; i < 4; ++i) target->write(0, bytes, [](const Result<std::uint64_t>&) { ADD_FAILURE(); });
    target = nullptr;
  }
  EXPECT_EQ(server_->outstanding(), 0U);
  run_for(*server_, 5ms);
  end(std::move(token), RevokeReason::doubtful);
}

INSTANTIATE_TEST_SUITE_P(Providers, OfiLaneTest, socket_providers(), provider_name);

TEST(OfiEndpointTest, AServersEndpointTakesNoCallers) {
  const auto* traits = fabric::ofi::find_traits("net");
  auto info = fabric::ofi::query(*traits, fabric::ofi::Side::server, "127.0.0.1");
  ASSERT_THAT(info, IsOk());
  auto domain = fabric::ofi::Domain::open(*traits, *info, 16);
  ASSERT_THAT(domain, IsOk());
  const int hint = fabric::ofi::free_descriptor();
  auto endpoint = fabric::ofi::Endpoint::open(**domain);
  ASSERT_THAT(endpoint, IsOk());
  const auto connects = [&] {
    const FileDescriptor caller(::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    sockaddr_in name{};
    std::memcpy(&name, endpoint->name().data(), sizeof name);
    ::connect(caller.get(), reinterpret_cast<sockaddr*>(&name), sizeof name);
    pollfd waiting{caller.get(), POLLOUT, 0};
    return ::poll(&waiting, 1, 200) > 0 && (waiting.revents & POLLERR) == 0;
  };
  EXPECT_TRUE(connects()) << "the provider does not listen; the test proves nothing";
  EXPECT_TRUE(fabric::ofi::refuse_callers(*endpoint, hint));
  EXPECT_FALSE(connects());
}

TEST(OfiLibraryTest, NoHandlerOfThePsmLibrariesIsLeft) {
  ASSERT_THAT(fabric::ofi::query(*fabric::ofi::find_traits("net"), fabric::ofi::Side::client, "127.0.0.1"),
              IsOk());
  for (const int number : {SIGSEGV, SIGBUS, SIGABRT, SIGTERM, SIGINT}) {
    struct sigaction action {};
    ASSERT_EQ(::sigaction(number, nullptr, &action), 0);
    Dl_info library{};
    if (::dladdr(reinterpret_cast<void*>(action.sa_handler), &library) == 0) continue;
    EXPECT_EQ(std::string(library.dli_fname).find("libpsm"), std::string::npos) << number;
  }
}

TEST(OfiLibraryTest, ClosingARegistrationRevokesItBecauseNothingIsCached) {
  ASSERT_THAT(fabric::ofi::query(*fabric::ofi::find_traits("net"), fabric::ofi::Side::client, "127.0.0.1"),
              IsOk());
  EXPECT_STREQ(::getenv("FI_MR_CACHE_MAX_COUNT"), "0");
}

TEST(OfiRegistryTest, NamesAreCheckedAndExplained) {
  EXPECT_THAT(fabric::parse_fabric_list("none"), IsOkAndHolds(testing::IsEmpty()));
  EXPECT_THAT(fabric::parse_fabric_list("default"), IsOkAndHolds(testing::ElementsAre("ofi:tcp")));
  EXPECT_THAT(fabric::parse_fabric_list("ofi:net, ofi:tcp;ofi_rxm,ofi:net"),
              IsOkAndHolds(testing::ElementsAre("ofi:net", "ofi:tcp;ofi_rxm")));
  for (const char* name : {"ofi:shm", "ofi:udp", "ofi:sockets"})
    EXPECT_THAT(fabric::parse_fabric_list(name), Fails(ErrorCode::config_error, "not used")) << name;
  for (const char* name : {"", "tcp", "ofi:", "ofi:nets", "ofi:net,", "OFI:net", "none,ofi:net"})
    EXPECT_THAT(fabric::parse_fabric_list(name), Fails(ErrorCode::config_error)) << name;
  EXPECT_THAT(fabric::parse_fabric_list("ofi:nets"), Fails(ErrorCode::config_error, "--fabric none"));
}

TEST(OfiRegistryTest, TheClientHalfOfANameIsOnePerProcess) {
  auto first = fabric::client_fabric("ofi:tcp");
  ASSERT_THAT(first, IsOk());
  auto second = fabric::client_fabric((*first)->identity().name);
  ASSERT_THAT(second, IsOk());
  EXPECT_EQ(*first, *second);
  EXPECT_EQ((*first)->identity().wire_protocol, "xnet");
}

TEST(OfiRegistryTest, TheReportNamesEveryProviderAndTheCure) {
  const auto reports = fabric::report_fabrics();
  ASSERT_EQ(reports.size(), fabric::ofi::all_traits().size());
  bool usable = false;
  for (const auto& report : reports) {
    EXPECT_FALSE(report.detail.empty()) << report.name;
    usable |= report.usable;
  }
  EXPECT_TRUE(usable);
}

}  // namespace
}  // namespace sluice::test
