// The process-wide table of regions: which memory is known, and what is still out on it.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "memory/interval_index.h"
#include "memory/memory.h"

namespace sluice::fabric {

class Region;

/// Safe from any thread. One per process (`instance`); never destroyed, because regions may outlive statics.
class RegionTable {
 public:
  static RegionTable& instance();
  std::uint64_t add(const Memory& memory, std::weak_ptr<Region> region);
  void remove(std::uint64_t id);
  /// A live, unretired region that covers all of `memory`, or null.
  [[nodiscard]] std::shared_ptr<Region> find(const Memory& memory) const;
  [[nodiscard]] std::size_t size() const;

 private:
  mutable std::mutex mutex_;
  IntervalIndex<std::weak_ptr<Region>> index_;
};

}  // namespace sluice::fabric
