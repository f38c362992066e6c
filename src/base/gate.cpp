#include "base/gate.h"

#include <cstdio>
#include <cstdlib>

#include "base/log.h"

namespace sluice {

Gate::~Gate() {
  const auto left = inside();
  if (left.empty()) return;
  for (const auto& name : left)
    log::error("gate.destroyed_with_work_inside", {{"gate", name_}, {"holder", name}});
#ifndef NDEBUG
  for (const auto& name : left)
    std::fprintf(stderr, "gate %s destroyed while %s is inside\n", name_.c_str(), name.c_str());
  std::abort();
#endif
}

Gate::Holder& Gate::Holder::operator=(Holder&& other) noexcept {
  if (this != &other) {
    release();
    gate_ = std::exchange(other.gate_, nullptr);
    id_ = other.id_;
  }
  return *this;
}

void Gate::Holder::release() {
  if (gate_ != nullptr) std::exchange(gate_, nullptr)->leave(id_);
}

Result<Gate::Holder> Gate::enter(std::string name) {
  const std::lock_guard lock(mutex_);
  if (closing_) return Error(ErrorCode::cancelled, name_ + " is shutting down");
  const std::uint64_t id = next_++;
  holders_.emplace(id, std::move(name));
  return Holder(this, id);
}

void Gate::leave(std::uint64_t id) {
  std::vector<std::function<void()>> callbacks;
  {
    const std::lock_guard lock(mutex_);
    holders_.erase(id);
    if (!holders_.empty()) return;
    callbacks.swap(on_empty_);
    // Under the lock: whoever waits in close() may destroy the gate as soon as it is let go.
    empty_.notify_all();
  }
  for (const auto& callback : callbacks) callback();
}

void Gate::shut() {
  const std::lock_guard lock(mutex_);
  closing_ = true;
}

std::vector<std::string> Gate::close(Deadline deadline) {
  std::unique_lock lock(mutex_);
  closing_ = true;
  empty_.wait_until(lock, deadline.when(), [this] { return holders_.empty(); });
  std::vector<std::string> left;
  for (const auto& [id, name] : holders_) left.push_back(name);
  return left;
}

void Gate::on_empty(std::function<void()> done) {
  {
    const std::lock_guard lock(mutex_);
    closing_ = true;
    if (!holders_.empty()) {
      on_empty_.push_back(std::move(done));
      return;
    }
  }
  done();
}

std::size_t Gate::count() const {
  const std::lock_guard lock(mutex_);
  return holders_.size();
}

bool Gate::closing() const {
  const std::lock_guard lock(mutex_);
  return closing_;
}

std::vector<std::string> Gate::inside() const {
  const std::lock_guard lock(mutex_);
  std::vector<std::string> names;
  for (const auto& [id, name] : holders_) names.push_back(name);
  return names;
}

}  // namespace sluice
