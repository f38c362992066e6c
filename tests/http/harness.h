// Servers on threads of their own, a client loop, and raw sockets that say exactly what a test wants on the
// wire.
#pragma once

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <chrono>
#include <cstddef>
#include <cstring>
#include <functional>
#include <future>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "base/deadline.h"
#include "base/encoding.h"
#include "base/file.h"
#include "base/task.h"
#include "fixtures/matchers.h"
#include "fixtures/run_task.h"
#include "http/client.h"
#include "http/server.h"

namespace sluice::http::test {

using namespace std::chrono_literals;

/// Long enough to never matter on a busy machine; a test that needs it has failed.
inline Deadline patient() {
  return Deadline::after(60s);
}

/// An io_context and the thread that runs it.
class Loop {
 public:
  Loop() : guard_(context_.get_executor()), thread_([this] { context_.run(); }) {}
  Loop(const Loop&) = delete;
  Loop& operator=(const Loop&) = delete;
  ~Loop() { end(); }
  void end() {
    guard_.reset();
    if (thread_.joinable()) thread_.join();
  }
  [[nodiscard]] Executor executor() { return context_.get_executor(); }

 private:
  boost::asio::io_context context_{1};
  boost::asio::executor_work_guard<boost::asio::io_context::executor_type> guard_;
  std::thread thread_;
};

inline ServerOptions any_port() {
  ServerOptions options;
  options.listen.host = "127.0.0.1";
  options.listen.port = 0;
  return options;
}

/// A running server; stopped, with its exchanges cut off if need be, on destruction.
class RunningServer {
 public:
  explicit RunningServer(Handler handler, ServerOptions options = any_port(), std::size_t threads = 1) {
    std::vector<Executor> executors;
    std::vector<Handler> handlers;
    for (std::size_t i = 0; i < threads; ++i) {
      loops_.push_back(std::make_unique<Loop>());
      executors.push_back(loops_.back()->executor());
      handlers.push_back(handler);
    }
    auto started = Server::start(std::move(options), std::move(executors), std::move(handlers));
    if (!started) throw std::runtime_error("RunningServer: " + started.error().describe());
    server_ = std::move(*started);
  }
  RunningServer(const RunningServer&) = delete;
  RunningServer& operator=(const RunningServer&) = delete;
  ~RunningServer() {
    if (!stopped_) (void)stop(Deadline::after(0s));
  }
  [[nodiscard]] Server& server() { return *server_; }
  [[nodiscard]] std::uint16_t port() const { return server_->address().port; }
  /// The number of exchanges that were cut off, once all is over.
  std::future<std::size_t> begin_stop(Deadline deadline) {
    stopped_ = true;
    auto cut = std::make_shared<std::promise<std::size_t>>();
    server_->stop(deadline, [cut](std::size_t count) { cut->set_value(count); });
    return cut->get_future();
  }
  std::size_t stop(Deadline deadline) { return begin_stop(deadline).get(); }
  [[nodiscard]] EndpointUrl url(bool tls = false) const {
    EndpointUrl url;
    url.tls = tls;
    url.host = server_->address().host;
    url.port = port();
    return url;
  }

 private:
  std::vector<std::unique_ptr<Loop>> loops_;
  std::unique_ptr<Server> server_;
  bool stopped_ = false;
};

/// A blocking socket to loopback that gives up loudly instead of hanging.
class RawSocket {
 public:
  explicit RawSocket(std::uint16_t port) : fd_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    sockaddr generic{};
    std::memcpy(&generic, &address, sizeof address);
    if (::connect(fd_.get(), &generic, sizeof generic) != 0)
      throw std::runtime_error("RawSocket: cannot connect");
  }
  explicit RawSocket(FileDescriptor fd) : fd_(std::move(fd)) {}
  /// False if the peer had closed.
  bool send(std::string_view text) const {
    while (!text.empty()) {
      const ssize_t sent = ::send(fd_.get(), text.data(), text.size(), MSG_NOSIGNAL);
      if (sent <= 0) return false;
      text.remove_prefix(static_cast<std::size_t>(sent));
    }
    return true;
  }
  /// Reads until `done(text so far)`, the end of the stream or a reset.
  std::string receive(const std::function<bool(const std::string&)>& done) const {
    std::string text;
    while (!done(text)) {
      pollfd waiting{fd_.get(), POLLIN, 0};
      if (::poll(&waiting, 1, 60000) <= 0)
        throw std::runtime_error("RawSocket: nothing came; so far: " + text);
      char buffer[65536];
      const ssize_t got = ::recv(fd_.get(), buffer, sizeof buffer, 0);
      if (got <= 0) break;
      text.append(buffer, static_cast<std::size_t>(got));
    }
    return text;
  }
  std::string receive_all() const {
    return receive([](const std::string&) { return false; });
  }
  std::string receive_until(std::string_view end) const {
    return receive([end](const std::string& text) { return text.find(end) != std::string::npos; });
  }
  /// One response with its content-length body.
  std::string receive_response() const {
    return receive([](const std::string& text) {
      const auto head = text.find("\r\n\r\n");
      if (head == std::string::npos) return false;
      const auto field = text.find("content-length: ");
      const std::size_t length = field < head ? std::stoul(text.substr(field + 16)) : 0;
      return text.size() >= head + 4 + length;
    });
  }
  /// The peer has closed; what it sent before is dropped.
  [[nodiscard]] bool at_end() const { return receive_all().empty(); }
  void shut_write() const { ::shutdown(fd_.get(), SHUT_WR); }
  /// Closes with a reset.
  void reset() {
    const linger hard{1, 0};
    ::setsockopt(fd_.get(), SOL_SOCKET, SO_LINGER, &hard, sizeof hard);
    fd_.reset();
  }
  void close() { fd_.reset(); }
  [[nodiscard]] int descriptor() const { return fd_.get(); }

