#include "cli/local_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <utility>

#include "base/encoding.h"
#include "base/limits.h"
#include "base/parse.h"
#include "base/try.h"

namespace sluice::cli {

namespace {

Error too_large(const std::string& path) {
  return Error(ErrorCode::invalid_argument, path + " is larger than " + format_size(limits::kObjectPutBytes) +
                                                ", the most that one S3 PUT can carry");
}

/// Reads until the end into a buffer that grows by doubling; `bytes` is what was read.
Result<AlignedBuffer> read_growing(int fd, const std::string& path, std::size_t guess, std::size_t& bytes) {
  SLUICE_TRY(AlignedBuffer buffer, AlignedBuffer::allocate(std::max<std::size_t>(guess + 1, limits::kMiB)));
  bytes = 0;
  for (;;) {
    if (bytes == buffer.size()) {
      if (bytes > limits::kObjectPutBytes) return too_large(path);
      SLUICE_TRY(AlignedBuffer larger, AlignedBuffer::allocate(buffer.size() * 2));
      std::memcpy(larger.data(), buffer.data(), bytes);
      buffer = std::move(larger);
    }
    const ssize_t got = ::read(fd, buffer.data() + bytes, buffer.size() - bytes);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return errno_error(errno, "reading " + path);
    if (got == 0) break;
    bytes += static_cast<std::size_t>(got);
  }
  if (bytes > limits::kObjectPutBytes) return too_large(path);
  return buffer;
}

}  // namespace

Result<AlignedBuffer> read_source(const std::string& path, std::size_t& bytes) {
  if (path == "-") return read_growing(STDIN_FILENO, "standard input", 0, bytes);
  FileDescriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file) return errno_error(errno, path);
  struct stat info {};
  if (::fstat(file.get(), &info) != 0) return errno_error(errno, path);
  if (S_ISDIR(info.st_mode)) {
    return Error(ErrorCode::invalid_argument, path + " is a directory: name its files one by one");
  }
  const auto size = static_cast<std::uint64_t>(std::max<off_t>(info.st_size, 0));
  if (size > limits::kObjectPutBytes) return too_large(path);
  ::posix_fadvise(file.get(), 0, 0, POSIX_FADV_SEQUENTIAL);
  return read_growing(file.get(), path, size, bytes);
}

bool is_directory(const std::string& path) {
  struct stat info {};
  return ::stat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode);
}

bool file_exists(const std::string& path) {
  struct stat info {};
  return ::lstat(path.c_str(), &info) == 0;
}

Error target_exists(const std::string& path) {
  return Error(ErrorCode::already_exists, path + " exists; leave out --no-clobber to replace it");
}

Result<TargetFile> TargetFile::create(const std::string& path, std::uint64_t bytes) {
  struct stat info {};
  if (::stat(path.c_str(), &info) == 0 && !S_ISREG(info.st_mode)) {
    return Error(ErrorCode::invalid_argument, path + " exists and is no ordinary file");
  }
  TargetFile target;
  target.path_ = path;
  target.temporary_ = path + ".sluice-" + hex_u64(random_u64());
  target.file_ =
      FileDescriptor(::open(target.temporary_.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
  if (!target.file_) {
    const int error = errno;
    target.temporary_.clear();
    return errno_error(error, "creating " + path);
  }
  target.bytes_ = bytes;
  if (bytes == 0) return target;
  // Reserved, not only declared: a mapping of a file with holes would be a SIGBUS on a full disk.
  if (const int error = ::posix_fallocate(target.file_.get(), 0, static_cast<off_t>(bytes)); error != 0) {
    return errno_error(error, "reserving " + format_size(bytes) + " for " + path);
  }
  void* mapped = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, target.file_.get(), 0);
  if (mapped == MAP_FAILED) return errno_error(errno, "mapping " + path);
  target.data_ = static_cast<std::byte*>(mapped);
  return target;
}

TargetFile::TargetFile(TargetFile&& other) noexcept
    : path_(std::move(other.path_)),
      temporary_(std::exchange(other.temporary_, {})),
      file_(std::move(other.file_)),
      data_(std::exchange(other.data_, nullptr)),
      bytes_(other.bytes_) {}

TargetFile::~TargetFile() {
  if (data_ != nullptr) ::munmap(data_, bytes_);
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
}

Result<void> TargetFile::finish(bool replace) {
  if (replace) {
    if (std::rename(temporary_.c_str(), path_.c_str()) != 0)
      return errno_error(errno, "renaming to " + path_);
    temporary_.clear();
    return {};
  }
  if (::link(temporary_.c_str(), path_.c_str()) != 0) {
    if (errno == EEXIST) return target_exists(path_);
    return errno_error(errno, "naming " + path_);
  }
  return {};  // the destructor removes the temporary name
}

}  // namespace sluice::cli
