#include "fabric/lease.h"

#include <algorithm>

namespace sluice::fabric {
namespace {

using std::chrono::milliseconds;

milliseconds clamped(milliseconds value) {
  return std::clamp(value, milliseconds{0}, limits::kLongestLease);
}

/// ceil(bytes / rate) in milliseconds, saturating.
milliseconds transfer_time(std::uint64_t bytes, std::uint64_t bytes_per_second) {
  constexpr auto kCap = static_cast<std::uint64_t>(limits::kLongestLease.count());
  if (bytes == 0) return milliseconds{0};
  if (bytes_per_second == 0) return limits::kLongestLease;
  const std::uint64_t seconds = bytes / bytes_per_second;
  if (seconds >= kCap / 1000) return limits::kLongestLease;
  const std::uint64_t rest = bytes % bytes_per_second;
  // Where rest * 1000 would overflow, the rate is so high that rounding it down by 0.1 % only lengthens the
  // lease.
  const bool huge = rest > UINT64_MAX / 1000 - 1;
  const std::uint64_t divisor = huge ? bytes_per_second / 1000 : bytes_per_second;
  const std::uint64_t dividend = huge ? rest : rest * 1000;
  const std::uint64_t part = dividend / divisor + (dividend % divisor == 0 ? 0 : 1);
  return std::min(milliseconds{static_cast<milliseconds::rep>(seconds * 1000 + part)}, limits::kLongestLease);
}

}  // namespace

milliseconds LeaseTerms::duration(std::uint64_t bytes) const {
  return std::min(clamped(lease) + transfer_time(bytes, min_bytes_per_second), limits::kLongestLease);
}

milliseconds LeaseTerms::client_duration(std::uint64_t bytes) const {
  return duration(bytes) + clamped(drain) + limits::kClientMargin;
}

}  // namespace sluice::fabric
