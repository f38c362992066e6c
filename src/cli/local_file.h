// Local files as sources and targets of a copy.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "base/file.h"
#include "memory/memory.h"
#include "sluice/error.h"

namespace sluice::cli {

/// The whole of a file (or of standard input for "-") in memory: a single S3 PUT needs all of it in one
/// window. Errors: not_found, io_error, invalid_argument (a directory, more than 5 GiB), each naming the
/// file.
Result<AlignedBuffer> read_source(const std::string& path, std::size_t& bytes);

/// Whether `path` exists and is a directory.
bool is_directory(const std::string& path);
/// Whether anything has that name, a dangling link included.
bool file_exists(const std::string& path);
/// What --no-clobber says of an existing target.
Error target_exists(const std::string& path);

/// A file that appears under its name only when complete: made beside it, mapped so that RDMA lands in it
/// directly, renamed by `finish`. Destroying an unfinished one removes it.
class TargetFile {
 public:
  /// Errors: io_error (disk full: space is reserved at once), permission_denied, not_found (folder), naming
  /// the path.
  static Result<TargetFile> create(const std::string& path, std::uint64_t bytes);
  TargetFile(TargetFile&& other) noexcept;
  TargetFile& operator=(TargetFile&& other) = delete;
  ~TargetFile();
  [[nodiscard]] std::span<std::byte> span() const { return {data_, bytes_}; }
  /// `replace` false: an existing target is an error (already_exists) and stays.
  Result<void> finish(bool replace);

 private:
  TargetFile() = default;
  std::string path_;
  std::string temporary_;
  FileDescriptor file_;
  std::byte* data_ = nullptr;
  std::size_t bytes_ = 0;
};

}  // namespace sluice::cli