 private:
  FileDescriptor fd_;
};

/// A listening socket that answers as a test says, one connection at a time.
class RawListener {
 public:
  RawListener() : fd_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    sockaddr generic{};
    std::memcpy(&generic, &address, sizeof address);
    socklen_t size = sizeof generic;
    if (::bind(fd_.get(), &generic, size) != 0 || ::listen(fd_.get(), 16) != 0 ||
        ::getsockname(fd_.get(), &generic, &size) != 0) {
      throw std::runtime_error("RawListener: cannot listen");
    }
    std::memcpy(&address, &generic, sizeof address);
    port_ = ntohs(address.sin_port);
  }
  [[nodiscard]] RawSocket accept() const {
    pollfd waiting{fd_.get(), POLLIN, 0};
    if (::poll(&waiting, 1, 60000) <= 0) throw std::runtime_error("RawListener: nobody came");
    return RawSocket(FileDescriptor(::accept4(fd_.get(), nullptr, nullptr, SOCK_CLOEXEC)));
  }
  [[nodiscard]] std::uint16_t port() const { return port_; }
  [[nodiscard]] EndpointUrl url() const {
    EndpointUrl url;
    url.host = "127.0.0.1";
    url.port = port_;
    return url;
  }

 private:
  FileDescriptor fd_;
  std::uint16_t port_ = 0;
};

inline int status_of(std::string_view response) {
  if (response.substr(0, 9) != "HTTP/1.1 ") return -1;
  return std::stoi(std::string(response.substr(9, 3)));
}

inline RequestHead request(std::string method, std::string target,
                           std::optional<std::uint64_t> length = std::nullopt) {
  RequestHead head;
  head.method = std::move(method);
  head.target = std::move(target);
  head.headers.add("host", "test");
  if (length) head.headers.add("content-length", std::to_string(*length));
  return head;
}

struct Answer {
  ResponseHead head;
  std::string body;
};

/// One whole exchange over the pool.
inline Task<Result<Answer>> fetch(std::shared_ptr<ClientPool> pool, RequestHead head, std::string body) {
  auto connection = co_await pool->acquire(patient());
  if (!connection) co_return std::move(connection).error();
  auto sent = co_await (*connection)->send_head(std::move(head), patient());
  if (sent) sent = co_await (*connection)->send_body(as_bytes(body), patient());
  if (!sent) co_return std::move(sent).error();
  auto response = co_await (*connection)->read_head(patient());
  if (!response) co_return std::move(response).error();
  auto text = co_await ClientPool::read_text(**connection, 128 << 20, patient());
  if (!text) co_return std::move(text).error();
  Answer answer;
  answer.head = std::move(*response);
  answer.body = std::move(*text);
  co_return answer;
}

/// A whole request body as text.
inline Task<Result<std::string>> read_all(Exchange& exchange) {
  std::string text;
  std::vector<std::byte> piece(64 << 10);
  while (true) {
    auto got = co_await exchange.read_body(piece);
    if (!got) co_return std::move(got).error();
    if (*got == 0) co_return text;
    text.append(reinterpret_cast<const char*>(piece.data()), *got);
  }
}

/// Answers with method, target and body, and a header with the body's framing.
inline Task<void> echo(Exchange& exchange) {
  auto body = co_await read_all(exchange);
  ResponseHead head;
  if (!body) {
    head.status = body.error().code() == ErrorCode::timeout ? 408 : 400;
    (void)co_await exchange.respond(std::move(head), {});
    co_return;
  }
  head.headers.add("x-chunked", exchange.chunked() ? "yes" : "no");
  std::string text = exchange.request().method + " " + exchange.request().target + "\n" + *body;
  (void)co_await exchange.respond(std::move(head), std::move(text));
}

}  // namespace sluice::http::test
