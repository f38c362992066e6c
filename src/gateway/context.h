// What all workers of one gateway share.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "gateway/admission.h"
#include "gateway/gateway.h"
#include "gateway/replay.h"

namespace sluice::gateway {

/// Outlives the workers. Constant once the gateway serves, but for what says otherwise.
struct Context {
  Context(GatewayOptions given, std::shared_ptr<store::ObjectStore> objects, Staging buffers,
          WallClock::time_point tokens_not_before)
      : options(std::move(given)),
        store(std::move(objects)),
        staging(std::move(buffers)),
        replay(tokens_not_before) {}

  const GatewayOptions options;
  const std::shared_ptr<store::ObjectStore> store;
  const Staging staging;  ///< safe from any thread
  std::string instance_id;
  std::string discovery_json;
  std::atomic<std::uint64_t> requests_begun{0};
  std::atomic<std::size_t> requests_in_flight{0};

  /// ReplayCache::admit. Safe from any thread.
  Result<void> admit_once(const s3::Identity& identity) {
    const std::lock_guard lock(replay_mutex);
    return replay.admit(identity.signature, identity.date, WallClock::now());
  }
  /// The region that buckets are said to be in.
  [[nodiscard]] std::string region() const { return options.region.empty() ? "us-east-1" : options.region; }

 private:
  std::mutex replay_mutex;
  ReplayCache replay;
};

}  // namespace sluice::gateway
