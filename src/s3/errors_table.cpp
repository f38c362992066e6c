// The one table of S3 errors.
#include <algorithm>
#include <array>

#include "s3/errors.h"

namespace sluice::s3 {
namespace {

constexpr Outcome kRefused = Outcome::refused;
constexpr Outcome kUncertain = Outcome::uncertain;
constexpr Retry kNever = Retry::never;
constexpr Retry kSame = Retry::same;
constexpr Retry kLater = Retry::later;

// Codes, statuses and most messages: "Error responses" of the S3 API reference; the RDMA ones:
// protocol.md 2.7.
// clang-format off
constexpr std::array kTable = {
    ErrorRow{"AccessDenied", 403, ErrorCode::permission_denied, kRefused, kNever, "Access Denied"},
    ErrorRow{"AuthorizationHeaderMalformed", 400, ErrorCode::unauthenticated, kRefused, kNever, "The authorization header that you provided is not valid."},
    ErrorRow{"AuthorizationQueryParametersError", 400, ErrorCode::unauthenticated, kRefused, kNever, "The authorization query parameters that you provided are not valid."},
    ErrorRow{"BadDigest", 400, ErrorCode::checksum_mismatch, kRefused, kSame, "The checksum that you specified did not match what we received."},
    ErrorRow{"BadRequest", 400, ErrorCode::invalid_argument, kRefused, kNever, "The request is not valid."},
    ErrorRow{"BucketAlreadyExists", 409, ErrorCode::already_exists, kRefused, kNever, "The requested bucket name is not available. Select a different name and try again."},
    ErrorRow{"BucketAlreadyOwnedByYou", 409, ErrorCode::already_exists, kRefused, kNever, "The bucket that you tried to create already exists, and you own it."},
    ErrorRow{"BucketNotEmpty", 409, ErrorCode::already_exists, kRefused, kNever, "The bucket that you tried to delete is not empty."},
    ErrorRow{"ConditionalRequestConflict", 409, ErrorCode::precondition_failed, kRefused, kSame, "A conflicting operation occurred. Try the request again."},
    ErrorRow{"EntityTooLarge", 400, ErrorCode::invalid_argument, kRefused, kNever, "Your proposed upload exceeds the maximum allowed object size."},
    ErrorRow{"EntityTooSmall", 400, ErrorCode::invalid_argument, kRefused, kNever, "Your proposed upload is smaller than the minimum allowed object size."},
    ErrorRow{"ExpiredToken", 400, ErrorCode::unauthenticated, kRefused, kNever, "The provided token has expired."},
    ErrorRow{"IncompleteBody", 400, ErrorCode::size_mismatch, kRefused, kSame, "You did not provide the number of bytes specified by the Content-Length HTTP header."},
    ErrorRow{"InternalError", 500, ErrorCode::io_error, kUncertain, kSame, "We encountered an internal error. Please try again."},
    ErrorRow{"InvalidAccessKeyId", 403, ErrorCode::unauthenticated, kRefused, kNever, "The access key ID that you provided does not exist in our records."},
    ErrorRow{"InvalidArgument", 400, ErrorCode::invalid_argument, kRefused, kNever, "Invalid argument."},
    ErrorRow{"InvalidBucketName", 400, ErrorCode::invalid_argument, kRefused, kNever, "The specified bucket is not valid."},
    ErrorRow{"InvalidDigest", 400, ErrorCode::invalid_argument, kRefused, kNever, "The Content-MD5 or checksum value that you specified is not valid."},
    ErrorRow{"InvalidObjectState", 403, ErrorCode::permission_denied, kRefused, kNever, "The operation is not valid for the current state of the object."},
    ErrorRow{"InvalidPart", 400, ErrorCode::invalid_argument, kRefused, kNever, "One or more of the specified parts could not be found."},
    ErrorRow{"InvalidPartOrder", 400, ErrorCode::invalid_argument, kRefused, kNever, "The list of parts was not in ascending order."},
    ErrorRow{"InvalidRDMAToken", 400, ErrorCode::token_refused, kRefused, kNever, "The RDMA token is not valid."},
    ErrorRow{"InvalidRange", 416, ErrorCode::range_not_satisfiable, kRefused, kNever, "The requested range is not satisfiable."},
    ErrorRow{"InvalidRequest", 400, ErrorCode::invalid_argument, kRefused, kNever, "The request is not valid."},
    ErrorRow{"InvalidSecurity", 403, ErrorCode::unauthenticated, kRefused, kNever, "The provided security credentials are not valid."},
    ErrorRow{"InvalidStorageClass", 400, ErrorCode::invalid_argument, kRefused, kNever, "The storage class that you specified is not valid."},
    ErrorRow{"InvalidToken", 400, ErrorCode::unauthenticated, kRefused, kNever, "The provided token is malformed or otherwise not valid."},
    ErrorRow{"InvalidURI", 400, ErrorCode::invalid_argument, kRefused, kNever, "The specified URI couldn't be parsed."},
    ErrorRow{"KeyTooLongError", 400, ErrorCode::invalid_argument, kRefused, kNever, "Your key is too long."},
    ErrorRow{"MalformedXML", 400, ErrorCode::invalid_argument, kRefused, kNever, "The XML that you provided was not well formed or did not validate against our published schema."},
    ErrorRow{"MaxMessageLengthExceeded", 400, ErrorCode::invalid_argument, kRefused, kNever, "Your request was too large."},
    ErrorRow{"MetadataTooLarge", 400, ErrorCode::invalid_argument, kRefused, kNever, "Your metadata headers exceed the maximum allowed metadata size."},
    ErrorRow{"MethodNotAllowed", 405, ErrorCode::unsupported, kRefused, kNever, "The specified method is not allowed against this resource."},
    ErrorRow{"MissingContentLength", 411, ErrorCode::invalid_argument, kRefused, kNever, "You must provide the Content-Length HTTP header."},
    ErrorRow{"MissingRequestBodyError", 400, ErrorCode::invalid_argument, kRefused, kNever, "You sent an empty XML document as a request."},
    ErrorRow{"MissingSecurityHeader", 400, ErrorCode::unauthenticated, kRefused, kNever, "Your request is missing a required header."},
    ErrorRow{"NoSuchBucket", 404, ErrorCode::not_found, kRefused, kNever, "The specified bucket does not exist."},
    ErrorRow{"NoSuchKey", 404, ErrorCode::not_found, kRefused, kNever, "The specified key does not exist."},
    ErrorRow{"NoSuchUpload", 404, ErrorCode::not_found, kRefused, kNever, "The specified multipart upload does not exist."},
    ErrorRow{"NoSuchVersion", 404, ErrorCode::not_found, kRefused, kNever, "The version ID specified in the request does not match an existing version."},
    ErrorRow{"NotImplemented", 501, ErrorCode::unsupported, kRefused, kNever, "A header or parameter that you provided implies functionality that is not implemented."},
    ErrorRow{"NotModified", 304, ErrorCode::not_modified, kRefused, kNever, "Not Modified"},
    ErrorRow{"OperationAborted", 409, ErrorCode::overloaded, kRefused, kLater, "A conflicting conditional operation is currently in progress against this resource. Try again."},
    ErrorRow{"PermanentRedirect", 301, ErrorCode::config_error, kRefused, kNever, "The bucket that you are attempting to access must be addressed using the specified endpoint."},
    ErrorRow{"PreconditionFailed", 412, ErrorCode::precondition_failed, kRefused, kNever, "At least one of the preconditions that you specified did not hold."},
    ErrorRow{"RDMANotSupported", 501, ErrorCode::declined, kRefused, kNever, "RDMA is not available for this request. Nothing was moved or stored."},
    ErrorRow{"RDMATransferFailed", 500, ErrorCode::io_error, kUncertain, Retry::fresh_token, "The RDMA transfer failed."},
    ErrorRow{"RequestHeaderSectionTooLarge", 400, ErrorCode::invalid_argument, kRefused, kNever, "The request header section exceeds the maximum allowed size."},
    ErrorRow{"RequestTimeTooSkewed", 403, ErrorCode::unauthenticated, kRefused, kNever, "The difference between the request time and the server's time is too large."},
    ErrorRow{"RequestTimeout", 400, ErrorCode::timeout, kRefused, kSame, "Your socket connection to the server was not read from or written to within the timeout period."},
    ErrorRow{"ServiceUnavailable", 503, ErrorCode::overloaded, kRefused, kLater, "Service is unable to handle request."},
    ErrorRow{"SignatureDoesNotMatch", 403, ErrorCode::unauthenticated, kRefused, kNever, "The request signature that we calculated does not match the signature that you provided. Check your secret access key and signing method."},
    ErrorRow{"SlowDown", 503, ErrorCode::overloaded, kRefused, kLater, "Please reduce your request rate."},
    ErrorRow{"TemporaryRedirect", 307, ErrorCode::config_error, kRefused, kNever, "You are being redirected to the bucket while the Domain Name System (DNS) server is being updated."},
    ErrorRow{"TooManyBuckets", 400, ErrorCode::invalid_argument, kRefused, kNever, "You have attempted to create more buckets than are allowed."},
    ErrorRow{"UnexpectedContent", 400, ErrorCode::invalid_argument, kRefused, kNever, "This request contains unsupported content."},
    ErrorRow{"XAmzContentSHA256Mismatch", 400, ErrorCode::checksum_mismatch, kRefused, kSame, "The provided x-amz-content-sha256 header does not match what was computed."},
};
// clang-format on

}  // namespace

std::span<const ErrorRow> error_table() {
  return kTable;
}

const ErrorRow* find_error(std::string_view s3_code) {
  const auto it =
      std::find_if(kTable.begin(), kTable.end(), [&](const ErrorRow& row) { return row.s3_code == s3_code; });
  return it == kTable.end() ? nullptr : &*it;
}

}  // namespace sluice::s3
