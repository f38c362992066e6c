// Responses as S3 spells them.
#pragma once

#include <string>
#include <string_view>

#include "base/headers.h"
#include "base/task.h"
#include "gateway/request.h"
#include "http/message.h"
#include "sluice/error.h"

namespace sluice::gateway {

/// Status and the headers of every response: x-amz-request-id, date, server. Notes the status in the request.
http::ResponseHead make_head(Request& request, int status);
/// An empty body.
Task<Result<void>> reply(Request& request, http::ResponseHead head);
Task<Result<void>> reply_xml(Request& request, http::ResponseHead head, std::string xml);
/// The error as S3 spells it, with `extra` headers; nothing if the response has begun, in which case the
/// connection is closed so that the body is visibly cut short.
Task<Result<void>> reply_error(Request& request, Error error, HeaderList extra = {});
/// 200 with reply 501: nothing was moved, nothing is stored (protocol.md 2.7).
Task<Result<void>> reply_put_declined(Request& request);

/// What this and every other refusal to use a token is called in logs and metrics.
namespace decline {
inline constexpr std::string_view kNoFabric = "no_fabric";        ///< the RDMA data plane is off
inline constexpr std::string_view kShape = "foreign_token";       ///< a dialect that is not spoken here
inline constexpr std::string_view kOtherFabric = "other_fabric";  ///< ofi1, for a provider that is not here
inline constexpr std::string_view kTooLarge = "too_large";        ///< above max_window_bytes
inline constexpr std::string_view kStaging = "no_staging";        ///< staging memory stayed in use
inline constexpr std::string_view kOpen = "open_failed";          ///< the window could not be opened
inline constexpr std::string_view kUnreachable = "unreachable";   ///< not one operation could be posted
}  // namespace decline
/// After an operation was posted: 500, whatever happened (design rule 6). `cause` is for the log.
Error transfer_failed(const Error& cause);

void note_declined(Request& request, std::string_view reason);

}  // namespace sluice::gateway
