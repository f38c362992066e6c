#include "base/config.h"

#include <toml++/toml.h>
#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>

#include "base/file.h"
#include "base/try.h"

#include <fcntl.h>

namespace sluice {

namespace {

constexpr std::size_t kConfigBytes = 1U << 20U;

Error at(std::string_view file, std::uint32_t line, const std::string& what) {
  return Error(ErrorCode::config_error, std::string(file) + ":" + std::to_string(line) + ": " + what);
}

/// A scalar as the text that the flag would get.
std::optional<std::string> scalar(const toml::node& node) {
  if (const auto* text = node.as_string()) return text->get();
  if (const auto* number = node.as_integer()) return std::to_string(number->get());
  if (const auto* flag = node.as_boolean()) return flag->get() ? "true" : "false";
  return std::nullopt;
}

}  // namespace

Result<std::vector<ConfigEntry>> parse_config(std::string_view text, std::string_view file,
                                              const std::vector<std::string>& known) {
  toml::table table;
  try {
    table = toml::parse(text, std::string_view(file));
  } catch (const toml::parse_error& error) {
    return at(file, error.source().begin.line, std::string(error.description()));
  }
  std::vector<ConfigEntry> entries;
  for (const auto& [name, node] : table) {
    const std::string key(name.str());
    const std::uint32_t line = node.source().begin.line;
    if (node.is_table()) {
      return at(file, line,
                "'" + key + "' is a table; write the keys at the top level, without sections or dots");
    }
    if (std::find(known.begin(), known.end(), key) == known.end()) {
      const std::string guess = nearest(key, known);
      return at(
          file, line,
          "unknown key '" + key + "'" + (guess.empty() ? std::string() : ", did you mean '" + guess + "'?"));
    }
    ConfigEntry entry{.key = key, .value = {}, .line = static_cast<int>(line)};
    if (auto value = scalar(node)) {
      entry.value = *value;
    } else if (const auto* list = node.as_array()) {
      for (const auto& item : *list) {
        auto part = scalar(item);
        if (!part) return at(file, line, "'" + key + "' must be a list of texts, numbers or true/false");
        // Joined, an empty part or one with a comma would be read back as other parts.
        if (part->empty() || part->find(',') != std::string::npos) {
          return at(file, line,
                    "'" + key + "' must be a list of texts that are neither empty nor contain a comma");
        }
        entry.value += (entry.value.empty() ? "" : ",") + *part;
      }
    } else {
      return at(file, line,
                "'" + key + "' must be a text, a whole number, true or false, or a list of those");
    }
    entries.push_back(std::move(entry));
  }
  std::sort(entries.begin(), entries.end(),
            [](const ConfigEntry& a, const ConfigEntry& b) { return a.line < b.line; });
  return entries;
}

Result<std::vector<ConfigEntry>> read_config(const std::string& path, const std::vector<std::string>& known) {
  const FileDescriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!file) return Error(ErrorCode::config_error, errno_error(errno, path).message());
  std::string text;
  std::array<char, 4096> piece;
  for (;;) {
    const ssize_t got = ::read(file.get(), piece.data(), piece.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return Error(ErrorCode::config_error, errno_error(errno, path).message());
    if (got == 0) break;
    text.append(piece.data(), static_cast<std::size_t>(got));
    if (text.size() > kConfigBytes)
      return Error(ErrorCode::config_error, path + ": larger than 1 MiB, which no configuration is");
  }
  return parse_config(text, path, known);
}

std::string nearest(std::string_view word, const std::vector<std::string>& known) {
  std::string best;
  std::size_t best_distance = 3;  // more than two edits away is no typing mistake
  for (const auto& candidate : known) {
    std::vector<std::size_t> row(candidate.size() + 1);
    for (std::size_t i = 0; i < row.size(); ++i) row[i] = i;
    for (std::size_t i = 0; i < word.size(); ++i) {
      std::size_t diagonal = row[0];
      row[0] = i + 1;
      for (std::size_t j = 0; j < candidate.size(); ++j) {
        const std::size_t changed = diagonal + (word[i] == candidate[j] ? 0 : 1);
        diagonal = row[j + 1];
        row[j + 1] = std::min({changed, row[j] + 1, row[j + 1] + 1});
      }
    }
    if (row.back() < best_distance) {
      best_distance = row.back();
      best = candidate;
    }
  }
  return best;
}

}  // namespace sluice
