// The shared half of a Transfer: completion exactly once, cancellation, progress.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <optional>
#include <vector>

#include "base/cancel.h"
#include "sluice/transfer.h"

namespace sluice::detail {

/// Safe from any thread.
class TransferState {
 public:
  TransferState() : started_(std::chrono::steady_clock::now()) {}

  /// Only the first call counts; callbacks run on the calling thread, outside the lock.
  void complete(Result<TransferResult> result);
  [[nodiscard]] bool done() const;
  [[nodiscard]] Result<TransferResult> wait() const;
  [[nodiscard]] std::optional<Result<TransferResult>> wait_for(std::chrono::milliseconds time) const;
  void on_complete(std::function<void(const Result<TransferResult>&)> callback);

  [[nodiscard]] const CancelSource& cancel_source() const { return cancel_; }
  void add_bytes(std::uint64_t bytes) { bytes_.fetch_add(bytes, std::memory_order_relaxed); }
  void set_bytes(std::uint64_t bytes) { bytes_.store(bytes, std::memory_order_relaxed); }
  [[nodiscard]] std::uint64_t bytes() const { return bytes_.load(std::memory_order_relaxed); }
  [[nodiscard]] std::chrono::steady_clock::time_point started() const { return started_; }

 private:
  const std::chrono::steady_clock::time_point started_;
  CancelSource cancel_;
  std::atomic<std::uint64_t> bytes_{0};
  mutable std::mutex mutex_;
  mutable std::condition_variable done_;
  std::optional<Result<TransferResult>> result_;
  std::vector<std::function<void(const Result<TransferResult>&)>> callbacks_;
};

}  // namespace sluice::detail
