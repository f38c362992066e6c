#include "client/transfer_state.h"

#include <utility>

namespace sluice {

namespace detail {

void TransferState::complete(Result<TransferResult> result) {
  std::vector<std::function<void(const Result<TransferResult>&)>> callbacks;
  {
    const std::lock_guard lock(mutex_);
    if (result_) return;
    result_.emplace(std::move(result));
    callbacks.swap(callbacks_);
    // Under the lock: a waiter that wakes up may destroy this object as soon as it can take the lock.
    done_.notify_all();
  }
  for (const auto& callback : callbacks) callback(*result_);
}

bool TransferState::done() const {
  const std::lock_guard lock(mutex_);
  return result_.has_value();
}

Result<TransferResult> TransferState::wait() const {
  std::unique_lock lock(mutex_);
  done_.wait(lock, [this] { return result_.has_value(); });
  return *result_;
}

std::optional<Result<TransferResult>> TransferState::wait_for(std::chrono::milliseconds time) const {
  std::unique_lock lock(mutex_);
  if (!done_.wait_for(lock, time, [this] { return result_.has_value(); })) return std::nullopt;
  return *result_;
}

void TransferState::on_complete(std::function<void(const Result<TransferResult>&)> callback) {
  {
    const std::lock_guard lock(mutex_);
    if (!result_) {
      callbacks_.push_back(std::move(callback));
      return;
    }
  }
  callback(*result_);
}

}  // namespace detail

namespace {
Error empty_handle() {
  return Error(ErrorCode::invalid_argument,
               "this Transfer handle is empty: it was not made by Client::get or Client::put");
}
}  // namespace

Transfer::Transfer(std::shared_ptr<detail::TransferState> state) : state_(std::move(state)) {}

bool Transfer::done() const {
  return state_ == nullptr || state_->done();
}

Result<TransferResult> Transfer::wait() const {
  if (state_ == nullptr) return empty_handle();
  return state_->wait();
}

std::optional<Result<TransferResult>> Transfer::wait_for(std::chrono::milliseconds time) const {
  if (state_ == nullptr) return Result<TransferResult>(empty_handle());
  return state_->wait_for(time);
}

void Transfer::cancel() const {
  if (state_ != nullptr) state_->cancel_source().cancel();
}

void Transfer::on_complete(std::function<void(const Result<TransferResult>&)> callback) const {
  if (state_ == nullptr) {
    callback(empty_handle());
    return;
  }
  state_->on_complete(std::move(callback));
}

std::uint64_t Transfer::bytes_so_far() const {
  return state_ == nullptr ? 0 : state_->bytes();
}

}  // namespace sluice
