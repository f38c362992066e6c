// The limit to compare with: plain libfabric, one process writing into or reading from another, both
// spinning.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "sluice/error.h"

namespace sluice::bench {

/// The passive side's main: opens an endpoint, registers `bytes`, prints its name and key, and makes progress
/// until its standard input ends. Returns an exit code.
int run_raw_peer(const std::string& provider, std::uint64_t bytes);

/// A peer process and an initiator's endpoint towards it. One thread at a time.
class RawLoop {
 public:
  /// `self` is the benchmark's own executable. Errors: io_error, timeout.
  static Result<std::unique_ptr<RawLoop>> start(const std::string& self, const std::string& provider,
                                                std::uint64_t bytes);
  virtual ~RawLoop() = default;
  /// Seconds to move the first `bytes` of the buffer once, in chunks, `depth` in flight; write = towards the
  /// peer.
  virtual Result<double> move(bool write, std::uint64_t bytes, std::uint64_t chunk, std::size_t depth) = 0;
  [[nodiscard]] virtual int peer_pid() const = 0;
};

}  // namespace sluice::bench
