// The RDMA half of a request: mint, send, wait for the reply, and give the window back only when it is safe.
#pragma once

#include <memory>
#include <string>

#include "base/task.h"
#include "client/attempt.h"
#include "client/engine.h"
#include "fabric/fabric.h"
#include "http/client.h"
#include "s3/rdma_headers.h"

namespace sluice::client {

struct TokenRequest {
  std::string method;
  std::string target;
  HeaderList headers;  ///< without the token
  s3::RdmaOperation operation = s3::RdmaOperation::get;
  std::shared_ptr<fabric::ClientFabric> fabric;
  Memory memory;  ///< exactly the window
  Deadline deadline = Deadline::never();
};

/// A reply head has arrived; the window is still the token's.
struct TokenReply {
  std::unique_ptr<http::Connection> connection;
  fabric::Token token;
  http::ResponseHead head;
};

/// Sends a request with a fresh token and waits for the reply head, at most until the server's lease and
/// drain are over.
///
/// After an error the window has been fenced already and belongs to the caller, unless the code is
/// `fence_failed`. Errors before anything was sent are `refused`; a fabric that cannot mint is `declined`.
Task<Result<TokenReply>> exchange_with_token(std::shared_ptr<Engine> engine, TokenRequest request,
                                             std::shared_ptr<AttemptControl> control);

/// Ends the grant. Error `fence_failed` (outcome uncertain) when the window had to be quarantined.
Task<Result<void>> fence(std::shared_ptr<Engine> engine, fabric::Token token, fabric::RevokeReason reason);

}  // namespace sluice::client
