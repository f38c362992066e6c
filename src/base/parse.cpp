#include "base/parse.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdio>
#include <limits>
#include <string>

namespace sluice {

namespace {

Error bad(std::string_view text, std::string_view what) {
  return Error(ErrorCode::invalid_argument, "'" + std::string(text.substr(0, 64)) + "' " + std::string(what));
}

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

/// Splits "128KiB" into its leading digits and the rest.
std::pair<std::string_view, std::string_view> split_number(std::string_view text) {
  const auto end = std::find_if_not(text.begin(), text.end(), is_digit);
  const auto count = static_cast<std::size_t>(end - text.begin());
  return {text.substr(0, count), text.substr(count)};
}

struct Unit {
  std::string_view name;  ///< lower case
  std::uint64_t factor;
};

constexpr std::uint64_t kKi = 1024;
constexpr std::uint64_t kK = 1000;
constexpr std::array kSizeUnits = {
    Unit{"", 1},
    Unit{"b", 1},
    Unit{"k", kKi},
    Unit{"ki", kKi},
    Unit{"kib", kKi},
    Unit{"kb", kK},
    Unit{"m", kKi* kKi},
    Unit{"mi", kKi* kKi},
    Unit{"mib", kKi* kKi},
    Unit{"mb", kK* kK},
    Unit{"g", kKi* kKi* kKi},
    Unit{"gi", kKi* kKi* kKi},
    Unit{"gib", kKi* kKi* kKi},
    Unit{"gb", kK* kK* kK},
    Unit{"t", kKi* kKi* kKi* kKi},
    Unit{"ti", kKi* kKi* kKi* kKi},
    Unit{"tib", kKi* kKi* kKi* kKi},
    Unit{"tb", kK* kK* kK* kK},
};

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return out;
}

}  // namespace

Result<std::uint64_t> parse_u64(std::string_view text, std::uint64_t max) {
  if (text.empty() || !std::all_of(text.begin(), text.end(), is_digit))
    return bad(text, "is not a whole number");
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value > max) {
    return bad(text, "is more than " + std::to_string(max));
  }
  return value;
}

Result<std::uint64_t> parse_hex_u64(std::string_view text) {
  if (text.empty() || text.size() > 16) return bad(text, "is not 1 to 16 hex digits");
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, 16);
  if (error != std::errc() || end != text.data() + text.size()) return bad(text, "is not 1 to 16 hex digits");
  return value;
}

Result<std::uint64_t> parse_size(std::string_view text) {
  const auto [digits, suffix] = split_number(text);
  constexpr std::string_view kWant =
      "is not a size: write a whole number and B, KiB, MiB, GiB or TiB, such as 64MiB";
  if (digits.empty()) return bad(text, kWant);
  const std::string name = lower(suffix);
  const auto unit =
      std::find_if(kSizeUnits.begin(), kSizeUnits.end(), [&](const Unit& u) { return u.name == name; });
  if (unit == kSizeUnits.end()) return bad(text, kWant);
  auto number = parse_u64(digits);
  if (!number || *number > std::numeric_limits<std::uint64_t>::max() / unit->factor)
    return bad(text, "does not fit into 64 bits");
  return *number * unit->factor;
}

Result<std::chrono::milliseconds> parse_duration(std::string_view text) {
  const auto [digits, suffix] = split_number(text);
  constexpr std::array kUnits = {Unit{"ms", 1}, Unit{"s", 1000}, Unit{"m", 60'000}, Unit{"h", 3'600'000}};
  constexpr std::string_view kWant =
      "is not a duration: write a whole number and ms, s, m or h, such as 500ms or 5s";
  const auto unit =
      std::find_if(kUnits.begin(), kUnits.end(), [&, &s = suffix](const Unit& u) { return u.name == s; });
  if (digits.empty() || unit == kUnits.end()) return bad(text, kWant);
  // 100 days: longer waits are mistakes, and arithmetic on deadlines stays far from overflow.
  constexpr std::uint64_t kMost = 100ULL * 24 * 3'600'000;
  auto number = parse_u64(digits);
  if (!number || *number > kMost / unit->factor) return bad(text, "is longer than 100 days");
  return std::chrono::milliseconds(static_cast<std::int64_t>(*number * unit->factor));
}

Result<bool> parse_bool(std::string_view text) {
  for (const std::string_view yes : {"true", "yes", "on", "1"}) {
    if (text == yes) return true;
  }
  for (const std::string_view no : {"false", "no", "off", "0"}) {
    if (text == no) return false;
  }
  return bad(text, "is neither true nor false");
}

std::string format_size(std::uint64_t bytes) {
  constexpr std::array kNames = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  if (bytes < 1024) return std::to_string(bytes) + " B";
  auto value = static_cast<double>(bytes);
  std::size_t unit = 0;
  while (value >= 1023.95 && unit + 1 < kNames.size()) {
    value /= 1024;
    ++unit;
  }
  std::array<char, 32> text;
  const bool whole = value == static_cast<double>(static_cast<std::uint64_t>(value));
  std::snprintf(text.data(), text.size(), whole ? "%.0f %s" : "%.1f %s", value, kNames[unit]);
  return text.data();
}

std::string format_duration(std::chrono::nanoseconds duration) {
  const double ns = std::chrono::duration<double, std::nano>(duration).count();
  struct Scale {
    double ns;
    const char* name;
  };
  // The next unit is taken where three digits would round up to 1000.
  const Scale scale = ns >= 999.5e6 ? Scale{1e9, "s"} : ns >= 999.5e3 ? Scale{1e6, "ms"} : Scale{1e3, "us"};
  const double value = ns / scale.ns;
  const int decimals = value < 9.995 ? 2 : value < 99.95 ? 1 : 0;
  std::array<char, 64> text;
  std::snprintf(text.data(), text.size(), "%.*f %s", decimals, value, scale.name);
  return text.data();
}

}  // namespace sluice
