// Cancellation: delivered once, to everyone who asked, also to those who ask afterwards.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

namespace sluice {

class CancelState;

/// Unhooks its callback when destroyed. After `~CancelRegistration` returns the callback does not run any
/// more (if it is running on another thread, the destructor waits for it; from inside the callback it does
/// not).
class CancelRegistration {
 public:
  CancelRegistration() = default;
  CancelRegistration(std::shared_ptr<CancelState> state, std::uint64_t id);
  CancelRegistration(CancelRegistration&& other) noexcept;
  CancelRegistration& operator=(CancelRegistration&& other) noexcept;
  ~CancelRegistration();

 private:
  std::shared_ptr<CancelState> state_;
  std::uint64_t id_ = 0;
};

/// The end that is asked. Copyable; safe from any thread. A default-made one is never cancelled.
class CancelToken {
 public:
  CancelToken() = default;
  [[nodiscard]] bool cancelled() const;
  /// Runs `callback` on the cancelling thread, or right here if that already happened.
  [[nodiscard]] CancelRegistration on_cancel(std::function<void()> callback) const;

 private:
  friend class CancelSource;
  explicit CancelToken(std::shared_ptr<CancelState> state) : state_(std::move(state)) {}
  std::shared_ptr<CancelState> state_;
};

/// The end that cancels. Copyable (copies share state); safe from any thread.
class CancelSource {
 public:
  CancelSource();
  void cancel() const;
  [[nodiscard]] CancelToken token() const { return CancelToken(state_); }

 private:
  std::shared_ptr<CancelState> state_;
};

}  // namespace sluice
