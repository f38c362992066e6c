// FaultFabric: decorates a client or server half and breaks the N-th operation. How safety is tested.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "fabric/fabric.h"

namespace sluice::fabric {

enum class FaultKind : std::uint8_t {
  none,
  fail_open,         ///< open/mint reports an error
  fail_before_post,  ///< the operation is not posted and completes with an error, outcome refused
  fail_after_move,   ///< the bytes move, then the completion reports an error, outcome uncertain
  short_move,        ///< half of the bytes move; the completion reports that count
  over_long,         ///< tries to move bytes past the window's end too (a hostile server)
  duplicate,         ///< the operation is done twice; one completion
  late,              ///< completes at once; the bytes move later, when `release_late` is called (a lying server)
  lost_completion,   ///< the bytes move, no completion ever comes until close
  wrong_key,         ///< the operation uses a key that was never minted
  delay,             ///< the operation is posted only after `delay`
  call,              ///< runs `hook` before the operation (stop or kill a peer), then goes on normally
  fail_fence,        ///< client half: revoke answers quarantined
};

struct Fault {
  FaultKind kind = FaultKind::none;
  std::uint64_t at_operation = 0;  ///< 1-based count of open+write+read (server) or mint+revoke (client)
  std::chrono::milliseconds delay{0};
  std::function<void()> hook;
};

/// Shared by the test and the decorators. Safe from any thread.
class FaultPlan {
 public:
  explicit FaultPlan(std::vector<Fault> faults = {});
  /// Counts one operation and says what to do with it.
  Fault next();
  [[nodiscard]] std::uint64_t operations() const;
  /// Whether every planned fault was reached: a loop over N ends with the first run that reached none.
  [[nodiscard]] bool all_hit() const;
  /// Lets operations held back by `late` happen (run on the server fabric's next progress).
  void release_late();
  [[nodiscard]] bool late_released() const;

 private:
  mutable std::mutex mutex_;
  std::vector<Fault> faults_;
  std::uint64_t count_ = 0;
  std::size_t hit_ = 0;
  bool late_released_ = false;
};

std::unique_ptr<ServerFabric> make_faulty(std::unique_ptr<ServerFabric> inner, std::shared_ptr<FaultPlan> plan);
std::shared_ptr<ClientFabric> make_faulty(std::shared_ptr<ClientFabric> inner, std::shared_ptr<FaultPlan> plan);

}  // namespace sluice::fabric
