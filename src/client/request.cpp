#include "client/request.h"

#include <array>
#include <utility>

#include "base/encoding.h"
#include "base/limits.h"
#include "base/try.h"
#include "client/retry.h"
#include "s3/errors.h"
#include "s3/headers.h"
#include "s3/sigv4.h"
#include "sluice/version.h"

namespace sluice::client {

Result<http::RequestHead> make_head(const Engine& engine, std::string method, std::string target,
                                    HeaderList headers, std::optional<std::uint64_t> content_length) {
  const auto& options = engine.options();
  headers.set(s3::header::kHost, engine.url().host_header());
  headers.set(s3::header::kUserAgent, "sluice/" SLUICE_VERSION_STRING);
  if (content_length) headers.set(s3::header::kContentLength, std::to_string(*content_length));
  if (!options.credentials.access_key.empty()) {
    s3::Credentials credentials;
    credentials.access_key = options.credentials.access_key;
    credentials.secret_key = options.credentials.secret_key;
    credentials.session_token = options.credentials.session_token;
    s3::SigningScope scope;
    scope.region = options.region;
    SLUICE_CHECK(s3::sign_request(method, target, headers, credentials, scope, WallClock::now(),
                                  s3::kUnsignedPayload));
  }
  http::RequestHead head;
  head.method = std::move(method);
  head.target = std::move(target);
  head.headers = std::move(headers);
  return head;
}

Task<Error> read_error(http::Connection* connection, http::ResponseHead head, std::string context,
                       Deadline deadline) {
  std::string body;
  std::array<std::byte, 4096> piece;
  while (body.size() < limits::kErrorBodyBytes) {
    auto got = co_await connection->read_body(piece, deadline);
    // A body that breaks off is no reason to forget the status.
    if (!got || *got == 0) break;
    body.append(reinterpret_cast<const char*>(piece.data()), *got);
  }
  co_return s3::error_from_response(head.status, head.headers, body, context);
}

namespace {

Task<Result<SmallReply>> exchange_once(std::shared_ptr<Engine> engine, SmallRequest request,
                                       std::size_t body_limit, Deadline deadline, bool fresh) {
  SLUICE_CO_TRY(auto connection, co_await engine->pool().acquire(deadline, fresh));
  std::string target = request.raw_target.empty()
                           ? s3::make_target(request.bucket, request.key, request.query)
                           : request.raw_target;
  const bool has_body = request.method == "PUT" || request.method == "POST";
  std::optional<std::uint64_t> length;
  if (has_body) length = request.body.size();
  http::RequestHead head;
  if (request.sign) {
    SLUICE_CO_TRY(head, make_head(*engine, request.method, target, request.headers, length));
  } else {
    head.method = request.method;
    head.target = target;
    head.headers = request.headers;
    head.headers.set(s3::header::kHost, engine->url().host_header());
  }
  SLUICE_CO_CHECK(co_await connection->send_head(std::move(head), deadline));
  if (!request.body.empty()) {
    const auto bytes = as_bytes(request.body);
    SLUICE_CO_CHECK(co_await connection->send_body(bytes, deadline));
  }
  SLUICE_CO_TRY(auto response, co_await connection->read_head(deadline));
  if (response.status >= 300) {
    co_return co_await read_error(connection.get(), std::move(response), request.context, deadline);
  }
  SLUICE_CO_TRY(std::string text, co_await http::ClientPool::read_text(*connection, body_limit, deadline));
  SmallReply reply;
  reply.status = response.status;
  reply.headers = std::move(response.headers);
  reply.body = std::move(text);
  co_return reply;
}

}  // namespace

Task<Result<SmallReply>> exchange(std::shared_ptr<Engine> engine, SmallRequest request,
                                  std::size_t body_limit, Deadline deadline) {
  bool fresh = false;
  for (int attempt = 1;; ++attempt) {
    auto reply = co_await exchange_once(engine, request, body_limit, deadline, fresh);
    if (reply) co_return reply;
    Error& error = reply.error();
    error.add_context(request.context);
    if (attempt >= engine->options().attempts || !may_retry(error) || engine->closing().cancelled())
      co_return reply;
    // A kept-alive connection may have been closed under us: the next attempt does not trust another one.
    fresh = error.code() == ErrorCode::peer_gone;
    const Deadline pause = backoff(attempt, error.retry_after());
    if (pause >= deadline) co_return reply;
    (void)co_await sleep_until(pause);
  }
}

std::string describe(std::string_view verb, std::string_view bucket, std::string_view key) {
  std::string text(verb);
  text += " s3://";
  text += bucket;
  if (!key.empty()) text += "/";
  for (const char c : key) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte == 0x7f) {
      text += "\\x" + hex_u64(byte, 2);
    } else {
      text += c;
    }
  }
  return text;
}

}  // namespace sluice::client
