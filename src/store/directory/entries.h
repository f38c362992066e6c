// Reading a folder.
#pragma once

#include <dirent.h>

#include <functional>
#include <string_view>

#include "base/file.h"

namespace sluice::store::directory {

/// Calls `visit(name, type)` (DT_*, never DT_UNKNOWN) for all but "." and ".." until it returns false.
/// `folder` may be an O_PATH descriptor. Returns 0 or an errno.
int for_each_entry(int folder, const std::function<bool(std::string_view, unsigned char)>& visit);

}  // namespace sluice::store::directory
