#include "store/directory/publish.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <functional>
#include <mutex>
#include <optional>
#include <string_view>
#include <vector>

#include "base/limits.h"
#include "base/try.h"
#include "s3/errors.h"
#include "store/directory/errors.h"
#include "store/directory/key_path.h"
#include "store/directory/record.h"

namespace sluice::store::directory {
namespace {

// One lock per name of a folder (several names share one): conditions are checked and the rename done under
// it. For the whole process, so that two stores over one folder respect each other. Held for a few file
// calls, never a sync.
std::mutex& name_lock(FolderId folder, std::string_view name) {
  static std::array<std::mutex, 256> locks;
  const std::size_t hash =
      std::hash<std::string_view>()(name) ^ (folder.second * 0x9e3779b97f4a7c15U) ^ folder.first;
  return locks[hash % locks.size()];
}

// A modification time that no other object of this process has. Together with the inode number, which file
// systems give to a new file as soon as the old one is gone, and with kernels that count in ticks of
// milliseconds, ETags would repeat.
timespec unique_time() {
  static std::atomic<std::int64_t> last{0};
  timespec now{};
  ::clock_gettime(CLOCK_REALTIME, &now);
  constexpr std::int64_t kSecond = 1'000'000'000;
  std::int64_t wanted = now.tv_sec * kSecond + now.tv_nsec;
  std::int64_t before = last.load(std::memory_order_relaxed);
  do {
    if (wanted <= before) wanted = before + 1;
  } while (!last.compare_exchange_weak(before, wanted, std::memory_order_relaxed));
  timespec unique{};
  unique.tv_sec = wanted / kSecond;
  unique.tv_nsec = wanted % kSecond;
  return unique;
}

Result<FileVersion> current_version(int fd) {
  struct stat status {};
  if (::fstat(fd, &status) != 0) return file_error(errno, "looking at the temporary file");
  return version_of(status);
}

// Completes the temporary file: its length, time and metadata. True if the record is stored.
Result<bool> seal(const Tree& tree, const TempFile& temp, const Publication& publication) {
  // Gives back what was preallocated beyond the end.
  if (::ftruncate(temp.fd(), static_cast<off_t>(publication.bytes)) != 0)
    return file_error(errno, "ending the file");
  const std::array<timespec, 2> times{timespec{0, UTIME_OMIT}, unique_time()};
  if (::futimens(temp.fd(), times.data()) != 0) return file_error(errno, "setting the file's time");
  Record record;
  record.metadata = publication.metadata;
  record.crc64nvme = publication.options.crc64nvme;
  if (record.empty() || !tree.attributes) return false;
  SLUICE_TRY(const FileVersion version, current_version(temp.fd()));
  SLUICE_TRY(const std::string text, encode_record(record, version));
  SLUICE_TRY(const bool stored, store_record(temp.fd(), text));
  if (!stored && (!record.metadata.content_headers.empty() || !record.metadata.user.empty())) {
    return s3::make_error(
        "MetadataTooLarge",
        "the headers and metadata do not fit into the extended attributes of the file system");
  }
  return stored;
}

Result<void> sync_file(const Tree& tree, const TempFile& temp) {
  const int failed = tree.options.fsync == FsyncPolicy::always ? ::fsync(temp.fd())
                     : tree.options.fsync == FsyncPolicy::data ? ::fdatasync(temp.fd())
                                                               : 0;
  if (failed != 0) return file_error(errno, "syncing the object");
  return {};
}

// Why nothing can be written there; ok for what can be replaced and for what a rename will sort out.
Result<void> check_found(const Found& found, const std::string& bucket, const std::string& key) {
  switch (found.kind) {
    case FoundKind::blocked:
      return cannot_hold(key, "an object is in the way whose name is a part of it");
    case FoundKind::special:
      return cannot_hold(key, "a FIFO, device or socket of that name is in the way");
    case FoundKind::outside:
      return leaves_bucket(bucket, key);
    default:
      return {};
  }
}

Error folder_in_the_way(const std::string& key) {
  return cannot_hold(key, "a folder of that name holds other objects");
}

enum class Step : std::uint8_t { done, again };

// One attempt to make the file visible. `again`: others changed the folders meanwhile.
Result<Step> rename_into_place(Tree& tree, TempFile& temp, const Publication& publication, int bucket,
                               int folder) {
  const std::string& key = publication.key;
  const std::string name(last_segment(key));
  const std::lock_guard lock(name_lock(folder_id(folder), name));
  SLUICE_TRY(const Found found, find_object(bucket, publication.bucket, key));
  SLUICE_CHECK(check_found(found, publication.bucket, key));
  std::optional<std::string> etag;
  if (found.kind == FoundKind::file) etag = etag_of(found.version);
  SLUICE_CHECK(s3::check_write(publication.options.conditions, etag));
  if (found.kind == FoundKind::folder && ::unlinkat(folder, name.c_str(), AT_REMOVEDIR) != 0 &&
      errno != ENOENT) {
    if (errno == ENOTEMPTY || errno == EEXIST || errno == ENOTDIR) return folder_in_the_way(key);
    return file_error(errno, object_name(publication.bucket, key));
  }

  // Where there was nothing, a condition must hold against other programs, too. (A link to nothing is
  // replaced.)
  struct stat status {};
  const bool taken = ::fstatat(folder, name.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0;
  bool renamed = false;
  if (!publication.options.conditions.empty() && !etag && !taken) {
    const int tmp = tree.scratch->folder();
    renamed =
        rename_no_replace(tmp, temp.name(), folder, name, true) ||
        ((errno == EINVAL || errno == ENOSYS) && rename_no_replace(tmp, temp.name(), folder, name, false));
    if (!renamed && errno == EEXIST) return Step::again;
  } else {
    renamed = ::renameat(tree.scratch->folder(), temp.name().c_str(), folder, name.c_str()) == 0;
  }
  if (renamed) {
    temp.disown();
    return Step::done;
  }
  const int error = errno;
  switch (error) {
    case ENOENT: {
      SLUICE_TRY(const FileVersion version, current_version(temp.fd()));
      if (version.links > 0) return Step::again;  // the folder was removed
      return Error(ErrorCode::io_error, "another program removed the temporary file from .sluice/tmp");
    }
    case EISDIR:
    case ENOTEMPTY:
      return folder_in_the_way(key);
    default:
      return file_error(error, object_name(publication.bucket, key));
  }
}

// Removes, deepest first, the folders of a write that did not happen.
class MadeFolders {
 public:
  MadeFolders(Tree& tree, std::string bucket) : tree_(tree), bucket_(std::move(bucket)) {}
  MadeFolders(const MadeFolders&) = delete;
  MadeFolders& operator=(const MadeFolders&) = delete;
  ~MadeFolders() {
    if (paths.empty()) return;
    const auto bucket = tree_.open_bucket(bucket_);
    if (!bucket) return;
    for (auto path = paths.rbegin(); path != paths.rend(); ++path)
      remove_folder(bucket->get(), *path, tree_.durable);
  }
  std::vector<std::string> paths;

 private:
  Tree& tree_;
  std::string bucket_;
};

}  // namespace

bool rename_no_replace(int from_folder, const std::string& from, int to_folder, const std::string& to,
                       bool use_flag) {
  if (use_flag) {
    return ::renameat2(from_folder, from.c_str(), to_folder, to.c_str(), RENAME_NOREPLACE) == 0;
  }
  if (::linkat(from_folder, from.c_str(), to_folder, to.c_str(), 0) != 0) return false;
  ::unlinkat(from_folder, from.c_str(), 0);
  return true;
}

Result<ObjectInfo> publish(Tree& tree, TempFile& temp, Publication publication) {
  SLUICE_TRY(const bool recorded, seal(tree, temp, publication));
  SLUICE_CHECK(sync_file(tree, temp));
  SLUICE_TRY(const FileVersion before, current_version(temp.fd()));

  MadeFolders made(tree, publication.bucket);
  FileDescriptor bucket;
  FileDescriptor folder;
  Step step = Step::again;
  for (int i = 0; step == Step::again; ++i) {
    if (i == limits::kCommitAttempts) {
      return s3::make_error("OperationAborted",
                            object_name(publication.bucket, publication.key) +
                                ": others keep making and removing its folders; try again")
          .with_retry(Retry::later, std::chrono::milliseconds(100));
    }
    SLUICE_TRY(bucket, tree.open_bucket(publication.bucket));
    SLUICE_TRY(folder,
               make_folders(bucket.get(), publication.key, tree.durable_names(), tree.durable, made.paths));
    if (!folder) continue;
    SLUICE_TRY(step, rename_into_place(tree, temp, publication, bucket.get(), folder.get()));
  }
  made.paths.clear();

  // The object is visible from here on: what fails now leaves it there.
  const auto after = current_version(temp.fd());
  if (!after) return Error(after.error()).with_outcome(Outcome::uncertain);
  FileVersion version = before;  // and not what another program may have made of it since
  version.ctime_ns = after->ctime_ns;
  if (tree.durable_names()) {
    auto synced = sync_folder(folder.get());
    if (synced)
      synced = sync_ancestors(tree.root.get(), bucket.get(), parent_path(publication.key), tree.durable);
    if (!synced) return std::move(synced).error().with_outcome(Outcome::uncertain);
  }

  ObjectInfo info;
  info.key = std::move(publication.key);
  info.bytes = publication.bytes;
  info.etag = etag_of(version);
  info.modified = WallClock::time_point(std::chrono::duration_cast<WallClock::duration>(
      std::chrono::nanoseconds(static_cast<std::int64_t>(version.mtime_ns))));
  if (recorded) info.crc64nvme = publication.options.crc64nvme;
  info.metadata = std::move(publication.metadata);
  return info;
}

Result<void> remove_object(Tree& tree, const std::string& bucket_name, const std::string& key) {
  SLUICE_TRY(const FileDescriptor bucket, tree.open_bucket(bucket_name));
  if (!check_path_key(key)) return {};  // no such object can exist
  const std::string path(parent_path(key));
  const int access = (tree.durable_names() ? O_RDONLY : O_PATH) | O_DIRECTORY;
  const FileDescriptor folder = open_beneath(bucket.get(), path.empty() ? "." : path, access);
  if (!folder) {
    if (errno == ENOENT || errno == ENOTDIR) return {};
    if (errno == EXDEV || errno == ELOOP) return leaves_bucket(bucket_name, key);
    return file_error(errno, object_name(bucket_name, key));
  }
  {
    const std::string name(last_segment(key));
    const std::lock_guard lock(name_lock(folder_id(folder.get()), name));
    SLUICE_TRY(const Found found, find_object(bucket.get(), bucket_name, key));
    if (found.kind == FoundKind::outside) return leaves_bucket(bucket_name, key);
    if (found.kind != FoundKind::file) return {};
    if (::unlinkat(folder.get(), name.c_str(), 0) != 0) {
      if (errno == ENOENT || errno == EISDIR) return {};
      return file_error(errno, object_name(bucket_name, key));
    }
  }
  if (tree.durable_names()) {
    auto synced = sync_folder(folder.get());
    if (!synced) return std::move(synced).error().with_outcome(Outcome::uncertain);
  }
  remove_empty_folders(bucket.get(), path, tree.durable);
  return {};
}

Result<void> check_target(const Tree& tree, const std::string& bucket_name, const std::string& key) {
  SLUICE_TRY(const FileDescriptor bucket, tree.open_bucket(bucket_name));
  SLUICE_CHECK(check_path_key(key));
  SLUICE_TRY(const Found found, find_object(bucket.get(), bucket_name, key));
  return check_found(found, bucket_name, key);
}

}  // namespace sluice::store::directory
