// The opened folder and what all parts of the store share.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/file.h"
#include "base/task.h"
#include "sluice/error.h"
#include "store/directory/beneath.h"
#include "store/directory/directory_store.h"
#include "store/directory/folders.h"
#include "store/directory/scratch.h"
#include "store/directory/version.h"

namespace sluice::store::directory {

/// Fixed once opened, but for the parts that guard themselves: safe from any thread.
struct Tree {
  DirectoryStoreOptions options;
  BlockingPool* pool = nullptr;
  FileDescriptor root;
  std::unique_ptr<Scratch> scratch;  ///< none when read-only
  bool attributes = false;           ///< metadata records can be read and (unless read-only) written
  DurableFolders durable;

  [[nodiscard]] bool durable_names() const { return options.fsync == FsyncPolicy::always; }
  /// Errors: NoSuchBucket (also for links and for names that are none), io_error when the served folder is
  /// gone. With Lookup::cached an empty descriptor where the disk would have to be asked.
  [[nodiscard]] Result<FileDescriptor> open_bucket(const std::string& bucket,
                                                   Lookup lookup = Lookup::any) const;
  /// What a failed lookup of a bucket means.
  [[nodiscard]] Error bucket_error(int errno_value, const std::string& bucket) const;
};

enum class FoundKind : std::uint8_t {
  absent,
  blocked,  ///< a parent is a file
  file,
  folder,
  special,  ///< FIFO, device, socket
  outside,  ///< a link that leaves the bucket or leads in a circle
  unknown,  ///< Lookup::cached only: the disk would have to be asked
};

struct Found {
  FoundKind kind = FoundKind::absent;
  FileDescriptor path_fd;  ///< O_PATH: the thing is pinned, and was not opened
  FileVersion version;     ///< of a file
  WallClock::time_point modified;
};

/// What a key leads to, links followed. Errors: file_error.
Result<Found> find_object(int bucket_fd, const std::string& bucket, const std::string& key,
                          Lookup lookup = Lookup::any);

}  // namespace sluice::store::directory
