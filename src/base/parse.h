// Strict parsers: the whole text or an error that says what was wrong and what would be right.
#pragma once

#include <chrono>
#include <cstdint>
#include <string_view>

#include "sluice/error.h"

namespace sluice {

/// Decimal digits only: no sign, blank, or leading '+'. Errors: invalid_argument (also above `max`).
Result<std::uint64_t> parse_u64(std::string_view text, std::uint64_t max = UINT64_MAX);
/// Hex digits of either case without "0x"; 1 to 16 of them.
Result<std::uint64_t> parse_hex_u64(std::string_view text);
/// "4096", "64k"/"64KiB", "1.5GiB" is refused; KiB/MiB/GiB/TiB (also k/m/g/t, Ki/Mi/..) are powers of 1024,
/// KB/MB/GB/TB powers of 1000. Overflow, signs and blanks are errors.
Result<std::uint64_t> parse_size(std::string_view text);
/// "250ms", "5s", "2m", "1h"; a bare number is an error that asks for the unit.
Result<std::chrono::milliseconds> parse_duration(std::string_view text);
/// "true"/"false", "yes"/"no", "on"/"off", "1"/"0".
Result<bool> parse_bool(std::string_view text);
/// "1.5 GiB", "812 B": for people.
std::string format_size(std::uint64_t bytes);
/// "1.24 s", "310 ms".
std::string format_duration(std::chrono::nanoseconds duration);

}  // namespace sluice
