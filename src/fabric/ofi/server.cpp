#include "fabric/ofi/server.h"

#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <sys/uio.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include "base/encoding.h"
#include "base/limits.h"
#include "base/try.h"
#include "fabric/fork.h"
#include "fabric/token_text.h"

namespace sluice::fabric::ofi {
namespace {

constexpr std::size_t kSharedQueue = 4096;
constexpr std::size_t kLaneQueue = 256;
// Completions taken per turn, so that callbacks and deadlines get theirs.
constexpr std::size_t kReadsPerTurn = 64;
// Local addresses that clients may come in through. More than this machine has means that somebody makes them
// up.
constexpr std::size_t kSharedPorts = 64;
// Posting to a peer that is not connected is tried again when something happened, and at these distances.
constexpr std::chrono::microseconds kFirstRetry{50};
constexpr std::chrono::microseconds kLastRetry{5000};
// So many tries at every event; after that only by the clock, because a dead peer must not cost the others
// time.
constexpr int kEagerAttempts = 8;
// For providers without a descriptor to wait on.
constexpr std::chrono::milliseconds kPollInterval{1};

void remove_from(std::vector<ServerLane*>& lanes, ServerLane* lane) {
  lanes.erase(std::remove(lanes.begin(), lanes.end(), lane), lanes.end());
}

}  // namespace

Result<std::unique_ptr<OfiServer>> OfiServer::make(const Traits& traits, const std::string& name) {
  std::unique_ptr<OfiServer> server(new OfiServer(traits, name));
  SLUICE_CHECK(server->start());
  note_fabric_opened();
  return server;
}

OfiServer::OfiServer(const Traits& traits, const std::string& name)
    : traits_(traits),
      identity_{name, std::string(traits.name), std::string(traits.wire_protocol), limits::kWindowBytes} {}

OfiServer::~OfiServer() {
  // Lanes first: their endpoints hang on the ports' domains. Nobody is called back any more.
  for (OfiTarget* target : targets_) target->state_ = OfiTarget::State::closed;
  if (forked_after_open()) {
    // The parent's objects. Leak them.
    for (auto& [key, lane] : lanes_) static_cast<void>(lane.release());
    for (auto& [address, port] : shared_ports_) static_cast<void>(port.release());
  }
  lanes_.clear();
  retired_.clear();
}

Result<void> OfiServer::start() {
  SLUICE_TRY(const Info info, query(traits_, Side::server, "127.0.0.1"));
  max_operation_bytes_ = std::min<std::uint64_t>(limits::kChunkBytes, info->ep_attr->max_msg_size);
  epoll_.reset(::epoll_create1(EPOLL_CLOEXEC));
  if (!epoll_) return errno_error(errno, "creating an epoll descriptor");
  timer_.reset(::timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK));
  if (!timer_) return errno_error(errno, "creating a timer descriptor");
  epoll_event event{};
  event.events = EPOLLIN;
  if (::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, timer_.get(), &event) != 0)
    return errno_error(errno, "waiting for a timer");
  return {};
}

bool OfiServer::speaks(const ParsedToken& token) const {
  const Traits* const theirs = find_traits(token.provider);
  return theirs != nullptr && theirs->wire_protocol == traits_.wire_protocol;
}

Result<std::unique_ptr<Target>> OfiServer::open(const ParsedToken& token, const OpenPolicy& policy) {
  if (forked_after_open()) return forked_error();
  if (!speaks(token))
    return Error(ErrorCode::token_refused, "the token is for another fabric than " + identity_.name);
  if (token.bytes == 0 || token.bytes > identity_.max_window_bytes)
    return Error(ErrorCode::token_refused, "the token's window of " + std::to_string(token.bytes) +
                                               " bytes is empty or over " +
                                               std::to_string(identity_.max_window_bytes));
  const bool socket = traits_.address == AddressKind::socket;
  if (socket)
    SLUICE_CHECK(check_socket_endpoint(token.endpoint_name, policy.peer_address, policy.allowed_peers));
  retire_broken();  // so that a client whose lane just broke gets a new one
  SLUICE_TRY(ServerLane * lane,
             lane_for(socket ? plain_address(policy.local_address) : std::string(), token.endpoint_name));
  return std::unique_ptr<Target>(std::make_unique<OfiTarget>(*this, *lane, token, policy));
}

