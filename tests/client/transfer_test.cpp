// Gets and puts of a real client through a real gateway in this process.
#include "sluice/client.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <future>
#include <optional>
#include <thread>

#include "base/encoding.h"
#include "checksum/crc64nvme.h"
#include "client/engine.h"
#include "fabric/fault/fault_fabric.h"
#include "fixtures/canary.h"
#include "fixtures/gateway_fixture.h"
#include "fixtures/matchers.h"

namespace sluice::test {
namespace {

using fabric::Fault;
using fabric::FaultKind;
using fabric::FaultPlan;
using std::chrono::milliseconds;

/// The content of a test's object.
std::string object_text(std::size_t bytes, std::uint64_t seed) {
  std::string text(bytes, '\0');
  fill_pattern(std::as_writable_bytes(std::span(text)), seed);
  return text;
}

ClientOptions options_for(const RunningGateway& gateway) {
  ClientOptions options;
  options.endpoint = gateway.url();
  options.credentials = {RunningGateway::credentials().access_key, RunningGateway::credentials().secret_key,
                         ""};
  return options;
}

Client client_of(ClientOptions options) {
  auto made = Client::make(std::move(options));
  if (!made) throw std::runtime_error(made.error().describe());
  return std::move(*made);
}

class TransferTest : public testing::Test {
 protected:
  TransferTest() : client_(client_of(options_for(gateway_))) {
    EXPECT_THAT(client_.create_bucket("bkt"), IsOk());
  }

  Result<TransferResult> put(const std::string& key, std::span<const std::byte> bytes,
                             TransferOptions options = {}) {
    PutRequest request{.bucket = "bkt", .key = key};
    return client_.put(request, Memory::host_source(bytes), options).wait();
  }
  Result<TransferResult> get(const std::string& key, std::span<std::byte> into,
                             TransferOptions options = {}) {
    GetRequest request{.bucket = "bkt", .key = key};
    return client_.get(request, Memory::host(into), options).wait();
  }

