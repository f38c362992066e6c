// Safety rule 1 from the outside: a gateway in another process is stopped, killed, or left by its client at
// random moments of a transfer, and afterwards not one byte of the caller's memory changes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <thread>

#include "fixtures/canary.h"
#include "fixtures/gateway_process.h"
#include "fixtures/matchers.h"

namespace sluice::test {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;

// Sanitizers slow everything down several times; they see as much in fewer rounds.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr int kRounds = 60;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
constexpr int kRounds = 60;
#else
constexpr int kRounds = 300;
#endif
#else
constexpr int kRounds = 300;
#endif

constexpr std::size_t kObjectBytes = 6U << 20U;
constexpr std::size_t kFence = 4096;  ///< canaries before and behind the window
constexpr std::uint64_t kObjectSeed = 1;
constexpr std::uint64_t kAroundSeed = 2;

/// The caller's memory: a window with canaries on both sides.
class GuardedWindow {
 public:
  GuardedWindow() : bytes_(kObjectBytes + 2 * kFence) { paint_around(); }
  std::span<std::byte> window() { return std::span(bytes_).subspan(kFence, kObjectBytes); }
  void paint_around() {
    fill_pattern(std::span(bytes_).first(kFence), kAroundSeed);
    fill_pattern(std::span(bytes_).last(kFence), kAroundSeed);
  }
  void paint_window(std::uint64_t seed) { fill_pattern(window(), seed); }
  void expect_around_untouched() {
    EXPECT_TRUE(holds_pattern(std::span(bytes_).first(kFence), kAroundSeed));
    EXPECT_TRUE(holds_pattern(std::span(bytes_).last(kFence), kAroundSeed));
  }

