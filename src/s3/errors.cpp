// Errors from and to the wire.
#include "s3/errors.h"

#include <algorithm>
#include <chrono>

#include "base/limits.h"
#include "base/parse.h"
#include "s3/headers.h"
#include "s3/xml.h"

namespace sluice::s3 {
namespace {

constexpr std::size_t kPeerTextBytes = 512;  // of a peer's words in our messages

// Which S3 code a gateway answers for an error that has none of its own.
std::string_view s3_code_for(ErrorCode code) {
  switch (code) {
    case ErrorCode::invalid_argument:
      return "InvalidArgument";
    case ErrorCode::not_found:
      return "NoSuchKey";
    case ErrorCode::already_exists:
      return "OperationAborted";
    case ErrorCode::precondition_failed:
      return "PreconditionFailed";
    case ErrorCode::not_modified:
      return "NotModified";
    case ErrorCode::permission_denied:
    case ErrorCode::unauthenticated:
      return "AccessDenied";
    case ErrorCode::checksum_mismatch:
      return "BadDigest";
    case ErrorCode::size_mismatch:
      return "IncompleteBody";
    case ErrorCode::range_not_satisfiable:
      return "InvalidRange";
    case ErrorCode::declined:
      return "RDMANotSupported";
    case ErrorCode::token_refused:
      return "InvalidRDMAToken";
    case ErrorCode::lease_expired:
    case ErrorCode::fence_failed:
      return "RDMATransferFailed";
    case ErrorCode::timeout:
      return "RequestTimeout";
    case ErrorCode::overloaded:
      return "SlowDown";
    case ErrorCode::cancelled:
    case ErrorCode::out_of_memory:
      return "ServiceUnavailable";
    case ErrorCode::protocol_error:
      return "InvalidRequest";
    case ErrorCode::unsupported:
      return "NotImplemented";
    case ErrorCode::peer_gone:
    case ErrorCode::device_error:
    case ErrorCode::io_error:
    case ErrorCode::config_error:
    case ErrorCode::internal:
      return "InternalError";
  }
  return "InternalError";
}

bool is_about_our_inside(ErrorCode code) {
  switch (code) {
    case ErrorCode::internal:
    case ErrorCode::io_error:
    case ErrorCode::peer_gone:
    case ErrorCode::device_error:
    case ErrorCode::out_of_memory:
    case ErrorCode::config_error:
      return true;
    default:
      return false;
  }
}

// What a status says when no known S3 code explains it.
struct StatusMeaning {
  ErrorCode code;
  Outcome outcome;
  Retry retry;
};
StatusMeaning meaning_of_status(int status) {
  switch (status) {
    case 304:
      return {ErrorCode::not_modified, Outcome::refused, Retry::never};
    case 401:
      return {ErrorCode::unauthenticated, Outcome::refused, Retry::never};
    case 403:
      return {ErrorCode::permission_denied, Outcome::refused, Retry::never};
    case 404:
      return {ErrorCode::not_found, Outcome::refused, Retry::never};
    case 405:
    case 501:
      return {ErrorCode::unsupported, Outcome::refused, Retry::never};
    case 408:
      return {ErrorCode::timeout, Outcome::refused, Retry::same};
    case 409:
      return {ErrorCode::already_exists, Outcome::refused, Retry::never};
    case 412:
      return {ErrorCode::precondition_failed, Outcome::refused, Retry::never};
    case 416:
      return {ErrorCode::range_not_satisfiable, Outcome::refused, Retry::never};
    case 429:
      return {ErrorCode::overloaded, Outcome::refused, Retry::later};
    case 503:  // without an S3 code it may come from a proxy whose upstream died half way
      return {ErrorCode::overloaded, Outcome::uncertain, Retry::later};
    default:
      break;
  }
  if (status >= 500) return {ErrorCode::io_error, Outcome::uncertain, Retry::same};
  if (status >= 400) return {ErrorCode::invalid_argument, Outcome::refused, Retry::never};
  if (status >= 300) return {ErrorCode::config_error, Outcome::refused, Retry::never};
  return {ErrorCode::protocol_error, Outcome::uncertain, Retry::never};
}

// Other spellings of the RDMA codes (protocol.md 2.7).
std::string canonical_code(std::string_view code) {
  if (equal_ignore_case(code, "S3InvalidRdmaToken")) return "InvalidRDMAToken";
  if (equal_ignore_case(code, "S3RdmaIoError")) return "RDMATransferFailed";
  for (const ErrorRow& row : error_table()) {
    if (equal_ignore_case(row.s3_code, code)) return std::string(row.s3_code);
  }
  return std::string(code);
}

// A peer's words, fit for one line of a message.
std::string peer_text(std::string_view text) {
  std::string out(text.substr(0, kPeerTextBytes));
  for (char& c : out) {
    const auto u = static_cast<unsigned char>(c);
    if (u < 0x20 || u == 0x7f) c = ' ';
  }
  return out;
}

std::chrono::milliseconds retry_after_of(const HeaderList& headers) {
  const auto value = headers.find(header::kRetryAfter);
  if (!value) return std::chrono::milliseconds{0};
  const auto seconds = parse_u64(trim_blanks(*value));
  if (!seconds) return std::chrono::milliseconds{0};
  const auto cap = static_cast<std::uint64_t>(limits::kRetryAfterCap.count());
  return std::chrono::seconds(static_cast<std::int64_t>(std::min(*seconds, cap)));
}

/// For answers without a document, as to every HEAD: what the status alone says, and the cure.
std::string_view words_of_status(int http_status) {
  switch (http_status) {
    case 301:
    case 307:
      return "the bucket is served elsewhere: check the endpoint and the region";
    case 400:
      return "it refused the request as malformed: check the region and the key pair";
    case 403:
      return "access denied: check the key pair, the clock, and what the key may do";
    case 404:
      return "no such bucket or object";
    default:
      return {};
  }
}

}  // namespace

Error make_error(std::string_view s3_code, std::string message) {
  const ErrorRow* row = find_error(s3_code);
  if (row == nullptr) row = find_error("InternalError");
  S3Detail detail;
  detail.code = std::string(row->s3_code);
  detail.http_status = row->http_status;
  if (message.empty()) message = std::string(row->message);
  return Error(row->code, std::move(message))
      .with_outcome(row->outcome)
      .with_retry(row->retry)
      .with_s3(std::move(detail));
}

S3Error to_s3_error(const Error& error, std::string resource, std::string request_id) {
  S3Error out;
  out.resource = std::move(resource);
  out.request_id = std::move(request_id);
  const S3Detail& detail = error.s3();
  const ErrorRow* row =
      find_error(detail.code.empty() ? s3_code_for(error.code()) : std::string_view(detail.code));
  if (row != nullptr) {
    out.code = std::string(row->s3_code);
    out.http_status = row->http_status;
  } else {  // another store's code that the table does not know
    out.code = detail.code;
    out.http_status = detail.http_status >= 400 && detail.http_status <= 599 ? detail.http_status : 500;
  }
  const bool hide = detail.code.empty() && is_about_our_inside(error.code());
  out.message = hide && row != nullptr ? std::string(row->message) : error.message();
  if (error.retry() == Retry::later) {
    const auto seconds = std::chrono::ceil<std::chrono::seconds>(error.retry_after());
    out.headers.set(header::kRetryAfter, std::to_string(std::max<std::int64_t>(1, seconds.count())));
  }
  return out;
}

std::string to_xml(const S3Error& error) {
  if (error.http_status == 304) return {};
  return to_xml(ErrorDocument{error.code, error.message, error.resource, error.request_id});
}

Error error_from_response(int http_status, const HeaderList& headers, std::string_view body,
                          std::string_view context) {
  S3Detail detail;
  detail.http_status = http_status;
  detail.request_id = peer_text(headers.get(header::kRequestId));
  std::string words;
  if (const auto document = parse_error_document(body.substr(0, limits::kErrorBodyBytes)); document) {
    detail.code = peer_text(canonical_code(document->code));
    words = peer_text(document->message);
    if (detail.request_id.empty()) detail.request_id = peer_text(document->request_id);
  }
  StatusMeaning meaning = meaning_of_status(http_status);
  if (const ErrorRow* row = find_error(detail.code); row != nullptr) {
    meaning = {row->code, row->outcome, row->retry};
    // A code that promises "nothing happened" does not outweigh a status that does not.
    if (http_status < 300 && row->code != ErrorCode::declined) meaning.outcome = Outcome::uncertain;
    if (words.empty()) words = std::string(row->message);
  }
  if (words.empty() && detail.code.empty()) words = words_of_status(http_status);
  std::string message = "the server answered " + std::to_string(http_status);
  if (!detail.code.empty()) message += " " + detail.code;
  if (!words.empty()) message += ": " + words;
  const auto after = retry_after_of(headers);
  return Error(meaning.code, std::move(message))
      .with_outcome(meaning.outcome)
      .with_retry(meaning.retry, meaning.retry == Retry::later ? after : std::chrono::milliseconds{0})
      .with_s3(std::move(detail))
      .with_context(std::string(context));
}

}  // namespace sluice::s3
