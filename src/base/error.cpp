#include "sluice/error.h"

#include <cerrno>
#include <cstring>
#include <system_error>
#include <vector>

namespace sluice {

struct Error::Payload {
  ErrorCode code;
  Outcome outcome = Outcome::refused;
  Retry retry = Retry::never;
  std::chrono::milliseconds retry_after{0};
  std::string message;
  S3Detail s3;
  NativeDetail native;
  std::vector<std::string> contexts;  ///< innermost first
};

static_assert(sizeof(Result<int>) == 16, "the success path carries one pointer, no more (style 8.4)");

std::string_view to_string(ErrorCode code) noexcept {
  switch (code) {
    case ErrorCode::invalid_argument:
      return "invalid_argument";
    case ErrorCode::not_found:
      return "not_found";
    case ErrorCode::already_exists:
      return "already_exists";
    case ErrorCode::precondition_failed:
      return "precondition_failed";
    case ErrorCode::not_modified:
      return "not_modified";
    case ErrorCode::permission_denied:
      return "permission_denied";
    case ErrorCode::unauthenticated:
      return "unauthenticated";
    case ErrorCode::checksum_mismatch:
      return "checksum_mismatch";
    case ErrorCode::size_mismatch:
      return "size_mismatch";
    case ErrorCode::range_not_satisfiable:
      return "range_not_satisfiable";
    case ErrorCode::declined:
      return "declined";
    case ErrorCode::token_refused:
      return "token_refused";
    case ErrorCode::lease_expired:
      return "lease_expired";
    case ErrorCode::fence_failed:
      return "fence_failed";
    case ErrorCode::peer_gone:
      return "peer_gone";
    case ErrorCode::timeout:
      return "timeout";
    case ErrorCode::cancelled:
      return "cancelled";
    case ErrorCode::overloaded:
      return "overloaded";
    case ErrorCode::out_of_memory:
      return "out_of_memory";
    case ErrorCode::device_error:
      return "device_error";
    case ErrorCode::io_error:
      return "io_error";
    case ErrorCode::protocol_error:
      return "protocol_error";
    case ErrorCode::unsupported:
      return "unsupported";
    case ErrorCode::config_error:
      return "config_error";
    case ErrorCode::internal:
      return "internal";
  }
  return "unknown";
}

std::string_view to_string(Outcome outcome) noexcept {
  switch (outcome) {
    case Outcome::refused:
      return "refused";
    case Outcome::uncertain:
      return "uncertain";
    case Outcome::delivered:
      return "delivered";
  }
  return "unknown";
}

std::string_view to_string(Retry retry) noexcept {
  switch (retry) {
    case Retry::never:
      return "never";
    case Retry::same:
      return "same";
    case Retry::fresh_token:
      return "fresh_token";
    case Retry::later:
      return "later";
  }
  return "unknown";
}

Error::Error(ErrorCode code, std::string message) : payload_(std::make_unique<Payload>()) {
  payload_->code = code;
  payload_->message = std::move(message);
}
Error::Error(const Error& other) : payload_(std::make_unique<Payload>(*other.payload_)) {}
Error::Error(Error&& other) noexcept = default;
Error& Error::operator=(const Error& other) {
  if (this != &other) payload_ = std::make_unique<Payload>(*other.payload_);
  return *this;
}
Error& Error::operator=(Error&& other) noexcept = default;
Error::~Error() = default;

ErrorCode Error::code() const noexcept {
  return payload_->code;
}
Outcome Error::outcome() const noexcept {
  return payload_->outcome;
}
Retry Error::retry() const noexcept {
  return payload_->retry;
}
std::chrono::milliseconds Error::retry_after() const noexcept {
  return payload_->retry_after;
}
const std::string& Error::message() const noexcept {
  return payload_->message;
}
const S3Detail& Error::s3() const noexcept {
  return payload_->s3;
}
const NativeDetail& Error::native() const noexcept {
  return payload_->native;
}

std::string Error::describe() const {
  std::string text;
  for (auto it = payload_->contexts.rbegin(); it != payload_->contexts.rend(); ++it) {
    text += *it;
    text += ": ";
  }
  return text + payload_->message;
}

Error&& Error::with_outcome(Outcome outcome) && {
  return std::move(set_outcome(outcome));
}
Error&& Error::with_retry(Retry retry, std::chrono::milliseconds after) && {
  return std::move(set_retry(retry, after));
}
Error&& Error::with_s3(S3Detail detail) && {
  payload_->s3 = std::move(detail);
  return std::move(*this);
}
Error&& Error::with_native(std::string domain, std::int64_t value) && {
  payload_->native = {std::move(domain), value};
  return std::move(*this);
}
Error&& Error::with_context(std::string context) && {
  return std::move(add_context(std::move(context)));
}

Error& Error::set_outcome(Outcome outcome) & {
  payload_->outcome = outcome;
  return *this;
}
Error& Error::set_retry(Retry retry, std::chrono::milliseconds after) & {
  payload_->retry = retry;
  payload_->retry_after = after;
  return *this;
}
Error& Error::add_context(std::string context) & {
  auto& contexts = payload_->contexts;
  if (!context.empty() && (contexts.empty() || contexts.back() != context))
    contexts.push_back(std::move(context));
  return *this;
}

namespace {

ErrorCode code_of(int value) {
  switch (value) {
    case ENOENT:
    case ENOTDIR:
    case ENXIO:
    case ENODEV:
      return ErrorCode::not_found;
    case EACCES:
    case EPERM:
    case EROFS:
      return ErrorCode::permission_denied;
    case EEXIST:
    case ENOTEMPTY:
      return ErrorCode::already_exists;
    case EINVAL:
    case EISDIR:
    case ENAMETOOLONG:
    case EAFNOSUPPORT:
      return ErrorCode::invalid_argument;
    case ENOMEM:
      return ErrorCode::out_of_memory;
    case ETIMEDOUT:
      return ErrorCode::timeout;
    case ECANCELED:
      return ErrorCode::cancelled;
    case ECONNREFUSED:
    case ECONNRESET:
    case ECONNABORTED:
    case EPIPE:
    case ENOTCONN:
    case EHOSTUNREACH:
    case ENETUNREACH:
      return ErrorCode::peer_gone;
    case EMFILE:
    case ENFILE:
    case EAGAIN:
      return ErrorCode::overloaded;
    case ENOSYS:
    case EOPNOTSUPP:
      return ErrorCode::unsupported;
    default:
      return ErrorCode::io_error;
  }
}

std::string_view cure_of(int value) {
  switch (value) {
    case ENOSPC:
      return "; free some space or choose another disk";
    case EDQUOT:
      return "; the disk quota is used up";
    case EROFS:
      return "; the file system is mounted read-only";
    case EMFILE:
      return "; raise the limit of open files (ulimit -n)";
    case EACCES:
    case EPERM:
      return "; check the owner and the permissions";
    default:
      return "";
  }
}

}  // namespace

Error errno_error(int errno_value, std::string_view what) {
  std::string message(what);
  message += ": ";
  message += std::generic_category().message(errno_value);
  message += cure_of(errno_value);
  return Error(code_of(errno_value), std::move(message)).with_native("errno", errno_value);
}

}  // namespace sluice
