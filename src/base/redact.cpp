// The second wall before the log: what looks like a credential or a token is blanked.
#include <algorithm>
#include <array>
#include <cctype>
#include <string>
#include <string_view>

#include "base/headers.h"
#include "base/log.h"

namespace sluice::log {

namespace {

constexpr std::string_view kBlank = "[redacted]";

/// Their values are secrets wherever they are spelled `name=value`, `name: value` or `"name":"value"`.
constexpr std::array<std::string_view, 15> kSecretNames = {
    "x-amz-rdma-token",  "x-rdma-info",       "x-amz-security-token", "signature",     "credential",
    "secret_access_key", "secret-access-key", "secretaccesskey",      "secret_key",    "secret-key",
    "secretkey",         "session_token",     "session-token",        "session token", "password"};
/// Words after which, behind a blank, a secret follows.
constexpr std::array<std::string_view, 2> kSchemes = {"bearer", "basic"};
/// Shorter words after a scheme are English.
constexpr std::size_t kSchemeSecretBytes = 12;
/// What stays of an access key: enough to tell two apart.
constexpr std::size_t kKeptOfCredential = 4;
/// The shortest descriptor has 7 hex fields; an IPv6 address has 39 characters, a SHA-256 has 64 and no
/// colon.
constexpr std::size_t kDescriptorBytes = 60;
constexpr std::size_t kDescriptorColons = 6;
/// More hex digits than this in a row are a token of the 88-digit dialect.
constexpr std::size_t kHexTokenBytes = 80;

bool is_hex(char c) {
  return std::isxdigit(static_cast<unsigned char>(c)) != 0;
}

bool starts_with_ignoring_case(std::string_view text, std::string_view word) {
  return text.size() >= word.size() && equal_ignore_case(text.substr(0, word.size()), word);
}

/// How many characters a colon takes here, plain or percent-encoded; 0 if there is none.
std::size_t colon_at(std::string_view text) {
  if (text.starts_with(':')) return 1;
  return starts_with_ignoring_case(text, "%3a") ? 3 : 0;
}

std::size_t separator_at(std::string_view text) {
  if (text.starts_with('=')) return 1;
  return starts_with_ignoring_case(text, "%3d") ? 3 : colon_at(text);
}

std::size_t quote_at(std::string_view text) {
  if (text.starts_with("\\\"")) return 2;
  return text.starts_with('"') || text.starts_with('\'') ? 1 : 0;
}

std::size_t blanks_at(std::string_view text) {
  return std::min(text.find_first_not_of(" \t"), text.size());
}

bool ends_value(char c) {
  return std::string_view(" \t\r\n\"'\\,&<>)}").find(c) != std::string_view::npos;
}

/// The length of the value at the front of `text`, which `quote` opened (empty: none did).
std::size_t value_length(std::string_view text, std::string_view quote) {
  std::size_t end = 0;
  if (quote.empty()) {
    // A ';' ends a value of a header list; inside a token it belongs to the provider's name ("tcp;ofi_rxm").
    while (end < text.size() && !ends_value(text[end]) &&
           !(text[end] == ';' && (end + 1 == text.size() || ends_value(text[end + 1])))) {
      ++end;
    }
    return end;
  }
  for (; end < text.size() && !text.substr(end).starts_with(quote); ++end) {
    if (text[end] == '"' && quote == "\\\"") break;  // the string around it ends
    if (text[end] == '\\' && quote == "\"") ++end;
  }
  return std::min(end, text.size());
}

/// Where a secret begins that is announced at the front of `text`, and its length.
struct Secret {
  std::size_t begin = 0;
  std::size_t length = 0;
  std::size_t kept = 0;  ///< so many of its characters stay
};

Secret named_secret(std::string_view text) {
  for (const std::string_view name : kSecretNames) {
    if (!starts_with_ignoring_case(text, name)) continue;
    std::size_t at = name.size();
    at += quote_at(text.substr(at));
    at += blanks_at(text.substr(at));
    const std::size_t separator = separator_at(text.substr(at));
    if (separator == 0) continue;
    at += separator;
    at += blanks_at(text.substr(at));
    const std::string_view quote = text.substr(at, quote_at(text.substr(at)));
    at += quote.size();
    const std::size_t length = value_length(text.substr(at), quote);
    const bool keeps_some =
        name == "credential" && length > 2 * kKeptOfCredential &&
        std::all_of(text.begin() + static_cast<std::ptrdiff_t>(at),
                    text.begin() + static_cast<std::ptrdiff_t>(at + kKeptOfCredential),
                    [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0; });
    return {at, length, keeps_some ? kKeptOfCredential : 0};
  }
  for (const std::string_view scheme : kSchemes) {
    if (!starts_with_ignoring_case(text, scheme)) continue;
    const std::size_t blanks = blanks_at(text.substr(scheme.size()));
    const std::size_t begin = scheme.size() + blanks;
    const std::size_t length = value_length(text.substr(begin), {});
    const bool done = text.substr(begin, length).ends_with(kBlank);  // what a name before it announced
    if (blanks > 0 && length >= kSchemeSecretBytes && !done) return {begin, length, 0};
  }
  return {};
}

/// The length of a descriptor at the front of `text`: hex fields between colons, or one very long hex number.
std::size_t descriptor_length(std::string_view text) {
  std::size_t end = 0;
  std::size_t colons = 0;
  std::size_t run = 0;
  std::size_t longest_run = 0;
  while (end < text.size()) {
    if (const std::size_t colon = colon_at(text.substr(end)); colon > 0) {
      ++colons;
      run = 0;
      end += colon;
    } else if (is_hex(text[end])) {
      longest_run = std::max(longest_run, ++run);
      ++end;
    } else {
      break;
    }
  }
  const bool descriptor = end >= kDescriptorBytes && colons >= kDescriptorColons;
  return descriptor || longest_run > kHexTokenBytes ? end : 0;
}

/// The length of `<hex>:<hex>:ofi1:...` at the front of `text`.
std::size_t ofi_token_length(std::string_view text) {
  std::size_t at = 0;
  for (int field = 0; field < 2; ++field) {
    const std::size_t begin = at;
    while (at < text.size() && is_hex(text[at])) ++at;
    const std::size_t colon = colon_at(text.substr(at));
    if (at == begin || colon == 0) return 0;
    at += colon;
  }
  if (!starts_with_ignoring_case(text.substr(at), "ofi1")) return 0;
  if (colon_at(text.substr(at + 4)) == 0) return 0;
  return at + value_length(text.substr(at), {});
}

}  // namespace

bool is_secret_name(std::string_view name) {
  return std::any_of(kSecretNames.begin(), kSecretNames.end(), [&](std::string_view secret) {
    return name.size() >= secret.size() &&
           equal_ignore_case(name.substr(name.size() - secret.size()), secret);
  });
}

std::string redact(std::string_view line) {
  std::string out;
  out.reserve(line.size());
  for (std::size_t at = 0; at < line.size();) {
    const std::string_view rest = line.substr(at);
    // A descriptor starts where a run of hex digits does, not in the middle of one.
    const bool run_starts = is_hex(line[at]) && (at == 0 || !is_hex(line[at - 1]));
    if (const std::size_t length = run_starts ? std::max(ofi_token_length(rest), descriptor_length(rest)) : 0;
        length > 0) {
      out += kBlank;
      at += length;
      continue;
    }
    if (const Secret secret = named_secret(rest); secret.length > 0) {
      out += rest.substr(0, secret.begin + secret.kept);
      out += kBlank;
      at += secret.begin + secret.length;
      continue;
    }
    out += line[at++];
  }
  return out;
}

}  // namespace sluice::log
