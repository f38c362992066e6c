// A folder sorts as "name/", so walking sorted folders depth first gives the byte order of whole keys.
#include "store/directory/listing.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "base/limits.h"
#include "base/try.h"
#include "s3/keys.h"
#include "store/directory/entries.h"
#include "store/directory/errors.h"
#include "store/directory/key_path.h"

namespace sluice::store::directory {
namespace {

bool is_key(std::string_view name) {
  return name.size() <= limits::kKeyBytes && s3::is_utf8(name);
}

// Greater than every legal key that starts with `group`: the byte 0xff is in no UTF-8 text.
std::string behind(std::string group) {
  group += '\xff';
  return group;
}

struct Entry {
  std::string name;  // of a folder with the slash
  bool linked = false;
  [[nodiscard]] bool is_folder() const { return name.back() == '/'; }
};

// The folders on the way from the bucket to where the walk is: links may lead back to one of them.
struct Ancestry {
  std::vector<FolderId> ids;
  std::size_t links = 0;
};

struct Frame {
  std::string path;  // "" or "a/b/"
  FileDescriptor folder;
  std::vector<Entry> entries;
  std::size_t next = 0;
  bool linked = false;
};

struct Item {
  std::string name;
  bool is_group = false;
  FileVersion version;
  WallClock::time_point modified;
};

class Walker {
 public:
  Walker(int bucket_fd, std::string bucket, const ListRequest& request)
      : bucket_fd_(bucket_fd),
        bucket_(std::move(bucket)),
        prefix_(request.prefix),
        delimiter_(request.delimiter) {
    bound_ = prefix_;
    if (!request.start_after.empty()) bound_ = std::max(bound_, request.start_after + '\0');
  }

  // Opens the folder that holds all keys with the prefix. False: there is none.
  Result<bool> start();
  // The next object or group, in order; nullopt at the end.
  Result<std::optional<Item>> next();
  // Goes on at names >= bound.
  void skip_to(std::string bound);

 private:
  Result<bool> push(const std::string& path, bool linked);
  Result<std::vector<Entry>> read_entries(const FileDescriptor& folder, const std::string& path) const;
  Result<bool> holds_object(const std::string& path, bool linked);
  Result<std::optional<Item>> look(const Frame& frame, const std::string& key) const;
  std::optional<Found> follow(const std::string& path) const;
  bool enter(int folder, bool linked);
  void leave(bool linked);
  [[nodiscard]] bool may_hold(std::string_view path) const;
  [[nodiscard]] std::optional<std::string> group_of(const std::string& name) const;
  void position(Frame& frame) const;

  int bucket_fd_;
  std::string bucket_;
  std::string prefix_;
  std::string delimiter_;
  std::string bound_;
  std::vector<Frame> stack_;
  Ancestry ancestry_;
};

// Whether a folder ("a/b/") can hold names that have the prefix and are not before the bound.
bool Walker::may_hold(std::string_view path) const {
  const std::string_view prefix = prefix_;
  const std::string_view bound = bound_;
  return (path.starts_with(prefix) || prefix.starts_with(path)) && (path >= bound || bound.starts_with(path));
}

std::optional<std::string> Walker::group_of(const std::string& name) const {
  if (delimiter_.empty()) return std::nullopt;
  const auto at = name.find(delimiter_, prefix_.size());
  if (at == std::string::npos) return std::nullopt;
  return name.substr(0, at + delimiter_.size());
}

// Links to folders are followed unless they lead back to where we are, or through too many others.
bool Walker::enter(int folder, bool linked) {
  const FolderId id = folder_id(folder);
  const auto& ids = ancestry_.ids;
  if (linked &&
      (ancestry_.links >= limits::kLinkedFolders || std::find(ids.begin(), ids.end(), id) != ids.end())) {
    return false;
  }
  ancestry_.ids.push_back(id);
  ancestry_.links += linked ? 1 : 0;
  return true;
}

void Walker::leave(bool linked) {
  ancestry_.ids.pop_back();
  ancestry_.links -= linked ? 1 : 0;
}

std::optional<Found> Walker::follow(const std::string& path) const {
  auto found = find_object(bucket_fd_, bucket_, path);
  if (!found) return std::nullopt;  // no right to look is no object
  return std::move(*found);
}

Result<std::vector<Entry>> Walker::read_entries(const FileDescriptor& folder, const std::string& path) const {
  std::vector<Entry> entries;
  const int error = for_each_entry(folder.get(), [&](std::string_view name, unsigned char type) {
    if (type != DT_REG && type != DT_DIR && type != DT_LNK) return true;
    std::string key = path + std::string(name);
    if (!is_key(key)) return true;
    bool is_folder = type == DT_DIR;
    if (type == DT_LNK) {
      const auto found = follow(key);
      if (!found || (found->kind != FoundKind::file && found->kind != FoundKind::folder)) return true;
      is_folder = found->kind == FoundKind::folder;
    }
    if (is_folder) key += '/';
    const bool wanted = is_folder ? may_hold(key) : key.starts_with(prefix_) && key >= bound_;
    if (!wanted) return true;
    Entry entry;
    entry.name = key.substr(path.size());
    entry.linked = type == DT_LNK;
    entries.push_back(std::move(entry));
    return true;
  });
  if (error != 0) return file_error(error, "listing " + object_name(bucket_, path));
  std::sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) { return a.name < b.name; });
  return entries;
}

