// SHA-256 and its HMAC over texts, for signatures.
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace sluice::s3 {

using Sha256 = std::array<std::byte, 32>;

std::string sha256_hex(std::string_view text);
Sha256 hmac_sha256(std::span<const std::byte> key, std::string_view text);

}  // namespace sluice::s3
