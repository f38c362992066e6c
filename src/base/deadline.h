// Points in time after which nobody waits any more. Every wait in Sluice takes one (design rule 12).
#pragma once

#include <algorithm>
#include <chrono>

namespace sluice {

/// A steady-clock instant. Copyable value; safe from any thread.
class Deadline {
 public:
  using Clock = std::chrono::steady_clock;
  static Deadline at(Clock::time_point when) { return Deadline(when); }
  static Deadline after(Clock::duration from_now) { return Deadline(Clock::now() + from_now); }
  /// Far enough away to never matter, near enough to do arithmetic with (100 days).
  static Deadline never() { return after(std::chrono::hours(2400)); }

  [[nodiscard]] Clock::time_point when() const { return when_; }
  [[nodiscard]] bool expired() const { return Clock::now() >= when_; }
  /// Time left, never negative.
  [[nodiscard]] Clock::duration remaining() const {
    return std::max(when_ - Clock::now(), Clock::duration::zero());
  }
  [[nodiscard]] std::chrono::milliseconds remaining_ms() const {
    return std::chrono::ceil<std::chrono::milliseconds>(remaining());
  }
  friend Deadline earlier(Deadline a, Deadline b) { return a.when_ < b.when_ ? a : b; }
  friend Deadline later(Deadline a, Deadline b) { return a.when_ < b.when_ ? b : a; }
  friend auto operator<=>(Deadline a, Deadline b) = default;

 private:
  explicit Deadline(Clock::time_point when) : when_(when) {}
  Clock::time_point when_;
};

}  // namespace sluice
