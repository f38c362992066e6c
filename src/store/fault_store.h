// A store that fails at a chosen step: how callers prove that every failure leaves things whole.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string_view>

#include "sluice/error.h"
#include "store/store.h"

namespace sluice::store {

/// Counts the steps of all stores, readers and writers that share it, and fails one of them. Every call of
/// the three interfaces that can fail is a step, the first being number 1. A test arms 1, 2, 3, … until a run
/// does not fire. Safe from any thread.
class FaultPlan {
 public:
  enum class Moment : std::uint8_t {
    before,  ///< the step is not done (outcome refused)
    after,   ///< the step is done, and its success is not reported (outcome uncertain)
  };
  /// Starts counting anew. `step` 0 fails nothing.
  void arm(std::uint64_t step, Moment moment = Moment::before, ErrorCode code = ErrorCode::io_error);
  [[nodiscard]] std::uint64_t steps() const { return steps_.load(std::memory_order_relaxed); }
  [[nodiscard]] bool fired() const { return fired_.load(std::memory_order_relaxed); }

  /// For the decorators: is this step the one, and at which moment? `name` goes into the message.
  class Step;
  Step begin(std::string_view name);

 private:
  std::atomic<std::uint64_t> steps_{0};
  std::atomic<std::uint64_t> fail_at_{0};
  std::atomic<Moment> moment_{Moment::before};
  std::atomic<ErrorCode> code_{ErrorCode::io_error};
  std::atomic<bool> fired_{false};
};

class FaultPlan::Step {
 public:
  Step() = default;
  Step(std::string_view name, Moment moment, ErrorCode code)
      : fails_(true), name_(name), moment_(moment), code_(code) {}
  /// An error if the step fails at that moment.
  [[nodiscard]] Result<void> at(Moment moment) const;

 private:
  bool fails_ = false;
  std::string_view name_;
  Moment moment_ = Moment::before;
  ErrorCode code_ = ErrorCode::io_error;
};

/// The decorator. Everything but the failing step goes through to `inner`; readers and writers too.
std::unique_ptr<ObjectStore> make_fault_store(std::shared_ptr<ObjectStore> inner,
                                              std::shared_ptr<FaultPlan> plan);

}  // namespace sluice::store
