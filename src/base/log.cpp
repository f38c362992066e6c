#include "base/log.h"

#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdio>

#include "base/time.h"

namespace sluice::log {

namespace {

std::atomic<Level> current_level{Level::off};
std::atomic<bool> json_lines{false};

std::string_view name_of(Level level) {
  switch (level) {
    case Level::debug:
      return "debug";
    case Level::info:
      return "info";
    case Level::warn:
      return "warn";
    case Level::error:
      return "error";
    case Level::off:
      return "off";
  }
  return "?";
}

/// JSON string escapes; text mode uses them, too, so that a value cannot start a line of its own.
std::string escape(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    switch (c) {
      case '"':
        out += "\\\"";
        break;
      case '\\':
        out += "\\\\";
        break;
      case '\n':
        out += "\\n";
        break;
      case '\r':
        out += "\\r";
        break;
      case '\t':
        out += "\\t";
        break;
      default:
        if (byte < 0x20 || byte >= 0x7f) {
          // Also bytes beyond ASCII: a key need not be UTF-8, a log line has to be.
          std::array<char, 8> code;
          std::snprintf(code.data(), code.size(), "\\u%04x", byte);
          out += code.data();
        } else {
          out += c;
        }
    }
  }
  return out;
}

bool needs_quotes(std::string_view value) {
  return value.empty() || value.find_first_of(" =\"\\") != std::string_view::npos ||
         std::any_of(value.begin(), value.end(), [](char c) {
           const auto byte = static_cast<unsigned char>(c);
           return byte < 0x20 || byte >= 0x7f;
         });
}

spdlog::logger& sink() {
  static auto* logger = [] {
    auto* made = new spdlog::logger("sluice", std::make_shared<spdlog::sinks::stderr_sink_mt>());
    made->set_pattern("%v");
    made->set_level(spdlog::level::trace);
    made->flush_on(spdlog::level::trace);
    return made;
  }();
  return *logger;
}

std::string format_json(Level level, std::string_view event, std::initializer_list<Field> fields) {
  std::string line = "{\"ts\":\"" + format_iso8601(WallClock::now()) + "\",\"level\":\"" +
                     std::string(name_of(level)) + "\",\"event\":\"" + escape(event) + "\"";
  for (const auto& field : fields) {
    line += ",\"" + escape(field.name) + "\":";
    line += field.number ? field.value : "\"" + escape(field.value) + "\"";
  }
  return line + "}";
}

std::string format_text(Level level, std::string_view event, std::initializer_list<Field> fields) {
  std::string line = format_iso8601(WallClock::now()) + " ";
  for (const char c : name_of(level)) line += static_cast<char>(c - 'a' + 'A');
  line += " " + escape(event);
  for (const auto& field : fields) {
    line += " " + escape(field.name) + "=";
    line += needs_quotes(field.value) ? "\"" + escape(field.value) + "\"" : field.value;
  }
  return line;
}

bool is_hex(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

constexpr std::string_view kBlank = "[redacted]";

/// Case-insensitive search from `from`.
std::size_t find_ignoring_case(std::string_view text, std::string_view word, std::size_t from) {
  const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; };
  const auto it =
      std::search(text.begin() + static_cast<std::ptrdiff_t>(std::min(from, text.size())), text.end(),
                  word.begin(), word.end(), [&](char a, char b) { return lower(a) == lower(b); });
  return it == text.end() ? std::string_view::npos : static_cast<std::size_t>(it - text.begin());
}

/// Blanks what follows `label` and its separators (':', '=', blanks, quotes) up to the next end of a value.
std::string blank_after(std::string line, std::string_view label) {
  std::size_t at = 0;
  while ((at = find_ignoring_case(line, label, at)) != std::string::npos) {
    std::size_t begin = at + label.size();
    while (begin < line.size() && std::string_view(":= \"\\").find(line[begin]) != std::string_view::npos)
      ++begin;
    std::size_t end = begin;
    while (end < line.size() && std::string_view(" \",&;\\").find(line[end]) == std::string_view::npos) ++end;
    // The provider of a token may hold a ';': a token goes on behind it.
    while (end + 1 < line.size() && line[end] == ';' && label.find("token") != std::string_view::npos &&
           line[end + 1] != ' ') {
      ++end;
      while (end < line.size() && std::string_view(" \",&;\\").find(line[end]) == std::string_view::npos)
        ++end;
    }
    if (end > begin) {
      line.replace(begin, end - begin, kBlank);
      at = begin + kBlank.size();
    } else {
      at = begin;
    }
  }
  return line;
}

/// Blanks words made of hex fields and colons that hold a capability, wherever they stand: ofi1 tokens and
/// descriptors.
std::string blank_tokens(std::string line) {
  std::size_t begin = 0;
  while (begin < line.size()) {
    if (!is_hex(line[begin])) {
      ++begin;
      continue;
    }
    std::size_t end = begin;
    std::size_t colons = 0;
    while (end < line.size() && std::string_view(" \",&=").find(line[end]) == std::string_view::npos)
      colons += line[end++] == ':' ? 1 : 0;
    const std::string_view word(line.data() + begin, end - begin);
    const bool ofi = word.find(":ofi1:") != std::string_view::npos;
    const bool descriptor = word.size() >= 60 && colons >= 6;
    if (ofi || descriptor) {
      line.replace(begin, end - begin, kBlank);
      end = begin + kBlank.size();
    }
    begin = end + 1;
  }
  return line;
}

}  // namespace

Result<Level> parse_level(std::string_view text) {
  for (const Level level : {Level::debug, Level::info, Level::warn, Level::error, Level::off}) {
    if (text == name_of(level)) return level;
  }
  return Error(ErrorCode::invalid_argument,
               "unknown log level '" + std::string(text) + "': use debug, info, warn, error or off");
}

void configure(Level level, bool json) {
  json_lines.store(json, std::memory_order_relaxed);
  current_level.store(level, std::memory_order_relaxed);
}

bool enabled(Level level) {
  return level >= current_level.load(std::memory_order_relaxed) && level != Level::off;
}

void write(Level level, std::string_view event, std::initializer_list<Field> fields) {
  if (!enabled(level)) return;
  const std::string line = json_lines.load(std::memory_order_relaxed) ? format_json(level, event, fields)
                                                                      : format_text(level, event, fields);
  sink().log(spdlog::level::info, spdlog::string_view_t(redact(line)));
}

std::string redact(std::string_view line) {
  std::string out(line);
  for (const std::string_view label :
       {"x-amz-rdma-token", "x-rdma-info", "x-amz-security-token", "x-amz-signature", "signature",
        "aws_secret_access_key", "secret_key", "secretkey", "aws_session_token"}) {
    out = blank_after(std::move(out), label);
  }
  out = blank_after(std::move(out), "credential");
  return blank_tokens(std::move(out));
}

}  // namespace sluice::log
