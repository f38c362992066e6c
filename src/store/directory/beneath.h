// Opening paths that clients choose, so that nothing outside a folder can be reached, also while others
// rename.
#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <string>

#include "base/file.h"

namespace sluice::store::directory {

enum class Links : std::uint8_t {
  follow,  ///< symbolic links that stay beneath the folder
  refuse,  ///< any link on the way is ELOOP
};
enum class Lookup : std::uint8_t {
  any,
  cached,  ///< EAGAIN instead of anything that could wait for a disk
};

/// openat2 with RESOLVE_BENEATH and RESOLVE_NO_MAGICLINKS; always close-on-exec. Empty on failure, errno says
/// why (EXDEV: the path leaves `folder`). Safe from any thread.
FileDescriptor open_beneath(int folder, const std::string& path, int flags, Links links = Links::follow,
                            Lookup lookup = Lookup::any);

/// Opens for reading exactly the file that an O_PATH descriptor stands for. Empty on failure, errno says why.
FileDescriptor reopen_for_reading(int path_fd);

/// 0 where openat2 and /proc/self/fd work, else the errno.
int probe_openat2(int folder);
int probe_proc(int folder);

}  // namespace sluice::store::directory
