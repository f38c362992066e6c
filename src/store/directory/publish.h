// The moment at which a complete temporary file becomes an object, and its opposite.
#pragma once

#include <cstdint>
#include <string>

#include "store/directory/tree.h"
#include "store/store.h"

namespace sluice::store::directory {

struct Publication {
  std::string bucket;
  std::string key;
  ObjectMetadata metadata;
  std::uint64_t bytes = 0;
  CommitOptions options;
};

/// Syncs the file, evaluates the conditions and renames in one step, syncs the names. Blocks.
///
/// After an error the object is as it was, and the caller still owns `temp` and removes it; except when only
/// the last syncs failed: then the object is there, `temp` is disowned, and the outcome is `uncertain`.
Result<ObjectInfo> publish(Tree& tree, TempFile& temp, Publication publication);

/// Removes the object and the folders that it was the last one in. What is no object is left alone. Blocks.
Result<void> remove_object(Tree& tree, const std::string& bucket, const std::string& key);

/// Whether a write to that key can succeed as things are now: errors cannot_hold, AccessDenied, NoSuchBucket.
Result<void> check_target(const Tree& tree, const std::string& bucket, const std::string& key);

/// Renames without replacing anything; errno EEXIST if the new name is taken. `use_flag` false: by link and
/// unlink, for file systems that lack RENAME_NOREPLACE.
bool rename_no_replace(int from_folder, const std::string& from, int to_folder, const std::string& to,
                       bool use_flag);

}  // namespace sluice::store::directory
