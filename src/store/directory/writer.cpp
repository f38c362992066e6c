#include "store/directory/writer.h"

#include <fcntl.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <cerrno>
#include <functional>
#include <utility>

#include "base/limits.h"
#include "base/try.h"
#include "s3/errors.h"
#include "store/directory/errors.h"
#include "store/directory/publish.h"
#include "store/directory/record.h"

namespace sluice::store::directory {
namespace {

std::string file_system_name(int fd) {
  struct statfs status {};
  if (::fstatfs(fd, &status) != 0) return "unknown";
  switch (static_cast<std::uint32_t>(status.f_type)) {
    case 0xEF53:
      return "ext4";
    case 0x01021994:
      return "tmpfs";
    case 0x6969:
      return "nfs";
    case 0x4d44:
      return "vfat";
    case 0x65735546:
      return "fuse";
    case 0x794c7630:
      return "overlayfs";
    default:
      return "type " + std::to_string(status.f_type);
  }
}

// Fails early on a full disk, and keeps large objects in one piece. Only a full disk counts: many file
// systems cannot reserve at all.
Result<void> reserve(int fd, std::uint64_t bytes) {
  if (bytes < limits::kPreallocateBytes) return {};
  if (::fallocate(fd, FALLOC_FL_KEEP_SIZE, 0, static_cast<off_t>(bytes)) == 0) return {};
  if (errno == ENOSPC || errno == EDQUOT || errno == EFBIG)
    return file_error(errno, "reserving room for the object");
  return {};
}

Result<std::size_t> write_all(int fd, std::uint64_t offset, std::span<const std::byte> bytes) {
  std::size_t done = 0;
  while (done < bytes.size()) {
    const ssize_t count =
        ::pwrite(fd, bytes.data() + done, bytes.size() - done, static_cast<off_t>(offset + done));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return file_error(errno, "writing the object");
    if (count == 0) return file_error(EIO, "writing the object");
    done += static_cast<std::size_t>(count);
  }
  return done;
}

class FileWriter final : public ObjectWriter {
 public:
  FileWriter(Tree& tree, TempFile temp, Publication publication)
      : tree_(tree), temp_(std::move(temp)), publication_(std::move(publication)) {}

  Task<Result<void>> write(std::span<const std::byte> bytes) override {
    SLUICE_CO_CHECK(check_open());
    if (bytes.empty()) co_return Result<void>();
    Result<std::size_t> done = std::size_t{0};
    if (bytes.size() < limits::kInlineWriteBytes) {
      done = write_all(temp_.fd(), publication_.bytes, bytes);
    } else {
      std::function<Result<std::size_t>()> call = [this, bytes] { return write_in_pool(bytes); };
      done = co_await tree_.pool->run<std::size_t>(std::move(call));
    }
    if (!done) {
      temp_.remove();
      state_ = State::failed;
      co_return done.error();
    }
    publication_.bytes += bytes.size();
    co_return Result<void>();
  }

  Task<Result<ObjectInfo>> commit(CommitOptions options) override {
    SLUICE_CO_CHECK(check_open());
    publication_.options = std::move(options);
    std::function<Result<ObjectInfo>()> call = [this] {
      auto info = publish(tree_, temp_, std::move(publication_));
      temp_.remove();  // closes the file; the name is gone already unless publishing failed
      return info;
    };
    Result<ObjectInfo> info = co_await tree_.pool->run<ObjectInfo>(std::move(call));
    state_ = info ? State::committed : State::failed;
    temp_.remove();  // where the pool was too busy to run the call
    co_return info;
  }

 private:
  enum class State : std::uint8_t { open, committed, failed };

  Result<void> check_open() const {
    if (state_ == State::open) return {};
    return Error(ErrorCode::internal, state_ == State::committed ? "the object is committed already"
                                                                 : "the upload failed already");
  }

  Result<std::size_t> write_in_pool(std::span<const std::byte> bytes) {
    auto done = write_all(temp_.fd(), publication_.bytes, bytes);
    const std::uint64_t end = publication_.bytes + bytes.size();
    // Lets the disk work while the rest arrives, so that the final sync finds little to do.
    if (done && tree_.options.fsync != FsyncPolicy::none && end - flushed_ >= limits::kWritebackBytes) {
      ::sync_file_range(temp_.fd(), static_cast<off_t>(flushed_), static_cast<off_t>(end - flushed_),
                        SYNC_FILE_RANGE_WRITE);
      flushed_ = end;
    }
    return done;
  }

  Tree& tree_;
  TempFile temp_;
  Publication publication_;
  std::uint64_t flushed_ = 0;
  State state_ = State::open;
};

// Says before the bytes are moved what could not be stored with them.
Result<void> check_metadata(const Tree& tree, const ObjectMetadata& metadata) {
  if (metadata.content_headers.empty() && metadata.user.empty()) return {};
  if (!tree.attributes) {
    return s3::make_error("NotImplemented",
                          "the file system of the served folder (" + file_system_name(tree.root.get()) +
                              ") has no extended attributes: headers and metadata cannot be stored");
  }
  Record record;
  record.metadata = metadata;
  record.crc64nvme = ~std::uint64_t{0};
  FileVersion longest;
  longest.inode = longest.bytes = longest.mtime_ns = ~std::uint64_t{0};
  SLUICE_TRY([[maybe_unused]] const std::string text, encode_record(record, longest));
  return {};
}

}  // namespace

Result<std::unique_ptr<ObjectWriter>> create_object(Tree& tree, std::string bucket, std::string key,
                                                    ObjectMetadata metadata,
                                                    std::optional<std::uint64_t> expected_bytes) {
  SLUICE_CHECK(check_target(tree, bucket, key));
  SLUICE_CHECK(check_metadata(tree, metadata));
  SLUICE_TRY(TempFile temp, tree.scratch->create());
  SLUICE_CHECK(reserve(temp.fd(), expected_bytes.value_or(0)));
  Publication publication;
  publication.bucket = std::move(bucket);
  publication.key = std::move(key);
  publication.metadata = std::move(metadata);
  return std::unique_ptr<ObjectWriter>(
      std::make_unique<FileWriter>(tree, std::move(temp), std::move(publication)));
}

}  // namespace sluice::store::directory
