#include "store/directory/key_path.h"

#include <climits>

#include "store/directory/errors.h"

namespace sluice::store::directory {

Result<void> check_path_key(std::string_view key) {
  if (key.find('\0') != std::string_view::npos) return cannot_hold(key, "it contains a NUL byte");
  std::size_t start = 0;
  while (true) {
    const std::size_t slash = key.find('/', start);
    const std::string_view segment =
        key.substr(start, slash == std::string_view::npos ? slash : slash - start);
    if (segment.empty()) return cannot_hold(key, "it has an empty part (\"//\", or a slash at an end)");
    if (segment == "." || segment == "..") return cannot_hold(key, "it has a part \".\" or \"..\"");
    if (segment.size() > NAME_MAX) return cannot_hold(key, "a part between slashes is longer than 255 bytes");
    if (slash == std::string_view::npos) return {};
    start = slash + 1;
  }
}

}  // namespace sluice::store::directory
