#include "http/chunked.h"

#include "base/limits.h"

namespace sluice::http {

namespace {

int hex_value(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

bool is_text(char c) {
  const auto u = static_cast<unsigned char>(c);
  return c == '\t' || (u >= 0x20 && u != 0x7f);
}

constexpr int kSizeDigits = 15;  // leading zeros included; 2^60 bytes are enough

}  // namespace

void ChunkDecoder::took(std::uint64_t count) {
  left_ -= count;
  if (left_ == 0) state_ = State::data_cr;
}

Result<std::size_t> ChunkDecoder::feed(std::span<const std::byte> bytes) {
  const auto broken = [](const char* what) {
    return Error(ErrorCode::protocol_error, std::string("the chunked body has ") + what);
  };
  std::size_t used = 0;
  while (used < bytes.size() && state_ != State::data && state_ != State::done) {
    const char c = static_cast<char>(bytes[used++]);
    switch (state_) {
      case State::size_first:
      case State::size:
        if (const int digit = hex_value(c); digit >= 0) {
          if (++digits_ > kSizeDigits) return broken("a chunk size that is too long");
          left_ = left_ * 16 + static_cast<std::uint64_t>(digit);
          state_ = State::size;
        } else if (state_ == State::size_first) {
          return broken("a chunk without a size");
        } else if (c == '\r') {
          state_ = State::size_lf;
        } else if (c == ';') {
          state_ = State::extension;
        } else {
          return broken("a malformed chunk size");
        }
        ++line_;
        break;
      case State::extension:
        if (c == '\r') {
          state_ = State::size_lf;
        } else if (!is_text(c)) {
          return broken("control characters in a chunk extension");
        } else if (++line_ > limits::kChunkLineBytes) {
          return broken("a chunk extension that is too long");
        }
        break;
      case State::size_lf:
        if (c != '\n') return broken("a size line that does not end in CRLF");
        line_ = 0;
        digits_ = 0;
        state_ = left_ == 0 ? State::trailer_start : State::data;
        break;
      case State::data_cr:
        if (c != '\r') return broken("a chunk longer than its size");
        state_ = State::data_lf;
        break;
      case State::data_lf:
        if (c != '\n') return broken("a chunk that does not end in CRLF");
        state_ = State::size_first;
        break;
      case State::trailer_start:
        if (c == '\r') {
          state_ = State::end_lf;
          break;
        }
        if (c == ' ' || c == '\t') return broken("a folded trailer line");
        state_ = State::trailer;
        [[fallthrough]];
      case State::trailer:
        if (c == '\r') {
          state_ = State::trailer_lf;
        } else if (!is_text(c)) {
          return broken("control characters in a trailer");
        } else if (++trailers_ > limits::kTrailerBytes) {
          return broken("trailers that are too long");
        }
        break;
      case State::trailer_lf:
        if (c != '\n') return broken("a trailer that does not end in CRLF");
        state_ = State::trailer_start;
        break;
      case State::end_lf:
        if (c != '\n') return broken("an end that is not CRLF");
        state_ = State::done;
        break;
      case State::data:
      case State::done:
        break;
    }
  }
  return used;
}

}  // namespace sluice::http
