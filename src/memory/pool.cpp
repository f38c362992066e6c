#include "memory/pool.h"

#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace sluice {

struct BufferPool::State {
  State(std::size_t bytes, std::size_t count) : buffer_bytes(bytes), limit(count) {}
  const std::size_t buffer_bytes;
  const std::size_t limit;
  mutable std::mutex mutex;
  std::size_t in_use = 0;
  std::vector<AlignedBuffer> free;  ///< last in, first out: the warmest goes out again
};

Result<BufferPool> BufferPool::make(std::size_t buffer_bytes, std::uint64_t limit_bytes) {
  if (buffer_bytes == 0 || limit_bytes < buffer_bytes) {
    return Error(ErrorCode::invalid_argument, "a buffer pool of " + std::to_string(limit_bytes) +
                                                  " bytes has no room for one buffer of " +
                                                  std::to_string(buffer_bytes) + " bytes; raise its limit");
  }
  auto state = std::make_shared<State>(buffer_bytes, static_cast<std::size_t>(limit_bytes / buffer_bytes));
  return BufferPool(std::move(state));
}

Result<PooledBuffer> BufferPool::try_take() {
  {
    const std::lock_guard lock(state_->mutex);
    if (state_->in_use == state_->limit) {
      return Error(ErrorCode::overloaded, "all " + std::to_string(state_->limit) + " buffers of " +
                                              std::to_string(state_->buffer_bytes) + " bytes are in use")
          .with_retry(Retry::later);
    }
    ++state_->in_use;
    // Room for every buffer to come back: giving back must not need memory.
    if (state_->free.capacity() < state_->in_use) state_->free.reserve(2 * state_->in_use);
    if (!state_->free.empty()) {
      AlignedBuffer buffer = std::move(state_->free.back());
      state_->free.pop_back();
      return PooledBuffer(state_, std::move(buffer));
    }
  }
  // Mapped outside the lock: the kernel may take its time.
  auto mapped = AlignedBuffer::allocate(state_->buffer_bytes);
  if (!mapped) {
    const std::lock_guard lock(state_->mutex);
    --state_->in_use;
    return std::move(mapped).error();
  }
  return PooledBuffer(state_, std::move(*mapped));
}

std::size_t BufferPool::trim() {
  std::vector<AlignedBuffer> freed;
  {
    const std::lock_guard lock(state_->mutex);
    for (AlignedBuffer& buffer : state_->free) freed.push_back(std::move(buffer));
    state_->free.clear();  // keeps its room
  }
  return freed.size();
}

std::size_t BufferPool::buffer_bytes() const noexcept {
  return state_->buffer_bytes;
}
std::size_t BufferPool::limit() const noexcept {
  return state_->limit;
}

std::size_t BufferPool::in_use() const noexcept {
  const std::lock_guard lock(state_->mutex);
  return state_->in_use;
}

std::size_t BufferPool::idle() const noexcept {
  const std::lock_guard lock(state_->mutex);
  return state_->free.size();
}

PooledBuffer& PooledBuffer::operator=(PooledBuffer&& other) noexcept {
  if (this == &other) return *this;
  give_back();
  pool_ = std::move(other.pool_);
  buffer_ = std::move(other.buffer_);
  return *this;
}

PooledBuffer::~PooledBuffer() {
  give_back();
}

void PooledBuffer::give_back() noexcept {
  if (!pool_) return;
  {
    const std::lock_guard lock(pool_->mutex);
    --pool_->in_use;
    pool_->free.push_back(std::move(buffer_));
  }
  pool_.reset();
}

}  // namespace sluice
