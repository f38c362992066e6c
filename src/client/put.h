// A put: which data path, the attempts, and what proves that the object is stored.
#pragma once

#include <memory>

#include "base/task.h"
#include "client/attempt.h"
#include "client/engine.h"

namespace sluice::client {

Task<Result<TransferResult>> put_object(std::shared_ptr<Engine> engine, PutRequest request, Memory from,
                                        TransferOptions options, std::shared_ptr<detail::TransferState> state,
                                        std::shared_ptr<AttemptControl> control);

}  // namespace sluice::client
