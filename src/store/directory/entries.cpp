#include "store/directory/entries.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>
#include <memory>

namespace sluice::store::directory {
namespace {

struct CloseFolder {
  void operator()(DIR* folder) const { ::closedir(folder); }
};

unsigned char type_of(int folder, const char* name) {
  struct stat status {};
  if (::fstatat(folder, name, &status, AT_SYMLINK_NOFOLLOW) != 0)
    return DT_WHT;  // gone: of no interest to anybody
  return IFTODT(status.st_mode);
}

}  // namespace

int for_each_entry(int folder, const std::function<bool(std::string_view, unsigned char)>& visit) {
  FileDescriptor own(::openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!own) return errno;
  const std::unique_ptr<DIR, CloseFolder> stream(::fdopendir(own.get()));
  if (!stream) return errno;
  static_cast<void>(own.release());  // the stream closes it
  while (true) {
    errno = 0;
    const dirent* entry = ::readdir(stream.get());
    if (entry == nullptr) return errno;
    const std::string_view name = entry->d_name;
    if (name == "." || name == "..") continue;
    const unsigned char type = entry->d_type == DT_UNKNOWN ? type_of(folder, entry->d_name) : entry->d_type;
    if (!visit(name, type)) return 0;
  }
}

}  // namespace sluice::store::directory
