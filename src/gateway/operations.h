// The operations, one file per verb. Each answers through request.exchange, or returns the error to answer
// with. The request outlives the task.
#pragma once

#include "base/task.h"
#include "gateway/request.h"
#include "sluice/error.h"

namespace sluice::gateway {

Task<Result<void>> list_buckets(Request& request);
Task<Result<void>> create_bucket(Request& request);
Task<Result<void>> head_bucket(Request& request);
Task<Result<void>> delete_bucket(Request& request);
Task<Result<void>> get_bucket_location(Request& request);
Task<Result<void>> list_objects(Request& request);
Task<Result<void>> get_object(Request& request);  ///< GET and HEAD
Task<Result<void>> put_object(Request& request);
Task<Result<void>> delete_object(Request& request);
Task<Result<void>> send_discovery(Request& request);

}  // namespace sluice::gateway
