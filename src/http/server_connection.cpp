#include "http/server_connection.h"

#include <array>
#include <exception>
#include <utility>

#include "base/encoding.h"
#include "base/log.h"
#include "http/server_exchange.h"

namespace sluice::http {

std::optional<Admission> Admission::admit(std::shared_ptr<ServerShared> shared, std::string peer) {
  const std::lock_guard lock(shared->peers_mutex);
  if (shared->connections >= shared->options.max_connections) return std::nullopt;
  auto& count = shared->peers[peer];
  if (count >= shared->options.max_connections_per_peer) return std::nullopt;
  ++count;
  ++shared->connections;
  return Admission(shared, std::move(peer));
}

Admission::Admission(std::shared_ptr<ServerShared> shared, std::string peer)
    : shared_(std::move(shared)), peer_(std::move(peer)) {}

Admission::~Admission() {
  if (!shared_) return;
  const std::lock_guard lock(shared_->peers_mutex);
  const auto it = shared_->peers.find(peer_);
  if (--it->second == 0) shared_->peers.erase(it);
  --shared_->connections;
}

ServerConnection::ServerConnection(std::shared_ptr<ServerShared> shared, std::size_t shard,
                                   boost::asio::ip::tcp::socket socket)
    : shared_(std::move(shared)),
      shard_(shard),
      stream_(Stream::make(std::move(socket))),
      body_(*stream_, buffer_) {
  shared_->shards[shard_].insert(this);
}

ServerConnection::~ServerConnection() {
  shared_->shards[shard_].erase(this);
}

Task<void> ServerConnection::run(std::shared_ptr<ServerShared> shared, std::size_t shard,
                                 boost::asio::ip::tcp::socket socket, [[maybe_unused]] Admission admission) {
  ServerConnection connection(std::move(shared), shard, std::move(socket));
  co_await connection.serve();
}

void ServerConnection::stop() {
  if (idle_) stream_->close();
}

void ServerConnection::cut() {
  if (running_) ++shared_->cut_off;
  stream_->close();
}

Task<void> ServerConnection::serve() {
  bool alive = !shared_->stopping;
  if (alive && shared_->tls) {
    const auto shaken =
        co_await stream_->handshake(*shared_->tls, {}, Deadline::after(limits::kTlsHandshakeTimeout));
    if (!shaken) {
      log::debug("http.tls_handshake_failed",
                 {{"peer", stream_->addresses().peer}, {"what", shaken.error().describe()}});
      alive = false;
    }
  }
  while (alive && !(shared_->stopping && buffer_.empty())) {
    auto request = co_await read_head();
    alive = request.has_value();
    if (alive) alive = co_await exchange(std::move(*request));
  }
  if (lingers_) co_await stream_->linger(Deadline::after(limits::kLingerTimeout));
  stream_->close();
}

Task<std::optional<ParsedRequest>> ServerConnection::read_head() {
  const ServerOptions& options = shared_->options;
  const HeadLimits head_limits{.bytes = options.header_bytes};
  HeadScanner scanner(head_limits);
  idle_ = buffer_.empty();
  Deadline deadline = Deadline::after(idle_ ? options.idle_timeout : options.header_timeout);
  HeadScanner::State state = scanner.scan(buffer_.text());
  while (state == HeadScanner::State::more) {
    const auto room = buffer_.prepare(limits::kHeadReadBytes);
    const auto got = co_await stream_->read_some(room, deadline);
    if (!got && got.error().code() == ErrorCode::timeout && !idle_) {
      co_await refuse(HeadFault{408, "the request head did not arrive in time"});
    }
    if (!got || *got == 0) co_return std::nullopt;
    buffer_.commit(*got);
    filled_ = Deadline::Clock::now();
    if (std::exchange(idle_, false)) deadline = Deadline::after(options.header_timeout);
    state = scanner.scan(buffer_.text());
  }
  if (state == HeadScanner::State::refused) {
    co_await refuse(scanner.fault());
    co_return std::nullopt;
  }
  auto parsed = parse_request_head(buffer_.text().substr(scanner.begin(), scanner.end() - scanner.begin()),
                                   head_limits);
  buffer_.consume(scanner.end());
  if (!parsed) {
    co_await refuse(parsed.error());
    co_return std::nullopt;
  }
  body_.start(parsed->framing);
  co_return std::move(*parsed);
}

Task<void> ServerConnection::refuse(HeadFault fault) {
  log::debug("http.request_refused",
             {{"peer", stream_->addresses().peer}, {"status", fault.status}, {"reason", fault.reason}});
  const std::string body = std::string(fault.reason) + "\n";
  ResponseHead head;
  head.status = fault.status;
  head.headers.add("content-type", "text/plain");
  const auto text = write_response_head(
      head, "content-length: " + std::to_string(body.size()) + "\r\nconnection: close\r\n");
  if (!text) co_return;
  Patience patience;
  patience.last = Deadline::after(limits::kLingerTimeout);
  const auto written = co_await stream_->write_all({as_bytes(*text), as_bytes(body)}, patience);
  lingers_ = written.has_value();
}

Task<bool> ServerConnection::exchange(ParsedRequest request) {
  ServerExchange exchange(*this, std::move(request));
  const Handler& handler = shared_->handlers[shard_];
  running_ = true;
  bool threw = false;
  std::string what = "an unknown exception";
  try {
    co_await handler(exchange);
  } catch (const std::exception& exception) {
    threw = true;
    what = exception.what();
  } catch (...) {
    threw = true;
  }
  stream_->unwatch_peer();
  if (threw) log::error("http.handler_threw", {{"method", exchange.request().method}, {"what", what}});
  if (exchange.untouched()) {
    if (!threw) log::error("http.handler_did_not_answer", {{"method", exchange.request().method}});
    exchange.close_after_response();
    ResponseHead head;
    head.status = 500;
    const auto sent = co_await exchange.respond(std::move(head), {}, std::nullopt);
    if (!sent) co_return false;
  }
  running_ = false;
  if (!exchange.answered()) co_return false;  // cut short: the peer counts the bytes
  lingers_ = true;
  if (threw || exchange.closes()) co_return false;
  const bool drained = co_await drain();
  lingers_ = !drained;
  co_return drained;
}

/// What the handler left of the request body, up to a bound.
Task<bool> ServerConnection::drain() {
  const Deadline deadline = Deadline::after(shared_->options.body_progress_timeout);
  std::array<std::byte, 4096> dropped;
  std::uint64_t total = 0;
  while (!body_.done()) {
    const auto got = co_await body_.read(dropped, deadline);
    if (!got) co_return false;
    total += *got;
    if (total > limits::kDrainBytes) co_return false;
  }
  co_return true;
}

}  // namespace sluice::http
