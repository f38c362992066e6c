// How often and how fast a request is repeated.
#pragma once

#include <chrono>

#include "base/deadline.h"
#include "sluice/error.h"

namespace sluice::client {

/// Full jitter over an exponential: the n-th pause is uniform in [0, min(cap, base * 2^n)], never less than
/// what the server asked for (Retry-After).
Deadline backoff(int attempt, std::chrono::milliseconds retry_after);

/// Whether the error invites another attempt by itself. Time-outs, cancels and failed fences never do: a
/// deadline is the caller's word, and memory that is not fenced must not be offered again.
bool may_retry(const Error& error);

}  // namespace sluice::client
