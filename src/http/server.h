// The HTTP/1.1 server: connections, limits and timeouts; what a request means is the handler's business.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/deadline.h"
#include "base/limits.h"
#include "base/task.h"
#include "base/uri.h"
#include "http/message.h"
#include "sluice/error.h"

namespace sluice::http {

/// One request and its response. Only on its connection's executor; lives until the handler's task ends.
///
/// The handler must answer exactly once: `respond`, or `begin_response` + `write_body` to the promised
/// length. Whatever of the request body it did not read is drained up to a small bound, else the connection
/// is closed.
class Exchange {
 public:
  virtual ~Exchange() = default;
  [[nodiscard]] virtual const RequestHead& request() const = 0;
  [[nodiscard]] virtual const ConnectionAddresses& addresses() const = 0;
  /// When the head's last byte arrived: leases count from here.
  [[nodiscard]] virtual Deadline::Clock::time_point arrived() const = 0;
  /// Declared length; nullopt for chunked or none.
  [[nodiscard]] virtual std::optional<std::uint64_t> content_length() const = 0;
  [[nodiscard]] virtual bool chunked() const = 0;
  /// The next bytes of the (de-chunked) body into `into`; 0 at its end. Sends "100 Continue" first when asked
  /// for and not yet sent. Errors: peer_gone, timeout (no byte for kBodyProgressTimeout), protocol_error.
  virtual Task<Result<std::size_t>> read_body(std::span<std::byte> into) = 0;
  /// A whole response. HEAD and 204/304 send no body (content-length as given in `declared_length` for HEAD).
  virtual Task<Result<void>> respond(ResponseHead head, std::string body,
                                     std::optional<std::uint64_t> declared_length = std::nullopt) = 0;
  virtual Task<Result<void>> begin_response(ResponseHead head, std::uint64_t content_length) = 0;
  virtual Task<Result<void>> write_body(std::span<const std::byte> bytes) = 0;
  [[nodiscard]] virtual bool response_started() const = 0;
  /// Calls back once if the peer closes or resets the connection while the handler works (RDMA requests have
  /// no body traffic that would show it). Call before the first co_await; dropped when the exchange ends. May
  /// run during any later suspension, on the connection's executor.
  virtual void on_peer_gone(std::function<void()> callback) = 0;
  /// The connection is closed after this response.
  virtual void close_after_response() = 0;
};

using Handler = std::function<Task<void>(Exchange&)>;

struct TlsServerFiles {
  std::string certificate_chain_file;
  std::string private_key_file;
};

struct ServerOptions {
  ListenAddress listen{.host = "127.0.0.1", .port = 9000};
  std::optional<TlsServerFiles> tls;
  std::size_t max_connections = limits::kServerConnections;
  std::size_t max_connections_per_peer = limits::kConnectionsPerPeer;
  std::size_t header_bytes = limits::kHeaderBytes;
  std::chrono::milliseconds header_timeout = limits::kHeaderTimeout;
  std::chrono::milliseconds idle_timeout = limits::kIdleTimeout;
  std::chrono::milliseconds body_progress_timeout = limits::kBodyProgressTimeout;
};

/// Accepts on one address and spreads connections round robin over `executors` (one io_context(1) per
/// thread). A connection, its exchanges and its handler stay on that executor.
///
/// Answers by itself, as small XML-free responses: 400 malformed head, 408 slow head, 414 long target, 431
/// large head, 503 too many connections. Refuses request-smuggling shapes: Content-Length with
/// Transfer-Encoding, differing Content-Lengths, folded headers, bare CR/LF, absolute-form and non-ASCII
/// targets, codings other than chunked.
class Server {
 public:
  /// `handlers[i]` serves the connections of `executors[i]`. Errors: io_error naming the address and the cure
  /// (busy port, unknown host), config_error for TLS files.
  static Result<std::unique_ptr<Server>> start(ServerOptions options, std::vector<Executor> executors,
                                               std::vector<Handler> handlers);
  /// Without a `stop` before it: cuts everything off, without waiting. Handlers may run until the `done` of a
  /// stop has been called, so what they use outlives that; the executors' contexts outlive the server.
  virtual ~Server() = default;
  [[nodiscard]] virtual ListenAddress address() const = 0;  ///< with the port that was really bound
  [[nodiscard]] virtual std::size_t connections() const = 0;
  /// Stops accepting, closes idle connections, lets running exchanges finish ("connection: close"), and at
  /// the deadline closes what is left. `done` gets the number of exchanges that were cut off, on one of the
  /// executors, once all have ended: an exchange that is cut off gets its `on_peer_gone`, but its handler
  /// decides when it ends. Safe from any thread.
  virtual void stop(Deadline deadline, std::function<void(std::size_t)> done) = 0;
};

}  // namespace sluice::http
