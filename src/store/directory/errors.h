// What a failed file call means to a client of S3.
#pragma once

#include <string>
#include <string_view>

#include "sluice/error.h"

namespace sluice::store::directory {

/// From errno: full disk, read-only file system, missing permission, stale handle, too many open files and
/// the rest. `what` names bucket and key or what was being done, never a path of the server.
Error file_error(int errno_value, std::string_view what);

Error no_such_bucket(std::string_view bucket);
Error no_such_key(std::string_view bucket, std::string_view key, std::string_view why = {});
/// A key that this store cannot hold; S3 code NotImplemented.
Error cannot_hold(std::string_view key, std::string_view why);
/// A link that leads out of the bucket; S3 code AccessDenied.
Error leaves_bucket(std::string_view bucket, std::string_view key);
Error read_only_error();

/// "s3://bucket/key" with control characters made visible.
std::string object_name(std::string_view bucket, std::string_view key);

}  // namespace sluice::store::directory
