// Memory that objects are moved into and out of.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "sluice/export.h"

namespace sluice {

/// Host memory is dereferenced by the CPU; device memory never is (design rule 11).
enum class MemoryKind : std::uint8_t { host, device };

/// A span of memory and what it is. Does not own it.
struct Memory {
  std::byte* data = nullptr;
  std::size_t bytes = 0;
  MemoryKind kind = MemoryKind::host;
  int device = -1;  ///< device ordinal; -1 for host memory

  static Memory host(std::span<std::byte> span) { return {span.data(), span.size(), MemoryKind::host, -1}; }
  /// Memory that Sluice only reads (a PUT source). Nothing writes through the returned value.
  static Memory host_source(std::span<const std::byte> span) {
    return {const_cast<std::byte*>(span.data()), span.size(), MemoryKind::host, -1};  // NOLINT
  }
};

}  // namespace sluice
