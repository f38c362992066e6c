#include "fabric/region_table.h"

#include <utility>

#include "fabric/window.h"

namespace sluice::fabric {

RegionTable& RegionTable::instance() {
  static auto* table = new RegionTable;
  return *table;
}

std::uint64_t RegionTable::add(const Memory& memory, std::weak_ptr<Region> region) {
  const std::lock_guard lock(mutex_);
  return index_.insert(reinterpret_cast<std::uintptr_t>(memory.data), memory.bytes, std::move(region));
}

void RegionTable::remove(std::uint64_t id) {
  const std::lock_guard lock(mutex_);
  index_.erase(id);
}

std::shared_ptr<Region> RegionTable::find(const Memory& memory) const {
  std::vector<std::weak_ptr<Region>> candidates;
  {
    const std::lock_guard lock(mutex_);
    candidates = index_.covering(reinterpret_cast<std::uintptr_t>(memory.data), memory.bytes);
  }
  // Not under the lock: letting go of a candidate may be letting go of its last reference, whose end needs
  // the lock.
  for (const auto& candidate : candidates) {
    auto region = candidate.lock();
    if (!region || region->retired()) continue;
    if (region->memory().kind == memory.kind && region->memory().device == memory.device) return region;
  }
  return nullptr;
}

std::size_t RegionTable::size() const {
  const std::lock_guard lock(mutex_);
  return index_.size();
}

}  // namespace sluice::fabric
