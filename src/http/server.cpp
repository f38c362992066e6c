#include "http/server.h"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ip/v6_only.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <tuple>
#include <utility>

#include "base/encoding.h"
#include "base/log.h"
#include "base/try.h"
#include "http/server_connection.h"
#include "http/tls.h"

namespace sluice::http {

namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;

constexpr auto kAwait = asio::as_tuple(asio::use_awaitable);
constexpr std::string_view kTooMany =
    "HTTP/1.1 503 Service Unavailable\r\nretry-after: 1\r\ncontent-length: 0\r\nconnection: close\r\n\r\n";

Error listen_error(const ListenAddress& address, const error_code& code) {
  std::string message;
  if (code == asio::error::address_in_use) {
    message = address.to_string() + " is in use by another program; choose another with --listen or stop it";
  } else if (code == asio::error::access_denied) {
    message = "may not listen on " + address.to_string() +
              ": ports below 1024 are for root; choose another with --listen";
  } else if (code.value() == EADDRNOTAVAIL) {
    message = "cannot listen on " + address.to_string() +
              ": this machine does not have that address; choose another with --listen";
  } else {
    message = "cannot listen on " + address.to_string() + ": " + code.message();
  }
  return Error(ErrorCode::io_error, std::move(message)).with_native("errno", code.value());
}

Result<tcp::acceptor> open_acceptor(const Executor& executor, const ListenAddress& address,
                                    tcp::endpoint endpoint) {
  tcp::acceptor acceptor(executor);
  error_code code;
  acceptor.open(endpoint.protocol(), code);
  if (!code) acceptor.set_option(tcp::acceptor::reuse_address(true), code);
  if (!code && endpoint.address().is_v6()) {
    // All interfaces means both families; a given IPv6 address means that one.
    acceptor.set_option(asio::ip::v6_only(!endpoint.address().is_unspecified() || !address.host.empty()),
                        code);
  }
  if (!code) acceptor.bind(endpoint, code);
  if (!code) acceptor.listen(limits::kListenBacklog, code);
  if (code) return listen_error(address, code);
  return acceptor;
}

Result<tcp::acceptor> listen(const Executor& executor, const ListenAddress& address) {
  if (address.host.empty()) {
    auto both = open_acceptor(executor, address, {asio::ip::address_v6::any(), address.port});
    if (both || both.error().native().value == EADDRINUSE) return both;
    return open_acceptor(executor, address, {asio::ip::address_v4::any(), address.port});
  }
  tcp::resolver resolver(executor);
  error_code code;
  const auto found = resolver.resolve(address.host, std::to_string(address.port),
                                      tcp::resolver::passive | tcp::resolver::numeric_service, code);
  if (code || found.empty()) {
    return Error(ErrorCode::io_error, "cannot listen on " + address.to_string() +
                                          ": the host is not known; choose another with --listen");
  }
  return open_acceptor(executor, address, found.begin()->endpoint());
}

class ServerImpl final : public Server {
 public:
  ServerImpl(std::shared_ptr<ServerShared> shared, tcp::acceptor acceptor)
      : shared_(std::move(shared)), acceptor_(std::make_shared<tcp::acceptor>(std::move(acceptor))) {
    error_code ignored;
    address_ = shared_->options.listen;
    address_.port = acceptor_->local_endpoint(ignored).port();
  }
  ~ServerImpl() override {
    if (!shared_->stopping) stop(Deadline::after({}), [](std::size_t) {});
  }

  [[nodiscard]] ListenAddress address() const override { return address_; }
  [[nodiscard]] std::size_t connections() const override { return shared_->connections; }
  void stop(Deadline deadline, std::function<void(std::size_t)> done) override;

  Result<void> start() {
    return spawn(shared_->executors[0], shared_->gate, "http.accept", accept_all(shared_, acceptor_));
  }

 private:
  static Task<void> accept_all(std::shared_ptr<ServerShared> shared, std::shared_ptr<tcp::acceptor> acceptor);
  static void take(const std::shared_ptr<ServerShared>& shared, std::size_t shard, tcp::socket socket);
  static Task<void> turn_away(std::shared_ptr<ServerShared> shared, tcp::socket socket);
  /// On every executor, for all its connections.
  static void for_each(const std::shared_ptr<ServerShared>& shared, void (ServerConnection::*action)());