// False: the folder is gone, or is not to be walked.
Result<bool> Walker::push(const std::string& path, bool linked) {
  const std::string name = path.empty() ? "." : path.substr(0, path.size() - 1);
  Frame frame;
  frame.folder = open_beneath(bucket_fd_, name, O_RDONLY | O_DIRECTORY);
  if (!frame.folder) {
    if (errno == ENOENT || errno == ENOTDIR || errno == EXDEV || errno == ELOOP) return false;
    return file_error(errno, "listing " + object_name(bucket_, path));
  }
  if (!enter(frame.folder.get(), linked)) return false;
  frame.path = path;
  frame.linked = linked;
  SLUICE_TRY(frame.entries, read_entries(frame.folder, path));
  stack_.push_back(std::move(frame));
  return true;
}

Result<bool> Walker::start() {
  const auto slash = prefix_.rfind('/');
  if (slash == std::string::npos) return push({}, false);
  const std::string base = prefix_.substr(0, slash);
  if (!is_key(base) || !check_path_key(base)) return false;
  // The same rules for links as if the walk had come this way, so that a prefix never shows what the whole
  // does not.
  bool linked = false;
  for (std::size_t end = 0; end != std::string::npos;) {
    const FileDescriptor above =
        open_beneath(bucket_fd_, end == 0 ? "." : base.substr(0, end), O_PATH | O_DIRECTORY);
    if (!above || !enter(above.get(), linked)) return false;
    const std::size_t from = end == 0 ? 0 : end + 1;
    end = base.find('/', from);
    struct stat status {};
    const std::string part = base.substr(from, end == std::string::npos ? end : end - from);
    if (::fstatat(above.get(), part.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0) return false;
    linked = S_ISLNK(status.st_mode);
  }
  return push(base + "/", linked);
}

// Stops at the first one. Sub-folders are looked into last, as they cost more.
Result<bool> Walker::holds_object(const std::string& path, bool linked) {
  const FileDescriptor folder =
      open_beneath(bucket_fd_, path.substr(0, path.size() - 1), O_RDONLY | O_DIRECTORY);
  if (!folder) {
    if (errno == ENOENT || errno == ENOTDIR || errno == EXDEV || errno == ELOOP) return false;
    return file_error(errno, "listing " + object_name(bucket_, path));
  }
  if (!enter(folder.get(), linked)) return false;
  bool found_one = false;
  std::vector<std::pair<std::string, bool>> below;
  const int error = for_each_entry(folder.get(), [&](std::string_view name, unsigned char type) {
    std::string key = path + std::string(name);
    if (!is_key(key)) return true;
    FoundKind kind = type == DT_REG   ? FoundKind::file
                     : type == DT_DIR ? FoundKind::folder
                                      : FoundKind::special;
    if (type == DT_LNK) {
      const auto found = follow(key);
      kind = found ? found->kind : FoundKind::absent;
    }
    if (kind == FoundKind::folder) below.emplace_back(std::move(key) + "/", type == DT_LNK);
    found_one = kind == FoundKind::file;
    return !found_one;
  });
  if (error != 0) return file_error(error, "listing " + object_name(bucket_, path));
  for (const auto& [name, is_link] : below) {
    if (found_one) break;
    SLUICE_TRY(found_one, holds_object(name, is_link));
  }
  leave(linked);
  return found_one;
}

Result<std::optional<Item>> Walker::look(const Frame& frame, const std::string& key) const {
  struct stat status {};
  const std::string name = key.substr(frame.path.size());
  if (::fstatat(frame.folder.get(), name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0) {
    if (errno == ENOENT) return std::optional<Item>();
    return file_error(errno, "listing " + object_name(bucket_, key));
  }
  Item item;
  item.name = key;
  if (S_ISREG(status.st_mode)) {
    item.version = version_of(status);
    item.modified = modified_of(status);
    return item;
  }
  const auto found = S_ISLNK(status.st_mode) ? follow(key) : std::nullopt;
  if (!found || found->kind != FoundKind::file) return std::optional<Item>();
  item.version = found->version;
  item.modified = found->modified;
  return item;
}

Result<std::optional<Item>> Walker::next() {
  while (!stack_.empty()) {
    Frame& frame = stack_.back();
    if (frame.next == frame.entries.size()) {
      leave(frame.linked);
      stack_.pop_back();
      continue;
    }
    const Entry& entry = frame.entries[frame.next++];
    const std::string name = frame.path + entry.name;
    auto group = group_of(name);
    if (!entry.is_folder()) {
      SLUICE_TRY(auto item, look(frame, name));
      if (!item) continue;
      if (group) {
        item->name = std::move(*group);
        item->is_group = true;
      }
      return item;
    }
    if (!may_hold(name)) continue;
    // A folder within one group is only looked into, unless the page starts in its middle.
    if (group && name.starts_with(prefix_) && name >= bound_) {
      SLUICE_TRY(const bool filled, holds_object(name, entry.linked));
      if (!filled) continue;
      Item item;
      item.name = std::move(*group);
      item.is_group = true;
      return item;
    }
    SLUICE_CHECK(push(name, entry.linked));
  }
  return std::optional<Item>();
}

void Walker::position(Frame& frame) const {
  const std::string_view bound = bound_;
  while (frame.next < frame.entries.size()) {
    const Entry& entry = frame.entries[frame.next];
    const std::string name = frame.path + entry.name;
    if (name >= bound || (entry.is_folder() && bound.starts_with(name))) break;
    ++frame.next;
  }
}

void Walker::skip_to(std::string bound) {
  if (bound <= bound_) return;
  bound_ = std::move(bound);
  // Frames that the bound has left behind end at once: `position` finds nothing in them.
  for (Frame& frame : stack_) position(frame);
}

}  // namespace

Result<ListPage> list_objects(const Tree& tree, const std::string& bucket, const ListRequest& request) {
  SLUICE_TRY(const FileDescriptor folder, tree.open_bucket(bucket));
  ListPage page;
  const std::size_t most = std::min(request.max_keys, limits::kListKeys);
  if (most == 0) return page;
  Walker walker(folder.get(), bucket, request);
  SLUICE_TRY(const bool any, walker.start());
  if (!any) return page;
  std::string last;
  while (true) {
    SLUICE_TRY(auto item, walker.next());
    if (!item) return page;
    if (page.objects.size() + page.common_prefixes.size() == most) {
      page.truncated = true;
      page.next_start_after = std::move(last);
      return page;
    }
    if (item->is_group) {
      last = behind(item->name);
      walker.skip_to(last);
      page.common_prefixes.push_back(std::move(item->name));
      continue;
    }
    last = item->name;
    ObjectInfo info;
    info.key = std::move(item->name);
    info.bytes = item->version.bytes;
    info.etag = etag_of(item->version);
    info.modified = item->modified;
    page.objects.push_back(std::move(info));
  }
}

}  // namespace sluice::store::directory
