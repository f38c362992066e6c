// One code point at a time, strictly.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

namespace sluice::s3 {

/// The code point at `position`, which moves behind it. nullopt (and a step of one byte) for anything that is
/// not well-formed UTF-8: overlong forms, surrogates, beyond U+10FFFF, cut short.
inline std::optional<char32_t> decode_utf8(std::string_view text, std::size_t& position) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char lead = byte(position);
  std::size_t length = 0;
  char32_t value = 0;
  char32_t smallest = 0;
  if (lead < 0x80) {
    ++position;
    return lead;
  }
  if (lead >= 0xc2 && lead <= 0xdf) {
    length = 2, value = lead & 0x1fU, smallest = 0x80;
  } else if (lead >= 0xe0 && lead <= 0xef) {
    length = 3, value = lead & 0x0fU, smallest = 0x800;
  } else if (lead >= 0xf0 && lead <= 0xf4) {
    length = 4, value = lead & 0x07U, smallest = 0x10000;
  }
  if (length == 0 || text.size() - position < length) {
    ++position;
    return std::nullopt;
  }
  for (std::size_t i = 1; i < length; ++i) {
    const unsigned char next = byte(position + i);
    if ((next & 0xc0U) != 0x80) {
      ++position;
      return std::nullopt;
    }
    value = (value << 6U) | (next & 0x3fU);
  }
  if (value < smallest || value > 0x10ffff || (value >= 0xd800 && value <= 0xdfff)) {
    ++position;
    return std::nullopt;
  }
  position += length;
  return value;
}

}  // namespace sluice::s3
