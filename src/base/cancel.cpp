#include "base/cancel.h"

#include <condition_variable>
#include <map>
#include <mutex>
#include <thread>
#include <utility>

namespace sluice {

class CancelState {
 public:
  void cancel() {
    std::unique_lock lock(mutex_);
    if (cancelled_) return;
    cancelled_ = true;
    canceller_ = std::this_thread::get_id();
    // One at a time and out of the lock: a callback may unhook others, or itself.
    while (!callbacks_.empty()) {
      auto first = callbacks_.extract(callbacks_.begin());
      running_ = first.key();
      lock.unlock();
      first.mapped()();
      first.mapped() = nullptr;
      lock.lock();
      running_ = 0;
      finished_.notify_all();
    }
  }

  bool cancelled() const {
    const std::lock_guard lock(mutex_);
    return cancelled_;
  }

  /// 0: already cancelled, the caller runs it itself.
  std::uint64_t add(std::function<void()>& callback) {
    const std::lock_guard lock(mutex_);
    if (cancelled_) return 0;
    const std::uint64_t id = next_++;
    callbacks_.emplace(id, std::move(callback));
    return id;
  }

  void remove(std::uint64_t id) {
    std::function<void()> dropped;  // destroyed outside the lock
    std::unique_lock lock(mutex_);
    if (auto found = callbacks_.extract(id); !found.empty()) {
      dropped = std::move(found.mapped());
      return;
    }
    if (canceller_ == std::this_thread::get_id()) return;
    finished_.wait(lock, [&] { return running_ != id; });
  }

 private:
  mutable std::mutex mutex_;
  std::condition_variable finished_;
  std::map<std::uint64_t, std::function<void()>> callbacks_;
  std::uint64_t next_ = 1;
  std::uint64_t running_ = 0;
  std::thread::id canceller_;
  bool cancelled_ = false;
};

CancelRegistration::CancelRegistration(std::shared_ptr<CancelState> state, std::uint64_t id)
    : state_(std::move(state)), id_(id) {}
CancelRegistration::CancelRegistration(CancelRegistration&& other) noexcept
    : state_(std::move(other.state_)), id_(other.id_) {}
CancelRegistration& CancelRegistration::operator=(CancelRegistration&& other) noexcept {
  if (this != &other) {
    if (state_ != nullptr) state_->remove(id_);
    state_ = std::move(other.state_);
    id_ = other.id_;
  }
  return *this;
}
CancelRegistration::~CancelRegistration() {
  if (state_ != nullptr) state_->remove(id_);
}

bool CancelToken::cancelled() const {
  return state_ != nullptr && state_->cancelled();
}

CancelRegistration CancelToken::on_cancel(std::function<void()> callback) const {
  if (state_ == nullptr) return {};
  const std::uint64_t id = state_->add(callback);
  if (id == 0) {
    callback();
    return {};
  }
  return {state_, id};
}

CancelSource::CancelSource() : state_(std::make_shared<CancelState>()) {}
void CancelSource::cancel() const {
  const auto state = state_;  // a callback may destroy this source
  state->cancel();
}

}  // namespace sluice
