// S3 errors: the one table that relates S3 code, HTTP status and ErrorCode, and the way from and to the wire.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/headers.h"
#include "sluice/error.h"

namespace sluice::s3 {

struct ErrorRow {
  std::string_view s3_code;
  int http_status;
  ErrorCode code;
  Outcome outcome;  ///< what a client that receives it may conclude
  Retry retry;      ///< `same` means `fresh_token` for a request that carried a token
  std::string_view message;
};
std::span<const ErrorRow> error_table();
/// nullptr if the code is not in the table.
const ErrorRow* find_error(std::string_view s3_code);

/// An Error with everything the table knows about `s3_code` (which must be in it; otherwise InternalError is
/// used). An empty message takes the table's.
Error make_error(std::string_view s3_code, std::string message = {});

/// An error as a gateway sends it.
struct S3Error {
  std::string code;
  std::string message;
  int http_status = 500;
  std::string resource;
  std::string request_id;
  HeaderList headers;  ///< to be added to the response, e.g. content-range, retry-after, allow
};
/// From any Error: by its S3 code if it has one, else by its ErrorCode. Messages of errors without an S3 code
/// that are about our own inside (internal, io_error, device_error, out_of_memory, config_error) are replaced
/// by the table's, so that paths and the like do not leave the house. Adds retry-after where the error says
/// so.
S3Error to_s3_error(const Error& error, std::string resource, std::string request_id);
/// The XML body. Empty for statuses that have none (304).
std::string to_xml(const S3Error& error);

/// What a client makes of a response that is not a success. The body may be anything: at most kErrorBodyBytes
/// of it are looked at, and without a usable <Error> the status alone decides. The S3Detail holds code,
/// request id and status; `retry_after` the Retry-After header (seconds form, capped). `context` names the
/// request: "get s3://b/k". Also for a 200 whose body is an <Error> (S3 does that for long operations).
Error error_from_response(int http_status, const HeaderList& headers, std::string_view body,
                          std::string_view context);

}  // namespace sluice::s3
