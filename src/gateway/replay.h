// Which signed requests were already used to open a window (design rule 4).
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <unordered_set>

#include "base/limits.h"
#include "base/time.h"
#include "sluice/error.h"

namespace sluice::gateway {

/// Remembers the signatures of requests that carried a token for as long as such a signature would still be
/// accepted (its date plus the allowed clock skew), and refuses the second use. Pure: time is an argument.
/// One thread at a time.
///
/// A signature covers its date, so the same one is always looked up under the same date: whole minutes of
/// dates are dropped at once. 64 of its 256 bits are kept; a false alarm in a full cache has odds of 1 in
/// 10^12.
class ReplayCache {
 public:
  /// `not_before`: requests dated earlier may have been used before this process started.
  ReplayCache(WallClock::time_point not_before, std::chrono::seconds skew = limits::kClockSkew,
              std::size_t capacity = limits::kReplayEntries);

  /// Errors: SlowDown with retry-after (dated before `not_before`; the cache is full), AccessDenied (used
  /// before; `signature` is not 64 hex digits).
  Result<void> admit(std::string_view signature, WallClock::time_point date, WallClock::time_point now);
  [[nodiscard]] std::size_t size() const { return size_; }

 private:
  void drop_expired(WallClock::time_point now);
  const WallClock::time_point not_before_;
  const std::chrono::seconds skew_;
  const std::size_t capacity_;
  std::size_t size_ = 0;
  std::map<std::int64_t, std::unordered_set<std::uint64_t>> by_minute_;
};

}  // namespace sluice::gateway
