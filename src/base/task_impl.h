// Templates of task.h.
#pragma once

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <exception>
#include <mutex>
#include <optional>
#include <type_traits>
#include <utility>

namespace sluice {

/// The timer is what the waiter sleeps on: `set` ends it from the waiter's own executor.
template <class T>
struct OneShot<T>::State : std::enable_shared_from_this<OneShot<T>::State> {
  explicit State(Executor where) : executor(std::move(where)) {}
  Executor executor;
  mutable std::mutex mutex;
  std::optional<T> value;
  bool waiting = false;
  boost::asio::steady_timer* timer = nullptr;  ///< only touched on `executor`
};

template <class T>
OneShot<T>::OneShot(Executor executor) : state_(std::make_shared<State>(std::move(executor))) {}

template <class T>
void OneShot<T>::set(T value) {
  bool wake = false;
  {
    const std::lock_guard lock(state_->mutex);
    if (state_->value) return;
    state_->value.emplace(std::move(value));
    wake = state_->waiting;
  }
  if (!wake) return;
  boost::asio::post(state_->executor, [state = state_] {
    if (state->timer != nullptr) state->timer->cancel();
  });
}

template <class T>
bool OneShot<T>::ready() const {
  const std::lock_guard lock(state_->mutex);
  return state_->value.has_value();
}

template <class T>
Task<Result<T>> OneShot<T>::wait(Deadline deadline) {
  const std::shared_ptr<State> state = state_;
  bool ready = false;
  {
    const std::lock_guard lock(state->mutex);
    ready = state->value.has_value();
    state->waiting = true;
  }
  if (!ready) {
    boost::asio::steady_timer timer(state->executor, deadline.when());
    state->timer = &timer;
    (void)co_await timer.async_wait(boost::asio::as_tuple(boost::asio::use_awaitable));
    state->timer = nullptr;
  }
  const std::lock_guard lock(state->mutex);  // no co_await below
  if (!state->value) co_return Error(ErrorCode::timeout, "the deadline passed before the answer came");
  co_return std::move(*state->value);
}

template <class T>
Task<Result<T>> BlockingPool::run(std::function<Result<T>()> call) {
  const Executor executor = co_await boost::asio::this_coro::executor;
  OneShot<Result<T>> done(executor);
  std::function<void()> work = [call = std::move(call), done]() mutable {
    try {
      done.set(call());
    } catch (const std::exception& escaped) {  // a library's; it must not end the pool's thread
      done.set(Error(ErrorCode::internal, std::string("a blocking call threw: ") + escaped.what()));
    }
  };
  if (!post(std::move(work))) {
    co_return Error(ErrorCode::overloaded, "too much file work is waiting; try again later")
        .with_retry(Retry::later);
  }
  // Never abandoned: what `call` refers to must stay alive until it has run.
  auto result = co_await done.wait(Deadline::never());
  if (!result) co_return std::move(result).error();
  co_return std::move(*result);
}

}  // namespace sluice
