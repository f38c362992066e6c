// Reading a message body through its framing, straight into the caller's memory where the framing allows.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string_view>

#include "base/deadline.h"
#include "base/task.h"
#include "http/chunked.h"
#include "http/head.h"
#include "http/stream.h"
#include "sluice/error.h"

namespace sluice::http {

/// Bytes received and not consumed yet: heads, chunk framing, and whatever came along with them. Keeps its
/// memory until destroyed; grows on demand. One thread at a time.
class InputBuffer {
 public:
  [[nodiscard]] std::span<const std::byte> bytes() const { return {data_.get() + begin_, end_ - begin_}; }
  [[nodiscard]] std::string_view text() const {
    return {reinterpret_cast<const char*>(data_.get()) + begin_, end_ - begin_};
  }
  [[nodiscard]] bool empty() const { return begin_ == end_; }
  void consume(std::size_t count);
  /// Room for `count` more bytes behind the ones here; `commit` says how many were written. Invalidates
  /// views.
  std::span<std::byte> prepare(std::size_t count);
  void commit(std::size_t count) { end_ += count; }

 private:
  std::unique_ptr<std::byte[]> data_;
  std::size_t capacity_ = 0;
  std::size_t begin_ = 0;
  std::size_t end_ = 0;
};

/// The body of one message at a time. `stream` and `buffer` outlive it; one operation at a time.
class BodyReader {
 public:
  BodyReader(Stream& stream, InputBuffer& buffer) : stream_(stream), buffer_(buffer) {}
  /// Begins the body that follows in the buffer and the stream.
  void start(BodyFraming framing);
  /// The next bytes; 0 at the end. Errors: those of Stream; peer_gone if the stream ends within the body;
  /// protocol_error for broken chunks; invalid_argument for an empty span.
  Task<Result<std::size_t>> read(std::span<std::byte> into, Deadline deadline);
  [[nodiscard]] bool done() const { return done_; }
  /// Body bytes still to come, if the framing tells.
  [[nodiscard]] std::uint64_t left() const { return framing_.kind == BodyFraming::Kind::length ? left_ : 0; }
  [[nodiscard]] const BodyFraming& framing() const { return framing_; }

 private:
  Task<Result<std::size_t>> take(std::span<std::byte> into, Deadline deadline);
  Task<Result<void>> read_chunk_framing(Deadline deadline);
  Error cut_short() const;

  Stream& stream_;
  InputBuffer& buffer_;
  BodyFraming framing_;
  std::uint64_t left_ = 0;
  ChunkDecoder chunks_;
  bool done_ = true;
};

}  // namespace sluice::http
