// What a span of memory is: where, how long, and who may touch it.
#pragma once

#include <cstddef>
#include <memory>
#include <span>

#include "sluice/error.h"
#include "sluice/memory.h"

namespace sluice {

/// Page-aligned host memory that frees itself; zero-filled. Safe to move, one owner.
class AlignedBuffer {
 public:
  AlignedBuffer() = default;
  /// `bytes` > 0 is rounded up to whole pages for the mapping; `size()` is what was asked. Errors:
  /// out_of_memory.
  static Result<AlignedBuffer> allocate(std::size_t bytes);
  AlignedBuffer(AlignedBuffer&& other) noexcept;
  AlignedBuffer& operator=(AlignedBuffer&& other) noexcept;
  AlignedBuffer(const AlignedBuffer&) = delete;
  AlignedBuffer& operator=(const AlignedBuffer&) = delete;
  ~AlignedBuffer();
  [[nodiscard]] std::byte* data() const { return data_; }
  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] std::span<std::byte> span() const { return {data_, size_}; }
  explicit operator bool() const { return data_ != nullptr; }

 private:
  std::byte* data_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace sluice
