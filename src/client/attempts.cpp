#include "client/attempts.h"

#include <utility>

#include "base/metrics.h"
#include "client/retry.h"

namespace sluice::client {
namespace {

Error cancelled(const Error& error) {
  return Error(ErrorCode::cancelled, "the transfer was cancelled").with_outcome(error.outcome());
}

}  // namespace

Task<std::optional<Error>> after_failure(std::shared_ptr<Engine> engine, Attempts* attempts, Error error,
                                         RetryTerms terms, std::shared_ptr<AttemptControl> control) {
  if (control->cancelled() && error.code() != ErrorCode::fence_failed) co_return cancelled(error);
  const bool last = attempts->number >= engine->options().attempts || !terms.repeatable;
  if (attempts->rdma() && is_fabric_fault(error)) {
    engine->endpoint().forget();
    if (terms.policy == DataPathPolicy::prefer && terms.repeatable && (last || !terms.sensible)) {
      attempts->choice.reason = error.describe();
      engine->endpoint().mark_failed(*attempts->choice.fabric, attempts->choice.reason);
      metrics::counter("sluice_client_fallbacks_total").add();
      attempts->choice.fabric = nullptr;
      ++attempts->number;
      co_return std::nullopt;
    }
  }
  if (last || !terms.sensible) co_return error;
  attempts->fresh = error.code() == ErrorCode::peer_gone;
  if (attempts->fresh) engine->endpoint().forget();
  const Deadline pause = backoff(attempts->number, error.retry_after());
  if (pause >= terms.deadline) co_return error;
  co_await control->pause(pause);
  if (control->cancelled()) co_return cancelled(error);
  ++attempts->number;
  co_return std::nullopt;
}

}  // namespace sluice::client
