#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "fabric/fault/fault_fabric.h"
#include "fabric/token_text.h"

namespace sluice::fabric {
namespace {

/// Windows whose fence was said to have failed: kept out of use as a real quarantine would.
struct Quarantine {
  std::mutex mutex;
  std::vector<Window> windows;
};

class FaultyToken final : public Token::Impl {
 public:
  FaultyToken(Token inner, std::string text, Window window, std::shared_ptr<FaultPlan> plan,
              std::shared_ptr<Quarantine> quarantine)
      : inner_(std::move(inner)),
        text_(std::move(text)),
        window_(std::move(window)),
        plan_(std::move(plan)),
        quarantine_(std::move(quarantine)) {}

  const std::string& text() const override { return text_; }

  void revoke(RevokeReason reason, Deadline deadline, std::function<void(FenceOutcome)> done) override {
    const Fault fault = plan_->next();
    if (fault.kind == FaultKind::call && fault.hook) fault.hook();
    if (fault.kind == FaultKind::delay) std::this_thread::sleep_for(fault.delay);
    if (fault.kind != FaultKind::fail_fence) {
      std::move(inner_).revoke(reason, deadline, std::move(done));
      return;
    }
    std::move(inner_).revoke(
        reason, deadline, [window = window_, quarantine = quarantine_, done = std::move(done)](FenceOutcome) {
          {
            const std::lock_guard lock(quarantine->mutex);
            quarantine->windows.push_back(window);
          }
          done(FenceOutcome::quarantined);
        });
  }

 private:
  Token inner_;
  std::string text_;
  Window window_;
  std::shared_ptr<FaultPlan> plan_;
  std::shared_ptr<Quarantine> quarantine_;
};

class FaultyClient final : public ClientFabric {
 public:
  FaultyClient(std::shared_ptr<ClientFabric> inner, std::shared_ptr<FaultPlan> plan)
      : inner_(std::move(inner)), plan_(std::move(plan)) {}

  const FabricIdentity& identity() const override { return inner_->identity(); }
  bool reaches(MemoryKind kind) const override { return inner_->reaches(kind); }

  Result<Token> mint(const Window& window, const MintOptions& options) override {
    const Fault fault = plan_->next();
    if (fault.kind == FaultKind::fail_open) {
      return Error(ErrorCode::overloaded, "injected fault: no lane for a token").with_retry(Retry::later);
    }
    if (fault.kind == FaultKind::call && fault.hook) fault.hook();
    if (fault.kind == FaultKind::delay) std::this_thread::sleep_for(fault.delay);
    auto inner = inner_->mint(window, options);
    if (!inner) return inner;
    std::string text = inner->text();
    if (fault.kind == FaultKind::wrong_key) {
      if (auto parsed = parse_token_text(text)) {
        parsed->key ^= 0x5a5a5a5a;
        text = format_token_text(*parsed);
      }
    }
    return Token(
        std::make_unique<FaultyToken>(std::move(*inner), std::move(text), window, plan_, quarantine_));
  }

  std::uint64_t quarantined_bytes() const override {
    const std::lock_guard lock(quarantine_->mutex);
    std::uint64_t bytes = inner_->quarantined_bytes();
    for (const Window& window : quarantine_->windows) bytes += window.bytes();
    return bytes;
  }

 private:
  std::shared_ptr<ClientFabric> inner_;
  std::shared_ptr<FaultPlan> plan_;
  std::shared_ptr<Quarantine> quarantine_ = std::make_shared<Quarantine>();
};

}  // namespace

std::shared_ptr<ClientFabric> make_faulty(std::shared_ptr<ClientFabric> inner,
                                          std::shared_ptr<FaultPlan> plan) {
  return std::make_shared<FaultyClient>(std::move(inner), std::move(plan));
}

}  // namespace sluice::fabric
