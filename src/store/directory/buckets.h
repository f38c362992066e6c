// Buckets: the real folders of the root with bucket names. All calls block.
#pragma once

#include <string>
#include <vector>

#include "store/directory/tree.h"
#include "store/store.h"

namespace sluice::store::directory {

Result<std::vector<BucketInfo>> list_buckets(const Tree& tree);
/// Errors: BucketAlreadyOwnedByYou; BucketAlreadyExists when something that is no bucket has the name.
Result<void> create_bucket(Tree& tree, const std::string& bucket);
/// Removes the folder with the empty folders in it. Errors: BucketNotEmpty (files of any kind), NoSuchBucket.
Result<void> delete_bucket(Tree& tree, const std::string& bucket);

}  // namespace sluice::store::directory
