#include "client/put.h"

#include <utility>

#include "base/limits.h"
#include "base/metrics.h"
#include "base/parse.h"
#include "base/try.h"
#include "client/attempts.h"
#include "client/data_path.h"
#include "client/operations.h"
#include "client/request.h"
#include "client/retry.h"
#include "client/token_exchange.h"
#include "s3/conditions.h"
#include "s3/headers.h"

namespace sluice::client {

namespace {

/// What one put is about; fixed for all its attempts.
struct PutPlan {
  PutRequest request;
  Memory from;
  std::string target;
  DataPathPolicy policy = DataPathPolicy::require;
  ChecksumMode checksum = ChecksumMode::crc64nvme;
  std::uint64_t crc = 0;  ///< of the source, once computed; 0 for checksum none
  Deadline deadline = Deadline::never();
  [[nodiscard]] std::span<const std::byte> bytes() const { return {from.data, from.bytes}; }
  [[nodiscard]] bool conditional() const {
    return !request.if_match.empty() || !request.if_none_match.empty();
  }
};

Result<PutPlan> make_plan(Engine& engine, PutRequest request, Memory from, const TransferOptions& options) {
  SLUICE_CHECK(s3::check_bucket_name(request.bucket));
  SLUICE_CHECK(s3::check_key(request.key));
  if (from.kind != MemoryKind::host) {
    return Error(ErrorCode::unsupported,
                 "the source is device memory, which no fabric of this build reaches: put from host memory");
  }
  if (from.data == nullptr && from.bytes > 0)
    return Error(ErrorCode::invalid_argument, "the source is a null pointer");
  if (from.bytes > limits::kObjectPutBytes) {
    return Error(ErrorCode::invalid_argument, format_size(from.bytes) +
                                                  " is more than one S3 PUT can carry (" +
                                                  format_size(limits::kObjectPutBytes) + ")");
  }
  for (const auto& [name, value] : request.user_metadata) {
    if (!is_header_name(name) || !is_header_value(value)) {
      return Error(ErrorCode::invalid_argument, "user metadata '" + name + "' cannot be sent in a header");
    }
  }
  if (!is_header_value(request.content_type))
    return Error(ErrorCode::invalid_argument, "the content type cannot be sent in a header");
  PutPlan plan;
  plan.policy = options.data_path.value_or(engine.options().data_path);
  plan.checksum = options.checksum.value_or(engine.options().checksum);
  plan.target = s3::make_target(request.bucket, request.key);
  plan.deadline = transfer_deadline(engine, options, from.bytes);
  plan.from = from;
  plan.request = std::move(request);
  return plan;
}

HeaderList request_headers(const PutPlan& plan) {
  HeaderList headers;
  if (!plan.request.content_type.empty()) headers.add(s3::header::kContentType, plan.request.content_type);
  for (const auto& [name, value] : plan.request.user_metadata) {
    headers.add(std::string(s3::header::kMetaPrefix) + name, value);
  }
  const auto tag = [](const std::string& etag) { return etag == "*" ? etag : s3::quote_etag(etag); };
  if (!plan.request.if_match.empty()) headers.add(s3::header::kIfMatch, tag(plan.request.if_match));
  if (!plan.request.if_none_match.empty())
    headers.add(s3::header::kIfNoneMatch, tag(plan.request.if_none_match));
  if (plan.checksum != ChecksumMode::none)
    headers.add(s3::header::kChecksumCrc64nvme, s3::format_crc64nvme(plan.crc));
  return headers;
}

TransferResult describe_result(const PutPlan& plan, const http::ResponseHead& head) {
  TransferResult result;
  result.bytes = plan.from.bytes;
  result.object_bytes = plan.from.bytes;
  result.etag = s3::unquote_etag(head.headers.get(s3::header::kEtag));
  result.version_id = std::string(head.headers.get("x-amz-version-id"));
  result.content_type = plan.request.content_type;
  if (plan.checksum != ChecksumMode::none) result.checksum = checksum_text(plan.crc);
  return result;
}

Task<Result<TransferResult>> put_by_http(std::shared_ptr<Engine> engine, const PutPlan* plan,
                                         detail::TransferState* state,
                                         std::shared_ptr<AttemptControl> control, bool fresh) {
  SLUICE_CO_TRY(auto connection, co_await engine->pool().acquire(plan->deadline, fresh));
  SLUICE_CO_TRY(auto head, make_head(*engine, "PUT", plan->target, request_headers(*plan), plan->from.bytes));
  control->watch(connection.get());
  auto sent = co_await connection->send_head(std::move(head), plan->deadline);
  Deadline reply_deadline = plan->deadline;
  std::uint64_t offset = 0;
  while (sent && offset < plan->from.bytes) {
    const auto piece = plan->bytes().subspan(offset).first(
        std::min<std::uint64_t>(plan->from.bytes - offset, 4 * limits::kMiB));
    sent = co_await connection->send_body(piece, plan->deadline);
    offset += piece.size();
    if (sent) state->set_bytes(offset);
  }
  std::optional<Error> broken;
  if (!sent) {
    // A server that refuses early answers and closes: its answer says more than our broken pipe.
    broken = std::move(sent).error();
    reply_deadline = earlier(plan->deadline, Deadline::after(limits::kClientMargin));
    if (broken->code() != ErrorCode::peer_gone || offset == 0) {
      control->watch(nullptr);
      co_return *std::move(broken);
    }
  }
  auto response = co_await connection->read_head(reply_deadline);
  if (!response) {
    control->watch(nullptr);
    Error error = broken ? *std::move(broken) : std::move(response).error();
    error.set_outcome(Outcome::uncertain);
    co_return error;
  }
  if (response->status != 200 && response->status != 204) {
    Error error = co_await read_error(connection.get(), std::move(*response), {}, plan->deadline);
    control->watch(nullptr);
    co_return error;
  }
  TransferResult result = describe_result(*plan, *response);
  auto rest = co_await http::ClientPool::read_text(*connection, limits::kErrorBodyBytes, plan->deadline);
  control->watch(nullptr);
  if (!rest) co_return std::move(rest).error().with_outcome(Outcome::uncertain);
  result.data_path = result.bytes == 0 ? DataPath::none : DataPath::http;
  co_return result;
}

/// The server took the PUT for one with an empty body. If an empty object is all that it stored, take that
/// away again, so that nobody finds it (protocol.md 7.10); then tell.
Task<Error> undo_ignored_put(std::shared_ptr<Engine> engine, const PutPlan* plan, std::string etag) {
  metrics::counter("sluice_client_ignored_tokens_total").add();
  Error error =
      Error(ErrorCode::declined, "the server ignored the RDMA token and took the upload for an empty one")
          .with_outcome(Outcome::uncertain);
  CallOptions options;
  auto found = co_await head_object(engine, plan->request.bucket, plan->request.key, options);
  if (found && found->summary.bytes == 0 && found->summary.etag == etag && plan->from.bytes != 0) {
    auto removed = co_await delete_object(engine, plan->request.bucket, plan->request.key, options);
    error.add_context(removed ? "the empty object was removed again"
                              : "an empty object is left at the server");
  }
  co_return error;
}

Task<Result<TransferResult>> put_by_rdma(std::shared_ptr<Engine> engine, const PutPlan* plan,
                                         std::shared_ptr<fabric::ClientFabric> fabric,
                                         std::shared_ptr<AttemptControl> control) {
  TokenRequest request;
  request.method = "PUT";
  request.target = plan->target;
  request.headers = request_headers(*plan);
  request.operation = s3::RdmaOperation::put;
  request.fabric = fabric;
  request.memory = plan->from;
  request.deadline = plan->deadline;
  auto exchanged = co_await exchange_with_token(engine, std::move(request), control);
  if (!exchanged) co_return std::move(exchanged).error();
  TokenReply reply = std::move(*exchanged);

  s3::RdmaExpectation expected;
  expected.operation = s3::RdmaOperation::put;
  expected.bytes = plan->from.bytes;
  expected.object_bytes = plan->from.bytes;
  auto verdict = s3::classify_rdma_response(reply.head.status, reply.head.headers, expected);
  const bool delivered = verdict.verdict == s3::RdmaVerdict::delivered;
  // A server that only reads can do no harm to the bytes, but the caller may reuse them for a secret: same
  // fence as for a get.
  SLUICE_CO_CHECK(
      co_await fence(engine, std::move(reply.token),
                     delivered ? fabric::RevokeReason::completed : fabric::RevokeReason::doubtful));
  if (delivered) {
    auto rest =
        co_await http::ClientPool::read_text(*reply.connection, limits::kRdmaReplyBodyBytes, plan->deadline);
    if (!rest) co_return std::move(rest).error().with_outcome(Outcome::uncertain);
    TransferResult result = describe_result(*plan, reply.head);
    result.data_path = DataPath::rdma;
    result.fabric = fabric->identity().name;
    co_return result;
  }
  switch (verdict.verdict) {
    case s3::RdmaVerdict::s3_error:
      co_return co_await read_error(reply.connection.get(), std::move(reply.head), {}, plan->deadline);
    case s3::RdmaVerdict::not_rdma: {
      std::string etag = s3::unquote_etag(reply.head.headers.get(s3::header::kEtag));
      reply.connection.reset();
      co_return co_await undo_ignored_put(engine, plan, std::move(etag));
    }
    case s3::RdmaVerdict::declined_no_body:
    case s3::RdmaVerdict::declined_with_body:
      metrics::counter("sluice_client_declined_total").add();
      co_return Error(ErrorCode::declined,
                      "RDMA was declined: " +
                          (verdict.why.empty() ? std::string("the server gave no reason") : verdict.why))
          .with_outcome(Outcome::refused);
    default:
      co_return Error(ErrorCode::protocol_error, "the RDMA reply cannot be believed: " + verdict.why)
          .with_outcome(Outcome::uncertain);
  }
}

Task<Result<TransferResult>> run_attempts(std::shared_ptr<Engine> engine, const PutPlan* plan,
                                          detail::TransferState* state,
                                          std::shared_ptr<AttemptControl> control) {
  Attempts attempts;
  SLUICE_CO_TRY(attempts.choice,
                co_await choose_data_path(engine, plan->from.bytes == 0 ? DataPathPolicy::off : plan->policy,
                                          plan->from.bytes, plan->deadline));
  for (;;) {
    const bool rdma = attempts.rdma();
    Result<TransferResult> result = Error(ErrorCode::internal, "no attempt was made");
    if (rdma) {
      result = co_await put_by_rdma(engine, plan, attempts.choice.fabric, control);
    } else {
      result = co_await put_by_http(engine, plan, state, control, attempts.fresh);
    }
    if (result) {
      result->retries = attempts.number - 1;
      if (!rdma) result->fallback_reason = attempts.choice.reason;
      co_return result;
    }
    Error error = std::move(result).error();
    // A conditional put that may have happened would fail against itself: the caller has to look.
    const RetryTerms terms{.policy = plan->policy,
                           .deadline = plan->deadline,
                           .repeatable = error.outcome() == Outcome::refused || !plan->conditional(),
                           .sensible = may_retry(error)};
    auto ended = co_await after_failure(engine, &attempts, std::move(error), terms, control);
    if (ended) co_return std::move(*ended);
  }
}

}  // namespace

Task<Result<TransferResult>> put_object(std::shared_ptr<Engine> engine, PutRequest request, Memory from,
                                        TransferOptions options, std::shared_ptr<detail::TransferState> state,
                                        std::shared_ptr<AttemptControl> control) {
  const std::string context = describe("put", request.bucket, request.key);
  auto plan = make_plan(*engine, std::move(request), from, options);
  if (!plan) {
    plan.error().add_context(context);
    co_return std::move(plan).error();
  }
  if (plan->checksum != ChecksumMode::none) plan->crc = co_await checksum_of(engine, plan->bytes());
  auto result = co_await run_attempts(engine, &*plan, state.get(), control);
  if (!result) result.error().add_context(context);
  co_return result;
}

}  // namespace sluice::client