Result<std::unique_ptr<Port>> OfiServer::open_port(const std::string& address) {
  auto port = std::make_unique<Port>();
  port->address = address;
  SLUICE_TRY(Info info, query(traits_, Side::server, address));
  SLUICE_TRY(port->domain,
             Domain::open(traits_, std::move(info), traits_.cheap_lane ? kSharedQueue : kLaneQueue));
  if (const int descriptor = port->domain->wait_descriptor(); descriptor >= 0) {
    epoll_event event{};
    event.events = EPOLLIN;
    if (::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, descriptor, &event) != 0)
      return errno_error(errno, "waiting for a completion queue");
  }
  ports_.push_back(port.get());
  return port;
}

Result<Port*> OfiServer::port_for(const std::string& address) {
  if (const auto known = shared_ports_.find(address); known != shared_ports_.end())
    return known->second.get();
  if (shared_ports_.size() >= kSharedPorts)
    return Error(ErrorCode::overloaded,
                 "clients come in through more than " + std::to_string(kSharedPorts) + " addresses");
  SLUICE_TRY(auto port, open_port(address));
  return shared_ports_.emplace(address, std::move(port)).first->second.get();
}

Result<ServerLane*> OfiServer::lane_for(const std::string& address, const std::vector<std::byte>& name) {
  std::string key = address;
  key.push_back('\0');
  key.append(reinterpret_cast<const char*>(name.data()), name.size());
  if (const auto known = lanes_.find(key); known != lanes_.end()) {
    ServerLane* const lane = known->second.get();
    if (lane->targets == 0) idle_.erase(lane->idle_position);
    return lane;
  }
  if (lanes_.size() >= limits::kServerLanes) {
    if (idle_.empty())
      return Error(ErrorCode::overloaded,
                   "all " + std::to_string(limits::kServerLanes) + " lanes to clients are in use")
          .with_retry(Retry::later, limits::kBackoffBase);
    close_idle_lane(*idle_.front());
  }
  SLUICE_TRY(auto lane, open_lane(address, name));
  lane->key = key;
  return lanes_.emplace(std::move(key), std::move(lane)).first->second.get();
}

Result<std::unique_ptr<ServerLane>> OfiServer::open_lane(const std::string& address,
                                                         const std::vector<std::byte>& name) {
  auto lane = std::make_unique<ServerLane>();
  if (traits_.cheap_lane) {
    SLUICE_TRY(lane->port, port_for(address));
  } else {
    SLUICE_TRY(lane->own_port, open_port(address));
    lane->port = lane->own_port.get();
  }
  Domain& domain = *lane->port->domain;
  const int hint = free_descriptor();
  const int inserted = fi_av_insert(domain.addresses(), name.data(), 1, &lane->address, 0, nullptr);
  if (inserted != 1 || lane->address == FI_ADDR_NOTAVAIL) {
    lane->address = FI_ADDR_UNSPEC;
    drop_port(*lane);
    return Error(ErrorCode::token_refused, "libfabric does not take the token's endpoint name");
  }
  Result<Endpoint> endpoint = Endpoint::open(domain);
  if (!endpoint) {
    drop_port(*lane);
    return std::move(endpoint).error();
  }
  lane->endpoint = std::move(*endpoint);
  if (traits_.address == AddressKind::socket) refuse_callers(lane->endpoint, hint);
  return lane;
}

void OfiServer::close_endpoint(ServerLane& lane) {
  if (!lane.endpoint.is_open()) return;
  // libfabric 1.17 keeps events of connections that closing frees, and crashes on them when another lane of
  // the same domain makes progress. A read that finds nothing has handled them all.
  while (read_queue(*lane.port)) {
  }
  lane.endpoint.close();
}

void OfiServer::drop_port(ServerLane& lane) {
  if (lane.address != FI_ADDR_UNSPEC) fi_av_remove(lane.port->domain->addresses(), &lane.address, 1, 0);
  if (lane.own_port) std::erase(ports_, lane.own_port.get());
  lane.own_port.reset();
  lane.port = nullptr;
}

void OfiServer::close_idle_lane(ServerLane& lane) {
  idle_.erase(lane.idle_position);
  close_endpoint(lane);
  drop_port(lane);
  lanes_.erase(lanes_.find(lane.key));
}

void OfiServer::release_lane(ServerLane& lane) {
  if (--lane.targets != 0) return;
  if (lane.state == ServerLane::State::retired) {
    std::erase_if(retired_, [&lane](const auto& retired) { return retired.get() == &lane; });
    return;
  }
  lane.last_used = Clock::now();
  lane.idle_position = idle_.insert(idle_.end(), &lane);
  expect(lane.last_used + limits::kLaneIdle);
}

