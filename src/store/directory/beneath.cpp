#include "store/directory/beneath.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/syscall.h>

#include <cerrno>

#ifndef RESOLVE_CACHED
#define RESOLVE_CACHED 0x20
#endif

namespace sluice::store::directory {
namespace {

// openat2 gives EAGAIN when a rename elsewhere ran while it resolved a "..": only links can hold one, so it
// is rare, and it ends by itself.
constexpr int kRenameRetries = 256;

}  // namespace

FileDescriptor open_beneath(int folder, const std::string& path, int flags, Links links, Lookup lookup) {
  open_how how{};
  how.flags = static_cast<std::uint64_t>(flags) | O_CLOEXEC;
  how.resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS;
  if (links == Links::refuse) how.resolve |= RESOLVE_NO_SYMLINKS;
  if (lookup == Lookup::cached) how.resolve |= RESOLVE_CACHED;
  const int tries = lookup == Lookup::cached ? 1 : kRenameRetries;
  for (int i = 0; i < tries; ++i) {
    const long fd = ::syscall(SYS_openat2, folder, path.c_str(), &how, sizeof how);
    if (fd >= 0) return FileDescriptor(static_cast<int>(fd));
    if (errno != EAGAIN && errno != EINTR) break;
  }
  return FileDescriptor();
}

FileDescriptor reopen_for_reading(int path_fd) {
  const std::string self = "/proc/self/fd/" + std::to_string(path_fd);
  return FileDescriptor(::open(self.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY));
}

int probe_openat2(int folder) {
  return open_beneath(folder, ".", O_PATH | O_DIRECTORY) ? 0 : errno;
}

int probe_proc(int folder) {
  const FileDescriptor self = open_beneath(folder, ".", O_PATH | O_DIRECTORY);
  return self && reopen_for_reading(self.get()) ? 0 : errno;
}

}  // namespace sluice::store::directory
