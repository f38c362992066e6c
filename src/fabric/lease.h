// How long a server may touch a window, and how long a client must therefore wait (protocol.md 8.4 step 9).
#pragma once

#include <chrono>
#include <cstdint>

#include "base/limits.h"

namespace sluice::fabric {

/// What a gateway publishes in its discovery document; defaults are ours. Values from a peer may be anything:
/// lease and drain count as at least zero and at most limits::kLongestLease, and a rate of zero gives that
/// maximum.
struct LeaseTerms {
  std::chrono::milliseconds lease = limits::kLease;
  std::uint64_t min_bytes_per_second = limits::kLeaseMinBytesPerSecond;
  std::chrono::milliseconds drain = limits::kDrain;

  /// Counted by the server from the arrival of the request head: no operation is posted after it. Rounded up
  /// to whole milliseconds, at most limits::kLongestLease.
  [[nodiscard]] std::chrono::milliseconds duration(std::uint64_t bytes) const;
  /// Counted by the client from the sending of the request: always later than the server's lease + drain.
  [[nodiscard]] std::chrono::milliseconds client_duration(std::uint64_t bytes) const;
};

}  // namespace sluice::fabric