  RunningGateway gateway_;
  Client client_;
};

TEST_F(TransferTest, BytesOfEverySizeComeBackByRdmaAtEveryOffset) {
  for (const std::size_t bytes :
       {1U, 63U, 4096U, 65535U, 65537U, (1U << 20U) - 1, 1U << 20U, (1U << 20U) + 1, (5U << 20U) + 7}) {
    for (const std::size_t offset : {0U, 1U, 63U, 4095U}) {
      SCOPED_TRACE(std::to_string(bytes) + " bytes at offset " + std::to_string(offset));
      GuardedBuffer source = GuardedBuffer::at_offset(bytes, offset);
      fill_pattern(source.span(), bytes + offset);
      const auto stored = put("k", source.span());
      ASSERT_THAT(stored, IsOk());
      EXPECT_EQ(stored->data_path, DataPath::rdma);
      EXPECT_EQ(stored->delivery, Delivery::direct);
      EXPECT_EQ(stored->checksum, "crc64nvme:" + hex_u64(crc64nvme(source.span())));
      GuardedBuffer target =
          offset == 0 ? GuardedBuffer::ending_on_guard(bytes) : GuardedBuffer::at_offset(bytes, offset);
      const auto got = get("k", target.span());
      ASSERT_THAT(got, IsOk());
      EXPECT_EQ(got->data_path, DataPath::rdma);
      EXPECT_EQ(got->bytes, bytes);
      EXPECT_EQ(got->checksum, stored->checksum);
      EXPECT_EQ(got->etag, stored->etag);
      EXPECT_TRUE(holds_pattern(target.span(), bytes + offset));
      EXPECT_TRUE(target.canaries_intact());
    }
  }
}

TEST_F(TransferTest, ZeroBytesSucceedUnderRequireAndMoveByNoPath) {
  const auto stored = put("empty", {});
  ASSERT_THAT(stored, IsOk());
  EXPECT_EQ(stored->data_path, DataPath::none);
  std::vector<std::byte> into(16);
  const auto got = get("empty", into);
  ASSERT_THAT(got, IsOk());
  EXPECT_EQ(got->bytes, 0U);
  EXPECT_EQ(got->data_path, DataPath::none);
  EXPECT_THAT(get("empty", {}), IsOk());
}

TEST_F(TransferTest, RangesDeliverWhatThereIsAndNothingElse) {
  const auto object = object_text(300'000, 5U);
  const auto bytes = as_bytes(object);
  ASSERT_THAT(put("o", bytes), IsOk());
  for (const auto policy : {DataPathPolicy::require, DataPathPolicy::off}) {
    TransferOptions options{.data_path = policy};
    std::vector<std::byte> into(200'000, std::byte{0xee});
    GetRequest request{.bucket = "bkt", .key = "o", .range = ByteRange{.first = 1000, .bytes = 150'000}};
    auto got = client_.get(request, Memory::host(into), options).wait();
    ASSERT_THAT(got, IsOk());
    EXPECT_EQ(got->bytes, 150'000U);
    EXPECT_EQ(got->object_bytes, 300'000U);
    EXPECT_EQ(std::memcmp(into.data(), bytes.data() + 1000, 150'000), 0);
    EXPECT_EQ(into[150'000], std::byte{0xee});

    request.range = ByteRange{.first = 250'000, .bytes = 200'000};  // past the end
    got = client_.get(request, Memory::host(into), options).wait();
    ASSERT_THAT(got, IsOk());
    EXPECT_EQ(got->bytes, 50'000U);

    request.range = ByteRange{.first = 300'000, .bytes = 1};
    EXPECT_THAT(client_.get(request, Memory::host(into), options).wait(),
                Fails(ErrorCode::range_not_satisfiable));
    request.range = ByteRange{.first = 5, .bytes = 0};
    EXPECT_THAT(client_.get(request, Memory::host(into), options).wait(), Fails(ErrorCode::invalid_argument));
    request.range = ByteRange{.first = UINT64_MAX, .bytes = 2};
    EXPECT_THAT(client_.get(request, Memory::host(into), options).wait(), Fails(ErrorCode::invalid_argument));
  }
}

TEST_F(TransferTest, ATooSmallDestinationIsAnErrorAndStaysUntouched) {
  ASSERT_THAT(put("o", as_bytes(object_text(500'000, 5U))), IsOk());
  for (const auto policy : {DataPathPolicy::require, DataPathPolicy::off}) {
    GuardedBuffer into = GuardedBuffer::ending_on_guard(400'000);
    TransferOptions options{.data_path = policy};
    const auto got = get("o", into.span(), options);
    ASSERT_FALSE(got);
    EXPECT_TRUE(into.canaries_intact());
    GetRequest request{.bucket = "bkt", .key = "o", .object_bytes = 500'000};
    EXPECT_THAT(client_.get(request, Memory::host(into.span()), options).wait(),
                Fails(ErrorCode::size_mismatch));
  }
}

TEST_F(TransferTest, ConditionsAreKept) {
  const auto stored = put("o", as_bytes("first"));
  ASSERT_THAT(stored, IsOk());
  std::vector<std::byte> into(16);
  for (const auto policy : {DataPathPolicy::require, DataPathPolicy::off}) {
    TransferOptions options{.data_path = policy};
    GetRequest request{.bucket = "bkt", .key = "o", .if_match = "other"};
    EXPECT_THAT(client_.get(request, Memory::host(into), options).wait(),
                Fails(ErrorCode::precondition_failed));
    request.if_match = stored->etag;
    EXPECT_THAT(client_.get(request, Memory::host(into), options).wait(), IsOk());
    GetRequest unless{.bucket = "bkt", .key = "o", .if_none_match = stored->etag};
    EXPECT_THAT(client_.get(unless, Memory::host(into), options).wait(), Fails(ErrorCode::not_modified));
    PutRequest create{.bucket = "bkt", .key = "o", .if_none_match = "*"};
    const auto source = as_bytes("second");
    EXPECT_THAT(client_.put(create, Memory::host_source(source), options).wait(),
                Fails(ErrorCode::precondition_failed));
  }
  const auto got = get("o", into);
  ASSERT_THAT(got, IsOk());
  EXPECT_EQ(got->bytes, 5U);
}

TEST_F(TransferTest, MetadataTravelsOnBothPaths) {
  for (const auto policy : {DataPathPolicy::require, DataPathPolicy::off}) {
    PutRequest request{
        .bucket = "bkt", .key = "m", .content_type = "text/x-test", .user_metadata = {{"colour", "green"}}};
    TransferOptions options{.data_path = policy};
    ASSERT_THAT(client_.put(request, Memory::host_source(as_bytes("x")), options).wait(), IsOk());
    const auto details = client_.head("bkt", "m");
    ASSERT_THAT(details, IsOk());
    EXPECT_EQ(details->content_type, "text/x-test");
    ASSERT_EQ(details->user_metadata.size(), 1U);
    EXPECT_EQ(details->user_metadata[0].second, "green");
    EXPECT_EQ(details->checksum, "crc64nvme:" + hex_u64(crc64nvme(as_bytes("x"))));
  }
  PutRequest bad{.bucket = "bkt", .key = "m", .user_metadata = {{"colour", "green\r\nx-amz-evil: 1"}}};
  EXPECT_THAT(client_.put(bad, Memory::host_source(as_bytes("x"))).wait(),
              Fails(ErrorCode::invalid_argument));
}

TEST_F(TransferTest, PreferUsesHttpBelowTheThresholdAndSaysSo) {
  const std::string small = object_text(1000, 1U);
  TransferOptions options{.data_path = DataPathPolicy::prefer};
  auto stored = put("o", as_bytes(small), options);
  ASSERT_THAT(stored, IsOk());
  EXPECT_EQ(stored->data_path, DataPath::http);
  EXPECT_THAT(stored->fallback_reason, testing::HasSubstr("threshold"));
  stored = put("o", as_bytes(object_text(1U << 20U, 1U)), options);
  ASSERT_THAT(stored, IsOk());
  EXPECT_EQ(stored->data_path, DataPath::rdma);
  EXPECT_EQ(stored->fallback_reason, "");
}

TEST_F(TransferTest, DeviceMemoryIsRefusedByName) {
  Memory device{
      .data = reinterpret_cast<std::byte*>(0x1000), .bytes = 4096, .kind = MemoryKind::device, .device = 0};
  GetRequest request{.bucket = "bkt", .key = "o"};
  EXPECT_THAT(client_.get(request, device).wait(), Fails(ErrorCode::unsupported, "device memory"));
  PutRequest put_request{.bucket = "bkt", .key = "o"};
  EXPECT_THAT(client_.put(put_request, device).wait(), Fails(ErrorCode::unsupported, "device memory"));
}

TEST_F(TransferTest, BadNamesAndMissingThingsAreNamed) {
  std::vector<std::byte> into(16);
  GetRequest request{.bucket = "bkt", .key = "../up"};
  EXPECT_FALSE(client_.get(request, Memory::host(into)).wait());
  request = {.bucket = "NOT_A_BUCKET", .key = "o"};
  EXPECT_THAT(client_.get(request, Memory::host(into)).wait(), Fails(ErrorCode::invalid_argument));
  EXPECT_THAT(get("missing", into), Fails(ErrorCode::not_found, "s3://bkt/missing"));
  TransferOptions off{.data_path = DataPathPolicy::off};
  const auto missing = get("missing", into, off);
  EXPECT_THAT(missing, Fails(ErrorCode::not_found));
  EXPECT_EQ(missing.error().s3().code, "NoSuchKey");
  EXPECT_NE(missing.error().s3().request_id, "");
}

TEST_F(TransferTest, ManyTransfersAtOnceKeepTheirBytesApart) {
  constexpr std::size_t kCount = 24;
  std::vector<std::string> sources;
  for (std::size_t i = 0; i < kCount; ++i) {
    sources.push_back(object_text(200'000 + i * 1111, i + 1));
    ASSERT_THAT(put("k" + std::to_string(i), as_bytes(sources[i])), IsOk());
  }
  std::vector<std::vector<std::byte>> targets(kCount);
  std::vector<Transfer> transfers;
  for (std::size_t i = 0; i < kCount; ++i) {
    targets[i].resize(sources[i].size());
    GetRequest request{.bucket = "bkt", .key = "k" + std::to_string(i)};
    transfers.push_back(client_.get(request, Memory::host(targets[i])));
  }
  for (std::size_t i = 0; i < kCount; ++i) {
    ASSERT_THAT(transfers[i].wait(), IsOk());
    EXPECT_EQ(std::memcmp(targets[i].data(), sources[i].data(), sources[i].size()), 0) << i;
  }
}

TEST_F(TransferTest, CallbacksRunOnceAndMayStartTransfersButNotBlock) {
  ASSERT_THAT(put("o", as_bytes("hello")), IsOk());
  std::vector<std::byte> into(16);
  std::atomic<int> calls{0};
  const auto here = std::this_thread::get_id();
  std::thread::id ran_on;
  std::promise<std::optional<ErrorCode>> blocked;
  GetRequest request{.bucket = "bkt", .key = "o"};
  const Transfer transfer = client_.get(request, Memory::host(into));
  transfer.on_complete([&](const Result<TransferResult>& result) {
    EXPECT_THAT(result, IsOk());
    ran_on = std::this_thread::get_id();
    if (calls++ == 0) {
      auto head = client_.head("bkt", "o");
      blocked.set_value(head ? std::nullopt : std::optional(head.error().code()));
    }
  });
  (void)transfer.wait();
  // Whether the callback ran on the client's thread or here, it ran; only on the client's thread a blocking
  // call is refused.
  auto answer = blocked.get_future();
  ASSERT_EQ(answer.wait_for(std::chrono::seconds(30)), std::future_status::ready);
  const auto refused = answer.get();
  if (ran_on != here) {
    EXPECT_EQ(refused, ErrorCode::invalid_argument);
  } else {
    EXPECT_EQ(refused, std::nullopt);
  }
  EXPECT_EQ(calls, 1);
  EXPECT_TRUE(transfer.done());
}

TEST_F(TransferTest, ListsPagesInOrder) {
  for (int i = 0; i < 25; ++i)
    ASSERT_THAT(put("d/k" + std::to_string(100 + i), as_bytes("x"), {.data_path = DataPathPolicy::off}),
                IsOk());
  ListRequest request{.bucket = "bkt", .prefix = "d/", .max_keys = 10};
  std::vector<std::string> keys;
  for (int page = 0; page < 4; ++page) {
    const auto listed = client_.list(request);
    ASSERT_THAT(listed, IsOk());
    for (const auto& object : listed->objects) keys.push_back(object.key);
    request.continuation_token = listed->next_continuation_token;
    if (request.continuation_token.empty()) break;
  }
  EXPECT_EQ(keys.size(), 25U);
  EXPECT_TRUE(std::is_sorted(keys.begin(), keys.end()));
  ListRequest roots{.bucket = "bkt", .delimiter = "/"};
  const auto top = client_.list(roots);
  ASSERT_THAT(top, IsOk());
  EXPECT_THAT(top->common_prefixes, testing::ElementsAre("d/"));
  EXPECT_THAT(client_.buckets(), IsOk());
  EXPECT_THAT(client_.head_bucket("bkt"), IsOk());
  EXPECT_THAT(client_.head_bucket("other-bucket"), Fails(ErrorCode::not_found));
  EXPECT_THAT(client_.delete_bucket("bkt"), Fails(ErrorCode::already_exists));
  EXPECT_THAT(client_.remove("bkt", "d/k100"), IsOk());
}

TEST_F(TransferTest, AWrongSecretIsUnauthenticatedOnBothPaths) {
  ClientOptions options = options_for(gateway_);
  options.credentials.secret_key = "wrong";
  Client stranger = client_of(options);
  std::vector<std::byte> into(16);
  GetRequest request{.bucket = "bkt", .key = "o"};
  for (const auto policy : {DataPathPolicy::require, DataPathPolicy::off}) {
    TransferOptions transfer{.data_path = policy};
    const auto got = stranger.get(request, Memory::host(into), transfer).wait();
    ASSERT_FALSE(got);
    EXPECT_EQ(got.error().s3().code, "SignatureDoesNotMatch");
  }
}

TEST_F(TransferTest, AnonymousRequestsNeverCarryAToken) {
  ClientOptions options = options_for(gateway_);
  options.credentials = {};
  Client stranger = client_of(options);
  std::vector<std::byte> into(16);
  GetRequest request{.bucket = "bkt", .key = "o"};
  EXPECT_THAT(stranger.get(request, Memory::host(into)).wait(), Fails(ErrorCode::declined, "anonymous"));
}

TEST_F(TransferTest, FenceAlwaysMovesTheSameBytes) {
  ClientOptions options = options_for(gateway_);
  options.fence = FencePolicy::always;
  Client careful = client_of(options);
  const std::string object = object_text(700'000, 9U);
  for (int i = 0; i < 10; ++i) {
    PutRequest put_request{.bucket = "bkt", .key = "f"};
    ASSERT_THAT(careful.put(put_request, Memory::host_source(as_bytes(object))).wait(), IsOk());
    std::vector<std::byte> into(object.size());
    GetRequest request{.bucket = "bkt", .key = "f"};
    const auto got = careful.get(request, Memory::host(into)).wait();
    ASSERT_THAT(got, IsOk());
    EXPECT_EQ(got->data_path, DataPath::rdma);
    EXPECT_EQ(std::memcmp(into.data(), object.data(), object.size()), 0);
  }
}

TEST_F(TransferTest, ClosedClientsRefuseAndEmptyHandlesSaySo) {
  EXPECT_EQ(client_.close(milliseconds(5000)), 0U);
  std::vector<std::byte> into(16);
  EXPECT_THAT(get("o", into), Fails(ErrorCode::cancelled));
  EXPECT_THAT(client_.buckets(), Fails(ErrorCode::cancelled));
  EXPECT_THAT(Transfer().wait(), Fails(ErrorCode::invalid_argument));
}

/// A gateway whose server half breaks as planned.
class FaultyGateway {
 public:
  explicit FaultyGateway(std::vector<Fault> faults)
      : plan_(std::make_shared<FaultPlan>(std::move(faults))), gateway_(setup()) {}
  RunningGateway& operator*() { return gateway_; }
  FaultPlan& plan() { return *plan_; }

 private:
  GatewaySetup setup() {
    GatewaySetup made;
    made.wrap_fabric = [plan = plan_](std::unique_ptr<fabric::ServerFabric> inner) {
      return fabric::make_faulty(std::move(inner), plan);
    };
    made.adjust = [](gateway::GatewayOptions& options) {
      options.lease.lease = milliseconds(800);
      options.lease.drain = milliseconds(300);
    };
    return made;
  }
  std::shared_ptr<FaultPlan> plan_;
  RunningGateway gateway_;
};

/// Every fault of the gateway's fabric, at every operation of a get: the caller sees right bytes or an honest
/// error, and afterwards nothing changes.
TEST(ServerFaultTest, NoFaultAtAnyOperationYieldsWrongBytesOrLateOnes) {
  const std::string object = object_text(2'500'000, 3U);  // three chunks
  for (const FaultKind kind : {FaultKind::fail_open, FaultKind::fail_before_post, FaultKind::fail_after_move,
                               FaultKind::short_move, FaultKind::over_long, FaultKind::duplicate,
                               FaultKind::late, FaultKind::lost_completion, FaultKind::wrong_key}) {
    for (std::uint64_t n = 1; n <= 5; ++n) {
      SCOPED_TRACE("fault " + std::to_string(static_cast<int>(kind)) + " at operation " + std::to_string(n));
      Fault fault;
      fault.kind = kind;
      fault.at_operation = n;
      FaultyGateway gateway({fault});
      ClientOptions options = options_for(*gateway);
      options.attempts = 1;
      Client client = client_of(options);
      ASSERT_THAT(client.create_bucket("bkt"), IsOk());
      PutRequest put_request{.bucket = "bkt", .key = "o"};
      TransferOptions off{.data_path = DataPathPolicy::off};
      ASSERT_THAT(client.put(put_request, Memory::host_source(as_bytes(object)), off).wait(), IsOk());
      GuardedBuffer into = GuardedBuffer::at_offset(object.size(), 63);
      GetRequest request{.bucket = "bkt", .key = "o"};
      const auto got = client.get(request, Memory::host(into.span())).wait();
      if (got) {
        EXPECT_EQ(std::memcmp(into.data(), object.data(), object.size()), 0);
        EXPECT_EQ(got->bytes, object.size());
      } else {
        EXPECT_NE(got.error().code(), ErrorCode::fence_failed) << got.error().describe();
        EXPECT_NE(got.error().outcome(), Outcome::delivered);
      }
      fill_pattern(into.span(), 77);
      gateway.plan().release_late();
      std::this_thread::sleep_for(milliseconds(5));
      EXPECT_TRUE(holds_pattern(into.span(), 77));
      EXPECT_TRUE(into.canaries_intact());
      if (!gateway.plan().all_hit()) break;  // this get has fewer operations
    }
  }
}

TEST(ServerFaultTest, APutIsWholeOrAbsentAfterAnyFault) {
  const std::string object = object_text(2'500'000, 4U);
  for (const FaultKind kind :
       {FaultKind::fail_open, FaultKind::fail_before_post, FaultKind::fail_after_move, FaultKind::short_move,
        FaultKind::late, FaultKind::lost_completion, FaultKind::wrong_key}) {
    for (std::uint64_t n = 1; n <= 5; ++n) {
      SCOPED_TRACE("fault " + std::to_string(static_cast<int>(kind)) + " at operation " + std::to_string(n));
      Fault fault;
      fault.kind = kind;
      fault.at_operation = n;
      FaultyGateway gateway({fault});
      ClientOptions options = options_for(*gateway);
      options.attempts = 1;
      Client client = client_of(options);
      ASSERT_THAT(client.create_bucket("bkt"), IsOk());
      const auto before = (*gateway).files();
      PutRequest request{.bucket = "bkt", .key = "o"};
      const auto put = client.put(request, Memory::host_source(as_bytes(object))).wait();
      if (put) {
        std::vector<std::byte> into(object.size());
        GetRequest get_request{.bucket = "bkt", .key = "o"};
        TransferOptions off{.data_path = DataPathPolicy::off};
        ASSERT_THAT(client.get(get_request, Memory::host(into), off).wait(), IsOk());
        EXPECT_EQ(std::memcmp(into.data(), object.data(), object.size()), 0);
      } else {
        EXPECT_EQ((*gateway).files(), before) << put.error().describe();
      }
      if (!gateway.plan().all_hit()) break;
    }
  }
}

TEST(ServerFaultTest, PreferGoesOnOverHttpWhenTheFabricFails) {
  Fault fault;
  fault.kind = FaultKind::fail_open;
  fault.at_operation = 1;
  FaultyGateway gateway({fault});
  ClientOptions options = options_for(*gateway);
  options.data_path = DataPathPolicy::prefer;
  options.rdma_threshold_bytes = 0;
  Client client = client_of(options);
  ASSERT_THAT(client.create_bucket("bkt"), IsOk());
  const std::string object = object_text(1U << 20U, 6U);
  PutRequest request{.bucket = "bkt", .key = "o"};
  const auto put = client.put(request, Memory::host_source(as_bytes(object))).wait();
  ASSERT_THAT(put, IsOk());
  EXPECT_EQ(put->data_path, DataPath::http);
  EXPECT_NE(put->fallback_reason, "");
  std::vector<std::byte> into(object.size());
  GetRequest get_request{.bucket = "bkt", .key = "o"};
  ASSERT_THAT(client.get(get_request, Memory::host(into)).wait(), IsOk());
  EXPECT_EQ(std::memcmp(into.data(), object.data(), object.size()), 0);
}

/// Faults of the client's own half.
TEST(ClientFaultTest, AFailedFenceIsToldAndNeverRetriedOrFallenBackFrom) {
  RunningGateway gateway;
  Fault fail;
  fail.kind = FaultKind::fail_fence;
  fail.at_operation = 2;  // mint, then revoke
  auto plan = std::make_shared<FaultPlan>(std::vector<Fault>{fail});
  ClientOptions options = options_for(gateway);
  options.data_path = DataPathPolicy::prefer;
  options.rdma_threshold_bytes = 0;
  auto engine = client::Engine::make(
      options, [plan](std::string_view name) -> Result<std::shared_ptr<fabric::ClientFabric>> {
        auto inner = fabric::client_fabric(name);
        if (!inner) return inner;
        return fabric::make_faulty(*inner, plan);
      });
  ASSERT_THAT(engine, IsOk());
  Client client = client::Engine::wrap(*engine);
  ASSERT_THAT(client.create_bucket("bkt"), IsOk());
  const std::string object = object_text(300'000, 6U);
  PutRequest put_request{.bucket = "bkt", .key = "o"};
  TransferOptions off{.data_path = DataPathPolicy::off};
  ASSERT_THAT(client.put(put_request, Memory::host_source(as_bytes(object)), off).wait(), IsOk());
  std::vector<std::byte> into(object.size());
  GetRequest request{.bucket = "bkt", .key = "o"};
  const auto got = client.get(request, Memory::host(into)).wait();
  ASSERT_THAT(got, Fails(ErrorCode::fence_failed, "quarantined"));
  EXPECT_EQ(got.error().outcome(), Outcome::uncertain);
  EXPECT_THAT(client.get(request, Memory::host(into)).wait(), IsOk());
}

TEST(ClientFaultTest, AMintThatFailsIsADeclineAndPreferFallsBack) {
  RunningGateway gateway;
  Fault fail;
  fail.kind = FaultKind::fail_open;
  fail.at_operation = 1;
  auto plan = std::make_shared<FaultPlan>(std::vector<Fault>{fail});
  ClientOptions options = options_for(gateway);
  auto engine = client::Engine::make(
      options, [plan](std::string_view name) -> Result<std::shared_ptr<fabric::ClientFabric>> {
        auto inner = fabric::client_fabric(name);
        if (!inner) return inner;
        return fabric::make_faulty(*inner, plan);
      });
  ASSERT_THAT(engine, IsOk());
  Client client = client::Engine::wrap(*engine);
  ASSERT_THAT(client.create_bucket("bkt"), IsOk());
  PutRequest request{.bucket = "bkt", .key = "o"};
  const std::string object = object_text(300'000, 6U);
  const auto put = client.put(request, Memory::host_source(as_bytes(object))).wait();
  EXPECT_THAT(put, Fails(ErrorCode::declined));
  EXPECT_EQ(put.error().outcome(), Outcome::refused);
}

}  // namespace
}  // namespace sluice::test
