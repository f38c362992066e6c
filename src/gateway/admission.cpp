#include "gateway/admission.h"

#include <algorithm>

#include "base/limits.h"
#include "base/metrics.h"
#include "base/try.h"

namespace sluice::gateway {
namespace {

Error overloaded(std::string_view why) {
  return Error(ErrorCode::overloaded, std::string(why)).with_retry(Retry::later, std::chrono::seconds(1));
}

}  // namespace

/// One who waits. `granted` buffers are counted as his from the moment the OneShot is set.
struct StagingWaiter {
  std::string client;
  std::size_t count;
  OneShot<bool> granted;
};

class StagingState : public std::enable_shared_from_this<StagingState> {
 public:
  StagingState(BufferPool pool, std::size_t total)
      : pool_(std::move(pool)), total_(total), most_(total - total / 4) {}

  Task<Result<StagingLoan>> take(std::string client, std::size_t count, Deadline deadline) {
    count = std::min(count, most_);
    const Executor executor = co_await boost::asio::this_coro::executor;
    OneShot<bool> granted(executor);
    std::list<StagingWaiter>::iterator place;
    bool waits = false;
    {
      const std::lock_guard lock(mutex_);  // no co_await below, to the end of the block
      if (waiters_.empty() && used_ + count <= total_ && held_by(client) + count <= most_) {
        account(client, count);
      } else if (waiters_.size() >= limits::kStagingWaiters || deadline.expired()) {
        co_return overloaded("the staging memory is in use; try again later");
      } else {
        place = waiters_.insert(waiters_.end(), StagingWaiter{client, count, granted});
        waits = true;
        wake_next();
      }
    }
    if (waits) {
      static metrics::Counter& waited = metrics::counter("sluice_gateway_staging_waits_total");
      waited.add();
      auto answer = co_await granted.wait(deadline);
      if (!answer) {
        const std::lock_guard lock(mutex_);
        if (!granted.ready()) {
          waiters_.erase(place);
          wake_next();
          co_return overloaded("the staging memory stayed in use; try again later");
        }
        // Granted between the deadline and this line: it is ours.
      }
    }
    co_return fill(std::move(client), count);
  }

  void give_back(const std::string& client, std::size_t count) {
    const std::lock_guard lock(mutex_);
    used_ -= count;
    const auto holder = held_.find(client);
    holder->second -= count;
    if (holder->second == 0) held_.erase(holder);
    wake_next();
  }

  std::size_t buffer_bytes() const { return pool_.buffer_bytes(); }
  std::size_t waiting() const {
    const std::lock_guard lock(mutex_);
    return waiters_.size();
  }
  std::size_t in_use() const {
    const std::lock_guard lock(mutex_);
    return used_;
  }

 private:
  void account(const std::string& client, std::size_t count) {
    used_ += count;
    held_[client] += count;
  }

  std::size_t held_by(const std::string& client) const {
    const auto holds = held_.find(client);
    return holds == held_.end() ? 0 : holds->second;
  }

  bool others_wait(const std::string& client) const {
    return std::any_of(waiters_.begin(), waiters_.end(),
                       [&](const StagingWaiter& w) { return w.client != client; });
  }

  // Grants to as many as fit, in order; whoever would hold more than half steps aside while others wait.
  void wake_next() {
    while (grant_one()) {
    }
  }

  bool grant_one() {
    for (auto waiter = waiters_.begin(); waiter != waiters_.end(); ++waiter) {
      const std::size_t would_hold = held_by(waiter->client) + waiter->count;
      const bool steps_aside =
          would_hold > waiter->count && would_hold > total_ / 2 && others_wait(waiter->client);
      if (steps_aside || would_hold > most_) continue;
      if (used_ + waiter->count > total_) return false;
      account(waiter->client, waiter->count);
      waiter->granted.set(true);
      waiters_.erase(waiter);
      return true;
    }
    return false;
  }

  Result<StagingLoan> fill(std::string client, std::size_t count) {
    std::vector<PooledBuffer> buffers;
    buffers.reserve(count);
    for (std::size_t i = 0; i < count; ++i) {
      auto buffer = pool_.try_take();
      if (!buffer) {
        buffers.clear();
        give_back(client, count);
        return std::move(buffer).error();
      }
      buffers.push_back(std::move(*buffer));
    }
    return StagingLoan(shared_from_this(), std::move(client), std::move(buffers));
  }

  mutable std::mutex mutex_;
  BufferPool pool_;
  const std::size_t total_;
  const std::size_t most_;  ///< for one client
  std::size_t used_ = 0;
  std::unordered_map<std::string, std::size_t> held_;
  std::list<StagingWaiter> waiters_;
};

StagingLoan& StagingLoan::operator=(StagingLoan&& other) noexcept {
  if (this != &other) {
    give_back();
    state_ = std::move(other.state_);
    client_ = std::move(other.client_);
    buffers_ = std::move(other.buffers_);
  }
  return *this;
}

StagingLoan::~StagingLoan() {
  give_back();
}

void StagingLoan::give_back() noexcept {
  if (!state_) return;
  const std::size_t count = buffers_.size();
  buffers_.clear();
  state_->give_back(client_, count);
  state_.reset();
}

Result<Staging> Staging::make(std::size_t buffer_bytes, std::uint64_t limit_bytes) {
  SLUICE_TRY(BufferPool pool, BufferPool::make(buffer_bytes, limit_bytes));
  const std::size_t total = pool.limit();
  return Staging(std::make_shared<StagingState>(std::move(pool), total));
}

Task<Result<StagingLoan>> Staging::take(std::string client, std::size_t count, Deadline deadline) const {
  return state_->take(std::move(client), count, deadline);
}
std::size_t Staging::buffer_bytes() const {
  return state_->buffer_bytes();
}
std::size_t Staging::waiting() const {
  return state_->waiting();
}
std::size_t Staging::in_use() const {
  return state_->in_use();
}

}  // namespace sluice::gateway
