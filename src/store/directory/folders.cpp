#include "store/directory/folders.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "base/limits.h"
#include "base/try.h"
#include "store/directory/beneath.h"
#include "store/directory/errors.h"
#include "store/directory/key_path.h"

namespace sluice::store::directory {
namespace {

// The bucket itself for an empty path.
FileDescriptor open_folder(int bucket, std::string_view path, int access, Links links = Links::follow) {
  return open_beneath(bucket, path.empty() ? "." : std::string(path), access | O_DIRECTORY, links);
}

Error folder_error(int error, std::string_view key, std::string_view part) {
  const std::string name = object_name({}, part).substr(6);
  switch (error) {
    case ENOTDIR:
      return cannot_hold(key, "an object \"" + name + "\" is in the way");
    case EXDEV:
    case ELOOP:
      return cannot_hold(key, "\"" + name + "\" is a symbolic link that leaves the bucket's folder");
    case ENOENT:
    case EEXIST:
      return cannot_hold(key, "\"" + name + "\" is a symbolic link to nothing");
    default:
      return file_error(error, "making the folder \"" + name + "\"");
  }
}

}  // namespace

FolderId folder_id(int fd) {
  struct stat status {};
  if (::fstat(fd, &status) != 0) return {0, 0};
  return {status.st_dev, status.st_ino};
}

bool DurableFolders::contains(FolderId id) const {
  const std::lock_guard lock(mutex_);
  return ids_.contains(id);
}

void DurableFolders::add(FolderId id) {
  const std::lock_guard lock(mutex_);
  if (ids_.size() >= limits::kDurableFolders) ids_.clear();  // costs some syncs, never safety
  ids_.insert(id);
}

void DurableFolders::forget(FolderId id) {
  const std::lock_guard lock(mutex_);
  ids_.erase(id);
}

Result<FileDescriptor> make_folders(int bucket, std::string_view key, bool readable, DurableFolders& durable,
                                    std::vector<std::string>& made) {
  const std::string_view path = parent_path(key);
  const int access = readable ? O_RDONLY : O_PATH;
  FileDescriptor folder = open_folder(bucket, path, access);
  if (folder) return folder;
  if (errno != ENOENT) return folder_error(errno, key, path);

  FileDescriptor parent = open_folder(bucket, {}, O_PATH);
  if (!parent) return file_error(errno, "opening the bucket");
  for (std::size_t end = path.find('/'), start = 0;; start = end + 1, end = path.find('/', start)) {
    const std::string_view part = path.substr(0, end);
    FileDescriptor next = open_folder(bucket, part, O_PATH);
    if (!next && errno == ENOENT) {
      const std::string name(part.substr(start));
      const bool created = ::mkdirat(parent.get(), name.c_str(), 0777) == 0;
      if (!created && errno == ENOENT) return FileDescriptor();  // the parent was removed
      if (!created && errno != EEXIST) return folder_error(errno, key, part);
      if (created) made.emplace_back(part);
      next = open_folder(bucket, part, O_PATH);
      if (!next && errno == ENOENT) {
        struct stat status {};
        const bool link = ::fstatat(parent.get(), name.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0 &&
                          S_ISLNK(status.st_mode);
        if (link) return folder_error(ENOENT, key, part);
        return FileDescriptor();  // removed again
      }
      if (next && created)
        durable.forget(folder_id(next.get()));  // the number may have been another folder's
    }
    if (!next) return folder_error(errno, key, part);
    parent = std::move(next);
    if (end == std::string_view::npos) break;
  }
  folder = open_folder(parent.get(), {}, access);
  if (!folder && errno != ENOENT) return folder_error(errno, key, path);
  return folder;
}

bool remove_folder(int bucket, std::string_view path, DurableFolders& durable) {
  const FileDescriptor parent = open_folder(bucket, parent_path(path), O_PATH, Links::refuse);
  if (!parent) return false;
  const std::string name(last_segment(path));
  struct stat status {};
  if (::fstatat(parent.get(), name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0) return false;
  durable.forget({status.st_dev, status.st_ino});  // before: afterwards the number may be a new folder's
  return ::unlinkat(parent.get(), name.c_str(), AT_REMOVEDIR) == 0;
}

void remove_empty_folders(int bucket, std::string_view path, DurableFolders& durable) {
  while (!path.empty() && remove_folder(bucket, path, durable)) path = parent_path(path);
}

Result<void> sync_folder(int folder) {
  if (::fsync(folder) == 0 || errno == EINVAL || errno == ENOTSUP) return {};
  return file_error(errno, "syncing a folder");
}

Result<void> sync_ancestors(int root, int bucket, std::string_view path, DurableFolders& durable) {
  std::vector<FolderId> named;  // those whose names the syncs below make durable, deepest first
  while (true) {
    const FileDescriptor folder = open_folder(bucket, path, O_PATH);
    if (!folder) return {};  // removed meanwhile, with all that was in it
    const FolderId id = folder_id(folder.get());
    if (durable.contains(id)) break;
    const FileDescriptor above =
        path.empty() ? open_folder(root, {}, O_RDONLY) : open_folder(bucket, parent_path(path), O_RDONLY);
    if (!above && errno == ENOENT) return {};
    if (!above) return file_error(errno, "opening a folder to sync it");
    SLUICE_CHECK(sync_folder(above.get()));
    named.push_back(id);
    if (path.empty()) break;
    path = parent_path(path);
  }
  for (const FolderId& id : named) durable.add(id);
  return {};
}

}  // namespace sluice::store::directory
