// One accepted connection: request heads in, exchanges run one after the other, and the ways in which it
// ends.
#pragma once

#include <atomic>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl/context.hpp>
#include <cstddef>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "base/gate.h"
#include "http/body.h"
#include "http/head.h"
#include "http/server.h"
#include "http/stream.h"

namespace sluice::http {

class ServerConnection;

/// What a server's connections share. `shards[i]` is touched on `executors[i]` only; the rest is safe from
/// any thread.
struct ServerShared {
  ServerOptions options;
  std::vector<Executor> executors;
  std::vector<Handler> handlers;
  std::shared_ptr<boost::asio::ssl::context> tls;
  std::vector<std::unordered_set<ServerConnection*>> shards;
  std::atomic<bool> stopping{false};
  std::atomic<std::size_t> connections{0};
  std::atomic<std::size_t> refusals{0};        ///< connections over a limit that are being told so
  std::atomic<std::size_t> cut_off{0};         ///< exchanges that `stop` ended
  Deadline::Clock::time_point refusal_logged;  ///< only on executors[0], where connections are accepted
  std::mutex peers_mutex;
  std::unordered_map<std::string, std::size_t> peers;  ///< connections by numeric address
  Gate gate{"http server"};
};

/// A place under the connection limits; given back on destruction, from any thread.
class Admission {
 public:
  /// Nullopt over one of the limits.
  static std::optional<Admission> admit(std::shared_ptr<ServerShared> shared, std::string peer);
  Admission(Admission&& other) noexcept = default;
  Admission& operator=(Admission&&) = delete;
  ~Admission();

 private:
  Admission(std::shared_ptr<ServerShared> shared, std::string peer);
  std::shared_ptr<ServerShared> shared_;
  std::string peer_;
};

/// Lives in its coroutine; only on its executor.
class ServerConnection {
 public:
  ServerConnection(std::shared_ptr<ServerShared> shared, std::size_t shard,
                   boost::asio::ip::tcp::socket socket);
  ServerConnection(const ServerConnection&) = delete;
  ServerConnection& operator=(const ServerConnection&) = delete;
  ~ServerConnection();

  /// The whole life of a connection.
  static Task<void> run(std::shared_ptr<ServerShared> shared, std::size_t shard,
                        boost::asio::ip::tcp::socket socket, Admission admission);
  /// The server is stopping: closes now if no request has begun, else after the response.
  void stop();
  /// Closes now, whatever runs.
  void cut();

 private:
  friend class ServerExchange;
  Task<void> serve();
  Task<std::optional<ParsedRequest>> read_head();
  Task<void> refuse(HeadFault fault);
  Task<bool> exchange(ParsedRequest request);
  Task<bool> drain();

  std::shared_ptr<ServerShared> shared_;
  std::size_t shard_;
  std::shared_ptr<Stream> stream_;
  InputBuffer buffer_;
  BodyReader body_;
  Deadline::Clock::time_point filled_;  ///< when the newest bytes in the buffer arrived
  bool idle_ = true;                    ///< no byte of a request has arrived yet
  bool running_ = false;                ///< a handler is at work
  bool lingers_ = false;                ///< close gently: the peer has a response to read
};

}  // namespace sluice::http
