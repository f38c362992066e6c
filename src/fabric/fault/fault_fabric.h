// FaultFabric: decorates a client or server half and breaks the N-th operation. How safety is tested.
//
// It sits above the seam: what it lets through goes to the real fabric, which has to refuse it. Completions
// keep the seam's rules (never before the call returns, from `progress`), also where they lie.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string_view>
#include <vector>

#include "fabric/fabric.h"

namespace sluice::fabric {

/// On the server half unless it says otherwise. A kind that means nothing for the operation it meets
/// (fail_open at a write) lets that operation go normally.
enum class FaultKind : std::uint8_t {
  none,
  fail_open,         ///< open/mint reports an error
  fail_before_post,  ///< the operation is not posted and completes with an error, outcome refused
  fail_after_move,   ///< the bytes move, then the completion reports an error, outcome uncertain
  short_move,        ///< half of the bytes move; the completion reports that count
  over_long,  ///< first opens the token as if it were larger and moves bytes past the window's end (a hostile
              ///< server); the operation reports `internal` if the fabric let that happen
  duplicate,  ///< the operation is done twice; one completion
  late,  ///< completes at once; the bytes move later, when `release_late` is called, even if the target was
         ///< closed and the lease ended long before (a lying server)
  lost_completion,  ///< the bytes move; the completion comes only with close, as an error, outcome uncertain
  wrong_key,   ///< the operation (at open: every operation of the target) uses a key that was never minted;
               ///< at mint: the token's text carries such a key
  delay,       ///< the operation is posted only after `delay` (at mint and revoke: the call takes that long)
  call,        ///< runs `hook` before the operation (stop or kill a peer), then goes on normally
  fail_fence,  ///< client half, at a revoke: the fence is done, and the answer is quarantined all the same
};
/// As in the enumeration: for the names of tests.
std::string_view to_string(FaultKind kind) noexcept;

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
  ~FaultPlan();
  FaultPlan(const FaultPlan&) = delete;
  FaultPlan& operator=(const FaultPlan&) = delete;
  /// Counts one operation and says what to do with it.
  Fault next();
  [[nodiscard]] std::uint64_t operations() const;
  /// Whether every planned fault was reached: a loop over N ends with the first run that reached none.
  [[nodiscard]] bool all_hit() const;
  /// Whether a fault of that kind is planned.
  [[nodiscard]] bool plans(FaultKind kind) const;
  /// Lets operations held back by `late` happen (on the server fabric's next progress, which this wakes).
  void release_late();
  [[nodiscard]] bool late_released() const;
  /// Readable for ever once `release_late` was called; owned by the plan.
  [[nodiscard]] int late_descriptor() const noexcept { return late_descriptor_; }

 private:
  mutable std::mutex mutex_;
  const std::vector<Fault> faults_;
  std::uint64_t count_ = 0;
  std::size_t hit_ = 0;
  bool late_released_ = false;
  int late_descriptor_;
};

/// Destroying it closes, with a deadline, what `late` has kept open.
std::unique_ptr<ServerFabric> make_faulty(std::unique_ptr<ServerFabric> inner,
                                          std::shared_ptr<FaultPlan> plan);
std::shared_ptr<ClientFabric> make_faulty(std::shared_ptr<ClientFabric> inner,
                                          std::shared_ptr<FaultPlan> plan);

}  // namespace sluice::fabric
