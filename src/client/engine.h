// Engine: what stands behind a Client handle: one thread, one connection pool, what is known of the endpoint.
#pragma once

#include <unistd.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <functional>
#include <future>
#include <memory>
#include <string>
#include <thread>

#include "base/cancel.h"
#include "base/gate.h"
#include "base/limits.h"
#include "base/task.h"
#include "base/uri.h"
#include "client/endpoint.h"
#include "client/transfer_state.h"
#include "http/client.h"
#include "sluice/client.h"

namespace sluice::client {

/// Safe from any thread unless marked "io thread". Kept alive by the Client handle and by every running
/// coroutine.
class Engine : public std::enable_shared_from_this<Engine> {
 public:
  /// `open_fabric` finds the client half of a fabric name; tests put decorators there.
  static Result<std::shared_ptr<Engine>> make(ClientOptions options,
                                              FabricOpener open_fabric = fabric::client_fabric);
  /// The public handle for an engine.
  static Client wrap(std::shared_ptr<Engine> engine) { return Client(std::move(engine)); }
  ~Engine();
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  [[nodiscard]] const ClientOptions& options() const { return options_; }
  [[nodiscard]] const EndpointUrl& url() const { return url_; }
  [[nodiscard]] Executor executor() { return context_->get_executor(); }
  [[nodiscard]] http::ClientPool& pool() { return *pool_; }  ///< io thread
  [[nodiscard]] Endpoint& endpoint() { return endpoint_; }   ///< io thread
  [[nodiscard]] BlockingPool& hashing() { return hashing_; }
  [[nodiscard]] const CancelToken& closing() const { return closing_token_; }

  /// Whether calls are possible here: not in a forked child, not after close, not on the io thread if
  /// `blocking`.
  [[nodiscard]] Result<void> usable(bool blocking) const;
  [[nodiscard]] bool in_forked_child() const { return ::getpid() != process_; }

  /// Runs `start(engine)` on the io thread and blocks for its result. The coroutine has a deadline of its
  /// own.
  template <class T>
  Result<T> call(std::string name, std::function<Task<Result<T>>(std::shared_ptr<Engine>)> start);

  Transfer get(GetRequest request, Memory into, TransferOptions options);
  Transfer put(PutRequest request, Memory from, TransferOptions options);

  std::size_t close(std::chrono::milliseconds timeout);

 private:
  Engine(ClientOptions options, EndpointUrl url, FabricOpener open_fabric);
  template <class Start>
  Transfer start_transfer(std::string name, Start start);

  const ClientOptions options_;
  const EndpointUrl url_;
  const pid_t process_ = ::getpid();
  /// Shared with the thread: the engine's last owner may be a coroutine on that thread.
  std::shared_ptr<boost::asio::io_context> context_;
  boost::asio::executor_work_guard<boost::asio::io_context::executor_type> keep_running_;
  std::shared_ptr<http::ClientPool> pool_;
  Endpoint endpoint_;
  CancelSource closing_;
  CancelToken closing_token_;
  BlockingPool hashing_{limits::kHashThreads, limits::kBlockingQueue};
  Gate gate_{"client"};
  std::thread thread_;
};

/// Ends a Client handle: closes the engine, except in a forked child, where it is left alone (see
/// engine.cpp).
void dispose(std::shared_ptr<Engine> engine);

template <class T>
Result<T> Engine::call(std::string name, std::function<Task<Result<T>>(std::shared_ptr<Engine>)> start) {
  if (auto ok = usable(true); !ok) return std::move(ok).error();
  auto promise = std::make_shared<std::promise<Result<T>>>();
  auto future = promise->get_future();
  auto self = shared_from_this();
  // A plain function that makes the coroutine: the coroutine's own parameters hold everything (style 8.5 rule
  // 2).
  const auto run = [](std::shared_ptr<Engine> engine,
                      std::function<Task<Result<T>>(std::shared_ptr<Engine>)> begin,
                      std::shared_ptr<std::promise<Result<T>>> out) -> Task<void> {
    Result<T> result = co_await begin(std::move(engine));
    out->set_value(std::move(result));
  };
  if (auto spawned = spawn(executor(), gate_, std::move(name), run(self, std::move(start), promise));
      !spawned) {
    return std::move(spawned).error();
  }
  self.reset();
  try {
    return future.get();
  } catch (const std::future_error&) {
    return Error(ErrorCode::internal, "the client's thread ended before the call did")
        .with_outcome(Outcome::uncertain);
  }
}

}  // namespace sluice::client
