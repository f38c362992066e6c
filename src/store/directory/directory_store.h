// A store over a folder: sub-folders are buckets, files are objects, and other programs go on using them.
//
// Layout: ROOT/<bucket>/<key>, '/' in keys being sub-folders. ROOT/.sluice/ (never a bucket) holds `format`,
// the version of this layout, and `tmp/`, unfinished uploads. Buckets are real folders with valid bucket
// names; other names are not served. An object is a regular file, or a symbolic link to one that stays inside
// the bucket. Links that leave it are refused, FIFOs, devices and sockets are not opened and not touched.
//
// Keys that no path can hold (empty, "." or ".." segments, a segment over 255 bytes, a key beside a folder of
// the same name) cannot be written: `unsupported` with S3 code NotImplemented. Reading one is NoSuchKey,
// removing one succeeds.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/task.h"
#include "store/store.h"

namespace sluice::store {

/// What survives a power failure once a write was acknowledged.
enum class FsyncPolicy : std::uint8_t {
  always,  ///< bytes, metadata and name
  data,    ///< bytes and metadata are complete if the name is there, but the newest names may be lost
  none,    ///< whatever the kernel had written back by then
};
Result<FsyncPolicy> parse_fsync_policy(std::string_view text);

struct DirectoryStoreOptions {
  std::string root;
  bool read_only = false;  ///< writes are refused, and nothing below root is created or cleaned
  FsyncPolicy fsync = FsyncPolicy::always;
  bool extended_attributes = true;  ///< false: do as if the file system had none
};

/// Opens the store and removes what crashed processes left in `.sluice/tmp`. Blocks. `pool` must outlive the
/// store.
///
/// Errors, one line each with the cure: not_found (no such folder), invalid_argument (not a folder),
/// permission_denied (not writable), config_error (a newer layout), unsupported (kernel without openat2, no
/// /proc).
Result<std::unique_ptr<ObjectStore>> open_directory_store(DirectoryStoreOptions options, BlockingPool& pool);

}  // namespace sluice::store
