#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "fabric/fault/fault_fabric.h"

namespace sluice::fabric {

std::string_view to_string(FaultKind kind) noexcept {
  switch (kind) {
    case FaultKind::none:
      return "none";
    case FaultKind::fail_open:
      return "fail_open";
    case FaultKind::fail_before_post:
      return "fail_before_post";
    case FaultKind::fail_after_move:
      return "fail_after_move";
    case FaultKind::short_move:
      return "short_move";
    case FaultKind::over_long:
      return "over_long";
    case FaultKind::duplicate:
      return "duplicate";
    case FaultKind::late:
      return "late";
    case FaultKind::lost_completion:
      return "lost_completion";
    case FaultKind::wrong_key:
      return "wrong_key";
    case FaultKind::delay:
      return "delay";
    case FaultKind::call:
      return "call";
    case FaultKind::fail_fence:
      return "fail_fence";
  }
  return "unknown";
}

FaultPlan::FaultPlan(std::vector<Fault> faults)
    : faults_(std::move(faults)), late_descriptor_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}

FaultPlan::~FaultPlan() {
  if (late_descriptor_ >= 0) ::close(late_descriptor_);
}

Fault FaultPlan::next() {
  const std::lock_guard lock(mutex_);
  ++count_;
  const auto found =
      std::ranges::find_if(faults_, [&](const Fault& fault) { return fault.at_operation == count_; });
  if (found == faults_.end()) return Fault{};
  ++hit_;
  return *found;
}

std::uint64_t FaultPlan::operations() const {
  const std::lock_guard lock(mutex_);
  return count_;
}

bool FaultPlan::all_hit() const {
  const std::lock_guard lock(mutex_);
  return hit_ == faults_.size();
}

bool FaultPlan::plans(FaultKind kind) const {
  return std::ranges::any_of(faults_, [&](const Fault& fault) { return fault.kind == kind; });
}

void FaultPlan::release_late() {
  const std::lock_guard lock(mutex_);
  late_released_ = true;
  ::eventfd_write(late_descriptor_, 1);
}

bool FaultPlan::late_released() const {
  const std::lock_guard lock(mutex_);
  return late_released_;
}

}  // namespace sluice::fabric
