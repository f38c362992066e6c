// The requests that move no payload. Coroutines on the engine's thread; each retries and has a deadline.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/task.h"
#include "client/engine.h"

namespace sluice::client {

Task<Result<ObjectDetails>> head_object(std::shared_ptr<Engine> engine, std::string bucket, std::string key,
                                        CallOptions options);
Task<Result<void>> delete_object(std::shared_ptr<Engine> engine, std::string bucket, std::string key,
                                 CallOptions options);
Task<Result<ListPage>> list_objects(std::shared_ptr<Engine> engine, ListRequest request, CallOptions options);
Task<Result<std::vector<BucketSummary>>> list_buckets(std::shared_ptr<Engine> engine, CallOptions options);
Task<Result<void>> create_bucket(std::shared_ptr<Engine> engine, std::string bucket, CallOptions options);
Task<Result<void>> delete_bucket(std::shared_ptr<Engine> engine, std::string bucket, CallOptions options);
Task<Result<void>> head_bucket(std::shared_ptr<Engine> engine, std::string bucket, CallOptions options);
Task<Result<EndpointReport>> probe(std::shared_ptr<Engine> engine, CallOptions options);

}  // namespace sluice::client
