// The HTTP/1.1 client pool: kept-alive connections, a deadline on every phase, and no retries of its own.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>

#include "base/deadline.h"
#include "base/limits.h"
#include "base/task.h"
#include "base/uri.h"
#include "http/message.h"
#include "sluice/error.h"

namespace sluice::http {

struct TlsClientOptions {
  std::string ca_file;  ///< PEM bundle; empty: the system's
  bool verify_peer = true;
};

struct ClientPoolOptions {
  std::size_t max_connections = limits::kClientConnections;
  std::chrono::milliseconds connect_timeout = limits::kHttpConnectTimeout;
  std::chrono::milliseconds idle_timeout =
      limits::kIdleTimeout;  ///< kept-alive connections older than this are closed
  TlsClientOptions tls;
};

/// One kept-alive connection, lent for one request at a time. Only on the pool's executor.
///
/// Order of calls: send_head, send_body* (exactly content-length bytes), read_head, read_body* until 0. Then
/// let go of it: the destructor gives it back to the pool if the exchange ended cleanly, else closes it. To
/// abandon: just destroy.
class Connection {
 public:
  virtual ~Connection() = default;
  [[nodiscard]] virtual const ConnectionAddresses& addresses() const = 0;
  /// True if an earlier request used this connection: a failure before the first response byte may then only
  /// mean that the server had closed it, and repeating on a new one is right (for requests without side
  /// effects).
  [[nodiscard]] virtual bool reused() const = 0;
  /// The head needs host, and content-length or none; nothing is added to it (it is signed). Never logged.
  virtual Task<Result<void>> send_head(RequestHead head, Deadline deadline) = 0;
  /// After `peer_gone` from here the server may have answered early (it refuses the body): `read_head` still
  /// brings that answer, if there is one.
  virtual Task<Result<void>> send_body(std::span<const std::byte> bytes, Deadline deadline) = 0;
  /// Skips 1xx. Errors: peer_gone, timeout, protocol_error (head too large, malformed). Outcome is
  /// `uncertain`: the request was sent.
  virtual Task<Result<ResponseHead>> read_head(Deadline deadline) = 0;
  /// Straight from the socket into `into` where the framing allows. 0 at the end of the body. Bodies that end
  /// by close are supported; fewer bytes than Content-Length is peer_gone.
  virtual Task<Result<std::size_t>> read_body(std::span<std::byte> into, Deadline deadline) = 0;
  [[nodiscard]] virtual bool body_done() const = 0;
  /// Safe on the pool's executor while another coroutine waits in one of the calls above: ends it with
  /// `cancelled`.
  virtual void abort() = 0;
};

/// Connections to one endpoint. Only on its executor.
class ClientPool {
 public:
  static Result<std::shared_ptr<ClientPool>> make(Executor executor, EndpointUrl endpoint,
                                                  ClientPoolOptions options);
  virtual ~ClientPool() = default;
  [[nodiscard]] virtual const EndpointUrl& endpoint() const = 0;
  /// A connection: the most recently used idle one that is still open, or a new one (`fresh` forces that).
  /// Waits while the pool is at its limit. Errors: peer_gone (refused, unreachable, DNS; names host and
  /// port), timeout, overloaded. All `refused`.
  virtual Task<Result<std::unique_ptr<Connection>>> acquire(Deadline deadline, bool fresh = false) = 0;
  /// Reads the rest of a body as text, up to `limit` bytes (more is protocol_error).
  static Task<Result<std::string>> read_text(Connection& connection, std::size_t limit, Deadline deadline);
  /// Closes idle connections and refuses new ones; lent ones are closed when given back.
  virtual void close() = 0;
};

}  // namespace sluice::http
