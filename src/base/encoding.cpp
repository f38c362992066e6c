#include "base/encoding.h"

#include <sys/random.h>

#include <array>
#include <cerrno>
#include <cstdlib>

namespace sluice {

namespace {

constexpr std::string_view kHexDigits = "0123456789abcdef";
constexpr std::string_view kUpperHexDigits = "0123456789ABCDEF";
constexpr std::string_view kBase64 = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

int hex_value(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

bool is_unreserved(char c) {
  return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '_' ||
         c == '.' || c == '~';
}

}  // namespace

std::string hex_encode(std::span<const std::byte> bytes) {
  std::string text;
  text.reserve(bytes.size() * 2);
  for (const std::byte byte : bytes) {
    const auto value = std::to_integer<unsigned>(byte);
    text += kHexDigits[value >> 4U];
    text += kHexDigits[value & 15U];
  }
  return text;
}

std::string hex_u64(std::uint64_t value, int digits) {
  std::string text(static_cast<std::size_t>(digits), '0');
  for (auto it = text.rbegin(); it != text.rend(); ++it, value >>= 4U) *it = kHexDigits[value & 15U];
  return text;
}

Result<std::vector<std::byte>> hex_decode(std::string_view text) {
  if (text.size() % 2 != 0)
    return Error(ErrorCode::invalid_argument, "hex text with an odd number of digits");
  std::vector<std::byte> bytes;
  bytes.reserve(text.size() / 2);
  for (std::size_t i = 0; i < text.size(); i += 2) {
    const int high = hex_value(text[i]);
    const int low = hex_value(text[i + 1]);
    if (high < 0 || low < 0)
      return Error(ErrorCode::invalid_argument, "hex text with a character that is no hex digit");
    bytes.push_back(static_cast<std::byte>(high * 16 + low));
  }
  return bytes;
}

std::string base64_encode(std::span<const std::byte> bytes) {
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    const std::size_t left = bytes.size() - i;
    const auto at = [&](std::size_t k) {
      return k < left ? std::to_integer<std::uint32_t>(bytes[i + k]) : 0U;
    };
    const std::uint32_t group = at(0) << 16U | at(1) << 8U | at(2);
    text += kBase64[group >> 18U];
    text += kBase64[group >> 12U & 63U];
    text += left > 1 ? kBase64[group >> 6U & 63U] : '=';
    text += left > 2 ? kBase64[group & 63U] : '=';
  }
  return text;
}

Result<std::vector<std::byte>> base64_decode(std::string_view text) {
  const auto bad = [](const char* what) {
    return Error(ErrorCode::invalid_argument, std::string("base64 text ") + what);
  };
  if (text.size() % 4 != 0) return bad("whose length is no multiple of 4");
  std::vector<std::byte> bytes;
  bytes.reserve(text.size() / 4 * 3);
  for (std::size_t i = 0; i < text.size(); i += 4) {
    const bool last = i + 4 == text.size();
    std::size_t padding = 0;
    if (last && text[i + 3] == '=') padding = text[i + 2] == '=' ? 2 : 1;
    std::uint32_t group = 0;
    for (std::size_t k = 0; k < 4; ++k) {
      group <<= 6U;
      if (k >= 4 - padding) continue;
      const auto value = kBase64.find(text[i + k]);
      if (value == std::string_view::npos) return bad("with a character that does not belong there");
      group |= static_cast<std::uint32_t>(value);
    }
    // Bits beyond the last byte must be 0, or two texts would mean the same bytes.
    if ((padding == 1 && (group & 0xffU) != 0) || (padding == 2 && (group & 0xffffU) != 0))
      return bad("with stray bits at its end");
    bytes.push_back(static_cast<std::byte>(group >> 16U));
    if (padding < 2) bytes.push_back(static_cast<std::byte>(group >> 8U & 0xffU));
    if (padding < 1) bytes.push_back(static_cast<std::byte>(group & 0xffU));
  }
  return bytes;
}

std::string base64_u64_be(std::uint64_t value) {
  std::array<std::byte, 8> bytes;
  for (std::size_t i = 0; i < 8; ++i) bytes[i] = static_cast<std::byte>(value >> (56U - 8U * i) & 0xffU);
  return base64_encode(bytes);
}

std::string percent_encode(std::string_view bytes, EncodeSlash slash) {
  std::string text;
  text.reserve(bytes.size());
  for (const char c : bytes) {
    if (is_unreserved(c) || (c == '/' && slash == EncodeSlash::no)) {
      text += c;
      continue;
    }
    const auto value = static_cast<unsigned char>(c);
    text += '%';
    text += kUpperHexDigits[value >> 4U];
    text += kUpperHexDigits[value & 15U];
  }
  return text;
}

Result<std::string> percent_decode(std::string_view text) {
  std::string bytes;
  bytes.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      bytes += text[i];
      continue;
    }
    const int high = i + 2 < text.size() ? hex_value(text[i + 1]) : -1;
    const int low = i + 2 < text.size() ? hex_value(text[i + 2]) : -1;
    if (high < 0 || low < 0)
      return Error(ErrorCode::invalid_argument, "a '%' that is not followed by two hex digits");
    bytes += static_cast<char>(high * 16 + low);
    i += 2;
  }
  return bytes;
}

void random_bytes(std::span<std::byte> out) {
  while (!out.empty()) {
    const ssize_t got = ::getrandom(out.data(), out.size(), 0);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) std::abort();  // keys and tokens without randomness are worse than no process
    out = out.subspan(static_cast<std::size_t>(got));
  }
}

std::uint64_t random_u64() {
  std::uint64_t value = 0;
  random_bytes(std::as_writable_bytes(std::span(&value, 1)));
  return value;
}

bool equal_constant_time(std::string_view a, std::string_view b) {
  if (a.size() != b.size()) return false;
  unsigned difference = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    difference |= static_cast<unsigned>(static_cast<unsigned char>(a[i]) ^ static_cast<unsigned char>(b[i]));
  }
  return difference == 0;
}

}  // namespace sluice
