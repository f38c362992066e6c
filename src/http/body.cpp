#include "http/body.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

#include "base/limits.h"
#include "base/try.h"

namespace sluice::http {

void InputBuffer::consume(std::size_t count) {
  begin_ += count;
  if (begin_ == end_) begin_ = end_ = 0;
}

std::span<std::byte> InputBuffer::prepare(std::size_t count) {
  if (capacity_ - end_ < count) {
    const std::size_t size = end_ - begin_;
    if (capacity_ - size < count) {
      const std::size_t grown = std::max(size + count, 2 * capacity_);
      std::unique_ptr<std::byte[]> bigger(new std::byte[grown]);
      if (size > 0) std::memcpy(bigger.get(), data_.get() + begin_, size);
      data_ = std::move(bigger);
      capacity_ = grown;
    } else if (size > 0) {
      std::memmove(data_.get(), data_.get() + begin_, size);
    }
    begin_ = 0;
    end_ = size;
  }
  return {data_.get() + end_, count};
}

void BodyReader::start(BodyFraming framing) {
  framing_ = framing;
  left_ = framing.length;
  chunks_ = ChunkDecoder{};
  done_ = framing.kind == BodyFraming::Kind::none;
}

Error BodyReader::cut_short() const {
  std::string what = "the peer closed the connection inside a body";
  if (framing_.kind == BodyFraming::Kind::length) {
    what += ": " + std::to_string(left_) + " of " + std::to_string(framing_.length) + " bytes are missing";
  }
  return Error(ErrorCode::peer_gone, std::move(what));
}

/// Bytes from the buffer if there are any, else from the stream; 0 only at the stream's end.
Task<Result<std::size_t>> BodyReader::take(std::span<std::byte> into, Deadline deadline) {
  if (!buffer_.empty()) {
    const std::size_t count = std::min(into.size(), buffer_.bytes().size());
    std::memcpy(into.data(), buffer_.bytes().data(), count);
    buffer_.consume(count);
    co_return count;
  }
  co_return co_await stream_.read_some(into, deadline);
}

/// Until body bytes follow or the body ends.
Task<Result<void>> BodyReader::read_chunk_framing(Deadline deadline) {
  while (chunks_.data_left() == 0 && !chunks_.done()) {
    if (buffer_.empty()) {
      const auto room = buffer_.prepare(limits::kChunkedReadBytes);
      SLUICE_CO_TRY(const std::size_t got, co_await stream_.read_some(room, deadline));
      if (got == 0) co_return cut_short();
      buffer_.commit(got);
    }
    SLUICE_CO_TRY(const std::size_t used, chunks_.feed(buffer_.bytes()));
    buffer_.consume(used);
  }
  co_return Result<void>{};
}

Task<Result<std::size_t>> BodyReader::read(std::span<std::byte> into, Deadline deadline) {
  if (into.empty()) co_return Error(ErrorCode::invalid_argument, "reading a body into no memory");
  if (done_) co_return std::size_t{0};
  if (framing_.kind == BodyFraming::Kind::until_close) {
    SLUICE_CO_TRY(const std::size_t got, co_await take(into, deadline));
    done_ = got == 0;
    co_return got;
  }
  const bool chunked = framing_.kind == BodyFraming::Kind::chunked;
  if (chunked) {
    SLUICE_CO_CHECK(co_await read_chunk_framing(deadline));
    if (chunks_.done()) {
      done_ = true;
      co_return std::size_t{0};
    }
  }
  const std::uint64_t left = chunked ? chunks_.data_left() : left_;
  SLUICE_CO_TRY(const std::size_t got,
                co_await take(into.first(std::min<std::uint64_t>(left, into.size())), deadline));
  if (got == 0) co_return cut_short();
  if (chunked) {
    chunks_.took(got);
  } else {
    left_ -= got;
    done_ = left_ == 0;
  }
  co_return got;
}

}  // namespace sluice::http
