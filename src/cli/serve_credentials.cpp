#include "cli/serve_credentials.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <fstream>
#include <vector>

#include "base/encoding.h"
#include "base/file.h"
#include "base/try.h"

namespace sluice::cli {

namespace {

std::string env(const char* name) {
  const char* value = std::getenv(name);  // NOLINT(concurrency-mt-unsafe): before threads start
  return value == nullptr ? std::string() : std::string(value);
}

Result<ServeCredentials> read_file(const std::string& path) {
  struct stat info {};
  if (::stat(path.c_str(), &info) != 0) return errno_error(errno, path);
  if ((info.st_mode & 077U) != 0) {
    return Error(ErrorCode::config_error,
                 path + " holds a secret and is readable by others: chmod 600 " + path);
  }
  ServeCredentials credentials;
  credentials.file = path;
  std::ifstream file(path);
  std::string line;
  while (std::getline(file, line)) {
    std::string_view text = line;
    if (text.starts_with("export ")) text.remove_prefix(7);
    for (const auto& [name, field] : {std::pair{"AWS_ACCESS_KEY_ID=", &credentials.access_key},
                                      std::pair{"AWS_SECRET_ACCESS_KEY=", &credentials.secret_key}}) {
      if (text.starts_with(name)) *field = std::string(text.substr(std::string_view(name).size()));
    }
  }
  if (credentials.access_key.empty() || credentials.secret_key.empty()) {
    return Error(ErrorCode::config_error,
                 path + " needs the two lines AWS_ACCESS_KEY_ID=… and AWS_SECRET_ACCESS_KEY=…");
  }
  return credentials;
}

std::string random_hex(std::size_t bytes) {
  std::vector<std::byte> random(bytes);
  random_bytes(random);
  return hex_encode(random);
}

/// A folder that only this user can have made and only this user can read.
Result<std::string> private_folder() {
  const std::string runtime = env("XDG_RUNTIME_DIR");
  std::string folder =
      (runtime.empty() ? std::string("/tmp") : runtime) + "/sluice-" + std::to_string(::getuid());
  if (::mkdir(folder.c_str(), 0700) != 0 && errno != EEXIST) return errno_error(errno, "making " + folder);
  struct stat info {};
  if (::lstat(folder.c_str(), &info) != 0) return errno_error(errno, folder);
  if (!S_ISDIR(info.st_mode) || info.st_uid != ::getuid() || (info.st_mode & 077U) != 0) {
    return Error(ErrorCode::config_error,
                 folder + " is not a private folder of this user: remove it, or name a --credentials-file");
  }
  return folder;
}

}  // namespace

Result<ServeCredentials> serve_credentials(const std::string& file) {
  if (!file.empty() && ::access(file.c_str(), F_OK) == 0) return read_file(file);
  ServeCredentials credentials;
  credentials.access_key = env("AWS_ACCESS_KEY_ID");
  credentials.secret_key = env("AWS_SECRET_ACCESS_KEY");
  if (credentials.access_key.empty() != credentials.secret_key.empty()) {
    return Error(ErrorCode::config_error,
                 "only one of AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY is set; set both or neither");
  }
  if (!credentials.access_key.empty()) return credentials;
  credentials.generated = true;
  credentials.access_key = "SLUICE" + random_hex(7);
  credentials.secret_key = random_hex(20);
  return credentials;
}

Result<std::string> write_generated(const ServeCredentials& credentials, const std::string& file,
                                    std::uint16_t port) {
  std::string path = file;
  if (path.empty()) {
    SLUICE_TRY(std::string folder, private_folder());
    path = folder + "/credentials-" + std::to_string(port);
    ::unlink(path.c_str());  // of a gateway on this port that was killed
  }
  const FileDescriptor out(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!out) return errno_error(errno, "writing the generated credentials to " + path);
  const std::string text = "export AWS_ACCESS_KEY_ID=" + credentials.access_key +
                           "\nexport AWS_SECRET_ACCESS_KEY=" + credentials.secret_key + "\n";
  if (::write(out.get(), text.data(), text.size()) != static_cast<ssize_t>(text.size()))
    return errno_error(errno, "writing " + path);
  return path;
}

}  // namespace sluice::cli
