// Counts work in flight and refuses new work once closing: admission and shutdown are one object seen twice.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "base/deadline.h"
#include "sluice/error.h"

namespace sluice {

/// Every component that starts work owns one. Safe from any thread.
///
/// `enter(name)` hands out a Holder or the error `cancelled` once `close` was called. `close` refuses
/// newcomers, waits until the last Holder is gone or the deadline passes, and returns the names of those
/// still inside. Destroying a non-empty gate aborts in debug builds and names the holders: whoever is inside
/// would outlive us.
class Gate {
 public:
  explicit Gate(std::string name) : name_(std::move(name)) {}
  Gate(const Gate&) = delete;
  Gate& operator=(const Gate&) = delete;
  ~Gate();

  class Holder {
   public:
    Holder() = default;
    Holder(Holder&& other) noexcept : gate_(std::exchange(other.gate_, nullptr)), id_(other.id_) {}
    Holder& operator=(Holder&& other) noexcept;
    Holder(const Holder&) = delete;
    Holder& operator=(const Holder&) = delete;
    ~Holder() { release(); }
    void release();

   private:
    friend class Gate;
    Holder(Gate* gate, std::uint64_t id) : gate_(gate), id_(id) {}
    Gate* gate_ = nullptr;
    std::uint64_t id_ = 0;
  };

  Result<Holder> enter(std::string name);
  /// Refuses newcomers from now on, without waiting.
  void shut();
  /// Blocks. Never call it on a thread that the holders need to finish on; coroutines use `on_empty`.
  std::vector<std::string> close(Deadline deadline);
  /// Shuts, and calls `done` once (on the thread that leaves last, or at once) when nobody is inside.
  void on_empty(std::function<void()> done);
  [[nodiscard]] std::size_t count() const;
  [[nodiscard]] bool closing() const;
  [[nodiscard]] std::vector<std::string> inside() const;

 private:
  void leave(std::uint64_t id);
  std::string name_;
  mutable std::mutex mutex_;
  std::condition_variable empty_;
  std::map<std::uint64_t, std::string> holders_;
  std::vector<std::function<void()>> on_empty_;
  std::uint64_t next_ = 1;
  bool closing_ = false;
};

}  // namespace sluice
