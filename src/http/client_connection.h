// A client's connection: one exchange at a time over a stream that outlives it in the pool.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "http/body.h"
#include "http/client.h"
#include "http/stream.h"

namespace sluice::http {

class ClientPoolImpl;

/// What a connection keeps between requests. Only on the pool's executor.
struct KeptConnection {
  explicit KeptConnection(std::shared_ptr<Stream> open) : stream(std::move(open)), body(*stream, buffer) {}
  std::shared_ptr<Stream> stream;
  InputBuffer buffer;
  BodyReader body;
  Deadline::Clock::time_point idle_since;
  bool used = false;
};

class ClientConnection final : public Connection {
 public:
  ClientConnection(std::shared_ptr<ClientPoolImpl> pool, std::unique_ptr<KeptConnection> kept)
      : pool_(std::move(pool)), kept_(std::move(kept)), stream_(*kept_->stream), reused_(kept_->used) {}
  ~ClientConnection() override;

  [[nodiscard]] const ConnectionAddresses& addresses() const override { return stream_.addresses(); }
  [[nodiscard]] bool reused() const override { return reused_; }
  Task<Result<void>> send_head(RequestHead head, Deadline deadline) override;
  Task<Result<void>> send_body(std::span<const std::byte> bytes, Deadline deadline) override;
  Task<Result<ResponseHead>> read_head(Deadline deadline) override;
  Task<Result<std::size_t>> read_body(std::span<std::byte> into, Deadline deadline) override;
  [[nodiscard]] bool body_done() const override { return phase_ == Phase::responding && kept_->body.done(); }
  void abort() override {
    phase_ = Phase::broken;
    stream_.abort();
  }

 private:
  enum class Phase : std::uint8_t { fresh, sending, responding, broken };
  Task<Result<void>> write(Pieces pieces, Deadline deadline);
  /// Adds the endpoint, and what the failure means for the request.
  Error explain(Error error, std::string_view doing);
  [[nodiscard]] bool reusable() const;

  std::shared_ptr<ClientPoolImpl> pool_;
  std::unique_ptr<KeptConnection> kept_;
  Stream& stream_;
  const bool reused_;
  Phase phase_ = Phase::fresh;
  std::string method_;
  std::string unsent_head_;    ///< waits for the first body bytes, to go out with them
  std::uint64_t to_send_ = 0;  ///< body bytes not sent yet
  bool sent_ = false;          ///< bytes of this request may have reached the server
  bool keep_alive_ = false;
};

}  // namespace sluice::http
