// Checking of client options, in one place.
#pragma once

#include <vector>

#include "sluice/options.h"

namespace sluice::client {

/// Errors: config_error naming the field, its value and what is allowed.
Result<void> validate(const ClientOptions& options);

}  // namespace sluice::client
