// GET and PUT whose payload goes by RDMA: what a token may do, what it may not, and what every failure
// leaves.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <thread>

#include "base/metrics.h"
#include "fabric/fault/fault_fabric.h"
#include "fabric/token_text.h"
#include "fixtures/gateway_fixture.h"
#include "fixtures/matchers.h"
#include "s3/rdma_headers.h"
#include "store/fault_store.h"

namespace sluice::gateway {
namespace {

using fabric::Direction;
using fabric::FaultKind;
using test::crc_of;
using test::GatewaySetup;
using test::pattern;
using test::RunningGateway;
using test::TestClientWindow;
using test::WireConnection;
using test::WireReply;
using test::WireRequest;
using testing::HasSubstr;

constexpr std::uint64_t kChunk = 64 * limits::kKiB;

std::span<std::byte> bytes_of(std::string& text) {
  return {reinterpret_cast<std::byte*>(text.data()), text.size()};
}

/// Small chunks, so that small objects take several operations.
GatewaySetup small_chunks(GatewaySetup setup = {}) {
  setup.adjust = [inner = setup.adjust](GatewayOptions& options) {
    options.chunk_bytes = kChunk;
    options.chunks_in_flight = 2;
    if (inner) inner(options);
  };
  return setup;
}

WireRequest get_request(const std::string& token, HeaderList headers = {},
                        std::string target = "/bucket/key") {
  WireRequest request;
  request.target = std::move(target);
  request.headers = std::move(headers);
  request.headers.add("x-amz-rdma-token", token);
  return request;
}
WireRequest put_request(const std::string& token, HeaderList headers = {},
                        std::string target = "/bucket/key") {
  WireRequest request = get_request(token, std::move(headers), std::move(target));
  request.method = "PUT";
  return request;
}

/// A gateway with an object "/bucket/key" of `bytes` bytes.
struct Served {
  explicit Served(std::size_t bytes, GatewaySetup setup = {})
      : gateway(small_chunks(std::move(setup))), object(pattern(bytes)) {
    EXPECT_EQ(gateway.send("PUT", "/bucket").status, 200);
    EXPECT_EQ(gateway.send("PUT", "/bucket/key", {}, object).status, 200);
  }
  /// GETs `count` bytes from `first` into fresh memory of that size; nothing else of it may change.
  WireReply get(std::string& into, HeaderList headers = {}) {
    TestClientWindow window(bytes_of(into), Direction::get, gateway.host());
    WireReply reply = gateway.send(get_request(window.text(), std::move(headers)));
    window.end();
    return reply;
  }
  WireReply put(std::string& from, HeaderList headers = {}, std::string target = "/bucket/key") {
    TestClientWindow window(bytes_of(from), Direction::put, gateway.host());
    WireReply reply = gateway.send(put_request(window.text(), std::move(headers), std::move(target)));
    window.end();
    return reply;
  }
  RunningGateway gateway;
  std::string object;
};

/// A gateway for the tests that leave it as they found it.
Served& shared_gateway() {
  static Served served(5 * kChunk + 1);
  return served;
}
class WindowTest : public testing::Test {
 protected:
  static void TearDownTestSuite() {
    const auto report = shared_gateway().gateway->stop(Deadline::after(std::chrono::seconds(10)));
    EXPECT_EQ(report.requests_cut_off, 0U);
    EXPECT_EQ(report.fabric_operations_left, 0U);
  }
  Served& served_ = shared_gateway();
  RunningGateway& gateway_ = shared_gateway().gateway;
};

TEST_F(WindowTest, AGetLandsInTheWindowAndNowhereElse) {
  std::string memory(served_.object.size(), '?');
  const auto reply = served_.get(memory, {{"x-amz-rdma-checksum-algorithm", "CRC64NVME"}});
  EXPECT_EQ(reply.status, 200) << reply.body;
  EXPECT_EQ(reply.header("x-amz-rdma-reply"), "200");
  EXPECT_EQ(reply.header("x-amz-rdma-bytes-transferred"), std::to_string(memory.size()));
  EXPECT_EQ(reply.header("content-length"), "0");
  EXPECT_EQ(reply.header("x-amz-rdma-checksum"), crc_of(served_.object));
  EXPECT_EQ(reply.header("x-amz-checksum-crc64nvme"), crc_of(served_.object));
  EXPECT_FALSE(reply.header("etag").empty());
  EXPECT_TRUE(memory == served_.object);
}

TEST_F(WindowTest, ARangeIs206AndHasItsOwnChecksum) {
  std::string memory(kChunk + 5, '?');
  const auto reply = served_.get(memory, {{"range", "bytes=7-" + std::to_string(kChunk + 11)},
                                          {"x-amz-rdma-checksum-algorithm", "CRC64NVME"}});
  EXPECT_EQ(reply.status, 206) << reply.body;
  EXPECT_EQ(reply.header("x-amz-rdma-reply"), "206");
  EXPECT_EQ(reply.header("x-amz-rdma-bytes-transferred"), std::to_string(memory.size()));
  EXPECT_EQ(reply.header("content-range"),
            "bytes 7-" + std::to_string(kChunk + 11) + "/" + std::to_string(served_.object.size()));
  EXPECT_TRUE(memory == served_.object.substr(7, memory.size()));
  EXPECT_EQ(reply.header("x-amz-rdma-checksum"), crc_of(memory));
  EXPECT_FALSE(reply.headers.has("x-amz-checksum-crc64nvme"));

  std::string whole(served_.object.size(), '?');
  const auto covered = served_.get(whole, {{"range", "bytes=0-"}});
  EXPECT_EQ(covered.status, 206);
  EXPECT_EQ(covered.header("x-amz-rdma-reply"), "206");
  EXPECT_TRUE(whole == served_.object);
}

TEST_F(WindowTest, ALargerWindowGetsTheExactCount) {
  std::string memory(served_.object.size() + 1000, '?');
  const auto reply = served_.get(memory);
  EXPECT_EQ(reply.status, 200);
  EXPECT_EQ(reply.header("x-amz-rdma-bytes-transferred"), std::to_string(served_.object.size()));
  EXPECT_TRUE(memory.starts_with(served_.object));
  EXPECT_EQ(memory.substr(served_.object.size()), std::string(1000, '?'));
}

TEST_F(WindowTest, AWindowTooSmallIs400AndStaysUntouched) {
  std::string memory(served_.object.size() - 1, '?');
  const auto reply = served_.get(memory);
  EXPECT_EQ(reply.status, 400);
  EXPECT_EQ(reply.code(), "InvalidRDMAToken");
  EXPECT_FALSE(reply.headers.has("x-amz-rdma-reply"));
  EXPECT_EQ(memory, std::string(memory.size(), '?'));
}

TEST_F(WindowTest, ConditionsAndRangesAreDecidedBeforeAnythingMoves) {
  const std::string etag = gateway_.send("GET", "/bucket/key").header("etag");
  const std::vector<std::pair<HeaderList, int>> cases = {{{{"if-none-match", etag}}, 304},
                                                         {{{"if-match", "\"other\""}}, 412},
                                                         {{{"range", "bytes=99999999-"}}, 416}};
  for (const auto& [headers, status] : cases) {
    std::string memory(served_.object.size(), '?');
    const auto reply = served_.get(memory, headers);
    EXPECT_EQ(reply.status, status);
    EXPECT_EQ(memory, std::string(memory.size(), '?'));
  }
}

TEST_F(WindowTest, APutIsReadOutOfTheWindowAndVerified) {
  for (const std::size_t size : {std::size_t{1}, std::size_t{kChunk}, std::size_t{7 * kChunk + 3}}) {
    std::string memory = pattern(size, 42);
    const auto reply = served_.put(
        memory, {{"x-amz-checksum-crc64nvme", crc_of(memory)}, {"x-amz-meta-way", "rdma"}}, "/bucket/stored");
    ASSERT_EQ(reply.status, 200) << reply.body;
    EXPECT_EQ(reply.header("x-amz-rdma-reply"), "200");
    EXPECT_EQ(reply.header("x-amz-rdma-bytes-transferred"), std::to_string(size));
    EXPECT_EQ(reply.header("x-amz-checksum-crc64nvme"), crc_of(memory));
    EXPECT_EQ(reply.header("content-length"), "0");
    const auto back = gateway_.send("GET", "/bucket/stored");
    EXPECT_TRUE(back.body == memory) << size;
    EXPECT_EQ(back.header("etag"), reply.header("etag"));
    EXPECT_EQ(back.header("x-amz-meta-way"), "rdma");
    EXPECT_EQ(back.header("x-amz-checksum-crc64nvme"), crc_of(memory));
  }
}

TEST_F(WindowTest, ARefusedPutLeavesNothing) {
  std::string memory = pattern(2 * kChunk);
  const auto before = gateway_.files();
  const auto wrong = served_.put(memory, {{"x-amz-checksum-crc64nvme", crc_of("other")}}, "/bucket/refused");
  EXPECT_EQ(wrong.status, 400);
  EXPECT_EQ(wrong.code(), "BadDigest");
  EXPECT_EQ(served_.put(memory, {{"if-match", "*"}}, "/bucket/refused").code(), "NoSuchKey");
  EXPECT_EQ(served_.put(memory, {{"if-none-match", "*"}}).status, 412);
  EXPECT_EQ(served_.put(memory, {{"content-md5", "1B2M2Y8AsgTpgAmY7PhCfg=="}}, "/bucket/refused").status,
            400);
  EXPECT_EQ(served_.put(memory, {}, "/no-such-bucket/refused").code(), "NoSuchBucket");
  EXPECT_EQ(gateway_.files(), before);
}

TEST_F(WindowTest, ABodyWinsOverAToken) {
  std::string memory = pattern(100);
  TestClientWindow window(bytes_of(memory), Direction::put, gateway_.host());
  WireRequest request = put_request(window.text(), {}, "/bucket/body");
  request.body = "the body";
  const auto reply = gateway_.send(request);
  EXPECT_EQ(reply.status, 200);
  EXPECT_FALSE(reply.headers.has("x-amz-rdma-reply"));
  EXPECT_EQ(gateway_.send("GET", "/bucket/body").body, "the body");
}

TEST_F(WindowTest, NothingToMoveIsASuccess) {
  ASSERT_EQ(gateway_.send("PUT", "/bucket/empty").status, 200);
  std::string memory(8, '?');
  TestClientWindow window(bytes_of(memory), Direction::get, gateway_.host());
  const auto reply = gateway_.send(
      get_request(window.text(), {{"x-amz-rdma-checksum-algorithm", "CRC64NVME"}}, "/bucket/empty"));
  EXPECT_EQ(reply.status, 200);
  EXPECT_EQ(reply.header("x-amz-rdma-reply"), "200");
  EXPECT_EQ(reply.header("x-amz-rdma-bytes-transferred"), "0");
  EXPECT_EQ(memory, "????????");
}

TEST_F(WindowTest, ATokenWorksOnce) {
  std::string memory(served_.object.size(), '?');
  TestClientWindow window(bytes_of(memory), Direction::get, gateway_.host());
  const std::string text = gateway_.wire(get_request(window.text()));
  WireConnection connection(gateway_.port());
  connection.send(text);
  EXPECT_EQ(connection.receive().status, 200);
  std::fill(memory.begin(), memory.end(), '?');
  for (int again = 0; again < 2; ++again) {  // on the same connection, and on another
    WireConnection other(gateway_.port());
    WireConnection& use = again == 0 ? connection : other;
    use.send(text);
    const auto replayed = use.receive();
    EXPECT_EQ(replayed.status, 403);
    EXPECT_EQ(replayed.code(), "AccessDenied");
    EXPECT_THAT(replayed.message(), HasSubstr("already used"));
  }
  EXPECT_EQ(memory, std::string(memory.size(), '?'));
}

TEST_F(WindowTest, ATokenFromBeforeTheStartIsToBeSignedAgain) {
  std::string memory(served_.object.size(), '?');
  TestClientWindow window(bytes_of(memory), Direction::get, gateway_.host());
  WireRequest request = get_request(window.text());
  request.date = WallClock::now() - std::chrono::minutes(10);
  const auto reply = gateway_.send(request);
  EXPECT_EQ(reply.status, 503);
  EXPECT_EQ(reply.header("retry-after"), "1");
  EXPECT_THAT(reply.message(), HasSubstr("sign again"));
  EXPECT_EQ(memory, std::string(memory.size(), '?'));
}

TEST_F(WindowTest, AnUnsignedTokenOrAnonymousRequestMovesNothing) {
  std::string memory(served_.object.size(), '?');
  TestClientWindow window(bytes_of(memory), Direction::get, gateway_.host());
  WireRequest anonymous = get_request(window.text());
  anonymous.sign = false;
  EXPECT_EQ(gateway_.send(anonymous).code(), "AccessDenied");
  WireRequest plain;
  plain.target = "/bucket/key";
  std::string text = gateway_.wire(plain);
  text.insert(text.size() - 2, "x-amz-rdma-token: " + window.text() + "\r\n");
  WireConnection connection(gateway_.port());
  connection.send(text);
  const auto unsigned_token = connection.receive();
  EXPECT_EQ(unsigned_token.status, 403);
  EXPECT_EQ(unsigned_token.code(), "AccessDenied");
  EXPECT_EQ(memory, std::string(memory.size(), '?'));
}

TEST_F(WindowTest, MalformedTokensAre400BeforeAnythingIsTouched) {
  const auto before = gateway_.files();
  for (const char* token :
       {"x", "rubbish:token", "0000:1:ofi1:net:zz:1", "0000000000001000:00000000:ofi1:net:02:1",
        "ffffffffffffffff:0000000000000010:ofi1:net:0200aaaa7f0000010000000000000000:0000000000000001"}) {
    const auto got = gateway_.send(get_request(token));
    EXPECT_EQ(got.status, 400) << token;
    EXPECT_EQ(got.code(), "InvalidRDMAToken") << token;
    EXPECT_FALSE(got.headers.has("x-amz-rdma-reply")) << token;
    EXPECT_EQ(gateway_.send(put_request(token, {}, "/bucket/malformed")).code(), "InvalidRDMAToken") << token;
  }
  EXPECT_EQ(gateway_.send(get_request(std::string(1025, 'a'))).code(), "InvalidRDMAToken");
  EXPECT_EQ(gateway_.files(), before);
}

TEST_F(WindowTest, ForeignTokensAreDeclined) {
  const auto before = gateway_.files();
  const std::vector<std::string> foreign = {
      "00007f0000200000:00001000:0000beef:0000:0012ab:1:00000000000000000000ffff0a000102",  // DC descriptor
      std::string(88, 'a'),                                                                 // hipObject
      "rc:1:2:3:4",
      "0000000000001000:0000000000100000:ofi1:efa:0200aaaa7f0000010000000000000000:0000000000000001",  // other
                                                                                                       // provider
  };
  for (const std::string& token : foreign) {
    const auto got = gateway_.send(get_request(token, {{"range", "bytes=1-5"}}));
    EXPECT_EQ(got.status, 206) << token;
    EXPECT_EQ(got.header("x-amz-rdma-reply"), "501") << token;
    EXPECT_EQ(got.body, served_.object.substr(1, 5)) << token;
    const auto put = gateway_.send(put_request(token, {}, "/bucket/foreign"));
    EXPECT_EQ(put.status, 200) << token;
    EXPECT_EQ(put.header("x-amz-rdma-reply"), "501") << token;
    EXPECT_EQ(put.code(), "RDMANotSupported") << token;
  }
  EXPECT_EQ(gateway_.files(), before);
}

TEST_F(WindowTest, ATokenThatPointsElsewhereIsRefused) {
  std::string memory(served_.object.size(), '?');
  TestClientWindow window(bytes_of(memory), Direction::get, gateway_.host());
  auto parsed = fabric::parse_token_text(window.text());
  ASSERT_THAT(parsed, test::IsOk());
  // 192.0.2.1 (TEST-NET-1) instead of the address the request comes from.
  const std::byte elsewhere[] = {std::byte{192}, std::byte{0}, std::byte{2}, std::byte{1}};
  std::copy(std::begin(elsewhere), std::end(elsewhere), parsed->endpoint_name.begin() + 4);
  const auto reply = gateway_.send(get_request(fabric::format_token_text(*parsed)));
  EXPECT_EQ(reply.status, 400);
  EXPECT_EQ(reply.code(), "InvalidRDMAToken");
  const auto before = gateway_.files();
  EXPECT_EQ(gateway_.send(put_request(fabric::format_token_text(*parsed), {}, "/bucket/elsewhere")).status,
            400);
  EXPECT_EQ(gateway_.files(), before);
}

TEST_F(WindowTest, AWrongDirectionOrKeyFailsAndLeavesNothing) {
  std::string memory = pattern(3 * kChunk);
  const std::string kept = memory;
  const auto before = gateway_.files();
  {  // a window that may only be written, as the source of a PUT
    TestClientWindow window(bytes_of(memory), Direction::get, gateway_.host());
    const auto reply = gateway_.send(put_request(window.text(), {}, "/bucket/direction"));
    EXPECT_EQ(reply.status, 500);
    EXPECT_EQ(reply.code(), "RDMATransferFailed");
  }
  {  // a window that may only be read, as the destination of a GET
    std::string large(served_.object.size(), '?');
    TestClientWindow window(bytes_of(large), Direction::put, gateway_.host());
    EXPECT_EQ(gateway_.send(get_request(window.text())).status, 500);
    window.end();
    EXPECT_EQ(large, std::string(large.size(), '?'));
  }
  {  // a key that was never minted
    TestClientWindow window(bytes_of(memory), Direction::put, gateway_.host());
    auto parsed = fabric::parse_token_text(window.text());
    ASSERT_THAT(parsed, test::IsOk());
    parsed->key ^= 0x5555;
    EXPECT_EQ(gateway_.send(put_request(fabric::format_token_text(*parsed), {}, "/bucket/key2")).status, 500);
  }
  EXPECT_EQ(memory, kept);
  EXPECT_EQ(gateway_.files(), before);
  std::string after(served_.object.size(), '?');  // and the next request is served
  EXPECT_EQ(served_.get(after).status, 200);
  EXPECT_TRUE(after == served_.object);
}

TEST_F(WindowTest, TokensAreIgnoredWhereNothingCanMove) {
  std::string memory(served_.object.size(), '?');
  TestClientWindow window(bytes_of(memory), Direction::get, gateway_.host());
  for (const auto& [method, target, status] : {std::tuple{"HEAD", "/bucket/key", 200},
                                               {"GET", "/bucket?list-type=2", 200},
                                               {"DELETE", "/bucket/none", 204}}) {
    WireRequest request = get_request(window.text(), {}, target);
    request.method = method;
    const auto reply = gateway_.send(request);
    EXPECT_EQ(reply.status, status) << method;
    EXPECT_FALSE(reply.headers.has("x-amz-rdma-reply")) << method;
  }
  // None of them used the token up.
  EXPECT_EQ(gateway_.send(get_request(window.text())).status, 200);
  EXPECT_TRUE(memory == served_.object);
}

TEST(WindowStoreFaultTest, AGetThatFailsAtAnyStepIsNotConfirmed) {
  auto plan = std::make_shared<store::FaultPlan>();
  GatewaySetup setup;
  setup.wrap_store =
      [plan](std::shared_ptr<store::ObjectStore> inner) -> std::shared_ptr<store::ObjectStore> {
    return store::make_fault_store(std::move(inner), plan);
  };
  Served served(2 * kChunk, setup);
  std::string memory(served.object.size(), '?');
  plan->arm(0);
  ASSERT_EQ(served.get(memory).status, 200);
  const std::uint64_t steps = plan->steps();
  ASSERT_GE(steps, 3U);
  for (std::uint64_t step = 1; step <= steps; ++step) {
    plan->arm(step);
    const auto reply = served.get(memory);
    EXPECT_GE(reply.status, 400) << step;
    EXPECT_NE(reply.status, 501) << step;
    EXPECT_FALSE(reply.headers.has("x-amz-rdma-reply")) << step;
    EXPECT_THAT(reply.body, testing::Not(HasSubstr(served.gateway.root().string()))) << step;
  }
  plan->arm(0);
  EXPECT_EQ(served.get(memory).status, 200);
}

TEST(WindowStoreFaultTest, APutThatFailsAtAnyStepLeavesNothing) {
  auto plan = std::make_shared<store::FaultPlan>();
  GatewaySetup setup;
  setup.wrap_store =
      [plan](std::shared_ptr<store::ObjectStore> inner) -> std::shared_ptr<store::ObjectStore> {
    return store::make_fault_store(std::move(inner), plan);
  };
  Served served(1, setup);
  const auto before = served.gateway.files();
  std::string memory = pattern(4 * kChunk);
  for (const bool by_window : {true, false}) {
    std::uint64_t step = 1;
    for (;; ++step) {
      ASSERT_LT(step, 50U);
      plan->arm(step);
      const auto reply =
          by_window ? served.put(memory, {{"x-amz-checksum-crc64nvme", crc_of(memory)}}, "/bucket/new")
                    : served.gateway.send("PUT", "/bucket/new", {}, memory);
      if (!plan->fired()) {
        EXPECT_EQ(reply.status, 200);
        break;
      }
      EXPECT_EQ(reply.status, 500) << step;
      EXPECT_FALSE(reply.headers.has("x-amz-rdma-reply")) << step;
      EXPECT_EQ(served.gateway.files(), before) << step;
    }
    EXPECT_GE(step, 3U);
    plan->arm(0);
    EXPECT_EQ(served.gateway.send("DELETE", "/bucket/new").status, 204);
  }
}

TEST(WindowStoreFaultTest, AnObjectThatChangesUnderTheTransferIsNotConfirmed) {
  std::filesystem::path file;
  fabric::Fault fault;
  fault.kind = FaultKind::call;
  fault.at_operation = 3;
  fault.hook = [&file] {  // another program writes in place while the second chunk is on its way
    std::ofstream out(file, std::ios::binary | std::ios::app);
    out << "more";
  };
  auto plan = std::make_shared<fabric::FaultPlan>(std::vector<fabric::Fault>{fault});
  GatewaySetup setup;
  setup.wrap_fabric = [plan](std::unique_ptr<fabric::ServerFabric> inner) {
    return fabric::make_faulty(std::move(inner), plan);
  };
  Served served(3 * kChunk, setup);
  file = served.gateway.root() / "bucket" / "key";
  std::string memory(served.object.size(), '?');
  const auto reply = served.get(memory);
  EXPECT_EQ(reply.status, 500);
  EXPECT_FALSE(reply.headers.has("x-amz-rdma-reply"));
  EXPECT_TRUE(plan->all_hit());
}

/// One fault at one operation of a transfer of three chunks (open is the first operation, and 5 is never
/// reached).
void try_fault(FaultKind kind, std::uint64_t at, Direction direction) {
  SCOPED_TRACE(std::string(to_string(kind)) + " at " + std::to_string(at) + ", " +
               std::string(fabric::to_string(direction)));
  constexpr std::size_t kBytes = 3 * kChunk;
  fabric::Fault fault;
  fault.kind = kind;
  fault.at_operation = at;
  fault.delay = std::chrono::milliseconds(20);
  auto plan = std::make_shared<fabric::FaultPlan>(std::vector<fabric::Fault>{fault});
  GatewaySetup setup;
  setup.wrap_fabric = [plan](std::unique_ptr<fabric::ServerFabric> inner) {
    return fabric::make_faulty(std::move(inner), plan);
  };
  Served served(kBytes, setup);
  const auto before = served.gateway.files();
  const bool get = direction == Direction::get;
  std::string memory = get ? std::string(kBytes, '?') : pattern(kBytes, 9);
  const auto reply = get ? served.get(memory, {{"x-amz-rdma-checksum-algorithm", "CRC64NVME"}})
                         : served.put(memory, {{"x-amz-checksum-crc64nvme", crc_of(memory)}}, "/bucket/new");
  const std::string how = reply.header("x-amz-rdma-reply");
  if (how == "200") {
    EXPECT_EQ(reply.status, 200);
    if (get) {
      EXPECT_TRUE(memory == served.object);
    } else {
      EXPECT_TRUE(served.gateway.send("GET", "/bucket/new").body == memory);
    }
    const bool harmless =
        kind == FaultKind::delay || kind == FaultKind::duplicate || kind == FaultKind::over_long;
    const bool about_opening = kind == FaultKind::fail_open || kind == FaultKind::wrong_key;
    EXPECT_TRUE(at == 5 || harmless || (at == 1) != about_opening) << "a fault passed for a success";
  } else if (how == "501") {
    // Only if nothing was posted: the first operations may still have waited for the connection.
    EXPECT_TRUE(at == 1 ? kind == FaultKind::fail_open : kind == FaultKind::fail_before_post);
    EXPECT_EQ(reply.status, 200);
    if (get) {
      EXPECT_TRUE(reply.body == served.object);
      EXPECT_EQ(memory, std::string(kBytes, '?'));
    } else {
      EXPECT_EQ(served.gateway.files(), before);
    }
  } else {
    EXPECT_TRUE(reply.status == 500 || (reply.status == 400 && reply.code() == "InvalidRDMAToken"))
        << reply.body;
    if (!get) {
      EXPECT_EQ(served.gateway.files(), before);
    }
  }
  // Whatever happened: the next client is served, and nothing is left in the fabric.
  const bool next_is_clean = plan->all_hit();
  std::string next(kBytes, '?');
  const auto after = served.get(next);
  if (next_is_clean) {
    EXPECT_EQ(after.status, 200);
    EXPECT_TRUE(after.header("x-amz-rdma-reply") == "200" ? next == served.object
                                                          : after.body == served.object);
  }
  EXPECT_EQ(served.gateway->stop(Deadline::after(std::chrono::seconds(10))).fabric_operations_left, 0U);
}

class WindowFaultTest : public testing::TestWithParam<FaultKind> {};

TEST_P(WindowFaultTest, EveryFaultIsAnHonestAnswer) {
  const FaultKind kind = GetParam();
  std::vector<std::thread> trials;  // each with a gateway of its own, which takes up to a second to start
  for (std::uint64_t at = 1; at <= 5; ++at) {
    for (const Direction direction : {Direction::get, Direction::put}) {
      // One operation's loss, found by the mover's patience, stands for all.
      if (kind == FaultKind::lost_completion && at != 3) continue;
      trials.emplace_back([kind, at, direction] { try_fault(kind, at, direction); });
    }
  }
  for (std::thread& trial : trials) trial.join();
}

INSTANTIATE_TEST_SUITE_P(Kinds, WindowFaultTest,
                         testing::Values(FaultKind::fail_open, FaultKind::fail_before_post,
                                         FaultKind::fail_after_move, FaultKind::short_move,
                                         FaultKind::over_long, FaultKind::duplicate,
                                         FaultKind::lost_completion, FaultKind::wrong_key, FaultKind::delay),
                         [](const auto& instance) { return std::string(to_string(instance.param)); });

TEST(WindowPeerTest, AClientThatLeavesEndsItsTransferAndNobodyElses) {
  // The second operation waits long enough for the client to go.
  fabric::Fault fault;
  fault.kind = FaultKind::delay;
  fault.at_operation = 3;
  fault.delay = std::chrono::milliseconds(1500);
  auto plan = std::make_shared<fabric::FaultPlan>(std::vector<fabric::Fault>{fault});
  GatewaySetup setup;
  setup.wrap_fabric = [plan](std::unique_ptr<fabric::ServerFabric> inner) {
    return fabric::make_faulty(std::move(inner), plan);
  };
  Served served(1, setup);
  const auto before = served.gateway.files();
  std::string memory = pattern(8 * kChunk);
  {
    TestClientWindow window(bytes_of(memory), Direction::put, served.gateway.host());
    WireConnection leaving(served.gateway.port());
    leaving.send(served.gateway.wire(put_request(window.text(), {}, "/bucket/left")));
    const auto patience = Deadline::after(std::chrono::seconds(20));
    while (plan->operations() < 3 && !patience.expired())
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    leaving.close();
    window.end();
  }
  std::string other(1, '?');
  EXPECT_EQ(served.get(other).status, 200);
  EXPECT_EQ(other, served.object);
  EXPECT_EQ(served.gateway->stop(Deadline::after(std::chrono::seconds(10))).fabric_operations_left, 0U);
  EXPECT_EQ(served.gateway.files(), before);
}

TEST(WindowStopTest, StoppingEndsTransfersThatWillNotEnd) {
  fabric::Fault fault;
  fault.kind = FaultKind::lost_completion;
  fault.at_operation = 2;
  auto plan = std::make_shared<fabric::FaultPlan>(std::vector<fabric::Fault>{fault});
  GatewaySetup setup;
  setup.wrap_fabric = [plan](std::unique_ptr<fabric::ServerFabric> inner) {
    return fabric::make_faulty(std::move(inner), plan);
  };
  Served served(3 * kChunk, setup);
  std::string memory(served.object.size(), '?');
  TestClientWindow window(bytes_of(memory), Direction::get, served.gateway.host());
  WireConnection connection(served.gateway.port());
  connection.send(served.gateway.wire(get_request(window.text())));
  const auto patience = Deadline::after(std::chrono::seconds(20));
  while (plan->operations() < 3 && !patience.expired())
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  const auto report = served.gateway->stop(Deadline::after(std::chrono::milliseconds(100)));
  EXPECT_EQ(report.requests_cut_off, 1U);
  EXPECT_EQ(report.fabric_operations_left, 0U);
  EXPECT_EQ(connection.receive().status, 0);
}

TEST(WindowAdmissionTest, WithoutStagingAGetTakesTheBodyAndAPutIsDeclined) {
  GatewaySetup setup;
  setup.adjust = [](GatewayOptions& options) { options.staging_bytes = 2 * kChunk; };
  fabric::Fault fault;
  fault.kind = FaultKind::delay;
  fault.at_operation = 2;
  fault.delay = std::chrono::milliseconds(2000);
  auto plan = std::make_shared<fabric::FaultPlan>(std::vector<fabric::Fault>{fault});
  setup.wrap_fabric = [plan](std::unique_ptr<fabric::ServerFabric> inner) {
    return fabric::make_faulty(std::move(inner), plan);
  };
  Served served(2 * kChunk, setup);
  ASSERT_EQ(served.gateway.send("PUT", "/bucket/small", {}, "small").status, 200);
  std::string held(served.object.size(), '?');
  TestClientWindow holder(bytes_of(held), Direction::get, served.gateway.host());
  WireConnection slow(served.gateway.port());
  slow.send(served.gateway.wire(get_request(holder.text())));
  const auto patience = Deadline::after(std::chrono::seconds(20));
  while (plan->operations() < 2 && !patience.expired())
    std::this_thread::sleep_for(std::chrono::milliseconds(1));

  std::string memory(5, '?');
  TestClientWindow window(bytes_of(memory), Direction::get, served.gateway.host());
  const auto got = served.gateway.send(get_request(window.text(), {}, "/bucket/small"));
  EXPECT_EQ(got.header("x-amz-rdma-reply"), "501");
  EXPECT_EQ(got.body, "small");
  EXPECT_EQ(memory, "?????");
  EXPECT_EQ(slow.receive().status, 200);
  EXPECT_TRUE(held == served.object);
}

}  // namespace
}  // namespace sluice::gateway