void OfiServer::forget(OfiTarget& target) {
  // Destroyed while open: a bug in the caller, but its buffers must not be written after this.
  ServerLane& lane = *target.lane_;
  fail_queued(lane, &target, Error(ErrorCode::cancelled, "the window was dropped"));
  if (target.posted_ != 0) {
    break_lane(lane, Error(ErrorCode::cancelled, "the window was dropped"));
    retire_broken();
  }
  OperationList others;
  while (Operation* operation = finished_.pop_front()) {
    if (operation->target == &target) {
      pool_.give_back(*operation);
    } else {
      others.push_back(*operation);
    }
  }
  finished_ = others;
  std::erase(targets_, &target);
  target.state_ = OfiTarget::State::closed;
  release_lane(lane);
}

void OfiServer::submit(Operation& operation) {
  ServerLane& lane = *operation.lane;
  operation.state = Operation::State::queued;
  const bool first = lane.queued.empty();
  lane.queued.push_back(operation);
  if (!first) return;
  waiting_.push_back(&lane);
  lane.give_up = Deadline::never();
  lane.backoff = kFirstRetry;
  lane.attempts = 0;
  post_queued(lane);
}

long OfiServer::post(Operation& operation) {
  ServerLane& lane = *operation.lane;
  OfiTarget& target = *operation.target;
  Domain& domain = *lane.port->domain;
  void* descriptor = nullptr;
  if (domain.mr_mode(FI_MR_LOCAL)) {
    if (!operation.registration) {
      fid_mr* registration = nullptr;
      const std::uint64_t access = operation.kind == Operation::Kind::write ? FI_WRITE : FI_READ;
      const std::uint64_t key = domain.mr_mode(FI_MR_PROV_KEY) ? 0 : random_u64();
      const int status = fi_mr_reg(domain.get(), operation.local, operation.bytes, access, 0, key, 0,
                                   &registration, nullptr);
      if (status != 0) return status;
      operation.registration.reset(registration);
    }
    descriptor = fi_mr_desc(operation.registration.get());
  }
  const iovec local{operation.local, operation.bytes};
  const fi_rma_iov remote{target.base_ + operation.offset, operation.bytes, target.key_};
  fi_msg_rma message{};
  message.msg_iov = &local;
  message.desc = &descriptor;
  message.iov_count = 1;
  message.addr = lane.address;
  message.rma_iov = &remote;
  message.rma_iov_count = 1;
  operation.context.operation = &operation;
  message.context = &operation.context;
  // Without delivery complete the socket providers report a write before its bytes are in the client's
  // memory.
  if (operation.kind == Operation::Kind::write)
    return fi_writemsg(lane.endpoint.get(), &message, FI_COMPLETION | FI_DELIVERY_COMPLETE);
  return fi_readmsg(lane.endpoint.get(), &message, FI_COMPLETION);
}

void OfiServer::post_queued(ServerLane& lane) {
  while (Operation* const operation = lane.queued.front()) {
    OfiTarget& target = *operation->target;
    const long status = post(*operation);
    const auto now = Clock::now();
    if (status == 0) {
      lane.queued.remove(*operation);
      operation->state = Operation::State::in_flight;
      lane.in_flight.push_back(*operation);
      lane.state = ServerLane::State::connected;
      lane.give_up = Deadline::never();
      lane.backoff = kFirstRetry;
      lane.attempts = 0;
      ++outstanding_;
      if (target.posted_++ == 0) target.last_progress_ = now;
      expect(std::min(now + limits::kProgressTimeout, target.drain_.when()));
      continue;
    }
    // ofi_rxm says "not connected" once, and connects at the next try.
    if (status == -FI_EAGAIN || (status == -FI_ENOTCONN && lane.attempts == 0)) {
      // With something in flight the queue is just full; without, the peer is not connected (yet).
      if (lane.in_flight.empty() && lane.give_up > Deadline::after(limits::kConnectTimeout))
        lane.give_up = Deadline::after(limits::kConnectTimeout);
      ++lane.attempts;
      lane.retry_at = now + lane.backoff;
      lane.backoff = std::min<Clock::duration>(lane.backoff * 2, kLastRetry);
      expect(std::min({lane.retry_at, target.lease_.when(), lane.give_up.when()}));
      return;
    }
    break_lane(lane, library_error(ErrorCode::peer_gone, "posting to the client", status));
    return;
  }
  remove_from(waiting_, &lane);
}

void OfiServer::finish(Operation& operation, std::optional<Error> failure) {
  operation.state = Operation::State::finished;
  operation.registration.reset();
  operation.failure = std::move(failure);
  finished_.push_back(operation);
}

