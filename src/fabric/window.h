// The nouns of the data plane: region, window, direction.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string_view>
#include <utility>

#include "memory/memory.h"
#include "sluice/error.h"

namespace sluice::fabric {

/// get: the server writes the window. put: the server reads it.
enum class Direction : std::uint8_t { get, put };
std::string_view to_string(Direction direction) noexcept;

/// Memory that Sluice knows for RDMA. Shared ownership: the user's handle and every token out on it hold one
/// reference each; the last owner deregisters. Safe from any thread.
///
/// Dropping the user's handle while a token is out marks the region as leaving: no new window can be made of
/// it, and the deregistration happens when the last token has been fenced (design rule 2).
class Region {
 public:
  /// Enters the process-wide table (region_table.h). `owner` keeps pooled memory alive as long as the region;
  /// it is null for memory of the user's, which must outlive the region or, after a failed fence, the
  /// quarantine. Errors: invalid_argument when the memory is null, empty or wraps around.
  static Result<std::shared_ptr<Region>> make(Memory memory, std::shared_ptr<void> owner = nullptr);
  ~Region();
  Region(const Region&) = delete;
  Region& operator=(const Region&) = delete;

  [[nodiscard]] const Memory& memory() const noexcept { return memory_; }
  /// From now on `Window::make` and `RegionTable::find` refuse this region. Windows that exist go on.
  void retire() noexcept { retired_.store(true, std::memory_order_release); }
  [[nodiscard]] bool retired() const noexcept { return retired_.load(std::memory_order_acquire); }

 private:
  Region(Memory memory, std::shared_ptr<void> owner) : memory_(memory), owner_(std::move(owner)) {}
  Memory memory_;
  std::shared_ptr<void> owner_;
  std::uint64_t table_id_ = 0;
  std::atomic<bool> retired_ = false;
};

/// A byte range of one region with a direction. Copyable; a copy holds the region too.
class Window {
 public:
  /// Errors: invalid_argument when empty, outside the region, or the region is retired.
  static Result<Window> make(std::shared_ptr<Region> region, std::uint64_t offset_in_region,
                             std::uint64_t bytes, Direction direction);
  [[nodiscard]] std::byte* data() const noexcept { return region_->memory().data + offset_; }
  [[nodiscard]] std::uint64_t bytes() const noexcept { return bytes_; }
  [[nodiscard]] Direction direction() const noexcept { return direction_; }
  [[nodiscard]] const std::shared_ptr<Region>& region() const noexcept { return region_; }

 private:
  Window(std::shared_ptr<Region> region, std::uint64_t offset, std::uint64_t bytes, Direction direction)
      : region_(std::move(region)), offset_(offset), bytes_(bytes), direction_(direction) {}
  std::shared_ptr<Region> region_;
  std::uint64_t offset_;
  std::uint64_t bytes_;
  Direction direction_;
};

}  // namespace sluice::fabric
