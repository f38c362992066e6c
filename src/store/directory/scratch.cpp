#include "store/directory/scratch.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <map>
#include <vector>

#include "base/encoding.h"
#include "base/log.h"
#include "base/try.h"
#include "store/directory/beneath.h"
#include "store/directory/entries.h"
#include "store/directory/errors.h"
#include "store/directory/record.h"

namespace sluice::store::directory {
namespace {

constexpr char kFormatFile[] = "format";
constexpr std::string_view kFormat = "sluice directory store 1\n";
constexpr std::string_view kOwnerSuffix = ".owner";
constexpr std::string_view kTempSuffix = ".tmp";
constexpr int kNameTries = 16;  // names are random: a second try is already unlikely

// "<pid>-<16 hex>", the pid being for people who look.
std::string make_owner() {
  return std::to_string(::getpid()) + "-" + hex_u64(random_u64());
}

bool all_of(std::string_view text, std::string_view allowed) {
  return !text.empty() && text.find_first_not_of(allowed) == std::string_view::npos;
}

// The owner that a name in tmp/ belongs to; empty for names that are not ours.
std::string_view owner_of(std::string_view name) {
  constexpr std::string_view kDigits = "0123456789";
  constexpr std::string_view kHex = "0123456789abcdef";
  std::string_view owner;
  if (name.ends_with(kOwnerSuffix)) {
    owner = name.substr(0, name.size() - kOwnerSuffix.size());
  } else if (name.ends_with(kTempSuffix)) {
    const std::string_view rest = name.substr(0, name.size() - kTempSuffix.size());
    const auto dot = rest.rfind('.');
    if (dot == std::string_view::npos || !all_of(rest.substr(dot + 1), kDigits)) return {};
    owner = rest.substr(0, dot);
  }
  const auto dash = owner.find('-');
  if (dash == std::string_view::npos || !all_of(owner.substr(0, dash), kDigits)) return {};
  const std::string_view random = owner.substr(dash + 1);
  return random.size() == 16 && all_of(random, kHex) ? owner : std::string_view();
}

Result<FileDescriptor> make_folder(int parent, const std::string& name) {
  if (::mkdirat(parent, name.c_str(), 0700) != 0 && errno != EEXIST) {
    return file_error(
        errno, "making the hidden folder " + name + " (serve with --read-only if it may not be written)");
  }
  FileDescriptor folder = open_beneath(parent, name, O_PATH | O_DIRECTORY, Links::refuse);
  if (folder) return folder;
  if (errno == ENOTDIR || errno == ELOOP) {
    return Error(ErrorCode::config_error,
                 "\"" + name + "\" in the served folder must be a folder; move it away");
  }
  return file_error(errno, "opening the hidden folder " + name);
}

Result<void> write_file(int folder, const std::string& name, std::string_view content) {
  const FileDescriptor file(::openat(folder, name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (!file) return file_error(errno, "writing the format file");
  if (::write(file.get(), content.data(), content.size()) != static_cast<ssize_t>(content.size()) ||
      ::fsync(file.get()) != 0) {
    const int error = errno;
    ::unlinkat(folder, name.c_str(), 0);
    return file_error(error, "writing the format file");
  }
  return {};
}

}  // namespace

TempFile& TempFile::operator=(TempFile&& other) noexcept {
  if (this != &other) {
    remove();
    scratch_ = other.scratch_;
    file_ = std::move(other.file_);
    name_ = std::exchange(other.name_, {});
  }
  return *this;
}

void TempFile::remove() noexcept {
  if (!name_.empty()) ::unlinkat(scratch_->folder(), name_.c_str(), 0);
  name_.clear();
  file_.reset();
}

Result<std::unique_ptr<Scratch>> Scratch::open(int root) {
  std::unique_ptr<Scratch> scratch(new Scratch);
  SLUICE_TRY(const FileDescriptor hidden, make_folder(root, std::string(kHiddenFolder)));
  SLUICE_TRY(scratch->tmp_, make_folder(hidden.get(), "tmp"));
  SLUICE_CHECK(scratch->check_format(hidden.get()));
  SLUICE_CHECK(scratch->become_owner());
  scratch->attributes_ = attributes_work(scratch->owner_file_.get());
  scratch->remove_leftovers();
  return scratch;
}

Scratch::~Scratch() {
  if (owner_file_) ::unlinkat(tmp_.get(), (owner_ + std::string(kOwnerSuffix)).c_str(), 0);
}

Result<void> Scratch::check_format(int hidden) {
  FileDescriptor file = open_beneath(hidden, kFormatFile, O_RDONLY | O_NONBLOCK, Links::refuse);
  if (!file && errno == ENOENT) {
    // Written elsewhere and linked, so that nobody ever reads half of it.
    const std::string name = make_owner() + ".0" + std::string(kTempSuffix);
    SLUICE_CHECK(write_file(tmp_.get(), name, kFormat));
    const int linked = ::linkat(tmp_.get(), name.c_str(), hidden, kFormatFile, 0);
    const int link_error = errno;
    if (linked != 0 && link_error != EEXIST &&
        ::renameat(tmp_.get(), name.c_str(), hidden, kFormatFile) != 0) {
      const int error = errno;
      ::unlinkat(tmp_.get(), name.c_str(), 0);
      return file_error(error, "writing the format file");
    }
    ::unlinkat(tmp_.get(), name.c_str(), 0);
    file = open_beneath(hidden, kFormatFile, O_RDONLY | O_NONBLOCK, Links::refuse);
  }
  if (!file) return file_error(errno, "opening the format file");
  std::array<char, 64> text{};
  const ssize_t size = ::read(file.get(), text.data(), text.size());
  if (size < 0) return file_error(errno, "reading the format file");
  if (std::string_view(text.data(), static_cast<std::size_t>(size)) != kFormat) {
    return Error(ErrorCode::config_error,
                 "the served folder was written by another version of Sluice (see .sluice/format in it); use "
                 "that one");
  }
  return {};
}

Result<void> Scratch::become_owner() {
  for (int i = 0; i < kNameTries; ++i) {
    owner_ = make_owner();
    const std::string name = owner_ + std::string(kOwnerSuffix);
    FileDescriptor file(::openat(tmp_.get(), name.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
    if (!file && errno == EEXIST) continue;
    if (!file) return file_error(errno, "writing to the hidden folder");
    if (::flock(file.get(), LOCK_EX | LOCK_NB) != 0) {
      if (errno == EWOULDBLOCK) continue;  // somebody who cleans up took it for a leftover
      log::warn("no file locks in the served folder; leftovers of crashes will not be removed");
    }
    struct stat status {};
    if (::fstat(file.get(), &status) != 0) return file_error(errno, "looking at the hidden folder");
    if (status.st_nlink == 0) continue;  // the same, already removed
    owner_file_ = std::move(file);
    return {};
  }
  return Error(ErrorCode::io_error,
               "cannot keep a file in the hidden folder .sluice/tmp: something removes it");
}

void Scratch::remove_leftovers() {
  std::map<std::string, std::vector<std::string>, std::less<>> by_owner;
  const int error = for_each_entry(tmp_.get(), [&](std::string_view name, unsigned char type) {
    const std::string_view owner = owner_of(name);
    if (type == DT_REG && !owner.empty() && owner != owner_) by_owner[std::string(owner)].emplace_back(name);
    return true;
  });
  if (error != 0)
    log::warn("cannot look for leftovers of crashes", {{"error", file_error(error, "tmp").message()}});
  for (const auto& [owner, names] : by_owner) {
    const std::string owner_name = owner + std::string(kOwnerSuffix);
    // Asked for by name and not taken from the list: an owner that appeared while we were reading may be
    // missing there.
    const FileDescriptor file = open_beneath(tmp_.get(), owner_name, O_RDWR | O_NONBLOCK, Links::refuse);
    if (!file && errno != ENOENT) continue;
    if (file && ::flock(file.get(), LOCK_EX | LOCK_NB) != 0) continue;  // alive, or no way to know
    for (const std::string& name : names) {
      if (name != owner_name) ::unlinkat(tmp_.get(), name.c_str(), 0);
    }
    ::unlinkat(tmp_.get(), owner_name.c_str(),
               0);  // last, so that a crash here leaves nothing without an owner
    log::info("removed what a crashed process left",
              {{"files", std::uint64_t{names.size()}}, {"owner", owner}});
  }
}

Result<TempFile> Scratch::create() const {
  std::string name =
      owner_ + "." + std::to_string(next_.fetch_add(1, std::memory_order_relaxed)) + std::string(kTempSuffix);
  FileDescriptor file(
      ::openat(tmp_.get(), name.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOCTTY, 0666));
  if (!file) {
    if (errno == ENOENT)
      return Error(ErrorCode::io_error, "the hidden folder .sluice/tmp was removed; restart the gateway");
    return file_error(errno, "making a temporary file");
  }
  return TempFile(*this, std::move(file), std::move(name));
}

}  // namespace sluice::store::directory
