// Hex, base64 and percent-encoding. Decoders are strict: one wrong character is an error.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sluice/error.h"

namespace sluice {

std::string hex_encode(std::span<const std::byte> bytes);   ///< lower case
std::string hex_u64(std::uint64_t value, int digits = 16);  ///< zero padded, lower case
Result<std::vector<std::byte>> hex_decode(std::string_view text);
std::string base64_encode(std::span<const std::byte> bytes);
Result<std::vector<std::byte>> base64_decode(
    std::string_view text);  ///< with padding, no white space, no stray bits
/// Big-endian base64 of a 64-bit value: how x-amz-checksum-crc64nvme is spelled (protocol.md 2.6).
std::string base64_u64_be(std::uint64_t value);

enum class EncodeSlash : std::uint8_t { no, yes };
/// RFC 3986 unreserved characters stay, the rest becomes %XX in upper case (the SigV4 UriEncode rule).
std::string percent_encode(std::string_view bytes, EncodeSlash slash);
/// '+' stays a plus. A '%' without two hex digits is an error.
Result<std::string> percent_decode(std::string_view text);

inline std::span<const std::byte> as_bytes(std::string_view text) {
  return {reinterpret_cast<const std::byte*>(text.data()), text.size()};
}

/// `out.size()` bytes from the kernel's random source; ends the process if there is none.
void random_bytes(std::span<std::byte> out);
std::uint64_t random_u64();
/// Comparison whose time does not depend on where the texts differ.
bool equal_constant_time(std::string_view a, std::string_view b);

}  // namespace sluice
