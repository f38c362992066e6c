#include "http/server_exchange.h"

#include <algorithm>
#include <utility>

#include "base/encoding.h"
#include "base/time.h"
#include "base/try.h"

namespace sluice::http {

namespace {

constexpr std::string_view kContinue = "HTTP/1.1 100 Continue\r\n\r\n";
/// A TLS record takes no more, and a copy of that much costs less than a second record.
constexpr std::size_t kTlsRecordBytes = 16 * limits::kKiB;

}  // namespace

Task<Result<std::size_t>> ServerExchange::read_body(std::span<std::byte> into) {
  const auto step = connection_.shared_->options.body_progress_timeout;
  if (request_.expects_continue && !continued_) {
    continued_ = true;
    // A client that did not wait has its body here already.
    if (connection_.buffer_.empty() && !started_) {
      SLUICE_CO_CHECK(co_await write({as_bytes(kContinue), {}}));
    }
  }
  auto got = co_await connection_.body_.read(into, Deadline::after(step));
  if (!got) {
    body_failed_ = true;
    co_return std::move(got.error()).with_context("reading the request body");
  }
  co_return got;
}

bool ServerExchange::must_close() const {
  const bool body_may_not_come = request_.expects_continue && !continued_;
  return close_ || body_failed_ || body_may_not_come || !request_.keep_alive ||
         connection_.shared_->stopping || connection_.body_.left() > limits::kDrainBytes;
}

bool ServerExchange::bodiless(int status) const {
  return request_.head.method == "HEAD" || status == 204 || status == 304;
}

Result<std::string> ServerExchange::head_text(ResponseHead head, std::optional<std::uint64_t> length) {
  for (const std::string_view ours : {"content-length", "transfer-encoding", "connection"}) {
    head.headers.remove(ours);
  }
  close_ = must_close();
  std::string extra;
  if (!head.headers.has("date")) extra += "date: " + format_http_date(WallClock::now()) + "\r\n";
  if (length) extra += "content-length: " + std::to_string(*length) + "\r\n";
  if (close_) {
    extra += "connection: close\r\n";
  } else if (request_.http10) {
    extra += "connection: keep-alive\r\n";
  }
  return write_response_head(head, extra);
}

Task<Result<void>> ServerExchange::write(Pieces pieces) {
  Patience patience;
  patience.step = connection_.shared_->options.body_progress_timeout;
  auto written = co_await connection_.stream_->write_all(pieces, patience);
  if (!written) {
    failed_ = true;
    co_return std::move(written.error()).with_context("writing the response");
  }
  co_return written;
}

Task<Result<void>> ServerExchange::respond(ResponseHead head, std::string body,
                                           std::optional<std::uint64_t> declared_length) {
  if (started_) co_return Error(ErrorCode::internal, "the exchange has its response already");
  const bool no_body = bodiless(head.status);
  std::optional<std::uint64_t> length = body.size();
  if (head.status == 204 || (head.status == 304 && !declared_length)) {
    length.reset();
  } else if (no_body && declared_length) {
    length = declared_length;
  }
  SLUICE_CO_TRY(std::string text, head_text(std::move(head), length));
  started_ = true;
  if (no_body) body.clear();
  if (connection_.stream_->addresses().tls && text.size() + body.size() <= kTlsRecordBytes) {
    text += body;
    body.clear();
  }
  co_return co_await write({as_bytes(text), as_bytes(body)});
}

Task<Result<void>> ServerExchange::begin_response(ResponseHead head, std::uint64_t content_length) {
  if (started_) co_return Error(ErrorCode::internal, "the exchange has its response already");
  const int status = head.status;
  std::optional<std::uint64_t> length = content_length;
  if (status == 204) length.reset();
  SLUICE_CO_TRY(unsent_head_, head_text(std::move(head), length));
  started_ = true;
  discards_body_ = bodiless(status);
  left_ = content_length;
  if (left_ > 0 && !discards_body_) co_return Result<void>{};
  left_ = 0;
  const std::string text = std::exchange(unsent_head_, {});
  co_return co_await write({as_bytes(text), {}});
}

Task<Result<void>> ServerExchange::write_body(std::span<const std::byte> bytes) {
  if (!started_) co_return Error(ErrorCode::internal, "a response body without its head");
  if (discards_body_) co_return Result<void>{};
  if (bytes.size() > left_) co_return Error(ErrorCode::internal, "a response body longer than was promised");
  if (bytes.empty()) co_return Result<void>{};
  const std::string text = std::exchange(unsent_head_, {});
  SLUICE_CO_CHECK(co_await write({as_bytes(text), bytes}));
  left_ -= bytes.size();
  co_return Result<void>{};
}

void ServerExchange::on_peer_gone(std::function<void()> callback) {
  connection_.stream_->watch_peer(std::move(callback));
}

}  // namespace sluice::http
