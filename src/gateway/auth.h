// Who asks, and whether the token may be looked at.
#pragma once

#include <optional>
#include <string>

#include "gateway/request.h"
#include "sluice/error.h"

namespace sluice::gateway {

/// Verifies the signature and fills request.identity. Nothing else of the request was acted upon before.
/// Errors: those of s3::verify_request.
Result<void> authenticate(Request& request);

/// The token of an authenticated GET or PUT of an object, if it has one. It is a capability: never logged.
/// Errors: AccessDenied when the signature does not cover it, InvalidRDMAToken.
Result<std::optional<std::string>> signed_token(const Request& request);

/// Admits the request's signature for one use of its token (replay.h). Call when the token is about to be
/// used.
Result<void> admit_token_once(const Request& request);

}  // namespace sluice::gateway