  std::shared_ptr<ServerShared> shared_;
  std::shared_ptr<tcp::acceptor> acceptor_;
  ListenAddress address_;
};

Task<void> ServerImpl::accept_all(std::shared_ptr<ServerShared> shared,
                                  std::shared_ptr<tcp::acceptor> acceptor) {
  for (std::size_t next = 0; !shared->stopping; ++next) {
    const std::size_t shard = next % shared->executors.size();
    std::tuple<error_code, tcp::socket> accepted =
        co_await acceptor->async_accept(shared->executors[shard], kAwait);
    const error_code code = std::get<0>(accepted);
    if (!code) {
      take(shared, shard, std::move(std::get<1>(accepted)));
      continue;
    }
    if (shared->stopping || code == asio::error::operation_aborted || code == asio::error::bad_descriptor)
      break;
    if (code == asio::error::connection_aborted) continue;
    log::warn("http.accept_failed", {{"what", code.message()}});
    const auto slept = co_await sleep_until(Deadline::after(limits::kAcceptRetry));
    if (!slept) break;
  }
}

void ServerImpl::take(const std::shared_ptr<ServerShared>& shared, std::size_t shard, tcp::socket socket) {
  error_code gone;
  const auto peer = socket.remote_endpoint(gone);
  if (gone) return;
  auto admission = Admission::admit(shared, peer.address().to_string());
  const Executor& executor = shared->executors[shard];
  if (admission) {
    // A closing gate drops the socket: the server is going.
    (void)spawn(executor, shared->gate, "http.connection",
                ServerConnection::run(shared, shard, std::move(socket), std::move(*admission)));
    return;
  }
  // A flood of connections is not to be a flood of lines.
  if (const auto now = Deadline::Clock::now(); now - shared->refusal_logged > limits::kLingerTimeout) {
    shared->refusal_logged = now;
    log::warn("http.too_many_connections", {{"peer", peer.address().to_string()}});
  }
  if (shared->tls || shared->refusals >= limits::kRefusalsAtATime) return;
  ++shared->refusals;
  auto refusing = spawn(executor, shared->gate, "http.refusal", turn_away(shared, std::move(socket)));
  if (!refusing) --shared->refusals;
}

Task<void> ServerImpl::turn_away(std::shared_ptr<ServerShared> shared, tcp::socket socket) {
  auto stream = Stream::make(std::move(socket));
  Patience patience;
  patience.last = Deadline::after(limits::kLingerTimeout);
  const auto written = co_await stream->write_all({as_bytes(kTooMany), {}}, patience);
  if (written) co_await stream->linger(patience.last);
  --shared->refusals;
}

void ServerImpl::for_each(const std::shared_ptr<ServerShared>& shared, void (ServerConnection::*action)()) {
  for (std::size_t i = 0; i < shared->executors.size(); ++i) {
    asio::post(shared->executors[i], [shared, i, action] {
      const auto connections = shared->shards[i];
      for (ServerConnection* connection : connections) (connection->*action)();
    });
  }
}

void ServerImpl::stop(Deadline deadline, std::function<void(std::size_t)> done) {
  shared_->stopping = true;
  const Executor executor = shared_->executors[0];
  auto timer = std::make_shared<asio::steady_timer>(executor);
  // The timer belongs to its own wait: a loop that is destroyed instead of run takes it along.
  const std::weak_ptr<asio::steady_timer> waiting = timer;
  asio::post(executor, [shared = shared_, acceptor = acceptor_, timer = std::move(timer), deadline] {
    error_code ignored;
    acceptor->close(ignored);
    if (shared->gate.count() == 0) return;
    timer->expires_at(deadline.when());
    timer->async_wait([shared, timer](const error_code& cancelled) {
      if (!cancelled) for_each(shared, &ServerConnection::cut);
    });
  });
  for_each(shared_, &ServerConnection::stop);
  shared_->gate.on_empty([shared = shared_, executor, waiting, done = std::move(done)] {
    asio::post(executor, [waiting] {
      if (const auto pending = waiting.lock()) pending->cancel();
    });
    done(shared->cut_off);
  });
}

}  // namespace

Result<std::unique_ptr<Server>> Server::start(ServerOptions options, std::vector<Executor> executors,
                                              std::vector<Handler> handlers) {
  if (executors.empty() || executors.size() != handlers.size()) {
    return Error(ErrorCode::internal, "an HTTP server needs one handler for each of its executors");
  }
  auto shared = std::make_shared<ServerShared>();
  if (options.tls) {
    SLUICE_TRY(shared->tls, make_server_tls(*options.tls));
  }
  SLUICE_TRY(auto acceptor, listen(executors[0], options.listen));
  shared->options = std::move(options);
  shared->shards.resize(executors.size());
  shared->executors = std::move(executors);
  shared->handlers = std::move(handlers);
  auto server = std::make_unique<ServerImpl>(std::move(shared), std::move(acceptor));
  SLUICE_CHECK(server->start());
  return std::unique_ptr<Server>(std::move(server));
}

}  // namespace sluice::http
