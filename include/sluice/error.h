// Errors as values: what went wrong, what that means for the caller's memory, and what to do about it.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <utility>

#include "sluice/export.h"

namespace sluice {

/// What a caller can do about an error. One value per *reaction*, not per cause; the message holds the cause.
enum class ErrorCode : std::uint8_t {
  invalid_argument,       ///< the caller passed something wrong; the message names it
  not_found,              ///< bucket, object, file or peer does not exist
  already_exists,         ///< creating something that is there
  precondition_failed,    ///< If-Match and friends did not hold (HTTP 412)
  not_modified,           ///< If-None-Match matched a read (HTTP 304)
  permission_denied,      ///< the identity is known but may not do this
  unauthenticated,        ///< signature, key or date were not accepted
  checksum_mismatch,      ///< bytes arrived, and they are not the right ones
  size_mismatch,          ///< another number of bytes than promised
  range_not_satisfiable,  ///< the range starts past the end (HTTP 416)
  declined,               ///< the peer will not use RDMA for this request; nothing moved
  token_refused,          ///< the peer (or we) found a token malformed, replayed, unsigned or out of policy
  lease_expired,          ///< the server's time to touch the window is over
  fence_failed,           ///< RDMA into the window could not be ended; the memory is quarantined
  peer_gone,              ///< connection refused, reset or closed
  timeout,                ///< a deadline passed
  cancelled,              ///< the caller cancelled
  overloaded,             ///< admission refused; retry later
  out_of_memory,          ///< memory or a bounded buffer ran out
  device_error,           ///< a GPU or NIC call failed
  io_error,               ///< a file or socket call failed
  protocol_error,         ///< the peer broke HTTP, S3 or the RDMA dialect
  unsupported,            ///< not offered here; the message says what is
  config_error,           ///< a flag, environment variable or file is wrong
  internal,               ///< a bug in Sluice
};

/// What a failed transfer means for bytes and memory (design rule 1). A successful one is always `delivered`.
enum class Outcome : std::uint8_t {
  refused,    ///< surely nothing moved and nothing was stored
  uncertain,  ///< something may have moved or been stored
  delivered,  ///< everything arrived (an error after that, such as a failing callback, keeps this outcome)
};

/// Whether repeating the request can help.
enum class Retry : std::uint8_t {
  never,        ///< the same request fails again
  same,         ///< repeat as it was (no token was involved)
  fresh_token,  ///< repeat with a new token and a new signature
  later,        ///< repeat after `retry_after()`
};

/// Names as they appear in logs and `--json` (`"checksum_mismatch"`, `"uncertain"`, `"fresh_token"`).
SLUICE_EXPORT std::string_view to_string(ErrorCode code) noexcept;
SLUICE_EXPORT std::string_view to_string(Outcome outcome) noexcept;
SLUICE_EXPORT std::string_view to_string(Retry retry) noexcept;

/// What the S3 side said, where there was one.
struct S3Detail {
  std::string code;        ///< S3 error code, e.g. "NoSuchKey"; empty if none
  std::string request_id;  ///< x-amz-request-id; empty if none
  int http_status = 0;     ///< 0 if no response arrived
};

/// A native error number and whose it is ("errno", "libfabric", "openssl").
struct NativeDetail {
  std::string domain;
  std::int64_t value = 0;
};

/// An error: one pointer wide, copyable, never empty (a moved-from one may only be destroyed or assigned).
///
/// Thread-safety: one thread at a time. Messages never contain secrets or tokens.
class SLUICE_EXPORT Error {
 public:
  Error(ErrorCode code, std::string message);
  Error(const Error& other);
  Error(Error&& other) noexcept;
  Error& operator=(const Error& other);
  Error& operator=(Error&& other) noexcept;
  ~Error();

  [[nodiscard]] ErrorCode code() const noexcept;
  [[nodiscard]] Outcome outcome() const noexcept;  ///< `refused` unless set
  [[nodiscard]] Retry retry() const noexcept;      ///< `never` unless set
  [[nodiscard]] std::chrono::milliseconds retry_after() const noexcept;
  [[nodiscard]] const std::string& message() const noexcept;  ///< for people; names the thing and the cure
  [[nodiscard]] const S3Detail& s3() const noexcept;
  [[nodiscard]] const NativeDetail& native() const noexcept;
  /// The message with the contexts around it, outermost first: "put s3://b/k: sending the head: connection
  /// reset".
  [[nodiscard]] std::string describe() const;

  // Builders; each returns *this so that they chain on a temporary.
  Error&& with_outcome(Outcome outcome) &&;
  Error&& with_retry(Retry retry, std::chrono::milliseconds after = std::chrono::milliseconds{0}) &&;
  Error&& with_s3(S3Detail detail) &&;
  Error&& with_native(std::string domain, std::int64_t value) &&;
  /// Adds what the caller's layer knows ("get s3://b/k"). Repeating the outermost context is a no-op.
  Error&& with_context(std::string context) &&;
  Error& set_outcome(Outcome outcome) &;
  Error& set_retry(Retry retry, std::chrono::milliseconds after = std::chrono::milliseconds{0}) &;
  Error& add_context(std::string context) &;

 private:
  struct Payload;
  std::unique_ptr<Payload> payload_;
};

/// A value or an Error. Dropping one is a compiler warning, and warnings are errors.
template <class T>
class [[nodiscard]] Result : public tl::expected<T, Error> {
 public:
  using tl::expected<T, Error>::expected;
  Result(Error error)
      : tl::expected<T, Error>(tl::unexpect, std::move(error)) {}  // NOLINT(google-explicit-constructor)
};

/// An Error from an errno value: names `what`, picks the code, keeps the number.
SLUICE_EXPORT Error errno_error(int errno_value, std::string_view what);

}  // namespace sluice
