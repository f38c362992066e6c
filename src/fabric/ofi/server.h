// The server half on libfabric: lanes to clients, operations, deadlines. Everything here belongs to one
// thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/file.h"
#include "fabric/fabric.h"
#include "fabric/ofi/lane.h"
#include "fabric/ofi/operation.h"
#include "fabric/ofi/provider.h"

namespace sluice::fabric::ofi {

using Clock = std::chrono::steady_clock;

/// A domain and its queue, bound to one local address of the server. Where the provider bears it
/// (Traits::cheap_lane), the lanes of all clients that came in through that address share one, so that there
/// is one descriptor to wait on; else every lane has its own. Nothing of the server's memory can be reached
/// through it, so sharing costs no isolation.
struct Port {
  std::string address;
  std::unique_ptr<Domain> domain;
};

/// The server's endpoint for one client endpoint. Retired as a whole: closing the endpoint is the only way to
/// get back the buffers of operations that do not complete, and it hurts no other client.
struct ServerLane {
  enum class State : std::uint8_t {
    connecting,  ///< nothing was posted with success yet
    connected,
    broken,   ///< an operation failed; retired at the end of the turn
    retired,  ///< the endpoint is closed; exists until its targets are closed
  };
  Port* port = nullptr;
  std::unique_ptr<Port> own_port;  ///< before the endpoint: closed after it
  std::string key;
  Endpoint endpoint;
  fi_addr_t address = FI_ADDR_UNSPEC;
  State state = State::connecting;
  std::size_t targets = 0;
  OperationList in_flight;
  OperationList queued;                  ///< not posted yet, first in first out
  std::optional<Error> cause;            ///< why it broke
  Deadline give_up = Deadline::never();  ///< when the head of `queued` has waited too long for a connection
  Clock::time_point retry_at;            ///< when the head of `queued` is tried again
  Clock::duration backoff{};
  int attempts = 0;
  Clock::time_point last_used;
  std::list<ServerLane*>::iterator idle_position;  ///< valid while it has no target
};

class OfiServer;

/// One opened window.
class OfiTarget final : public Target {
 public:
  OfiTarget(OfiServer& server, ServerLane& lane, const ParsedToken& token, const OpenPolicy& policy);
  ~OfiTarget() override;
  OfiTarget(const OfiTarget&) = delete;
  OfiTarget& operator=(const OfiTarget&) = delete;

  std::uint64_t window_bytes() const override { return bytes_; }
  std::uint64_t max_operation_bytes() const override;
  void write(std::uint64_t offset_in_window, std::span<const std::byte> local, Completion done) override;
  void read(std::uint64_t offset_in_window, std::span<std::byte> local, Completion done) override;
  void close(std::function<void()> done) override;

 private:
  friend class OfiServer;
  enum class State : std::uint8_t { open, closing, closed };
  void start(Operation::Kind kind, std::uint64_t offset, std::byte* local, std::size_t bytes,
             Completion done);
  [[nodiscard]] std::optional<Error> refuse(Operation::Kind kind, std::uint64_t offset,
                                            std::size_t bytes) const;

  OfiServer& server_;
  ServerLane* lane_;
  const std::uint64_t base_;
  const std::uint64_t bytes_;
  const std::uint64_t key_;
  const Direction direction_;
  const Deadline lease_;
  Deadline drain_;
  State state_ = State::open;
  std::size_t operations_ = 0;  ///< queued, in flight, or finished and not yet reported
  std::size_t posted_ = 0;      ///< in flight
  Clock::time_point last_progress_;
  std::function<void()> closed_;
};

class OfiServer final : public ServerFabric {
 public:
  /// Errors: unsupported, io_error.
  static Result<std::unique_ptr<OfiServer>> make(const Traits& traits, const std::string& name);
  ~OfiServer() override;
  OfiServer(const OfiServer&) = delete;
  OfiServer& operator=(const OfiServer&) = delete;

  const FabricIdentity& identity() const override { return identity_; }
  bool speaks(const ParsedToken& token) const override;
  Result<std::unique_ptr<Target>> open(const ParsedToken& token, const OpenPolicy& policy) override;
  Progress progress() override;
  int wait_descriptor() const override { return epoll_.get(); }
  std::size_t outstanding() const override { return outstanding_; }
  /// Lanes that are open, in use or idle.
  [[nodiscard]] std::size_t lanes() const { return lanes_.size(); }

 private:
  friend class OfiTarget;
  OfiServer(const Traits& traits, const std::string& name);

  Result<void> start();
  Result<std::unique_ptr<Port>> open_port(const std::string& address);
  /// The shared one.
  Result<Port*> port_for(const std::string& address);
  Result<ServerLane*> lane_for(const std::string& address, const std::vector<std::byte>& name);
  Result<std::unique_ptr<ServerLane>> open_lane(const std::string& address,
                                                const std::vector<std::byte>& name);
  void close_endpoint(ServerLane& lane);
  void drop_port(ServerLane& lane);
  void close_idle_lane(ServerLane& lane);
  /// A target is closed: its lane becomes idle, or goes if it was retired.
  void release_lane(ServerLane& lane);
  void forget(OfiTarget& target);

  void submit(Operation& operation);
  /// Posts what is queued on the lane as far as libfabric takes it.
  void post_queued(ServerLane& lane);
  long post(Operation& operation);
  /// Puts the operation among the results to report. Not on any list before.
  void finish(Operation& operation, std::optional<Error> failure);
  void break_lane(ServerLane& lane, Error cause);
  /// Ends every operation of a broken lane: closes the endpoint, takes the buffers back, reports the cause.
  void retire(ServerLane& lane);
  void retire_broken();
  /// Reads a bounded number of completions; returns whether more may be there.
  bool read_queue(Port& port);
  bool read_failure(Port& port);
  void completed(Operation& operation, std::optional<Error> failure);
  void post_waiting(Clock::time_point now);
  void check_deadlines(Clock::time_point now);
  void check_target(OfiTarget& target, Clock::time_point now);
  void fail_queued(ServerLane& lane, const OfiTarget* only, const Error& cause);
  void run_callbacks();
  /// `progress` will be called at `when` or earlier.
  void expect(Clock::time_point when);
  void arm_timer();

  const Traits& traits_;
  FabricIdentity identity_;
  std::uint64_t max_operation_bytes_ = 0;
  FileDescriptor epoll_;
  FileDescriptor timer_;
  std::map<std::string, std::unique_ptr<Port>> shared_ports_;
  std::vector<Port*> ports_;  ///< shared and own ones
  std::unordered_map<std::string, std::unique_ptr<ServerLane>> lanes_;
  std::vector<std::unique_ptr<ServerLane>> retired_;
  std::vector<ServerLane*> broken_;
  std::list<ServerLane*> idle_;       ///< least recently used first
  std::vector<ServerLane*> waiting_;  ///< lanes with something queued
  std::vector<OfiTarget*> targets_;   ///< not closed
  OperationPool pool_;
  OperationList finished_;
  std::size_t outstanding_ = 0;
  bool in_progress_ = false;
  bool something_closed_ = false;                             ///< a target waits for its close to be reported
  Clock::time_point next_check_ = Clock::time_point::max();   ///< no deadline passes before this
  Clock::time_point timer_armed_ = Clock::time_point::max();  ///< max() when disarmed
};

}  // namespace sluice::fabric::ofi
