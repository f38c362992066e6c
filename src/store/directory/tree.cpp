#include "store/directory/tree.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>

#include "base/try.h"
#include "s3/keys.h"
#include "store/directory/errors.h"

namespace sluice::store::directory {

Error Tree::bucket_error(int errno_value, const std::string& bucket) const {
  if (errno_value != ENOENT && errno_value != ENOTDIR && errno_value != ELOOP && errno_value != EXDEV) {
    return file_error(errno_value, "s3://" + bucket);
  }
  struct stat status {};
  if (::fstat(root.get(), &status) != 0) return file_error(errno, "the served folder");
  if (status.st_nlink == 0)
    return Error(ErrorCode::io_error, "the served folder was removed; restart the gateway");
  return no_such_bucket(bucket);
}

Result<FileDescriptor> Tree::open_bucket(const std::string& bucket, Lookup lookup) const {
  SLUICE_CHECK(s3::check_bucket_name(bucket));
  FileDescriptor folder = open_beneath(root.get(), bucket, O_PATH | O_DIRECTORY, Links::refuse, lookup);
  if (!folder && !(lookup == Lookup::cached && errno == EAGAIN)) return bucket_error(errno, bucket);
  return folder;
}

Result<Found> find_object(int bucket_fd, const std::string& bucket, const std::string& key, Lookup lookup) {
  Found found;
  found.path_fd = open_beneath(bucket_fd, key, O_PATH, Links::follow, lookup);
  if (!found.path_fd) {
    switch (errno) {
      case ENOENT:
        return found;
      case ENOTDIR:
        found.kind = FoundKind::blocked;
        return found;
      case EXDEV:
      case ELOOP:
        found.kind = FoundKind::outside;
        return found;
      case EAGAIN:
        if (lookup == Lookup::cached) {
          found.kind = FoundKind::unknown;
          return found;
        }
        [[fallthrough]];
      default:
        return file_error(errno, object_name(bucket, key));
    }
  }
  struct stat status {};
  if (::fstat(found.path_fd.get(), &status) != 0) return file_error(errno, object_name(bucket, key));
  if (S_ISREG(status.st_mode)) {
    found.kind = FoundKind::file;
    found.version = version_of(status);
    found.modified = modified_of(status);
  } else {
    found.kind = S_ISDIR(status.st_mode) ? FoundKind::folder : FoundKind::special;
  }
  return found;
}

}  // namespace sluice::store::directory
