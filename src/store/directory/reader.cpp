#include "store/directory/reader.h"

#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <functional>
#include <utility>

#include "base/try.h"
#include "store/directory/errors.h"
#include "store/directory/key_path.h"
#include "store/directory/record.h"

namespace sluice::store::directory {
namespace {

class FileReader final : public ObjectReader {
 public:
  FileReader(BlockingPool& pool, FileDescriptor file, FileVersion version, std::string name, ObjectInfo info)
      : pool_(pool),
        file_(std::move(file)),
        version_(version),
        name_(std::move(name)),
        info_(std::move(info)) {}

  [[nodiscard]] const ObjectInfo& info() const override { return info_; }

  Result<std::size_t> try_read(std::uint64_t offset, std::span<std::byte> into) override {
    if (!nowait_ || offset >= info_.bytes || into.empty()) return std::size_t{0};
    const iovec part{into.data(),
                     static_cast<std::size_t>(std::min<std::uint64_t>(into.size(), info_.bytes - offset))};
    const ssize_t count = ::preadv2(file_.get(), &part, 1, static_cast<off_t>(offset), RWF_NOWAIT);
    if (count >= 0) return static_cast<std::size_t>(count);
    switch (errno) {
      case EOPNOTSUPP:
      case EINVAL:
      case ENOSYS:
        nowait_ = false;
        [[fallthrough]];
      case EAGAIN:
      case EINTR:
        return std::size_t{0};
      default:
        return file_error(errno, name_);
    }
  }

  Task<Result<void>> read(std::uint64_t offset, std::span<std::byte> into) override {
    if (offset > info_.bytes || into.size() > info_.bytes - offset) {
      co_return Error(ErrorCode::invalid_argument, name_ + ": reading past the end");
    }
    SLUICE_CO_TRY(const std::size_t resident, try_read(offset, into));
    const std::span<std::byte> rest = into.subspan(resident);
    if (rest.empty()) co_return Result<void>();
    std::function<Result<std::size_t>()> call = [this, from = offset + resident, rest] {
      return read_all(from, rest);
    };
    const auto done = co_await pool_.run<std::size_t>(std::move(call));
    if (!done) co_return done.error();
    co_return Result<void>();
  }

  Task<Result<void>> verify_unchanged() override {
    struct stat status {};
    if (::fstat(file_.get(), &status) != 0) co_return file_error(errno, name_);
    if (!same_bytes(version_, version_of(status))) {
      co_return Error(ErrorCode::io_error,
                      name_ + ": another program changed the file while it was being read")
          .with_retry(Retry::same);
    }
    co_return Result<void>();
  }

 private:
  Result<std::size_t> read_all(std::uint64_t offset, std::span<std::byte> into) const {
    std::size_t done = 0;
    while (done < into.size()) {
      const ssize_t count =
          ::pread(file_.get(), into.data() + done, into.size() - done, static_cast<off_t>(offset + done));
      if (count < 0 && errno == EINTR) continue;
      if (count < 0) return file_error(errno, name_);
      if (count == 0) {
        return Error(ErrorCode::size_mismatch,
                     name_ + ": another program shortened the file while it was being read");
      }
      done += static_cast<std::size_t>(count);
    }
    return done;
  }

  BlockingPool& pool_;
  FileDescriptor file_;
  FileVersion version_;
  std::string name_;
  ObjectInfo info_;
  bool nowait_ = true;  // the file system knows RWF_NOWAIT
};

constexpr int kLooks = 8;

Error no_object(const Found& found, const std::string& bucket, const std::string& key) {
  if (found.kind == FoundKind::outside) return leaves_bucket(bucket, key);
  if (found.kind != FoundKind::special) return no_such_key(bucket, key);
  return no_such_key(bucket, key, "what is there is a FIFO, device or socket, and only files are objects");
}

}  // namespace

std::optional<Result<std::unique_ptr<ObjectReader>>> open_object(const Tree& tree, const std::string& bucket,
                                                                 const std::string& key, Lookup lookup) {
  using Opened = Result<std::unique_ptr<ObjectReader>>;
  auto folder = tree.open_bucket(bucket, lookup);
  if (!folder) return Opened(std::move(folder).error());
  if (!*folder) return std::nullopt;
  if (!check_path_key(key)) return Opened(no_such_key(bucket, key));

  Result<Found> found = Found();
  FileDescriptor file;
  struct stat status {};
  // A version that was replaced while we opened it would show an ETag that nobody was told: look again.
  for (int i = 0; i < kLooks && (i == 0 || status.st_nlink == 0); ++i) {
    found = find_object(folder->get(), bucket, key, lookup);
    if (!found) return Opened(std::move(found).error());
    if (found->kind == FoundKind::unknown) return std::nullopt;
    if (found->kind != FoundKind::file) return Opened(no_object(*found, bucket, key));
    file = reopen_for_reading(found->path_fd.get());
    if (!file || ::fstat(file.get(), &status) != 0)
      return Opened(file_error(errno, object_name(bucket, key)));
  }
  const FileVersion version = version_of(status);
  ObjectInfo info;
  info.key = key;
  info.bytes = version.bytes;
  info.etag = etag_of(version);
  info.modified = modified_of(status);
  if (tree.attributes) {
    if (auto record = load_record(file.get(), version)) {
      info.metadata = std::move(record->metadata);
      info.crc64nvme = record->crc64nvme;
    }
  }
  return Opened(std::make_unique<FileReader>(*tree.pool, std::move(file), version, object_name(bucket, key),
                                             std::move(info)));
}

}  // namespace sluice::store::directory
