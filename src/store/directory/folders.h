// Folders that exist only because keys have slashes: made for a write, removed with the last object in them.
#pragma once

#include <cstdint>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/file.h"
#include "sluice/error.h"

namespace sluice::store::directory {

using FolderId = std::pair<std::uint64_t, std::uint64_t>;  ///< device and inode
/// {0, 0} if the descriptor is no good.
FolderId folder_id(int fd);

/// Folders whose own names are known to survive a power failure, so that a write need not sync every
/// ancestor. Safe from any thread.
class DurableFolders {
 public:
  [[nodiscard]] bool contains(FolderId id) const;
  void add(FolderId id);
  void forget(FolderId id);

 private:
  mutable std::mutex mutex_;
  std::set<FolderId> ids_;
};

/// Opens folder `path` (may be empty) of a bucket, making what is missing. What was made is appended to
/// `made`, also on error. An empty descriptor: somebody removed a part at the same time; call again.
/// `readable` folders can be synced. Errors: cannot_hold when a part is a file, file_error.
Result<FileDescriptor> make_folders(int bucket, std::string_view key, bool readable, DurableFolders& durable,
                                    std::vector<std::string>& made);

/// Removes the folder if it is empty and no link. False, with errno, if it stays.
bool remove_folder(int bucket, std::string_view path, DurableFolders& durable);
/// Removes the folder and those above it, up to the bucket, as long as they are empty.
void remove_empty_folders(int bucket, std::string_view path, DurableFolders& durable);

/// Makes the names of folder `path` and of all above it durable, up to the bucket's own name in `root`.
Result<void> sync_ancestors(int root, int bucket, std::string_view path, DurableFolders& durable);
/// fsync of a folder opened for reading; file systems that cannot do that to folders have nothing to do.
Result<void> sync_folder(int folder);

}  // namespace sluice::store::directory
