#include "client/retry.h"

#include <algorithm>

#include "base/encoding.h"
#include "base/limits.h"

namespace sluice::client {

Deadline backoff(int attempt, std::chrono::milliseconds retry_after) {
  const int doublings = std::min(attempt, 16);
  const auto ceiling =
      std::min<std::chrono::milliseconds>(limits::kBackoffCap, limits::kBackoffBase * (1LL << doublings));
  const auto jitter =
      std::chrono::milliseconds(random_u64() % static_cast<std::uint64_t>(ceiling.count() + 1));
  return Deadline::after(std::max(jitter, retry_after));
}

bool may_retry(const Error& error) {
  switch (error.code()) {
    case ErrorCode::timeout:
    case ErrorCode::cancelled:
    case ErrorCode::fence_failed:
    case ErrorCode::declined:
      return false;
    case ErrorCode::peer_gone:
      return true;
    default:
      return error.retry() != Retry::never;
  }
}

}  // namespace sluice::client