 private:
  std::vector<std::byte> bytes_;
};

void store_object(Client& client, const std::string& key) {
  const auto bytes = pattern(kObjectBytes, kObjectSeed);
  PutRequest request{.bucket = "bkt", .key = key};
  TransferOptions options{.data_path = DataPathPolicy::off};
  ASSERT_THAT(client.put(request, Memory::host_source(bytes), options).wait(), IsOk());
}

/// A get whose outcome may be anything that is honest: all of the object, or an error that does not claim
/// delivery.
void expect_honest(const Result<TransferResult>& result, GuardedWindow& memory) {
  if (result) {
    EXPECT_EQ(result->bytes, kObjectBytes);
    EXPECT_EQ(result->data_path, DataPath::rdma);
    EXPECT_TRUE(holds_pattern(memory.window(), kObjectSeed));
    return;
  }
  EXPECT_NE(result.error().code(), ErrorCode::fence_failed) << result.error().describe();
  EXPECT_NE(result.error().outcome(), Outcome::delivered) << result.error().describe();
}

TEST(LostServerTest, NothingLandsAfterAStoppedGatewayGoesOn) {
  GatewayProcess gateway;
  Client client = gateway.client();
  store_object(client, "o");
  GuardedWindow memory;
  std::mt19937_64 random(20261201);
  int uncertain = 0;
  for (int round = 0; round < kRounds; ++round) {
    memory.paint_window(3);
    GetRequest request{.bucket = "bkt", .key = "o", .object_bytes = kObjectBytes};
    TransferOptions options{.timeout = milliseconds(120)};
    const Transfer transfer = client.get(request, Memory::host(memory.window()), options);
    std::this_thread::sleep_for(microseconds(random() % 6000));
    ASSERT_TRUE(gateway.process().stop());
    const auto result = transfer.wait();
    expect_honest(result, memory);
    if (!result) {
      // Posting had begun or may have: never "refused" once the request was out, never "delivered".
      uncertain += result.error().outcome() == Outcome::uncertain ? 1 : 0;
    }
    const std::uint64_t mine = 1000 + static_cast<std::uint64_t>(round);
    memory.paint_window(mine);  // the memory has a new owner
    gateway.process().cont();
    std::this_thread::sleep_for(milliseconds(4));
    ASSERT_TRUE(holds_pattern(memory.window(), mine)) << "late bytes in round " << round;
    memory.expect_around_untouched();
  }
  EXPECT_GT(uncertain, kRounds / 20) << "the stops hit no transfer: the test proves nothing";
  // And the gateway is as good as new.
  memory.paint_window(3);
  GetRequest request{.bucket = "bkt", .key = "o"};
  const auto result = client.get(request, Memory::host(memory.window())).wait();
  ASSERT_THAT(result, IsOk());
  EXPECT_TRUE(holds_pattern(memory.window(), kObjectSeed));
}

TEST(LostServerTest, NothingLandsAfterAKilledGateway) {
  constexpr int kBatch = 10;
  std::mt19937_64 random(7);
  GuardedWindow memory;
  int broken = 0;
  for (int batch = 0; batch < kRounds / kBatch / 3 + 1; ++batch) {
    // Started together, because each waits for the next second of the clock (replay protection).
    std::vector<std::unique_ptr<GatewayProcess>> gateways;
    for (int i = 0; i < kBatch; ++i)
      gateways.push_back(std::make_unique<GatewayProcess>(std::vector<std::string>{}, false));
    for (auto& gateway : gateways) {
      gateway->await();
      ClientOptions client_options = gateway->client_options();
      client_options.attempts = 1;
      Client client = GatewayProcess::client(client_options);
      store_object(client, "o");
      memory.paint_window(3);
      GetRequest request{.bucket = "bkt", .key = "o", .object_bytes = kObjectBytes};
      TransferOptions options{.timeout = milliseconds(5000)};
      const Transfer transfer = client.get(request, Memory::host(memory.window()), options);
      std::this_thread::sleep_for(microseconds(random() % 6000));
      gateway->process().kill();
      const auto result = transfer.wait();
      expect_honest(result, memory);
      broken += result ? 0 : 1;
      memory.paint_window(5);
      std::this_thread::sleep_for(milliseconds(2));
      ASSERT_TRUE(holds_pattern(memory.window(), 5));
      memory.expect_around_untouched();
    }
  }
  EXPECT_GT(broken, 0) << "the kills hit no transfer: the test proves nothing";
}

TEST(LostServerTest, NothingLandsAfterTheClientCancels) {
  GatewayProcess gateway;
  Client client = gateway.client();
  store_object(client, "o");
  GuardedWindow memory;
  std::mt19937_64 random(8);
  int cancelled = 0;
  for (int round = 0; round < kRounds; ++round) {
    memory.paint_window(3);
    GetRequest request{.bucket = "bkt", .key = "o", .object_bytes = kObjectBytes};
    const Transfer transfer = client.get(request, Memory::host(memory.window()));
    std::this_thread::sleep_for(microseconds(random() % 4000));
    transfer.cancel();
    const auto result = transfer.wait();
    expect_honest(result, memory);
    if (!result) {
      EXPECT_EQ(result.error().code(), ErrorCode::cancelled) << result.error().describe();
      ++cancelled;
    }
    const std::uint64_t mine = 5000 + static_cast<std::uint64_t>(round);
    memory.paint_window(mine);
    std::this_thread::sleep_for(milliseconds(1));
    ASSERT_TRUE(holds_pattern(memory.window(), mine)) << "late bytes in round " << round;
    memory.expect_around_untouched();
  }
  EXPECT_GT(cancelled, kRounds / 20);
}

TEST(LostServerTest, NothingLandsAfterTheClientIsClosed) {
  GatewayProcess gateway;
  {
    Client client = gateway.client();
    store_object(client, "o");
  }
  GuardedWindow memory;
  std::mt19937_64 random(9);
  for (int round = 0; round < kRounds / 3; ++round) {
    memory.paint_window(3);
    Transfer transfer;
    {
      Client client = gateway.client();
      GetRequest request{.bucket = "bkt", .key = "o", .object_bytes = kObjectBytes};
      transfer = client.get(request, Memory::host(memory.window()));
      std::this_thread::sleep_for(microseconds(random() % 6000));
      EXPECT_EQ(client.close(milliseconds(5000)), 0U);
    }
    ASSERT_TRUE(transfer.done());
    expect_honest(transfer.wait(), memory);
    memory.paint_window(11);
    std::this_thread::sleep_for(milliseconds(1));
    ASSERT_TRUE(holds_pattern(memory.window(), 11)) << "late bytes in round " << round;
    memory.expect_around_untouched();
  }
}

TEST(LostServerTest, APutToAStoppedOrKilledGatewayIsUncertainAndLeavesNoHalfObject) {
  GatewayProcess gateway;
  Client client = gateway.client();
  std::mt19937_64 random(10);
  const auto bytes = pattern(kObjectBytes, kObjectSeed);
  for (int round = 0; round < kRounds / 6; ++round) {
    PutRequest request{.bucket = "bkt", .key = "p" + std::to_string(round)};
    TransferOptions options{.timeout = milliseconds(150)};
    const Transfer transfer = client.put(request, Memory::host_source(bytes), options);
    std::this_thread::sleep_for(microseconds(random() % 8000));
    ASSERT_TRUE(gateway.process().stop());
    const auto result = transfer.wait();
    gateway.process().cont();
    if (!result) {
      EXPECT_NE(result.error().outcome(), Outcome::delivered);
    }
    // Whole or absent, never half: whatever the caller was told.
    const auto details = client.head("bkt", request.key);
    if (details) {
      EXPECT_EQ(details->summary.bytes, kObjectBytes);
    } else {
      EXPECT_EQ(details.error().code(), ErrorCode::not_found) << details.error().describe();
      EXPECT_FALSE(result);
    }
  }
  gateway.process().terminate();
  ASSERT_TRUE(gateway.process().wait(Deadline::after(std::chrono::seconds(30))));
  EXPECT_EQ(gateway.temporary_files(), 0U);
}

TEST(LostServerTest, AStoppedClientDoesNotHoldUpAnother) {
  GatewayProcess gateway;
  Client client = gateway.client();
  store_object(client, "o");
  ProcessOptions other;
  other.executable = sluice_binary();
  other.arguments = {"cat", "--data-path", "require", "--endpoint", gateway.endpoint()};
  for (int i = 0; i < 200; ++i) other.arguments.emplace_back("s3://bkt/o");
  other.environment = GatewayProcess::environment();
  auto stopped = Process::spawn(std::move(other));
  ASSERT_THAT(stopped, IsOk());
  std::this_thread::sleep_for(milliseconds(300));
  ASSERT_TRUE((*stopped)->stop());
  GuardedWindow memory;
  for (int i = 0; i < 40; ++i) {
    memory.paint_window(3);
    GetRequest request{.bucket = "bkt", .key = "o"};
    const auto result = client.get(request, Memory::host(memory.window())).wait();
    ASSERT_THAT(result, IsOk());
    EXPECT_EQ(result->data_path, DataPath::rdma);
    EXPECT_EQ(result->retries, 0) << "the other client's stall reached this one";
    ASSERT_TRUE(holds_pattern(memory.window(), kObjectSeed));
  }
  (*stopped)->cont();
  (*stopped)->kill();
}

}  // namespace
}  // namespace sluice::test
