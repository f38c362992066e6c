#include "http/client_connection.h"

#include <utility>

#include "base/encoding.h"
#include "base/parse.h"
#include "base/try.h"
#include "http/client_pool.h"

namespace sluice::http {

ClientConnection::~ClientConnection() {
  if (!reusable()) kept_->stream->close();
  kept_->used = true;
  pool_->give_back(std::move(kept_));
}

bool ClientConnection::reusable() const {
  if (phase_ == Phase::fresh) return true;  // nothing was asked
  return phase_ == Phase::responding && keep_alive_ && to_send_ == 0 && kept_->body.done() &&
         kept_->buffer.empty();
}

Error ClientConnection::explain(Error error, std::string_view doing) {
  phase_ = Phase::broken;
  error.set_outcome(sent_ ? Outcome::uncertain : Outcome::refused);
  error.add_context(std::string(doing) + pool_->endpoint().to_string());
  return error;
}

Task<Result<void>> ClientConnection::write(Pieces pieces, Deadline deadline) {
  Patience patience;
  patience.last = deadline;
  auto written = co_await stream_.write_all(pieces, patience);
  sent_ = sent_ || stream_.wrote();
  if (!written) co_return explain(std::move(written).error(), "sending a request to ");
  co_return written;
}

Task<Result<void>> ClientConnection::send_head(RequestHead head, Deadline deadline) {
  if (phase_ != Phase::fresh) {
    co_return Error(ErrorCode::internal, "a connection was asked to send a second request in one loan");
  }
  SLUICE_CO_TRY(std::string text, write_request_head(head));
  if (head.headers.has("transfer-encoding") || head.headers.count("content-length") > 1 ||
      head.headers.count("host") != 1) {
    co_return Error(ErrorCode::invalid_argument,
                    "a request needs one host and at most one content-length header");
  }
  if (const auto length = head.headers.find("content-length")) {
    SLUICE_CO_TRY(to_send_, parse_u64(*length));
  }
  method_ = std::move(head.method);
  phase_ = Phase::sending;
  stream_.reset_wrote();
  if (to_send_ > 0 && !head.headers.has("expect")) {
    unsent_head_ = std::move(text);
    co_return Result<void>{};
  }
  co_return co_await write({as_bytes(text), {}}, deadline);
}

Task<Result<void>> ClientConnection::send_body(std::span<const std::byte> bytes, Deadline deadline) {
  if (phase_ != Phase::sending || bytes.size() > to_send_) {
    co_return Error(ErrorCode::internal, "a request body longer than its content-length");
  }
  if (bytes.empty()) co_return Result<void>{};
  // Under TLS, readable may mean a session ticket.
  if (unsent_head_.empty() && !stream_.addresses().tls && stream_.readable()) {
    // The phase stays: read_head() brings what the server had to say so early.
    co_return Error(ErrorCode::peer_gone, "the server answered or closed before it had the whole body")
        .with_outcome(Outcome::uncertain)
        .with_context("sending a body to " + pool_->endpoint().to_string());
  }
  const std::string text = std::exchange(unsent_head_, {});
  auto written = co_await write({as_bytes(text), bytes}, deadline);
  if (!written) {
    // A server that refuses a body may have answered before it closed.
    if (sent_ && written.error().code() == ErrorCode::peer_gone) phase_ = Phase::sending;
    co_return written;
  }
  to_send_ -= bytes.size();
  co_return written;
}

Task<Result<ResponseHead>> ClientConnection::read_head(Deadline deadline) {
  constexpr std::string_view kDoing = "waiting for the response of ";
  if (phase_ != Phase::sending)
    co_return Error(ErrorCode::internal, "a response was awaited without a request");
  if (!unsent_head_.empty()) {
    const std::string text = std::exchange(unsent_head_, {});
    SLUICE_CO_CHECK(co_await write({as_bytes(text), {}}, deadline));
  }
  InputBuffer& buffer = kept_->buffer;
  for (int interim = 0; interim <= limits::kInterimResponses; ++interim) {
    HeadScanner scanner;
    auto state = scanner.scan(buffer.text());
    while (state == HeadScanner::State::more) {
      auto got = co_await stream_.read_some(buffer.prepare(limits::kHeadReadBytes), deadline);
      if (!got) co_return explain(std::move(got).error(), kDoing);
      if (*got == 0) {
        co_return explain(Error(ErrorCode::peer_gone, "the server closed the connection without a response"),
                          kDoing);
      }
      buffer.commit(*got);
      state = scanner.scan(buffer.text());
    }
    if (state == HeadScanner::State::refused) {
      std::string what = "not an HTTP/1.1 response: " + std::string(scanner.fault().reason);
      co_return explain(Error(ErrorCode::protocol_error, std::move(what)), kDoing);
    }
    auto parsed =
        parse_response_head(buffer.text().substr(scanner.begin(), scanner.end() - scanner.begin()), method_);
    buffer.consume(scanner.end());
    if (!parsed) co_return explain(std::move(parsed).error(), kDoing);
    if (parsed->head.status >= 200) {
      kept_->body.start(parsed->framing);
      keep_alive_ = parsed->keep_alive && parsed->framing.kind != BodyFraming::Kind::until_close;
      phase_ = Phase::responding;
      co_return std::move(parsed->head);
    }
    if (parsed->head.status == 101) break;
  }
  co_return explain(Error(ErrorCode::protocol_error, "interim responses without a final one"), kDoing);
}

Task<Result<std::size_t>> ClientConnection::read_body(std::span<std::byte> into, Deadline deadline) {
  if (phase_ != Phase::responding)
    co_return Error(ErrorCode::internal, "a response body was read without its head");
  auto got = co_await kept_->body.read(into, deadline);
  if (!got) co_return explain(std::move(got).error(), "reading a response body from ");
  co_return got;
}

}  // namespace sluice::http
