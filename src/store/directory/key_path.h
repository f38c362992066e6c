// Which keys are paths, and their parts.
#pragma once

#include <string>
#include <string_view>

#include "sluice/error.h"

namespace sluice::store::directory {

/// A key that is a relative path: no empty, "." or ".." segment, none over 255 bytes, no NUL.
/// Errors: `unsupported` with S3 code NotImplemented, naming the rule.
Result<void> check_path_key(std::string_view key);

/// "a/b" of "a/b/c"; empty for "c".
inline std::string_view parent_path(std::string_view key) {
  const auto slash = key.rfind('/');
  return slash == std::string_view::npos ? std::string_view() : key.substr(0, slash);
}
/// "c" of "a/b/c".
inline std::string_view last_segment(std::string_view key) {
  const auto slash = key.rfind('/');
  return slash == std::string_view::npos ? key : key.substr(slash + 1);
}

}  // namespace sluice::store::directory
