// Writing a new object.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "store/directory/tree.h"
#include "store/store.h"

namespace sluice::store::directory {

/// Refuses what cannot be stored, makes the temporary file and reserves room for it. Blocks.
/// Errors: NoSuchBucket, NotImplemented (key or metadata that cannot be held), MetadataTooLarge,
/// AccessDenied, full disk.
Result<std::unique_ptr<ObjectWriter>> create_object(Tree& tree, std::string bucket, std::string key,
                                                    ObjectMetadata metadata,
                                                    std::optional<std::uint64_t> expected_bytes);

}  // namespace sluice::store::directory
