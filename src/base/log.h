// Logging that redacts: one line per event, text or JSON, to standard error.
//
// Secrets and tokens never get here (design rule 13); as a second wall every event and value is passed
// through `redact`.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>

#include "sluice/error.h"

namespace sluice::log {

enum class Level : std::uint8_t { debug, info, warn, error, off };
Result<Level> parse_level(std::string_view text);

struct Field {
  std::string_view name;
  std::string value;
  Field(std::string_view n, std::string v) : name(n), value(std::move(v)) {}
  Field(std::string_view n, const char* v) : name(n), value(v) {}
  Field(std::string_view n, std::string_view v) : name(n), value(v) {}
  Field(std::string_view n, std::uint64_t v) : name(n), value(std::to_string(v)), number(true) {}
  Field(std::string_view n, std::int64_t v) : name(n), value(std::to_string(v)), number(true) {}
  Field(std::string_view n, int v) : name(n), value(std::to_string(v)), number(true) {}
  bool number = false;
};

/// Process-wide. Libraries start `off`; programs configure it once before starting threads.
void configure(Level level, bool json);
[[nodiscard]] bool enabled(Level level);
/// Safe from any thread; never blocks on anything but standard error.
void write(Level level, std::string_view event, std::initializer_list<Field> fields = {});
inline void debug(std::string_view e, std::initializer_list<Field> f = {}) {
  write(Level::debug, e, f);
}
inline void info(std::string_view e, std::initializer_list<Field> f = {}) {
  write(Level::info, e, f);
}
inline void warn(std::string_view e, std::initializer_list<Field> f = {}) {
  write(Level::warn, e, f);
}
inline void error(std::string_view e, std::initializer_list<Field> f = {}) {
  write(Level::error, e, f);
}

/// Blanks what looks like a credential or a token: what follows Signature, X-Amz-Signature, x-amz-rdma-token,
/// x-amz-security-token, secret keys, passwords and Bearer, but the first four characters of a Credential,
/// ofi1 tokens and 81-character descriptors. Plain, quoted, JSON and percent-encoded spellings; doing it
/// twice changes nothing.
std::string redact(std::string_view line);
/// Ends with one of those names: the value of such a field is never shown.
[[nodiscard]] bool is_secret_name(std::string_view name);

}  // namespace sluice::log
