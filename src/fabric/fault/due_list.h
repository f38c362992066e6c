// Closures that run later, from progress(), with a descriptor that says when.
#pragma once

#include <functional>
#include <map>

#include "base/deadline.h"

namespace sluice::fabric {

/// One thread at a time. What has not run on destruction never runs.
class DueList {
 public:
  DueList();
  ~DueList();
  DueList(const DueList&) = delete;
  DueList& operator=(const DueList&) = delete;

  /// Runs `work` in the next `run`.
  void soon(std::function<void()> work) { at(Deadline::at(Deadline::Clock::now()), std::move(work)); }
  void at(Deadline when, std::function<void()> work);
  /// Runs what was due when called (not what that work adds). True if more is due already.
  bool run();
  /// Readable while something is due. A timerfd, owned by the list.
  [[nodiscard]] int descriptor() const noexcept { return timer_; }

 private:
  void arm() const;
  std::multimap<Deadline, std::function<void()>> due_;
  int timer_;
};

}  // namespace sluice::fabric
