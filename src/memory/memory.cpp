#include "memory/memory.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <string>
#include <utility>

namespace sluice {
namespace {

std::size_t page_bytes() {
  static const auto bytes = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  return bytes;
}

std::size_t mapping_bytes(std::size_t bytes) {
  return (bytes + page_bytes() - 1) / page_bytes() * page_bytes();
}

}  // namespace

Result<AlignedBuffer> AlignedBuffer::allocate(std::size_t bytes) {
  if (bytes == 0) return Error(ErrorCode::invalid_argument, "a buffer of zero bytes was asked for");
  const auto no_memory = [&] {
    return Error(ErrorCode::out_of_memory,
                 "no memory for a buffer of " + std::to_string(bytes) +
                     " bytes; ask for less, or raise the memory limit of the process");
  };
  if (bytes > SIZE_MAX - page_bytes()) return no_memory();
  void* mapped =
      ::mmap(nullptr, mapping_bytes(bytes), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapped == MAP_FAILED) return no_memory();
  AlignedBuffer buffer;
  buffer.data_ = static_cast<std::byte*>(mapped);
  buffer.size_ = bytes;
  return buffer;
}

AlignedBuffer::AlignedBuffer(AlignedBuffer&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}

AlignedBuffer& AlignedBuffer::operator=(AlignedBuffer&& other) noexcept {
  AlignedBuffer taken(std::move(other));
  std::swap(data_, taken.data_);
  std::swap(size_, taken.size_);
  return *this;
}

AlignedBuffer::~AlignedBuffer() {
  if (data_ != nullptr) ::munmap(data_, mapping_bytes(size_));
}

}  // namespace sluice