void OfiServer::fail_queued(ServerLane& lane, const OfiTarget* only, const Error& cause) {
  OperationList kept;
  while (Operation* const operation = lane.queued.pop_front()) {
    if (only == nullptr || operation->target == only) {
      finish(*operation, Error(cause).with_outcome(Outcome::refused));
    } else {
      kept.push_back(*operation);
    }
  }
  lane.queued = kept;
  if (lane.queued.empty()) remove_from(waiting_, &lane);
}

void OfiServer::break_lane(ServerLane& lane, Error cause) {
  if (lane.state == ServerLane::State::broken || lane.state == ServerLane::State::retired) return;
  lane.state = ServerLane::State::broken;
  lane.cause = std::move(cause);
  broken_.push_back(&lane);
  expect(Clock::now());
}

void OfiServer::retire_broken() {
  while (!broken_.empty()) {
    ServerLane* const lane = broken_.back();
    broken_.pop_back();
    retire(*lane);
  }
}

void OfiServer::retire(ServerLane& lane) {
  fail_queued(lane, nullptr, *lane.cause);
  close_endpoint(lane);
  lane.state = ServerLane::State::retired;
  // Closing returned everything through the queue; what it did not return is not libfabric's any more either.
  while (read_queue(*lane.port)) {
  }
  while (Operation* const lost = lane.in_flight.pop_front()) {
    Operation& report = pool_.take();
    report.lane = lost->lane;
    report.target = lost->target;
    report.bytes = lost->bytes;
    report.done = std::move(lost->done);
    // Should its context come back after all, it must still mean this operation.
    lost->state = Operation::State::abandoned;
    lost->registration.reset();
    --outstanding_;
    --report.target->posted_;
    finish(report, Error(*lane.cause).with_outcome(Outcome::uncertain));
  }
  drop_port(lane);
  auto node = lanes_.extract(lane.key);
  if (lane.targets != 0) {
    retired_.push_back(std::move(node.mapped()));
  } else {
    idle_.erase(lane.idle_position);
  }
}

void OfiServer::completed(Operation& operation, std::optional<Error> failure) {
  if (operation.state != Operation::State::in_flight) return;
  ServerLane& lane = *operation.lane;
  OfiTarget& target = *operation.target;
  lane.in_flight.remove(operation);
  --outstanding_;
  --target.posted_;
  target.last_progress_ = Clock::now();
  if (failure) {
    break_lane(lane, *failure);
    failure = Error(*lane.cause).with_outcome(Outcome::uncertain);
  }
  finish(operation, std::move(failure));
}

bool OfiServer::read_failure(Port& port) {
  fi_cq_err_entry entry{};
  if (fi_cq_readerr(port.domain->queue(), &entry, 0) < 0) return false;
  Error failure =
      library_error(entry.err == FI_EACCES ? ErrorCode::token_refused : ErrorCode::peer_gone,
                    "the client's side of an operation failed", entry.err == 0 ? FI_EIO : entry.err);
  if (entry.op_context != nullptr) {
    completed(*static_cast<Operation::Context*>(entry.op_context)->operation, std::move(failure));
    return true;
  }
  // It cannot be told whose it was, so none of this port's operations can be trusted to complete.
  for (const auto& [key, lane] : lanes_)
    if (lane->port == &port && !lane->in_flight.empty()) break_lane(*lane, failure);
  return true;
}

bool OfiServer::read_queue(Port& port) {
  std::array<fi_cq_entry, kReadsPerTurn> entries;
  const ssize_t count = fi_cq_read(port.domain->queue(), entries.data(), entries.size());
  if (count == -FI_EAVAIL) return read_failure(port);
  if (count <= 0) return false;
  for (std::size_t i = 0; i < static_cast<std::size_t>(count); ++i) {
    auto* const context = static_cast<Operation::Context*>(entries[i].op_context);
    if (context != nullptr) completed(*context->operation, std::nullopt);
  }
  return true;
}

void OfiServer::post_waiting(Clock::time_point now) {
  const std::vector<ServerLane*> lanes = waiting_;
  for (ServerLane* lane : lanes) {
    if (lane->state == ServerLane::State::broken) continue;  // retired at the end of the turn
    if (now >= lane->retry_at || lane->attempts < kEagerAttempts || !lane->in_flight.empty())
      post_queued(*lane);
  }
}

