// The framing of chunked bodies, strictly: CRLF only, hex sizes without signs or blanks, bounded lines and
// trailers. Pure; the bytes of the body never pass through here.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "sluice/error.h"

namespace sluice::http {

/// Feed framing bytes until `data_left() > 0` (take that many bytes from the stream yourself and report them
/// with `took`) or `done()`. Plain value.
class ChunkDecoder {
 public:
  /// Consumes framing from the front of `bytes` and stops at body data, at the end of the body, or when
  /// `bytes` is used up; returns how many it consumed. Errors: protocol_error; the decoder is useless then.
  Result<std::size_t> feed(std::span<const std::byte> bytes);
  /// Body bytes that follow now.
  [[nodiscard]] std::uint64_t data_left() const { return state_ == State::data ? left_ : 0; }
  /// `count` <= data_left() of them were taken.
  void took(std::uint64_t count);
  [[nodiscard]] bool done() const { return state_ == State::done; }

 private:
  enum class State : std::uint8_t {
    size_first,
    size,
    extension,
    size_lf,
    data,
    data_cr,
    data_lf,
    trailer_start,
    trailer,
    trailer_lf,
    end_lf,
    done
  };
  State state_ = State::size_first;
  std::uint64_t left_ = 0;
  int digits_ = 0;
  std::size_t line_ = 0;      ///< bytes of the current size line
  std::size_t trailers_ = 0;  ///< bytes of all trailers
};

}  // namespace sluice::http
