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

/// What of a field may be shown. Before escaping: blanking a finished line could break its quotes.
std::string shown(const Field& field) {
  if (field.number) return field.value;
  return is_secret_name(field.name) && !field.value.empty() ? "[redacted]" : redact(field.value);
}

std::string format_json(Level level, std::string_view event, std::initializer_list<Field> fields) {
  std::string line = "{\"ts\":\"" + format_iso8601(WallClock::now()) + "\",\"level\":\"" +
                     std::string(name_of(level)) + "\",\"event\":\"" + escape(redact(event)) + "\"";
  for (const auto& field : fields) {
    line += ",\"" + escape(field.name) + "\":";
    const std::string value = shown(field);
    line += field.number ? value : "\"" + escape(value) + "\"";
  }
  return line + "}";
}

std::string format_text(Level level, std::string_view event, std::initializer_list<Field> fields) {
  std::string line = format_iso8601(WallClock::now()) + " ";
  for (const char c : name_of(level)) line += static_cast<char>(c - 'a' + 'A');
  line += " " + escape(redact(event));
  for (const auto& field : fields) {
    line += " " + escape(field.name) + "=";
    const std::string value = shown(field);
    line += needs_quotes(value) ? "\"" + escape(value) + "\"" : value;
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
  sink().log(spdlog::level::info, spdlog::string_view_t(line));
}

}  // namespace sluice::log
