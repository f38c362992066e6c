// From a token's text to an open window, or to the reason why not.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/task.h"
#include "fabric/fabric.h"
#include "gateway/mover.h"
#include "gateway/request.h"
#include "sluice/error.h"

namespace sluice::gateway {

/// What a token turned out to be. Holds a capability: never logged.
struct TokenChoice {
  std::optional<fabric::ParsedToken> token;  ///< unset: to be declined
  fabric::ServerFabric* fabric = nullptr;    ///< who speaks it; the worker's
  std::string_view declined;                 ///< decline::k…
};
/// Looks at the text only. Errors: InvalidRDMAToken (malformed, empty, wraps around).
Result<TokenChoice> judge_token(Request& request, std::string_view text);

struct OpenedWindow {
  std::unique_ptr<OperationRing> ring;  ///< null: to be declined
  std::string_view declined;
};
/// Admits the signature once, takes staging, opens the window for `bytes` bytes. The lease runs from the
/// arrival of the request head. Errors: AccessDenied (replay), SlowDown (dated before the start),
/// InvalidRDMAToken (the token points elsewhere), ServiceUnavailable (stopping).
Task<Result<OpenedWindow>> open_window(Request& request, TokenChoice choice, fabric::Direction direction,
                                       std::uint64_t bytes);
/// Ends the window: afterwards nothing of the request touches the client's memory. If the fabric does not
/// give the buffers back, they are kept for ever. Returns whether an operation was, or may have been, posted.
Task<bool> close_window(Request& request, std::unique_ptr<OperationRing> ring);

}  // namespace sluice::gateway
