#include "store/directory/buckets.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <optional>

#include "base/limits.h"
#include "base/try.h"
#include "s3/errors.h"
#include "s3/keys.h"
#include "store/directory/entries.h"
#include "store/directory/errors.h"
#include "store/directory/key_path.h"

namespace sluice::store::directory {
namespace {

WallClock::time_point from_statx(const statx_timestamp& time) {
  return WallClock::time_point(std::chrono::duration_cast<WallClock::duration>(
      std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec)));
}

// When the folder was made, or last changed where the file system does not say. nullopt: gone, or no folder.
std::optional<WallClock::time_point> created_at(int root, const std::string& name) {
  struct statx status {};
  if (::statx(root, name.c_str(), AT_SYMLINK_NOFOLLOW, STATX_TYPE | STATX_BTIME | STATX_MTIME, &status) !=
          0 ||
      !S_ISDIR(status.stx_mode)) {
    return std::nullopt;
  }
  return from_statx((status.stx_mask & STATX_BTIME) != 0 ? status.stx_btime : status.stx_mtime);
}

Result<void> sync_root(Tree& tree) {
  if (!tree.durable_names()) return {};
  const FileDescriptor root = open_beneath(tree.root.get(), ".", O_RDONLY | O_DIRECTORY);
  if (!root) return file_error(errno, "syncing the served folder");
  auto synced = sync_folder(root.get());
  if (!synced) return std::move(synced).error().with_outcome(Outcome::uncertain);
  return {};
}

Error not_empty(const std::string& bucket, const std::string& path) {
  return s3::make_error("BucketNotEmpty", "s3://" + bucket + " is not empty: it holds \"" +
                                              object_name({}, path).substr(6) + "\"");
}

// Appends the folders below `path`, each behind those that hold it. Errors: BucketNotEmpty at the first file.
Result<void> collect_folders(int bucket_fd, const std::string& bucket, const std::string& path,
                             std::vector<std::string>& folders) {
  const FileDescriptor folder =
      open_beneath(bucket_fd, path.empty() ? "." : path, O_RDONLY | O_DIRECTORY, Links::refuse);
  if (!folder) {
    if (errno == ENOENT) return {};
    return file_error(errno, object_name(bucket, path));
  }
  std::optional<std::string> file;
  const std::size_t first = folders.size();
  const int error = for_each_entry(folder.get(), [&](std::string_view name, unsigned char type) {
    std::string entry = path.empty() ? std::string(name) : path + "/" + std::string(name);
    if (type != DT_DIR || entry.size() > limits::kKeyBytes) {
      file = std::move(entry);
      return false;
    }
    folders.push_back(std::move(entry));
    return true;
  });
  if (error != 0) return file_error(error, object_name(bucket, path));
  if (file) return not_empty(bucket, *file);
  const std::size_t end = folders.size();
  for (std::size_t i = first; i < end; ++i) {
    const std::string below = folders[i];  // a copy: the vector grows
    SLUICE_CHECK(collect_folders(bucket_fd, bucket, below, folders));
  }
  return {};
}

}  // namespace

Result<std::vector<BucketInfo>> list_buckets(const Tree& tree) {
  struct stat status {};
  if (::fstat(tree.root.get(), &status) != 0) return file_error(errno, "the served folder");
  if (status.st_nlink == 0)
    return Error(ErrorCode::io_error, "the served folder was removed; restart the gateway");
  std::vector<BucketInfo> buckets;
  const int error = for_each_entry(tree.root.get(), [&](std::string_view name, unsigned char type) {
    if (type != DT_DIR || !s3::check_bucket_name(name)) return true;
    BucketInfo bucket;
    bucket.name = std::string(name);
    if (const auto created = created_at(tree.root.get(), bucket.name)) {
      bucket.created = *created;
      buckets.push_back(std::move(bucket));
    }
    return true;
  });
  if (error != 0) return file_error(error, "listing the buckets");
  std::sort(buckets.begin(), buckets.end(),
            [](const BucketInfo& a, const BucketInfo& b) { return a.name < b.name; });
  return buckets;
}

Result<void> create_bucket(Tree& tree, const std::string& bucket) {
  SLUICE_CHECK(s3::check_bucket_name(bucket));
  if (::mkdirat(tree.root.get(), bucket.c_str(), 0777) != 0) {
    if (errno != EEXIST) return tree.bucket_error(errno, bucket);
    if (tree.open_bucket(bucket)) return s3::make_error("BucketAlreadyOwnedByYou");
    return s3::make_error("BucketAlreadyExists",
                          "a file or link named \"" + bucket + "\" is in the way in the served folder");
  }
  if (const auto made = tree.open_bucket(bucket)) tree.durable.forget(folder_id(made->get()));
  return sync_root(tree);
}

Result<void> delete_bucket(Tree& tree, const std::string& bucket) {
  SLUICE_TRY(const FileDescriptor folder, tree.open_bucket(bucket));
  std::vector<std::string> folders;
  SLUICE_CHECK(collect_folders(folder.get(), bucket, {}, folders));
  for (auto path = folders.rbegin(); path != folders.rend(); ++path) {
    // What appeared meanwhile keeps its folder, and the last step says so.
    static_cast<void>(remove_folder(folder.get(), *path, tree.durable));
  }
  tree.durable.forget(folder_id(folder.get()));
  if (::unlinkat(tree.root.get(), bucket.c_str(), AT_REMOVEDIR) != 0) {
    if (errno == ENOTEMPTY || errno == EEXIST) return s3::make_error("BucketNotEmpty");
    return tree.bucket_error(errno, bucket);
  }
  return sync_root(tree);
}

}  // namespace sluice::store::directory
