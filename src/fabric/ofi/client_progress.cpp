#include <sys/epoll.h>
#include <sys/eventfd.h>

#include <array>
#include <cerrno>
#include <cstdlib>

#include "base/try.h"
#include "fabric/fork.h"
#include "fabric/ofi/client.h"

namespace sluice::fabric::ofi {
namespace {

constexpr std::uint64_t kWakeId = 0;
constexpr int kEvents = 32;
// Reads of one lane's queue in a row, so that a busy peer cannot keep the others waiting.
constexpr int kReadsPerTurn = 32;
// Lanes whose provider wants calls without events, or has no descriptor: connections of ofi_rxm move every 10
// ms.
constexpr int kTickMs = 10;
constexpr std::chrono::milliseconds kExitWait{200};

}  // namespace

Result<ClientProgress*> ClientProgress::instance() {
  static std::mutex creation;
  static ClientProgress* created = nullptr;
  const std::lock_guard lock(creation);
  if (created == nullptr) {
    // Not deleted, neither here after a failed start nor at exit: see the header.
    auto* progress = new ClientProgress;
    if (Result<void> started = progress->start(); !started) {
      delete progress;
      return std::move(started).error();
    }
    created = progress;
    std::atexit([] { created->stop_at_exit(); });
  }
  return created;
}

Result<void> ClientProgress::start() {
  epoll_.reset(::epoll_create1(EPOLL_CLOEXEC));
  if (!epoll_) return errno_error(errno, "creating an epoll descriptor");
  wake_.reset(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!wake_) return errno_error(errno, "creating an event descriptor");
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.u64 = kWakeId;
  if (::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, wake_.get(), &event) != 0)
    return errno_error(errno, "waiting for an event");
  std::thread([this] { run(); }).detach();
  return {};
}

void ClientProgress::wake() {
  const std::uint64_t one = 1;
  static_cast<void>(::write(wake_.get(), &one, sizeof one));
}

void ClientProgress::stop_at_exit() {
  if (forked_after_open()) return;  // the thread is the parent's
  // After this libfabric's own destructors run, and the thread must not be inside it.
  exiting_ = true;
  wake();
  const auto limit = std::chrono::steady_clock::now() + kExitWait;
  while (!finished_ && std::chrono::steady_clock::now() < limit) std::this_thread::yield();
}

Result<void> ClientProgress::watch(const std::shared_ptr<ClientLane>& lane, bool needs_tick) {
  const int descriptor = lane->domain->wait_descriptor();
  const bool ticks = needs_tick || descriptor < 0;
  {
    const std::lock_guard lock(mutex_);
    lanes_[lane->id] = Entry{lane, ticks};
  }
  lane->watched = true;
  if (ticks && ticking_.fetch_add(1) == 0) wake();
  if (descriptor < 0) return {};
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.u64 = lane->id;
  if (::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, descriptor, &event) != 0) {
    const int number = errno;
    unwatch(*lane);
    return errno_error(number, "watching a client lane");
  }
  return {};
}

void ClientProgress::unwatch(ClientLane& lane) {
  if (!lane.watched) return;
  lane.watched = false;
  if (const int descriptor = lane.domain->wait_descriptor(); descriptor >= 0)
    ::epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, descriptor, nullptr);
  const std::lock_guard lock(mutex_);
  const auto entry = lanes_.find(lane.id);
  if (entry == lanes_.end()) return;
  if (entry->second.ticks) ticking_.fetch_sub(1);
  lanes_.erase(entry);
}

std::size_t ClientProgress::watched() const {
  const std::lock_guard lock(mutex_);
  return lanes_.size();
}

std::vector<std::uint64_t> ClientProgress::watched_ids() const {
  const std::lock_guard lock(mutex_);
  std::vector<std::uint64_t> ids;
  ids.reserve(lanes_.size());
  for (const auto& [id, entry] : lanes_) ids.push_back(id);
  return ids;
}

void ClientProgress::drive(std::uint64_t lane_id) {
  std::shared_ptr<ClientLane> lane;
  {
    const std::lock_guard lock(mutex_);
    const auto entry = lanes_.find(lane_id);
    if (entry == lanes_.end()) return;
    lane = entry->second.lane;
  }
  const std::lock_guard lock(lane->mutex);
  if (!lane->watched) return;
  fid_cq* const queue = lane->domain->queue();
  for (int i = 0; i < kReadsPerTurn; ++i) {
    std::array<fi_cq_entry, 8> entries;
    const ssize_t count = fi_cq_read(queue, entries.data(), entries.size());
    if (count == -FI_EAVAIL) {
      // A peer's bad operation or lost connection: the server hears of it, nothing to do here.
      fi_cq_err_entry failure{};
      static_cast<void>(fi_cq_readerr(queue, &failure, 0));
    } else if (count <= 0 && lane->domain->may_wait()) {
      return;
    }
  }
}

void ClientProgress::run() {
  std::array<epoll_event, kEvents> events;
  while (!exiting_) {
    const bool tick = ticking_.load() != 0;
    const int count = ::epoll_wait(epoll_.get(), events.data(), kEvents, tick ? kTickMs : -1);
    if (exiting_) break;
    for (int i = 0; i < count; ++i) {
      const std::uint64_t id = events[static_cast<std::size_t>(i)].data.u64;
      if (id != kWakeId) {
        drive(id);
        continue;
      }
      std::uint64_t ignored = 0;
      static_cast<void>(::read(wake_.get(), &ignored, sizeof ignored));
    }
    if (tick && count == 0)
      for (const std::uint64_t id : watched_ids()) drive(id);
  }
  finished_ = true;
}

}  // namespace sluice::fabric::ofi
