#include "s3/token_shape.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <vector>

#include "base/encoding.h"
#include "base/headers.h"
#include "base/limits.h"
#include "base/parse.h"

namespace sluice::s3 {
namespace {

constexpr std::size_t kDescriptorBytes = 81;

bool is_hex(std::string_view text, std::size_t digits) {
  return text.size() == digits && std::all_of(text.begin(), text.end(), [](char c) {
           return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
         });
}

bool is_printable(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return c > 0x20 && c < 0x7f; });
}

// No field count above this has a meaning; further ones stay in the last field.
constexpr std::size_t kFields = 10;
std::vector<std::string_view> split(std::string_view text) {
  std::vector<std::string_view> fields;
  while (fields.size() + 1 < kFields) {
    const auto colon = text.find(':');
    if (colon == std::string_view::npos) break;
    fields.push_back(text.substr(0, colon));
    text.remove_prefix(colon + 1);
  }
  fields.push_back(text);
  return fields;
}

// Names at least one byte, and ends inside the address space.
bool is_usable_window(std::string_view address, std::string_view size) {
  const auto base = parse_hex_u64(address);
  const auto bytes = parse_hex_u64(size);
  return base && bytes && *bytes > 0 && *base <= UINT64_MAX - *bytes;
}

// Widths of protocol.md 3.1, strictly: every known sender keeps them.
bool is_descriptor(const std::vector<std::string_view>& fields) {
  constexpr std::array<std::size_t, 7> kWidths = {16, 8, 8, 4, 6, 1, 32};
  if (fields.size() < kWidths.size()) return false;
  for (std::size_t i = 0; i < kWidths.size(); ++i) {
    if (!is_hex(fields[i], kWidths[i])) return false;
  }
  if (fields[5] != "0" && fields[5] != "1") return false;
  return is_usable_window(fields[0], fields[1]);
}

bool is_suffix(std::string_view address, std::string_view size) {
  return is_hex(address, 16) && is_hex(size, 16) && is_usable_window(address, size);
}

bool is_sluice_own(std::string_view text) {
  constexpr std::string_view kPrefix = "sluice-";
  if (!text.starts_with(kPrefix)) return false;
  text.remove_prefix(kPrefix.size());
  const auto colon = text.find(':');
  if (colon == 0 || colon == std::string_view::npos || colon + 1 == text.size()) return false;
  const std::string_view name = text.substr(0, colon);
  return std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
  });
}

bool is_base64_descriptor(std::string_view text) {
  auto bytes = base64_decode(text);
  if (!bytes) return false;
  if (bytes->size() == kDescriptorBytes + 1 && bytes->back() == std::byte{0}) bytes->pop_back();
  if (bytes->size() != kDescriptorBytes) return false;
  const std::string_view decoded(reinterpret_cast<const char*>(bytes->data()), bytes->size());
  const auto fields = split(decoded);
  return fields.size() == 7 && is_descriptor(fields);
}

}  // namespace

std::string_view to_string(TokenShape shape) {
  switch (shape) {
    case TokenShape::ofi1:
      return "ofi1";
    case TokenShape::dc_descriptor:
      return "dc_descriptor";
    case TokenShape::dc_extended:
      return "dc_extended";
    case TokenShape::hipobject:
      return "hipobject";
    case TokenShape::base64_descriptor:
      return "base64_descriptor";
    case TokenShape::rc_shim:
      return "rc_shim";
    case TokenShape::sluice_own:
      return "sluice_own";
    case TokenShape::malformed:
      return "malformed";
    case TokenShape::too_long:
      return "too_long";
  }
  return "malformed";
}

std::string_view trim_token(std::string_view text) {
  text = trim_blanks(text);
  if (text.ends_with(';')) text = trim_blanks(text.substr(0, text.size() - 1));
  return text;
}

TokenShape detect_token_shape(std::string_view text) {
  text = trim_token(text);
  if (text.size() > limits::kTokenTextBytes) return TokenShape::too_long;
  if (text.empty() || !is_printable(text)) return TokenShape::malformed;
  if (text.starts_with("rc:")) return TokenShape::rc_shim;
  if (is_sluice_own(text)) return TokenShape::sluice_own;
  const auto fields = split(text);
  if (fields.size() >= 6 && fields[2] == "ofi1") return TokenShape::ofi1;
  if (is_hex(fields[0], 88)) {
    if (fields.size() == 1) return TokenShape::hipobject;
    // A zero suffix means "no override" there, so only its form is looked at.
    if (fields.size() == 3 && is_hex(fields[1], 16) && is_hex(fields[2], 16)) return TokenShape::hipobject;
  }
  if (fields.size() == 7 && is_descriptor(fields)) return TokenShape::dc_descriptor;
  if (fields.size() == 9 && is_descriptor(fields) && is_suffix(fields[7], fields[8]))
    return TokenShape::dc_extended;
  if (fields.size() == 1 && is_base64_descriptor(text)) return TokenShape::base64_descriptor;
  return TokenShape::malformed;
}

}  // namespace sluice::s3
