// Coroutines on Asio: the type, the one place that spawns them, and bridges from callbacks and blocking
// calls.
//
// The rules are style.md 8.5: parameters by value (or references to what outlives the operation), coroutine
// lambdas capture nothing, nothing thread-local or locked across co_await, and with g++ 12 no braced
// aggregate or capturing lambda inside an expression that contains co_await: name it first.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>

#include "base/deadline.h"
#include "base/gate.h"
#include "sluice/error.h"

namespace sluice {

template <class T = void>
using Task = boost::asio::awaitable<T>;
using Executor = boost::asio::any_io_executor;

/// Starts `task` on `executor`, held by `gate` until it ends. The only detached spawn in Sluice. An exception
/// that escapes is logged with `name` and dropped (it is a bug: errors are values). Returns `cancelled` if
/// the gate is closing.
Result<void> spawn(Executor executor, Gate& gate, std::string name, Task<void> task);

/// Suspends until the deadline. Ends early with `cancelled` if the coroutine is cancelled.
Task<Result<void>> sleep_until(Deadline deadline);

/// A one-shot value handed from any thread to one coroutine. `set` may come before or after `wait`.
/// The waiter resumes on its own executor. Ownership: keep it in a shared_ptr shared by both ends.
template <class T>
class OneShot {
 public:
  explicit OneShot(Executor executor);
  void set(T value);  ///< safe from any thread; only the first call counts
  /// One coroutine, once, on `executor`. `timeout` error when the deadline passes first (a later `set` is
  /// dropped).
  Task<Result<T>> wait(Deadline deadline);
  [[nodiscard]] bool ready() const;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

/// A small bounded pool for calls that block: fsync, cold reads, directory walks. Safe from any thread.
class BlockingPool {
 public:
  BlockingPool(std::size_t threads, std::size_t queue_limit);
  ~BlockingPool();  ///< waits for the running calls; queued ones are run too
  BlockingPool(const BlockingPool&) = delete;
  BlockingPool& operator=(const BlockingPool&) = delete;
  /// Runs `call` on a pool thread and resumes the caller on its own executor with what it returned.
  /// `overloaded` when the queue is full. The call itself cannot be cancelled; it must be bounded by nature.
  template <class T>
  Task<Result<T>> run(std::function<Result<T>()> call);

 private:
  bool post(std::function<void()> work);
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace sluice

#include "base/task_impl.h"
