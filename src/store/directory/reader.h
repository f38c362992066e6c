// Reading one version of an object.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "store/directory/tree.h"
#include "store/store.h"

namespace sluice::store::directory {

/// Opens the object. Blocks unless `lookup` is cached: then nullopt where it would have. Errors:
/// NoSuchBucket, NoSuchKey (also for folders and special files), AccessDenied (mode, or a link that leaves
/// the bucket), file_error.
std::optional<Result<std::unique_ptr<ObjectReader>>> open_object(const Tree& tree, const std::string& bucket,
                                                                 const std::string& key, Lookup lookup);

}  // namespace sluice::store::directory
