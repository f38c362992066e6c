// An ordered list of HTTP header fields, shared by the HTTP layer, the S3 layer and their users.
#pragma once

#include <algorithm>
#include <cstddef>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sluice {

struct Header {
  std::string name;  ///< lower case
  std::string value;
  friend bool operator==(const Header&, const Header&) = default;
};

inline char ascii_lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

inline std::string ascii_lower(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = ascii_lower(c);
  return out;
}

/// Equal but for ASCII case.
inline bool equal_ignore_case(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](char x, char y) { return ascii_lower(x) == ascii_lower(y); });
}

/// Without the blanks and tabs around it (OWS of RFC 9110).
inline std::string_view trim_blanks(std::string_view text) {
  const auto first = text.find_first_not_of(" \t");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

/// A token of RFC 9110: what a header name may consist of.
inline bool is_header_name(std::string_view name) {
  constexpr std::string_view kOthers = "!#$%&'*+-.^_`|~";
  return !name.empty() && std::all_of(name.begin(), name.end(), [&](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           kOthers.find(c) != std::string_view::npos;
  });
}

/// Free of CR, LF, NUL and other control characters but the tab: safe to put on the wire.
inline bool is_header_value(std::string_view value) {
  return std::all_of(value.begin(), value.end(), [](char c) {
    const auto u = static_cast<unsigned char>(c);
    return c == '\t' || (u >= 0x20 && u != 0x7f);
  });
}

/// Header fields in the order in which they came or will be sent; names are kept in lower case, lookups
/// ignore case.
///
/// A plain value: one thread at a time. Views and pointers returned by lookups live until the list is
/// changed. Names and values are not checked here: whoever puts them on a wire does (`is_header_name`,
/// `is_header_value`).
class HeaderList {
  struct Named {
    std::string_view name;
    bool operator()(const Header& field) const { return equal_ignore_case(field.name, name); }
  };
  static Named named(std::string_view name) { return {name}; }

 public:
  HeaderList() = default;
  HeaderList(std::initializer_list<std::pair<std::string_view, std::string_view>> fields) {
    for (const auto& [name, value] : fields) add(name, std::string(value));
  }

  /// Appends, also when the name is there already.
  void add(std::string_view name, std::string value) {
    fields_.push_back({ascii_lower(name), std::move(value)});
  }
  /// Replaces the first of that name and removes the others; appends if there is none.
  void set(std::string_view name, std::string value) {
    auto it = std::find_if(fields_.begin(), fields_.end(), named(name));
    if (it == fields_.end()) {
      add(name, std::move(value));
      return;
    }
    it->value = std::move(value);
    fields_.erase(std::remove_if(std::next(it), fields_.end(), named(name)), fields_.end());
  }
  /// Removes all of that name; how many there were.
  std::size_t remove(std::string_view name) {
    const auto it = std::remove_if(fields_.begin(), fields_.end(), named(name));
    const auto count = static_cast<std::size_t>(fields_.end() - it);
    fields_.erase(it, fields_.end());
    return count;
  }

  [[nodiscard]] bool has(std::string_view name) const {
    return std::any_of(fields_.begin(), fields_.end(), named(name));
  }
  /// The first value of that name.
  [[nodiscard]] std::optional<std::string_view> find(std::string_view name) const {
    const auto it = std::find_if(fields_.begin(), fields_.end(), named(name));
    if (it == fields_.end()) return std::nullopt;
    return std::string_view(it->value);
  }
  /// The first value of that name, or empty.
  [[nodiscard]] std::string_view get(std::string_view name) const {
    return find(name).value_or(std::string_view{});
  }
  [[nodiscard]] std::vector<std::string_view> find_all(std::string_view name) const {
    std::vector<std::string_view> values;
    for (const Header& field : fields_) {
      if (equal_ignore_case(field.name, name)) values.emplace_back(field.value);
    }
    return values;
  }
  [[nodiscard]] std::size_t count(std::string_view name) const {
    return static_cast<std::size_t>(std::count_if(fields_.begin(), fields_.end(), named(name)));
  }

  [[nodiscard]] std::size_t size() const { return fields_.size(); }
  [[nodiscard]] bool empty() const { return fields_.empty(); }
  [[nodiscard]] auto begin() const { return fields_.begin(); }
  [[nodiscard]] auto end() const { return fields_.end(); }
  void clear() { fields_.clear(); }
  friend bool operator==(const HeaderList&, const HeaderList&) = default;

 private:
  std::vector<Header> fields_;
};

}  // namespace sluice
