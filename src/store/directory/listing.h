// ListObjectsV2 over folders.
#pragma once

#include <string>

#include "store/directory/tree.h"
#include "store/store.h"

namespace sluice::store::directory {

/// One page, at most kListKeys entries. Blocks: reads and sorts the names of each folder that the page
/// touches, and only of those. A name that is no legal key (not UTF-8, over 1024 bytes) is not listed.
/// Folders that cannot be read are AccessDenied: a listing with holes would make tools delete what they do
/// not see. Errors: NoSuchBucket, file_error.
Result<ListPage> list_objects(const Tree& tree, const std::string& bucket, const ListRequest& request);

}  // namespace sluice::store::directory
