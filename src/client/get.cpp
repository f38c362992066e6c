#include "client/get.h"

#include <array>
#include <utility>

#include "base/limits.h"
#include "base/metrics.h"
#include "base/parse.h"
#include "base/try.h"
#include "checksum/checksum.h"
#include "client/attempts.h"
#include "client/data_path.h"
#include "client/request.h"
#include "client/retry.h"
#include "client/token_exchange.h"
#include "s3/conditions.h"
#include "s3/errors.h"
#include "s3/headers.h"
#include "s3/range.h"

namespace sluice::client {

namespace {

/// What one get is about; fixed for all its attempts.
struct GetPlan {
  GetRequest request;
  Memory into;
  std::string target;
  std::string context;
  DataPathPolicy policy = DataPathPolicy::require;
  ChecksumMode checksum = ChecksumMode::crc64nvme;
  std::uint64_t window_bytes = 0;
  /// The version that our own HEAD found: a 412 then means that the object was replaced since, and is asked
  /// for again.
  std::string pinned_etag;
  Deadline deadline = Deadline::never();
};

Result<GetPlan> make_plan(Engine& engine, GetRequest request, Memory into, const TransferOptions& options) {
  GetPlan plan;
  plan.context = describe("get", request.bucket, request.key);
  SLUICE_CHECK(s3::check_bucket_name(request.bucket));
  SLUICE_CHECK(s3::check_key(request.key));
  if (into.kind != MemoryKind::host) {
    return Error(
        ErrorCode::unsupported,
        "the destination is device memory, which no fabric of this build reaches: get into host memory");
  }
  if (into.data == nullptr && into.bytes > 0)
    return Error(ErrorCode::invalid_argument, "the destination is a null pointer");
  plan.window_bytes = into.bytes;
  if (request.range) {
    const ByteRange range = *request.range;
    if (range.bytes == 0) return Error(ErrorCode::invalid_argument, "a range of 0 bytes cannot be asked for");
    if (range.first > UINT64_MAX - range.bytes)
      return Error(ErrorCode::invalid_argument, "the range wraps around 2^64");
    plan.window_bytes = range.bytes;
    if (request.object_bytes && range.first < *request.object_bytes) {
      plan.window_bytes = std::min(range.bytes, *request.object_bytes - range.first);
    }
  } else if (request.object_bytes) {
    plan.window_bytes = *request.object_bytes;
  }
  if (plan.window_bytes > into.bytes) {
    return Error(ErrorCode::size_mismatch, "the destination has " + std::to_string(into.bytes) + " bytes, " +
                                               std::to_string(plan.window_bytes) + " are wanted");
  }
  plan.policy = options.data_path.value_or(engine.options().data_path);
  plan.checksum = options.checksum.value_or(engine.options().checksum);
  plan.target = s3::make_target(request.bucket, request.key);
  plan.deadline = transfer_deadline(engine, options, plan.window_bytes);
  plan.into = into;
  plan.request = std::move(request);
  return plan;
}

HeaderList request_headers(const GetPlan& plan) {
  HeaderList headers;
  if (plan.request.range)
    headers.add(s3::header::kRange, s3::format_range(plan.request.range->first, plan.request.range->bytes));
  const std::string& etag = plan.request.if_match.empty() ? plan.pinned_etag : plan.request.if_match;
  if (!etag.empty()) headers.add(s3::header::kIfMatch, s3::quote_etag(etag));
  if (!plan.request.if_none_match.empty())
    headers.add(s3::header::kIfNoneMatch, s3::quote_etag(plan.request.if_none_match));
  if (plan.checksum != ChecksumMode::none) headers.add(s3::header::kChecksumMode, "ENABLED");
  return headers;
}

/// What the head says about the object, whichever way the bytes came.
TransferResult describe_result(const http::ResponseHead& head, std::uint64_t bytes) {
  TransferResult result;
  result.bytes = bytes;
  result.object_bytes = bytes;
  if (head.status == 206) {
    auto range = s3::parse_content_range(head.headers.get(s3::header::kContentRange));
    if (range && range->object_bytes) result.object_bytes = *range->object_bytes;
  }
  result.etag = s3::unquote_etag(head.headers.get(s3::header::kEtag));
  result.version_id = std::string(head.headers.get("x-amz-version-id"));
  result.content_type = std::string(head.headers.get(s3::header::kContentType));
  return result;
}

/// The checksum that the bytes of this response must have, if the server told one.
Result<std::optional<std::uint64_t>> promised_checksum(const http::ResponseHead& head, bool rdma) {
  if (rdma) {
    SLUICE_TRY(auto moved, s3::rdma_checksum(head.headers, s3::RdmaChecksumAlgorithm::crc64nvme));
    if (moved) return moved;
  }
  const auto stored = head.headers.find(s3::header::kChecksumCrc64nvme);
  // A 206 carries the checksum of the whole object, which says nothing about a range.
  if (head.status != 200 || !stored) return std::optional<std::uint64_t>();
  SLUICE_TRY(std::uint64_t value, s3::parse_crc64nvme(*stored));
  return std::optional(value);
}

Error mismatch(std::uint64_t got, std::uint64_t promised) {
  metrics::counter("sluice_client_checksum_mismatches_total").add();
  return Error(ErrorCode::checksum_mismatch,
               "what arrived has " + checksum_text(got) + ", the server promised " + checksum_text(promised))
      .with_outcome(Outcome::uncertain)
      .with_retry(Retry::fresh_token);
}

/// The body of a response into the front of the destination, verified.
Task<Result<TransferResult>> read_payload(http::Connection* connection, http::ResponseHead head,
                                          const GetPlan* plan, detail::TransferState* state) {
  const Deadline deadline = plan->deadline;
  Checksum sum(ChecksumAlgorithm::crc64nvme);
  const bool verify = plan->checksum != ChecksumMode::none;
  std::uint64_t total = 0;
  for (;;) {
    std::array<std::byte, 1> overflow;
    const bool full = total == plan->into.bytes;
    const std::span<std::byte> space =
        full ? std::span<std::byte>(overflow) : std::span(plan->into.data + total, plan->into.bytes - total);
    auto got = co_await connection->read_body(
        space.first(std::min<std::size_t>(space.size(), limits::kChunkBytes)), deadline);
    if (!got) {
      got.error().set_outcome(Outcome::uncertain);
      co_return std::move(got).error();
    }
    if (*got == 0) break;
    if (full) {
      co_return Error(ErrorCode::size_mismatch, "the object does not fit into the destination of " +
                                                    std::to_string(plan->into.bytes) + " bytes")
          .with_outcome(Outcome::uncertain);
    }
    if (verify) sum.update(space.first(*got));
    total += *got;
    state->set_bytes(total);
  }
  if (plan->request.range && head.status == 206) {
    auto range = s3::parse_content_range(head.headers.get(s3::header::kContentRange));
    if (!range || range->first != plan->request.range->first || range->count != total) {
      co_return Error(ErrorCode::protocol_error, "the server sent another range than asked for")
          .with_outcome(Outcome::uncertain);
    }
  } else if (plan->request.range) {
    co_return Error(ErrorCode::protocol_error, "the server ignored the range")
        .with_outcome(Outcome::uncertain);
  }
  TransferResult result = describe_result(head, total);
  result.data_path = total == 0 ? DataPath::none : DataPath::http;
  if (verify) {
    SLUICE_CO_TRY(auto promised, promised_checksum(head, false));
    const std::uint64_t value = sum.value();
    if (promised && *promised != value) co_return mismatch(value, *promised);
    // Without a promise the sum still lets the caller compare parts with a whole.
    result.checksum = checksum_text(value);
  }
  co_return result;
}

Task<Result<TransferResult>> get_by_http(std::shared_ptr<Engine> engine, const GetPlan* plan,
                                         detail::TransferState* state,
                                         std::shared_ptr<AttemptControl> control, bool fresh) {
  SLUICE_CO_TRY(auto connection, co_await engine->pool().acquire(plan->deadline, fresh));
  SLUICE_CO_TRY(auto head, make_head(*engine, "GET", plan->target, request_headers(*plan), std::nullopt));
  control->watch(connection.get());
  auto sent = co_await connection->send_head(std::move(head), plan->deadline);
  if (!sent) {
    control->watch(nullptr);
    co_return std::move(sent).error();
  }
  auto response = co_await connection->read_head(plan->deadline);
  if (!response) {
    control->watch(nullptr);
    co_return std::move(response).error();
  }
  if (response->status != 200 && response->status != 206) {
    Error error = co_await read_error(connection.get(), std::move(*response), {}, plan->deadline);
    control->watch(nullptr);
    co_return error;
  }
  auto result = co_await read_payload(connection.get(), std::move(*response), plan, state);
  control->watch(nullptr);
  co_return result;
}

/// The reply of an RDMA attempt whose verdict is `delivered`: check what landed, then give the window back.
Task<Result<TransferResult>> accept_delivery(std::shared_ptr<Engine> engine, const GetPlan* plan,
                                             TokenReply reply, s3::RdmaClassification verdict,
                                             std::string fabric_name) {
  auto drained =
      co_await http::ClientPool::read_text(*reply.connection, limits::kRdmaReplyBodyBytes, plan->deadline);
  std::optional<Error> failure;
  if (!drained) failure = std::move(drained).error().with_outcome(Outcome::uncertain);
  TransferResult result = describe_result(reply.head, verdict.moved);
  if (verdict.object_bytes) result.object_bytes = *verdict.object_bytes;
  result.data_path = verdict.moved == 0 ? DataPath::none : DataPath::rdma;
  if (verdict.moved > 0) result.fabric = std::move(fabric_name);
  const bool fence_first = engine->options().fence == FencePolicy::always;
  if (fence_first) {
    SLUICE_CO_CHECK(co_await fence(engine, std::move(reply.token), fabric::RevokeReason::doubtful));
  }
  if (!failure && plan->checksum != ChecksumMode::none) {
    auto promised = promised_checksum(reply.head, true);
    if (!promised) {
      failure = std::move(promised).error().with_outcome(Outcome::uncertain);
    } else {
      const std::span<const std::byte> landed(plan->into.data, verdict.moved);
      const std::uint64_t value = co_await checksum_of(engine, landed);
      if (*promised && **promised != value) {
        failure = mismatch(value, **promised);
      } else if (*promised) {
        result.checksum = checksum_text(value);
      }
    }
  }
  if (!fence_first) {
    const auto reason = failure ? fabric::RevokeReason::doubtful : fabric::RevokeReason::completed;
    SLUICE_CO_CHECK(co_await fence(engine, std::move(reply.token), reason));
  }
  if (failure) co_return *std::move(failure);
  co_return result;
}

Task<Result<TransferResult>> get_by_rdma(std::shared_ptr<Engine> engine, const GetPlan* plan,
                                         std::shared_ptr<fabric::ClientFabric> fabric,
                                         detail::TransferState* state,
                                         std::shared_ptr<AttemptControl> control) {
  TokenRequest request;
  request.method = "GET";
  request.target = plan->target;
  request.headers = request_headers(*plan);
  if (plan->checksum != ChecksumMode::none) {
    s3::request_rdma_checksum(request.headers, s3::RdmaChecksumAlgorithm::crc64nvme);
  }
  request.operation = s3::RdmaOperation::get;
  request.fabric = fabric;
  request.memory = plan->into;
  request.memory.bytes = plan->window_bytes;
  request.deadline = plan->deadline;
  auto exchanged = co_await exchange_with_token(engine, std::move(request), control);
  if (!exchanged) co_return std::move(exchanged).error();
  TokenReply reply = std::move(*exchanged);

  s3::RdmaExpectation expected;
  expected.operation = s3::RdmaOperation::get;
  expected.ranged = plan->request.range.has_value();
  expected.first = plan->request.range ? plan->request.range->first : 0;
  expected.bytes = plan->window_bytes;
  expected.object_bytes =
      plan->request.range ? plan->request.object_bytes : std::optional(plan->window_bytes);
  auto verdict = s3::classify_rdma_response(reply.head.status, reply.head.headers, expected);
  if (verdict.verdict == s3::RdmaVerdict::delivered) {
    co_return co_await accept_delivery(engine, plan, std::move(reply), std::move(verdict),
                                       fabric->identity().name);
  }

  // Whatever else it is: first make sure that nothing lands any more, then look at it.
  SLUICE_CO_CHECK(co_await fence(engine, std::move(reply.token), fabric::RevokeReason::doubtful));
  if (verdict.verdict == s3::RdmaVerdict::s3_error) {
    co_return co_await read_error(reply.connection.get(), std::move(reply.head), {}, plan->deadline);
  }
  if (verdict.verdict == s3::RdmaVerdict::failed) {
    co_return Error(ErrorCode::protocol_error, "the RDMA reply cannot be believed: " + verdict.why)
        .with_outcome(Outcome::uncertain);
  }
  metrics::counter("sluice_client_declined_total").add();
  const std::string why = verdict.why.empty() ? "the server declined" : verdict.why;
  if (plan->policy == DataPathPolicy::prefer && verdict.body_is_data) {
    control->watch(reply.connection.get());
    auto result = co_await read_payload(reply.connection.get(), std::move(reply.head), plan, state);
    control->watch(nullptr);
    if (result) result->fallback_reason = why;
    co_return result;
  }
  co_return Error(ErrorCode::declined, "RDMA was declined: " + why).with_outcome(Outcome::refused);
}

/// Learns the size of a whole object, because a token has to name exactly what will be moved
/// (protocol.md 2.8), and pins the version. A HEAD's error has no body to say why: the first byte is asked
/// for then, whose error has.
Task<Result<void>> look_up(std::shared_ptr<Engine> engine, GetPlan* plan) {
  SmallRequest request;
  request.method = "HEAD";
  request.bucket = plan->request.bucket;
  request.key = plan->request.key;
  auto reply = co_await exchange(engine, request, limits::kErrorBodyBytes, plan->deadline);
  if (!reply) {
    const int status = reply.error().s3().http_status;
    if (status >= 400 && status < 500) {
      request.method = "GET";
      request.headers.add(s3::header::kRange, "bytes=0-0");
      auto explained = co_await exchange(engine, std::move(request), limits::kErrorBodyBytes, plan->deadline);
      if (!explained) co_return std::move(explained).error();
    }
    co_return std::move(reply).error();
  }
  auto bytes = parse_u64(reply->headers.get(s3::header::kContentLength));
  if (!bytes) co_return Error(ErrorCode::protocol_error, "the server's HEAD has no usable Content-Length");
  if (*bytes > plan->into.bytes) {
    co_return Error(ErrorCode::size_mismatch, "the destination has " + std::to_string(plan->into.bytes) +
                                                  " bytes, the object " + std::to_string(*bytes));
  }
  plan->window_bytes = *bytes;
  if (plan->request.if_match.empty())
    plan->pinned_etag = s3::unquote_etag(reply->headers.get(s3::header::kEtag));
  co_return Result<void>{};
}

Task<Result<TransferResult>> run_attempts(std::shared_ptr<Engine> engine, GetPlan* plan,
                                          detail::TransferState* state,
                                          std::shared_ptr<AttemptControl> control) {
  Attempts attempts;
  SLUICE_CO_TRY(attempts.choice, co_await choose_data_path(
                                     engine, plan->window_bytes == 0 ? DataPathPolicy::off : plan->policy,
                                     plan->window_bytes, plan->deadline));
  const bool look_first = !plan->request.range && !plan->request.object_bytes;
  for (;;) {
    if (attempts.rdma() && look_first) {
      SLUICE_CO_CHECK(co_await look_up(engine, plan));
      if (plan->window_bytes == 0) attempts.choice.fabric = nullptr;  // nothing to move
    }
    const bool rdma = attempts.rdma();
    Result<TransferResult> result = Error(ErrorCode::internal, "no attempt was made");
    if (rdma) {
      result = co_await get_by_rdma(engine, plan, attempts.choice.fabric, state, control);
    } else {
      result = co_await get_by_http(engine, plan, state, control, attempts.fresh);
    }
    if (result) {
      result->retries = attempts.number - 1;
      if (result->fallback_reason.empty() && !rdma) result->fallback_reason = attempts.choice.reason;
      co_return result;
    }
    Error error = std::move(result).error();
    const bool replaced = error.code() == ErrorCode::precondition_failed && !plan->pinned_etag.empty();
    const RetryTerms terms{.policy = plan->policy,
                           .deadline = plan->deadline,
                           .repeatable = true,
                           .sensible = may_retry(error) || replaced};
    auto ended = co_await after_failure(engine, &attempts, std::move(error), terms, control);
    if (ended) co_return std::move(*ended);
  }
}

}  // namespace

Task<Result<TransferResult>> get_object(std::shared_ptr<Engine> engine, GetRequest request, Memory into,
                                        TransferOptions options, std::shared_ptr<detail::TransferState> state,
                                        std::shared_ptr<AttemptControl> control) {
  const std::string context = describe("get", request.bucket, request.key);
  auto plan = make_plan(*engine, std::move(request), into, options);
  if (!plan) {
    plan.error().add_context(context);
    co_return std::move(plan).error();
  }
  auto result = co_await run_attempts(engine, &*plan, state.get(), control);
  if (!result) result.error().add_context(context);
  co_return result;
}

}  // namespace sluice::client
