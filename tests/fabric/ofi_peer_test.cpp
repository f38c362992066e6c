// Peers in processes of their own: stopped, killed, hostile.
#include <sys/socket.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <random>
#include <sstream>

#include "fabric/ofi_pair.h"
#include "fixtures/process.h"

namespace sluice::test {
namespace {

using fabric::Direction;
using fabric::FenceOutcome;
using fabric::RevokeReason;

constexpr const char* kRoleVariable = "SLUICE_TEST_OFI_ROLE";
constexpr const char* kSocketVariable = "SLUICE_TEST_OFI_SOCKET";
constexpr std::size_t kWindow = 4U << 20U;

/// One message either way: a line. Empty when the other side is gone or silent for too long.
bool say(int socket, const std::string& line) {
  const std::string whole = line + "\n";
  return ::send(socket, whole.data(), whole.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(whole.size());
}
std::string hear(int socket, std::chrono::milliseconds limit) {
  std::string line;
  const Deadline deadline = Deadline::after(limit);
  while (true) {
    pollfd waiting{socket, POLLIN, 0};
    if (::poll(&waiting, 1, static_cast<int>(deadline.remaining_ms().count())) <= 0) return {};
    char c = 0;
    if (::recv(socket, &c, 1, 0) != 1) return {};
    if (c == '\n') return line;
    line += c;
  }
}

/// This test program again, as a peer.
class Peer {
 public:
  Peer(const std::string& role, const std::string& provider) {
    int ends[2] = {-1, -1};
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
    socket_.reset(ends[0]);
    ::fcntl(ends[0], F_SETFD, FD_CLOEXEC);
    const FileDescriptor theirs(ends[1]);
    auto process =
        Process::spawn({.executable = "/proc/self/exe",
                        .arguments = {"--gtest_filter=OfiPeerRole.Main"},
                        .environment = {std::string(kRoleVariable) + "=" + role + ":" + provider,
                                        std::string(kSocketVariable) + "=" + std::to_string(ends[1])}});
    EXPECT_THAT(process, IsOk());
    process_ = std::move(*process);
  }
  std::string ask(const std::string& line) {
    EXPECT_TRUE(say(socket_.get(), line));
    std::string answer = hear(socket_.get(), 30s);
    EXPECT_FALSE(answer.empty()) << line << ": " << process_->out() << process_->err();
    return answer;
  }
  Process& process() { return *process_; }

 private:
  FileDescriptor socket_;
  std::unique_ptr<Process> process_;
};

/// "mint": the token. "check SEED": whether the window holds it. "revoke": after that the window is filled
/// anew.
void client_role(const fabric::ofi::Traits& traits, int socket) {
  auto client = fabric::ofi::OfiClient::open(traits, "ofi:peer").value();
  std::vector<std::byte> memory(kWindow);
  std::optional<fabric::Token> token;
  for (std::string line = hear(socket, 600s); !line.empty(); line = hear(socket, 600s)) {
    std::istringstream words(line);
    std::string word;
    words >> word;
    if (word == "mint") {
      token = client->mint(window_over(memory, Direction::get), {"127.0.0.1", "server:9000"}).value();
      say(socket, token->text());
    } else if (word == "check") {
      std::uint64_t seed = 0;
      words >> seed;
      say(socket, holds_pattern(memory, seed) ? "yes" : "no");
    } else if (word == "revoke") {
      const auto outcome = std::move(*token).revoke_and_wait(RevokeReason::doubtful, soon());
      token.reset();
      fill_pattern(memory, 7);
      say(socket, outcome == FenceOutcome::fenced ? "fenced" : "quarantined");
    }
  }
}

/// "write TOKEN": writes that window over and over, and says so after the first success.
void server_role(const fabric::ofi::Traits& traits, int socket) {
  auto server = fabric::ofi::OfiServer::make(traits, "ofi:peer").value();
  const auto bytes = pattern(1U << 20U, 99);
  for (std::string line = hear(socket, 600s); !line.empty(); line = hear(socket, 600s)) {
    fabric::OpenPolicy policy;
    policy.peer_address = policy.local_address = "127.0.0.1";
    auto target =
        server->open(fabric::parse_token_text(line.substr(line.find(' ') + 1)).value(), policy).value();
    std::uint64_t moved = 0;
    std::size_t in_flight = 0;
    bool failed = false;
    const Deadline deadline = Deadline::after(60s);
    while (!(failed && in_flight == 0) && !deadline.expired()) {
      while (in_flight < 4 && !failed) {
        ++in_flight;
        target->write((moved + in_flight) % 4 << 20U, bytes, [&](const Result<std::uint64_t>& result) {
          --in_flight;
          if (!result) failed = true;
          if (result && ++moved == 1) say(socket, "writing");
        });
      }
      if (server->progress() == fabric::ServerFabric::Progress::idle && !(failed && in_flight == 0))
        sleep_on(*server, 10ms);
    }
    bool closed = false;
    target->close([&] { closed = true; });
    run_until(
        *server, [&] { return closed; }, soon());
  }
}

// What the other tests of this file start as their peers. By itself it does nothing.
TEST(OfiPeerRole, Main) {
  const char* role = std::getenv(kRoleVariable);
  if (role == nullptr) GTEST_SKIP() << "the other process of the tests beside it";
  const std::string text = role;
  const std::size_t colon = text.find(':');
  const auto* traits = fabric::ofi::find_traits(text.substr(colon + 1));
  const int socket = std::atoi(std::getenv(kSocketVariable));
  if (text.substr(0, colon) == "client") {
    client_role(*traits, socket);
  } else {
    server_role(*traits, socket);
  }
}

class OfiPeerTest : public OfiPair {
 protected:
  std::unique_ptr<fabric::Target> open(Peer& client) {
    auto target = server_->open(fabric::parse_token_text(client.ask("mint")).value(), policy(Direction::get));
    EXPECT_THAT(target, IsOk());
    return std::move(*target);
  }
  Result<std::uint64_t> write(fabric::Target& target, std::uint64_t seed) {
    Result<std::uint64_t> result = 0U;
    for (std::size_t at = 0; at < kWindow && result; at += 1U << 20U) {
      CompletionBox box;
      const auto bytes = pattern(1U << 20U, seed, at);
      target.write(at, bytes, box.callback());
      result = run(*server_, box);
    }
    return result;
  }
  /// Writes that are in flight when something happens to the client.
  void start_writes(fabric::Target& target, std::vector<CompletionBox>& boxes) {
    for (std::size_t i = 0; i < boxes.size(); ++i)
      target.write((i % 4) << 20U, std::span(bytes_), boxes[i].callback());
  }
  static bool all(const std::vector<CompletionBox>& boxes) {
    return std::ranges::all_of(boxes, [](const auto& box) { return box.done(); });
  }
  std::vector<std::byte> bytes_ = pattern(1U << 20U, 5);
};

TEST_P(OfiPeerTest, AStoppedClientCostsItsOwnRequestAndNobodyElses) {
  Peer stopped("client", GetParam());
  Peer running("client", GetParam());
  auto lost = open(stopped);
  auto good = open(running);
  EXPECT_THAT(write(*lost, 1), IsOk());
  EXPECT_THAT(write(*good, 1), IsOk());
  ASSERT_TRUE(stopped.process().stop());
  std::vector<CompletionBox> boxes(16);
  start_writes(*lost, boxes);
  std::uint64_t rounds = 0;
  const Deadline deadline = soon();
  while (!all(boxes) && !deadline.expired()) EXPECT_THAT(write(*good, ++rounds), IsOk());
  EXPECT_EQ(running.ask("check " + std::to_string(rounds)), "yes");
  EXPECT_GT(rounds, 3U) << "the stopped client slowed the other one down";
  ASSERT_TRUE(all(boxes));
  EXPECT_THAT(boxes.back().value(), Fails(ErrorCode::timeout));
  EXPECT_THAT(boxes.back().value(), HasOutcome(Outcome::uncertain));
  close(*server_, *lost);
  stopped.process().cont();
  // It is as good as new with a new token.
  EXPECT_EQ(stopped.ask("revoke"), "fenced");
  EXPECT_EQ(stopped.ask("check 7"), "yes");
  lost = open(stopped);
  EXPECT_THAT(write(*lost, 8), IsOk());
  EXPECT_EQ(stopped.ask("check 8"), "yes");
  close(*server_, *lost);
  close(*server_, *good);
}

TEST_P(OfiPeerTest, AKilledClientsOperationsEndWithErrors) {
  Peer running("client", GetParam());
  auto good = open(running);
  for (int round = 0; round < 3; ++round) {
    Peer killed("client", GetParam());
    auto lost = open(killed);
    EXPECT_THAT(write(*lost, 1), IsOk());
    std::vector<CompletionBox> boxes(16);
    start_writes(*lost, boxes);
    run_for(*server_, std::chrono::milliseconds(round));
    killed.process().kill();
    EXPECT_TRUE(run_until(
        *server_, [&] { return all(boxes); }, soon()));
    EXPECT_EQ(server_->outstanding(), 0U);
    close(*server_, *lost);
    EXPECT_THAT(write(*good, 3), IsOk());
  }
  EXPECT_EQ(running.ask("check 3"), "yes");
  close(*server_, *good);
}

TEST_P(OfiPeerTest, AClientKilledBeforeTheFirstOperationIsGone) {
  Peer killed("client", GetParam());
  auto lost = open(killed);
  killed.process().kill();
  ASSERT_TRUE(killed.process().wait(soon()).has_value());
  CompletionBox box;
  lost->write(0, bytes_, box.callback());
  const auto result = run(*server_, box);
  EXPECT_THAT(result, Fails(ErrorCode::peer_gone));
  EXPECT_THAT(result, HasOutcome(Outcome::refused));
  close(*server_, *lost);
}

/// Runs `disturb` on a server in the middle of writing, fences, hands the memory back, lets the server go on,
/// and looks whether it changed.
class OfiFenceTest : public OfiPair {
 protected:
  void expect_untouched_after_fence(Peer& server, const std::function<void()>& disturb,
                                    const std::function<void()>& undo) {
    std::vector<std::byte> memory(kWindow);
    auto token = client_->mint(window_over(memory, Direction::get), from());
    ASSERT_THAT(token, IsOk());
    ASSERT_EQ(server.ask("write " + token->text()), "writing");
    std::this_thread::sleep_for(std::chrono::microseconds(random_() % 5000));
    disturb();
    ASSERT_EQ(std::move(*token).revoke_and_wait(RevokeReason::doubtful, soon()), FenceOutcome::fenced);
    std::memset(memory.data(), 0xc5, memory.size());
    undo();
    // Another window keeps the progress thread busy meanwhile: what could still land would.
    std::vector<std::byte> next(1000);
    auto next_token = client_->mint(window_over(next, Direction::get), from());
    ASSERT_THAT(next_token, IsOk());
    std::this_thread::sleep_for(10ms);
    EXPECT_EQ(std::move(*next_token).revoke_and_wait(RevokeReason::completed, soon()), FenceOutcome::fenced);
    EXPECT_TRUE(all_are(memory, std::byte{0xc5}));
  }
  std::mt19937 random_{20261201};
};

TEST_P(OfiFenceTest, AServerStoppedAnywhereInAGetCannotTouchTheWindowAfterTheFence) {
  Peer server("server", GetParam());
  for (int round = 0; round < 30 && !HasFailure(); ++round)
    expect_untouched_after_fence(
        server, [&] { ASSERT_TRUE(server.process().stop()); }, [&] { server.process().cont(); });
}

TEST_P(OfiFenceTest, AServerThatGoesOnWritingCannotTouchTheWindowAfterTheFence) {
  Peer server("server", GetParam());
  for (int round = 0; round < 30 && !HasFailure(); ++round)
    expect_untouched_after_fence(
        server, [] {}, [] {});
}

TEST_P(OfiFenceTest, AServerKilledAnywhereInAGetLeavesTheWindowAlone) {
  for (int round = 0; round < 5 && !HasFailure(); ++round) {
    Peer server("server", GetParam());
    expect_untouched_after_fence(
        server, [&] { server.process().kill(); }, [] {});
  }
}

INSTANTIATE_TEST_SUITE_P(Providers, OfiPeerTest, socket_providers(), provider_name);
INSTANTIATE_TEST_SUITE_P(Providers, OfiFenceTest, socket_providers(), provider_name);

}  // namespace
}  // namespace sluice::test
