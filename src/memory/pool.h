// Equal page-aligned buffers under one limit: staging memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "memory/memory.h"
#include "sluice/error.h"

namespace sluice {

class PooledBuffer;

/// Hands out buffers of `buffer_bytes` each, never more than `limit_bytes` in all. Buffers are mapped when
/// first needed and kept when given back; what was in them stays in them. Safe from any thread; never waits
/// for a buffer. The pool may go before its buffers: the last of them frees what is left.
class BufferPool {
 public:
  /// Errors: invalid_argument unless 0 < buffer_bytes <= limit_bytes.
  static Result<BufferPool> make(std::size_t buffer_bytes, std::uint64_t limit_bytes);

  /// Errors: overloaded when the limit is reached (try again when one came back), out_of_memory.
  [[nodiscard]] Result<PooledBuffer> try_take();
  /// Unmaps the buffers that nobody uses; returns how many.
  std::size_t trim();

  [[nodiscard]] std::size_t buffer_bytes() const noexcept;
  [[nodiscard]] std::size_t limit() const noexcept;   ///< how many buffers there can be
  [[nodiscard]] std::size_t in_use() const noexcept;  ///< taken and not given back
  [[nodiscard]] std::size_t idle() const noexcept;    ///< mapped and free
  [[nodiscard]] std::uint64_t bytes_in_use() const noexcept {
    return std::uint64_t{in_use()} * buffer_bytes();
  }

 private:
  friend class PooledBuffer;
  struct State;
  explicit BufferPool(std::shared_ptr<State> state) : state_(std::move(state)) {}
  std::shared_ptr<State> state_;
};

/// One buffer of a pool; goes back on destruction. Move-only; an empty one holds nothing. One thread at a
/// time, and not necessarily the thread that took it. Whoever gives it to a fabric keeps it until the fabric
/// is done with it.
class PooledBuffer {
 public:
  PooledBuffer() = default;
  PooledBuffer(PooledBuffer&& other) noexcept = default;
  PooledBuffer& operator=(PooledBuffer&& other) noexcept;
  PooledBuffer(const PooledBuffer&) = delete;
  PooledBuffer& operator=(const PooledBuffer&) = delete;
  ~PooledBuffer();
  [[nodiscard]] std::byte* data() const { return buffer_.data(); }
  [[nodiscard]] std::size_t size() const { return buffer_.size(); }
  [[nodiscard]] std::span<std::byte> span() const { return buffer_.span(); }
  explicit operator bool() const { return static_cast<bool>(buffer_); }

 private:
  friend class BufferPool;
  PooledBuffer(std::shared_ptr<BufferPool::State> pool, AlignedBuffer buffer)
      : pool_(std::move(pool)), buffer_(std::move(buffer)) {}
  void give_back() noexcept;
  std::shared_ptr<BufferPool::State> pool_;
  AlignedBuffer buffer_;
};

}  // namespace sluice
