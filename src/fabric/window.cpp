#include "fabric/window.h"

#include <string>

#include "fabric/region_table.h"

namespace sluice::fabric {

std::string_view to_string(Direction direction) noexcept {
  return direction == Direction::get ? "get" : "put";
}

Result<std::shared_ptr<Region>> Region::make(Memory memory, std::shared_ptr<void> owner) {
  if (memory.data == nullptr || memory.bytes == 0) {
    return Error(ErrorCode::invalid_argument,
                 "a region needs memory: a pointer that is not null and at least one byte");
  }
  if (memory.bytes - 1 > UINTPTR_MAX - reinterpret_cast<std::uintptr_t>(memory.data)) {
    return Error(ErrorCode::invalid_argument, "a region of " + std::to_string(memory.bytes) +
                                                  " bytes would wrap around the address space");
  }
  std::shared_ptr<Region> region(new Region(memory, std::move(owner)));
  region->table_id_ = RegionTable::instance().add(memory, region);
  return region;
}

Region::~Region() {
  RegionTable::instance().remove(table_id_);
}

Result<Window> Window::make(std::shared_ptr<Region> region, std::uint64_t offset_in_region,
                            std::uint64_t bytes, Direction direction) {
  if (!region) return Error(ErrorCode::invalid_argument, "a window needs a region");
  if (bytes == 0)
    return Error(ErrorCode::invalid_argument, "a window of zero bytes was asked for; it needs one");
  const std::uint64_t available = region->memory().bytes;
  if (offset_in_region > available || bytes > available - offset_in_region) {
    return Error(ErrorCode::invalid_argument, "a window of " + std::to_string(bytes) + " bytes at offset " +
                                                  std::to_string(offset_in_region) +
                                                  " lies outside its region of " + std::to_string(available) +
                                                  " bytes");
  }
  if (region->retired()) {
    return Error(ErrorCode::invalid_argument,
                 "the region has been released and takes no new window; register the memory again");
  }
  return Window(std::move(region), offset_in_region, bytes, direction);
}

}  // namespace sluice::fabric
