#include "fabric/fork.h"

#include <pthread.h>

#include <atomic>
#include <mutex>

namespace sluice::fabric {
namespace {

std::atomic<bool> opened = false;
std::atomic<bool> forked = false;
static_assert(std::atomic<bool>::is_always_lock_free);

/// Runs in the child, between fork and its first instruction: it may only set a flag.
extern "C" void sluice_fabric_in_child() {
  if (opened.load(std::memory_order_relaxed)) forked.store(true, std::memory_order_relaxed);
}

}  // namespace

bool forked_after_open() noexcept {
  return forked.load(std::memory_order_relaxed);
}

void note_fabric_opened() {
  static std::once_flag once;
  std::call_once(once, [] { ::pthread_atfork(nullptr, nullptr, sluice_fabric_in_child); });
  opened.store(true, std::memory_order_relaxed);
}

Error forked_error() {
  return Error(
      ErrorCode::unsupported,
      "RDMA does not work in a child of fork: this process was forked after its parent had opened a fabric; "
      "call exec in the child, or fork before the first RDMA transfer");
}

}  // namespace sluice::fabric
