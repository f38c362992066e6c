// ROOT/.sluice: the version of the layout, and the temporary files of unfinished uploads.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "base/file.h"
#include "sluice/error.h"

namespace sluice::store::directory {

inline constexpr std::string_view kHiddenFolder = ".sluice";

class Scratch;

/// A named temporary file; the destructor removes the name unless `disown` was called (it was renamed).
/// Must not outlive its Scratch. One thread at a time.
class TempFile {
 public:
  TempFile() = default;
  TempFile(const Scratch& scratch, FileDescriptor file, std::string name)
      : scratch_(&scratch), file_(std::move(file)), name_(std::move(name)) {}
  TempFile(TempFile&& other) noexcept
      : scratch_(other.scratch_), file_(std::move(other.file_)), name_(std::exchange(other.name_, {})) {}
  TempFile& operator=(TempFile&& other) noexcept;
  ~TempFile() { remove(); }
  [[nodiscard]] int fd() const { return file_.get(); }
  [[nodiscard]] const std::string& name() const { return name_; }
  void disown() { name_.clear(); }
  void remove() noexcept;

 private:
  const Scratch* scratch_ = nullptr;
  FileDescriptor file_;
  std::string name_;
};

/// Every temporary file belongs to an owner, whose file `tmp/<owner>.owner` is held locked (flock) for as
/// long as its store lives. The lock goes with the process, however it ends, so what belongs to an unlocked
/// owner is a leftover; unlike a process id that also holds across containers. Safe from any thread.
class Scratch {
 public:
  /// Makes the folders where missing, checks the version, removes leftovers, probes for extended attributes.
  static Result<std::unique_ptr<Scratch>> open(int root);
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  ~Scratch();

  [[nodiscard]] int folder() const { return tmp_.get(); }
  [[nodiscard]] bool attributes() const { return attributes_; }
  Result<TempFile> create() const;

 private:
  Scratch() = default;
  Result<void> check_format(int hidden);
  Result<void> become_owner();
  void remove_leftovers();

  FileDescriptor tmp_;
  FileDescriptor owner_file_;
  std::string owner_;
  mutable std::atomic<std::uint64_t> next_{0};
  bool attributes_ = false;
};

}  // namespace sluice::store::directory
