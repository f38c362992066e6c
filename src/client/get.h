// A get: which data path, the attempts, and what may be believed.
#pragma once

#include <memory>

#include "base/task.h"
#include "client/attempt.h"
#include "client/engine.h"

namespace sluice::client {

Task<Result<TransferResult>> get_object(std::shared_ptr<Engine> engine, GetRequest request, Memory into,
                                        TransferOptions options, std::shared_ptr<detail::TransferState> state,
                                        std::shared_ptr<AttemptControl> control);

}  // namespace sluice::client
