// The one policy of what follows a failed attempt, for get and put alike.
#pragma once

#include <memory>
#include <optional>

#include "base/deadline.h"
#include "base/task.h"
#include "client/attempt.h"
#include "client/data_path.h"
#include "client/engine.h"
#include "sluice/error.h"

namespace sluice::client {

/// Where a transfer stands between two attempts.
struct Attempts {
  DataPathChoice choice;  ///< of the next attempt
  int number = 1;         ///< of the running one
  bool fresh = false;     ///< the next one takes a new connection
  [[nodiscard]] bool rdma() const { return choice.fabric != nullptr; }
};

/// What the request allows.
struct RetryTerms {
  DataPathPolicy policy = DataPathPolicy::require;
  Deadline deadline = Deadline::never();
  bool repeatable = true;  ///< doing it twice does no harm, given this error
  bool sensible = true;    ///< this error may go away by itself
};

/// Decides after `error`, and waits where that is the decision. nullopt: `attempts` says how to try again. An
/// error: the transfer ends with it (`error`, or `cancelled` with its outcome). Under `prefer` a fabric's
/// fault is followed by one more attempt over HTTP, when nothing else is left; it is in the result and in the
/// metrics (design rule 9).
Task<std::optional<Error>> after_failure(std::shared_ptr<Engine> engine, Attempts* attempts, Error error,
                                         RetryTerms terms, std::shared_ptr<AttemptControl> control);

}  // namespace sluice::client
