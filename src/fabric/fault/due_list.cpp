#include "fabric/fault/due_list.h"

#include <sys/timerfd.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <utility>
#include <vector>

namespace sluice::fabric {

DueList::DueList() : timer_(::timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK)) {}

DueList::~DueList() {
  if (timer_ >= 0) ::close(timer_);
}

void DueList::at(Deadline when, std::function<void()> work) {
  due_.emplace(when, std::move(work));
  arm();
}

bool DueList::run() {
  const Deadline now = Deadline::at(Deadline::Clock::now());
  const auto end = due_.upper_bound(now);
  std::vector<std::function<void()>> ready;
  for (auto it = due_.begin(); it != end; ++it) ready.push_back(std::move(it->second));
  due_.erase(due_.begin(), end);
  for (auto& work : ready) {
    work();
    work = nullptr;  // what it holds goes now, not with the last of them
  }
  arm();
  return !due_.empty() && due_.begin()->first.expired();
}

void DueList::arm() const {
  itimerspec spec{};
  if (!due_.empty()) {
    // steady_clock is CLOCK_MONOTONIC here; an instant in the past fires at once, and zero would disarm.
    const auto when = due_.begin()->first.when().time_since_epoch();
    const auto nanoseconds = std::max<std::int64_t>(1, std::chrono::nanoseconds(when).count());
    spec.it_value.tv_sec = static_cast<time_t>(nanoseconds / 1'000'000'000);
    spec.it_value.tv_nsec = static_cast<long>(nanoseconds % 1'000'000'000);
  }
  ::timerfd_settime(timer_, TFD_TIMER_ABSTIME, &spec, nullptr);
}

}  // namespace sluice::fabric
