#include "store/directory/errors.h"

#include <cerrno>
#include <system_error>

#include "s3/errors.h"

namespace sluice::store::directory {
namespace {

// An S3 code with the words for it. What the table says about outcome is for requests over a network: here a
// failed call is known to have done nothing.
Error refused(std::string_view s3_code, std::string message) {
  return s3::make_error(s3_code, std::move(message)).with_outcome(Outcome::refused);
}

}  // namespace

std::string object_name(std::string_view bucket, std::string_view key) {
  std::string name = "s3://" + std::string(bucket) + "/";
  for (const char c : key) {
    const auto u = static_cast<unsigned char>(c);
    if (u < 0x20 || u == 0x7f) {
      constexpr char kHex[] = "0123456789abcdef";
      name += "\\x";
      name += kHex[u >> 4U];
      name += kHex[u & 15U];
    } else {
      name += c;
    }
  }
  return name;
}

Error file_error(int errno_value, std::string_view what) {
  const std::string about(what);
  const auto native = [errno_value](Error error) {
    return std::move(error).with_native("errno", errno_value);
  };
  switch (errno_value) {
    case ENOSPC:
    case EDQUOT: {
      S3Detail detail;
      detail.code = "InsufficientStorage";
      detail.http_status = 507;
      return native(
          Error(ErrorCode::io_error, about + ": the disk of the served folder is full; free some space")
              .with_s3(std::move(detail)));
    }
    case EROFS:
      return native(refused("AccessDenied", about + ": the file system is mounted read-only"));
    case EACCES:
    case EPERM:
      return native(
          refused("AccessDenied", about + ": the gateway's user may not do this; check owner and mode"));
    case EFBIG:
      return native(
          refused("EntityTooLarge", about + ": larger than the file system or the process limit allows"));
    case EMFILE:
    case ENFILE:
      return native(refused("SlowDown", about + ": too many open files; raise the limit (ulimit -n)"));
    case ENAMETOOLONG:
    case EILSEQ:
      return native(refused("NotImplemented", about + ": the file system cannot hold that name"));
    case EXDEV:
      return native(
          refused("NotImplemented", about + ": it lies on another file system than the served folder"));
    case ESTALE:
      return native(
          Error(ErrorCode::io_error, about + ": stale handle, the network file system must be remounted")
              .with_retry(Retry::later, std::chrono::seconds(1)));
    case ENOMEM:
      return native(Error(ErrorCode::out_of_memory, about + ": out of memory"));
    default:
      return native(Error(ErrorCode::io_error, about + ": " + std::generic_category().message(errno_value)));
  }
}

Error no_such_bucket(std::string_view bucket) {
  return refused("NoSuchBucket", "s3://" + std::string(bucket) + " does not exist");
}

Error no_such_key(std::string_view bucket, std::string_view key, std::string_view why) {
  std::string message = object_name(bucket, key) + " does not exist";
  if (!why.empty()) message += ": " + std::string(why);
  return refused("NoSuchKey", std::move(message));
}

Error cannot_hold(std::string_view key, std::string_view why) {
  return refused("NotImplemented", "the directory store cannot hold the key \"" +
                                       object_name({}, key).substr(6) + "\": " + std::string(why));
}

Error leaves_bucket(std::string_view bucket, std::string_view key) {
  return refused(
      "AccessDenied",
      object_name(bucket, key) + ": a symbolic link there leaves the bucket's folder or leads in a circle");
}

Error read_only_error() {
  return refused("AccessDenied", "the gateway serves this folder with --read-only");
}

}  // namespace sluice::store::directory
