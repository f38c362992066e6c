// The client half on libfabric: windows, client lanes, fences.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

#include "base/file.h"
#include "fabric/fabric.h"
#include "fabric/ofi/lane.h"
#include "fabric/ofi/provider.h"
#include "fabric/registry.h"

namespace sluice::fabric::ofi {

/// A client lane: its own domain, so that a memory key works through this lane only and a server that holds
/// several tokens cannot reach one window through another's lane; and an endpoint, whose closing is the
/// fence.
struct ClientLane {
  std::uint64_t id = 0;
  std::string address;  ///< the local address that it is bound to
  std::string peer;     ///< the server that it serves: lanes are not shared between servers

  /// Whoever calls libfabric on this lane holds it, and reads or writes what follows.
  std::mutex mutex;
  std::unique_ptr<Domain> domain;
  Endpoint endpoint;
  std::size_t windows = 0;  ///< registrations that are out on it
  bool watched = false;

  // Guarded by its fabric's lock.
  std::size_t users = 0;  ///< grants that hold it; parked when none does
  std::chrono::steady_clock::time_point parked_at;
};

/// Drives the lanes that have a token out, one thread for the process, asleep when there is none. Safe from
/// any thread.
class ClientProgress {
 public:
  /// Never destroyed: the thread may be inside libfabric when the process ends. Errors: io_error.
  static Result<ClientProgress*> instance();
  /// From now on the thread moves bytes on this lane. The caller holds the lane's mutex. Errors: io_error.
  Result<void> watch(const std::shared_ptr<ClientLane>& lane, bool needs_tick);
  /// No progress call is made on this lane from now on. The caller holds the lane's mutex.
  void unwatch(ClientLane& lane);
  /// Lanes with a token out.
  [[nodiscard]] std::size_t watched() const;

 private:
  ClientProgress() = default;
  Result<void> start();
  void run();
  void stop_at_exit();
  void drive(std::uint64_t lane_id);
  void wake();
  std::vector<std::uint64_t> watched_ids() const;

  FileDescriptor epoll_;
  FileDescriptor wake_;
  std::atomic<std::size_t> ticking_{0};  ///< watched lanes that must be driven without being readable
  std::atomic<bool> exiting_{false};
  std::atomic<bool> finished_{false};
  struct Entry {
    std::shared_ptr<ClientLane> lane;
    bool ticks = false;
  };
  mutable std::mutex mutex_;
  std::unordered_map<std::uint64_t, Entry> lanes_;
};

/// A window that is out, and what has to be closed to end it.
struct Grant {
  explicit Grant(Window granted) : window(std::move(granted)) {}
  Window window;
  std::shared_ptr<ClientLane> lane;
  Fid<fid_mr> registration;
  std::string text;
};

class OfiClient final : public ClientFabric, public std::enable_shared_from_this<OfiClient> {
 public:
  /// Errors: unsupported when the provider is not here.
  static Result<std::shared_ptr<OfiClient>> open(const Traits& traits, const std::string& name);
  ~OfiClient() override;
  OfiClient(const OfiClient&) = delete;
  OfiClient& operator=(const OfiClient&) = delete;

  const FabricIdentity& identity() const override { return identity_; }
  bool reaches(MemoryKind kind) const override { return kind == MemoryKind::host; }
  Result<Token> mint(const Window& window, const MintOptions& options) override;
  std::uint64_t quarantined_bytes() const override {
    return quarantined_bytes_.load(std::memory_order_relaxed);
  }

  /// Ends a grant; `done` as for Token::revoke.
  void end(Grant grant, RevokeReason reason, Deadline deadline, std::function<void(FenceOutcome)> done);
  /// All lanes, in use or parked, for tests and reports.
  [[nodiscard]] std::vector<std::shared_ptr<ClientLane>> lanes() const;

 private:
  struct FenceJob {
    Grant grant;
    bool close_lane = false;
    Deadline deadline;
    std::function<void(FenceOutcome)> done;  ///< empty once it was called: the memory is quarantined
  };

  OfiClient(const Traits& traits, const std::string& name);
  Result<std::shared_ptr<ClientLane>> take_lane(const std::string& address, const std::string& peer);
  Result<void> register_window(Grant& grant, ClientProgress& progress);
  void put_back(const std::shared_ptr<ClientLane>& lane);
  /// With the lane's mutex held by the caller.
  void finish_locked(Grant& grant, bool close_lane);
  void settle(FenceJob& job);
  void start_keeper_locked();
  void keep();
  /// Tries every waiting fence once. `lock` is released meanwhile.
  void try_fences(std::unique_lock<std::mutex>& lock);
  void close_idle(std::unique_lock<std::mutex>& lock);
  [[nodiscard]] std::chrono::steady_clock::time_point next_keeping_locked() const;

  const Traits& traits_;
  FabricIdentity identity_;
  std::atomic<std::uint64_t> quarantined_bytes_{0};

  mutable std::mutex mutex_;
  std::vector<std::shared_ptr<ClientLane>> lanes_;
  std::list<FenceJob> fences_;
  std::condition_variable wake_keeper_;
  bool stopping_ = false;
  std::thread keeper_;  ///< fences that would make the caller wait, lanes that idle too long
};

}  // namespace sluice::fabric::ofi
