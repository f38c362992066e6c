#include "store/directory/version.h"

#include <algorithm>
#include <array>
#include <charconv>

namespace sluice::store::directory {
namespace {

constexpr std::uint64_t kNanosecondsPerSecond = 1'000'000'000;

std::uint64_t nanoseconds(const timespec& time) {
  return static_cast<std::uint64_t>(time.tv_sec) * kNanosecondsPerSecond +
         static_cast<std::uint64_t>(time.tv_nsec);
}

void append_hex(std::string& out, std::uint64_t value) {
  std::array<char, 16> digits{};
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), value, 16).ptr;
  out.append(digits.data(), end);
}

}  // namespace

FileVersion version_of(const struct stat& status) {
  FileVersion version;
  version.inode = status.st_ino;
  version.bytes = static_cast<std::uint64_t>(status.st_size);
  version.mtime_ns = nanoseconds(status.st_mtim);
  version.ctime_ns = nanoseconds(status.st_ctim);
  version.links = status.st_nlink;
  return version;
}

std::string etag_of(const FileVersion& version) {
  std::string etag;
  append_hex(etag, version.inode);
  for (const std::uint64_t part : {version.bytes, version.mtime_ns, version.ctime_ns}) {
    etag += '-';
    append_hex(etag, part);
  }
  return etag;
}

WallClock::time_point modified_of(const struct stat& status) {
  using std::chrono::seconds;
  // What a 64-bit count of nanoseconds can hold; a file may claim any year.
  constexpr seconds::rep kFarthest = 9'000'000'000;
  const auto since = seconds(std::clamp<seconds::rep>(status.st_mtim.tv_sec, -kFarthest, kFarthest));
  return WallClock::time_point(std::chrono::duration_cast<WallClock::duration>(
      since + std::chrono::nanoseconds(status.st_mtim.tv_nsec)));
}

bool same_bytes(const FileVersion& opened, const FileVersion& now) {
  return opened.inode == now.inode && opened.bytes == now.bytes && opened.mtime_ns == now.mtime_ns &&
         (opened.ctime_ns == now.ctime_ns || opened.links != now.links);
}

}  // namespace sluice::store::directory
