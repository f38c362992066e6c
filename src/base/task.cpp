#include "base/task.h"

#include <atomic>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/thread_pool.hpp>
#include <exception>

#include "base/log.h"

namespace sluice {

Result<void> spawn(Executor executor, Gate& gate, std::string name, Task<void> task) {
  auto holder = gate.enter(name);
  if (!holder) return std::move(holder).error();
  auto held = std::make_shared<Gate::Holder>(std::move(*holder));
  boost::asio::co_spawn(executor, std::move(task),
                        [held, name = std::move(name)](std::exception_ptr escaped) {
                          if (escaped) {
                            std::string what = "unknown exception";
                            try {
                              std::rethrow_exception(escaped);
                            } catch (const std::exception& exception) {
                              what = exception.what();
                            } catch (...) {  // NOLINT(bugprone-empty-catch): `what` says it
                            }
                            log::error("task.exception_escaped", {{"task", name}, {"what", what}});
                          }
                          held->release();
                        });
  return {};
}

Task<Result<void>> sleep_until(Deadline deadline) {
  const Executor executor = co_await boost::asio::this_coro::executor;
  boost::asio::steady_timer timer(executor, deadline.when());
  auto [error] = co_await timer.async_wait(boost::asio::as_tuple(boost::asio::use_awaitable));
  if (error) co_return Error(ErrorCode::cancelled, "the wait was cancelled");
  co_return Result<void>{};
}

struct BlockingPool::Impl {
  Impl(std::size_t threads, std::size_t queue_limit) : limit(queue_limit + threads), pool(threads) {}
  const std::size_t limit;
  std::atomic<std::size_t> queued{0};
  boost::asio::thread_pool pool;
};

BlockingPool::BlockingPool(std::size_t threads, std::size_t queue_limit)
    : impl_(std::make_unique<Impl>(threads, queue_limit)) {}

BlockingPool::~BlockingPool() {
  impl_->pool.join();
}

bool BlockingPool::post(std::function<void()> work) {
  if (impl_->queued.fetch_add(1, std::memory_order_relaxed) >= impl_->limit) {
    impl_->queued.fetch_sub(1, std::memory_order_relaxed);
    return false;
  }
  boost::asio::post(impl_->pool, [this, work = std::move(work)]() mutable {
    work();
    work = nullptr;
    impl_->queued.fetch_sub(1, std::memory_order_relaxed);
  });
  return true;
}

}  // namespace sluice
