// Configuration files: TOML whose keys are a command's long flags without the dashes.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "sluice/error.h"

namespace sluice {

struct ConfigEntry {
  std::string key;    ///< "listen", "data-path"
  std::string value;  ///< scalars as text; arrays joined with ','
  int line = 0;
};

/// Parses `text`; `file` names it in errors ("gateway.toml:3: unknown key 'listne', did you mean 'listen'?").
/// Only keys in `known` are accepted; tables, dates and nested arrays are errors. Errors: config_error.
Result<std::vector<ConfigEntry>> parse_config(std::string_view text, std::string_view file,
                                              const std::vector<std::string>& known);
Result<std::vector<ConfigEntry>> read_config(const std::string& path, const std::vector<std::string>& known);
/// The closest of `known` by edit distance, or empty if nothing is near: for "did you mean".
std::string nearest(std::string_view word, const std::vector<std::string>& known);

}  // namespace sluice