void OfiServer::check_target(OfiTarget& target, Clock::time_point now) {
  ServerLane& lane = *target.lane_;
  if (target.posted_ != 0) {
    const auto stalled = target.last_progress_ + limits::kProgressTimeout;
    if (now >= target.drain_.when()) {
      break_lane(lane, Error(ErrorCode::lease_expired,
                             "operations did not come home within the lease and its drain"));
    } else if (now >= stalled) {
      break_lane(lane,
                 Error(ErrorCode::timeout, "the client's memory did not answer for " +
                                               std::to_string(limits::kProgressTimeout.count()) + " ms"));
    } else {
      expect(std::min(stalled, target.drain_.when()));
    }
  }
  if (target.operations_ == target.posted_) return;
  if (now >= target.lease_.when()) {
    fail_queued(lane, &target, Error(ErrorCode::lease_expired, "the lease on the window is over"));
  } else {
    expect(target.lease_.when());
  }
}

void OfiServer::check_deadlines(Clock::time_point now) {
  next_check_ = Clock::time_point::max();
  for (OfiTarget* target : targets_) check_target(*target, now);
  const std::vector<ServerLane*> lanes = waiting_;
  for (ServerLane* lane : lanes) {
    if (now >= lane->give_up.when()) {
      break_lane(*lane,
                 Error(ErrorCode::peer_gone, "no connection to the client's endpoint within " +
                                                 std::to_string(limits::kConnectTimeout.count()) + " ms"));
    } else {
      expect(std::min(lane->retry_at, lane->give_up.when()));
    }
  }
  while (!idle_.empty() && idle_.front()->last_used + limits::kLaneIdle <= now)
    close_idle_lane(*idle_.front());
  if (!idle_.empty()) expect(idle_.front()->last_used + limits::kLaneIdle);
}

void OfiServer::run_callbacks() {
  OperationList due = std::exchange(finished_, {});
  while (Operation* const operation = due.pop_front()) {
    OfiTarget& target = *operation->target;
    const Completion done = std::move(operation->done);
    std::optional<Error> failure = std::move(operation->failure);
    const std::uint64_t bytes = operation->bytes;
    pool_.give_back(*operation);
    if (--target.operations_ == 0 && target.state_ == OfiTarget::State::closing) something_closed_ = true;
    if (done) done(failure ? Result<std::uint64_t>(std::move(*failure)) : Result<std::uint64_t>(bytes));
  }
  if (!std::exchange(something_closed_, false)) return;
  std::vector<OfiTarget*> closed;
  std::erase_if(targets_, [&closed](OfiTarget* target) {
    const bool over = target->state_ == OfiTarget::State::closing && target->operations_ == 0;
    if (over) closed.push_back(target);
    return over;
  });
  for (OfiTarget* target : closed) {
    target->state_ = OfiTarget::State::closed;
    release_lane(*target->lane_);
    const auto done = std::move(target->closed_);
    if (done) done();  // may destroy the target
  }
}

ServerFabric::Progress OfiServer::progress() {
  if (forked_after_open()) return Progress::idle;
  in_progress_ = true;
  const auto now = Clock::now();
  if (now >= timer_armed_) {
    // Set to a time that just passed it may not have fired yet; then it is read next time.
    std::uint64_t expirations = 0;
    if (::read(timer_.get(), &expirations, sizeof expirations) > 0) timer_armed_ = Clock::time_point::max();
  }
  bool more = false;
  for (std::size_t i = 0; i < ports_.size(); ++i) more |= read_queue(*ports_[i]);
  if (!waiting_.empty()) post_waiting(now);
  if (now >= next_check_) check_deadlines(now);
  retire_broken();
  run_callbacks();
  more |= !broken_.empty() || !finished_.empty() || something_closed_;
  for (Port* port : ports_) {
    if (more) break;
    more = !port->domain->may_wait();
    if (port->domain->wait_descriptor() < 0 && (outstanding_ != 0 || !waiting_.empty()))
      expect(now + kPollInterval);
  }
  in_progress_ = false;
  if (more) return Progress::again;
  arm_timer();
  return Progress::idle;
}

void OfiServer::expect(Clock::time_point when) {
  next_check_ = std::min(next_check_, when);
  if (!in_progress_) arm_timer();
}

void OfiServer::arm_timer() {
  if (next_check_ >= timer_armed_) return;
  timer_armed_ = next_check_;
  // A time that has passed must still fire: zero would disarm.
  const auto left = std::max<Clock::duration>(next_check_ - Clock::now(), std::chrono::nanoseconds(1));
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(left);
  itimerspec spec{};
  spec.it_value.tv_sec = seconds.count();
  spec.it_value.tv_nsec = std::chrono::duration_cast<std::chrono::nanoseconds>(left - seconds).count();
  ::timerfd_settime(timer_.get(), 0, &spec, nullptr);
}

}  // namespace sluice::fabric::ofi
