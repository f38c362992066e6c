// Which version of a file this is, told from its inode alone, so that other programs may change it.
#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <string>

#include "base/time.h"

namespace sluice::store::directory {

/// Times are nanoseconds since 1970, modulo 2^64 (file systems hold years that do not fit; equality is what
/// counts).
struct FileVersion {
  std::uint64_t inode = 0;
  std::uint64_t bytes = 0;
  std::uint64_t mtime_ns = 0;
  std::uint64_t ctime_ns = 0;
  std::uint64_t links = 0;
  friend bool operator==(const FileVersion&, const FileVersion&) = default;
};

FileVersion version_of(const struct stat& status);

/// Inode, size, mtime and ctime in hex with dashes between, so that it never looks like an MD5. The ctime is
/// in it because programs can put the mtime back after a change, and cannot do so with the ctime.
std::string etag_of(const FileVersion& version);

WallClock::time_point modified_of(const struct stat& status);

/// Whether the bytes of an open file are still those of `opened`. A new link count explains a new ctime:
/// replacing or deleting the name does not touch the bytes of the version that is held open.
bool same_bytes(const FileVersion& opened, const FileVersion& now);

}  // namespace sluice::store::directory
