// One request and its response on a server connection.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "http/server_connection.h"

namespace sluice::http {

class ServerExchange final : public Exchange {
 public:
  ServerExchange(ServerConnection& connection, ParsedRequest request)
      : connection_(connection), request_(std::move(request)), arrived_(connection.filled_) {}

  [[nodiscard]] const RequestHead& request() const override { return request_.head; }
  [[nodiscard]] const ConnectionAddresses& addresses() const override {
    return connection_.stream_->addresses();
  }
  [[nodiscard]] Deadline::Clock::time_point arrived() const override { return arrived_; }
  [[nodiscard]] std::optional<std::uint64_t> content_length() const override {
    return request_.content_length;
  }
  [[nodiscard]] bool chunked() const override { return request_.framing.kind == BodyFraming::Kind::chunked; }
  Task<Result<std::size_t>> read_body(std::span<std::byte> into) override;
  Task<Result<void>> respond(ResponseHead head, std::string body,
                             std::optional<std::uint64_t> declared_length) override;
  Task<Result<void>> begin_response(ResponseHead head, std::uint64_t content_length) override;
  Task<Result<void>> write_body(std::span<const std::byte> bytes) override;
  [[nodiscard]] bool response_started() const override { return started_; }
  void on_peer_gone(std::function<void()> callback) override;
  void close_after_response() override { close_ = true; }

  /// The response went out whole.
  [[nodiscard]] bool answered() const { return started_ && !failed_ && left_ == 0; }
  /// Nothing of a response has reached the socket.
  [[nodiscard]] bool untouched() const { return !started_ && !failed_; }
  [[nodiscard]] bool closes() const { return close_; }

 private:
  [[nodiscard]] bool must_close() const;
  [[nodiscard]] bool bodiless(int status) const;
  Result<std::string> head_text(ResponseHead head, std::optional<std::uint64_t> length);
  Task<Result<void>> write(Pieces pieces);

  ServerConnection& connection_;
  ParsedRequest request_;
  Deadline::Clock::time_point arrived_;
  std::string unsent_head_;     ///< waits for the first body bytes, to go out with them
  std::uint64_t left_ = 0;      ///< promised body bytes not written yet
  bool discards_body_ = false;  ///< the response to a HEAD
  bool started_ = false;
  bool failed_ = false;       ///< the stream is broken
  bool body_failed_ = false;  ///< the request body cannot be read to its end
  bool continued_ = false;    ///< "100 Continue" was sent, or is not needed
  bool close_ = false;
};

}  // namespace sluice::http
