#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <utility>

#include "base/limits.h"
#include "fabric/fabric.h"
#include "fabric/fork.h"

namespace sluice::fabric {
namespace {

/// Keeps the parent's half of a token out of the child's hands: not destroyed, but still reachable.
void forget(std::unique_ptr<Token::Impl> impl) {
  struct Node {
    std::unique_ptr<Token::Impl> impl;
    Node* next;
  };
  static std::atomic<Node*> forgotten = nullptr;
  auto* node = new Node{std::move(impl), forgotten.load(std::memory_order_relaxed)};
  while (!forgotten.compare_exchange_weak(node->next, node, std::memory_order_release,
                                          std::memory_order_relaxed)) {
  }
}

}  // namespace

Token& Token::operator=(Token&& other) noexcept {
  if (this == &other) return *this;
  if (impl_) {
    const auto outcome =
        std::move(*this).revoke_and_wait(RevokeReason::doubtful, Deadline::after(limits::kFenceTimeout));
    static_cast<void>(outcome);  // quarantined memory is the provider's to keep; nobody is left here to tell
  }
  impl_ = std::move(other.impl_);
  return *this;
}

Token::~Token() {
  if (!impl_) return;
  const auto outcome =
      std::move(*this).revoke_and_wait(RevokeReason::doubtful, Deadline::after(limits::kFenceTimeout));
  static_cast<void>(outcome);
}

void Token::revoke(RevokeReason reason, Deadline deadline, std::function<void(FenceOutcome)> done) && {
  std::unique_ptr<Impl> impl = std::move(impl_);
  if (forked_after_open()) {
    forget(std::move(impl));
    // The parent's transfer goes on, and memory that is shared with the parent is still written.
    done(FenceOutcome::quarantined);
    return;
  }
  impl->revoke(reason, deadline, std::move(done));
}

FenceOutcome Token::revoke_and_wait(RevokeReason reason, Deadline deadline) && {
  struct Shared {
    std::mutex mutex;
    std::condition_variable decided;
    std::optional<FenceOutcome> outcome;
  };
  auto shared = std::make_shared<Shared>();
  std::move(*this).revoke(reason, deadline, [shared](FenceOutcome outcome) {
    const std::lock_guard lock(shared->mutex);
    shared->outcome = outcome;
    shared->decided.notify_all();
  });
  std::unique_lock lock(shared->mutex);
  const auto until = deadline.when() + limits::kFenceGrace;
  shared->decided.wait_until(lock, until, [&] { return shared->outcome.has_value(); });
  return shared->outcome.value_or(FenceOutcome::quarantined);
}

}  // namespace sluice::fabric
