#include "fabric/ofi/client.h"

#include <sys/random.h>

#include <algorithm>
#include <utility>

#include "base/encoding.h"
#include "base/limits.h"
#include "base/try.h"
#include "fabric/fork.h"
#include "fabric/token_text.h"

namespace sluice::fabric::ofi {
namespace {

using Clock = std::chrono::steady_clock;

// Only connections and errors come through a client lane's queue, not completions.
constexpr std::size_t kQueueEntries = 64;
// A 64-bit random key that is taken already means a broken random source.
constexpr int kKeyTries = 4;
// How often a fence that waits for a busy lane, or a quarantined one, is tried again.
constexpr std::chrono::milliseconds kFenceRetry{1};
constexpr std::chrono::milliseconds kQuarantineRetry{100};

class OfiToken final : public Token::Impl {
 public:
  OfiToken(std::shared_ptr<OfiClient> fabric, Grant grant)
      : fabric_(std::move(fabric)), grant_(std::move(grant)) {}
  const std::string& text() const override { return grant_.text; }
  void revoke(RevokeReason reason, Deadline deadline, std::function<void(FenceOutcome)> done) override {
    fabric_->end(std::move(grant_), reason, deadline, std::move(done));
  }

 private:
  std::shared_ptr<OfiClient> fabric_;
  Grant grant_;
};

std::uint64_t new_lane_id() {
  static std::atomic<std::uint64_t> next{1};
  return next.fetch_add(1, std::memory_order_relaxed);
}

// In a forked child: the library's objects belong to the parent.
void forget(Grant grant) {
  static_cast<void>(grant.registration.release());
  static_cast<void>(new std::shared_ptr<ClientLane>(std::move(grant.lane)));
}

}  // namespace

Result<std::shared_ptr<OfiClient>> OfiClient::open(const Traits& traits, const std::string& name) {
  // Whether the provider is here at all; lanes are bound to their own addresses later.
  SLUICE_TRY(const Info info, query(traits, Side::client, "127.0.0.1"));
  if (info->domain_attr->mr_key_size > sizeof(std::uint64_t))
    return Error(ErrorCode::unsupported, name + " has memory keys that do not fit into a token");
  note_fabric_opened();
  return std::shared_ptr<OfiClient>(new OfiClient(traits, name));
}

OfiClient::OfiClient(const Traits& traits, const std::string& name)
    : traits_(traits),
      identity_{name, std::string(traits.name), std::string(traits.wire_protocol), limits::kWindowBytes} {}

OfiClient::~OfiClient() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_keeper_.notify_all();
  if (keeper_.joinable()) keeper_.join();
  for (FenceJob& job : fences_) forget(std::move(job.grant));
}

Result<std::shared_ptr<ClientLane>> OfiClient::take_lane(const std::string& address,
                                                         const std::string& peer) {
  std::shared_ptr<ClientLane> evicted;  // destroyed after the lock: closing may take a while
  const std::lock_guard lock(mutex_);
  std::shared_ptr<ClientLane>* best = nullptr;
  std::shared_ptr<ClientLane>* oldest = nullptr;
  for (auto& lane : lanes_) {
    if (lane->users < traits_.windows_per_lane && lane->address == address && lane->peer == peer &&
        (best == nullptr || lane->parked_at > (*best)->parked_at))
      best = &lane;
    if (lane->users == 0 && (oldest == nullptr || lane->parked_at < (*oldest)->parked_at)) oldest = &lane;
  }
  if (best != nullptr) {
    ++(*best)->users;
    return *best;
  }
  auto lane = std::make_shared<ClientLane>();
  lane->id = new_lane_id();
  lane->address = address;
  lane->peer = peer;
  lane->users = 1;
  if (lanes_.size() < limits::kClientLanes) {
    lanes_.push_back(lane);
  } else if (oldest != nullptr) {
    evicted = std::exchange(*oldest, lane);
  } else {
    return Error(ErrorCode::overloaded, "all " + std::to_string(limits::kClientLanes) +
                                            " client lanes are in use; lower the concurrency or retry later")
        .with_retry(Retry::later, limits::kBackoffBase);
  }
  start_keeper_locked();
  return lane;
}

Result<void> OfiClient::register_window(Grant& grant, ClientProgress& progress) {
  ClientLane& lane = *grant.lane;
  if (!lane.domain) {
    SLUICE_TRY(Info info, query(traits_, Side::client, lane.address));
    SLUICE_TRY(lane.domain, Domain::open(traits_, std::move(info), kQueueEntries));
  }
  if (!lane.endpoint.is_open()) {
    SLUICE_TRY(lane.endpoint, Endpoint::open(*lane.domain));
  }
  Domain& domain = *lane.domain;
  const Window& window = grant.window;
  const std::uint64_t access = window.direction() == Direction::get ? FI_REMOTE_WRITE : FI_REMOTE_READ;
  const bool provider_key = domain.mr_mode(FI_MR_PROV_KEY);
  fid_mr* registration = nullptr;
  int status = 0;
  for (int i = 0; i < kKeyTries; ++i) {
    status = fi_mr_reg(domain.get(), window.data(), window.bytes(), access, 0,
                       provider_key ? 0 : random_u64(), 0, &registration, nullptr);
    if (status != -FI_ENOKEY) break;
  }
  if (status != 0)
    return library_error(ErrorCode::io_error, "registering a window with " + identity_.name, status);
  grant.registration.reset(registration);
  if (domain.mr_mode(FI_MR_ENDPOINT)) {
    status = fi_mr_bind(registration, &lane.endpoint.get()->fid, 0);
    if (status == 0) status = fi_mr_enable(registration);
    if (status != 0)
      return library_error(ErrorCode::io_error, "enabling a window with " + identity_.name, status);
  }
  ParsedToken token;
  token.base = domain.mr_mode(FI_MR_VIRT_ADDR) ? reinterpret_cast<std::uintptr_t>(window.data()) : 0;
  token.bytes = window.bytes();
  token.provider = traits_.name;
  token.endpoint_name = lane.endpoint.name();
  token.key = fi_mr_key(registration);
  grant.text = format_token_text(token);
  if (!lane.watched) SLUICE_CHECK(progress.watch(grant.lane, traits_.needs_tick));
  ++lane.windows;
  return {};
}

Result<Token> OfiClient::mint(const Window& window, const MintOptions& options) {
  if (forked_after_open()) return forked_error();
  if (window.region()->memory().kind != MemoryKind::host)
    return Error(ErrorCode::invalid_argument, identity_.name + " reaches host memory only");
  if (window.bytes() > identity_.max_window_bytes)
    return Error(ErrorCode::invalid_argument, "a window of " + std::to_string(window.bytes()) +
                                                  " bytes is over " + identity_.name + "'s " +
                                                  std::to_string(identity_.max_window_bytes));
  SLUICE_TRY(ClientProgress * progress, ClientProgress::instance());
  const bool bound = traits_.address == AddressKind::socket;
  // A NIC checks every access against the registration, so there servers may share a lane.
  const bool per_peer = traits_.fence == FenceKind::close_lane;
  Grant grant(window);
  SLUICE_TRY(grant.lane, take_lane(bound ? plain_address(options.local_address) : std::string(),
                                   per_peer ? options.peer : std::string()));
  {
    const std::lock_guard lock(grant.lane->mutex);
    if (Result<void> registered = register_window(grant, *progress); !registered) {
      grant.registration.reset();
      if (grant.lane->windows == 0) {
        progress->unwatch(*grant.lane);
        grant.lane->endpoint.close();
      }
      put_back(grant.lane);
      return std::move(registered).error().with_context("minting a token");
    }
  }
  return Token(std::make_unique<OfiToken>(shared_from_this(), std::move(grant)));
}

void OfiClient::put_back(const std::shared_ptr<ClientLane>& lane) {
  const std::lock_guard lock(mutex_);
  --lane->users;
  lane->parked_at = Clock::now();
}

void OfiClient::finish_locked(Grant& grant, bool close_lane) {
  ClientLane& lane = *grant.lane;
  --lane.windows;
  if (lane.windows == 0 && lane.watched) {
    // Exists, because this lane was watched through it.
    if (auto progress = ClientProgress::instance()) (*progress)->unwatch(lane);
  }
  grant.registration.reset();
  if (!close_lane) return;
  lane.endpoint.close();
  // With the domain: libfabric 1.17 keeps events of connections that the endpoint's closing has freed, and
  // crashes on them in the next progress call.
  lane.domain.reset();
}

void OfiClient::settle(FenceJob& job) {
  put_back(job.grant.lane);
  if (!job.done) quarantined_bytes_.fetch_sub(job.grant.window.bytes(), std::memory_order_relaxed);
  auto done = std::move(job.done);
  { const Grant released = std::move(job.grant); }  // the region may go before the caller hears of it
  if (done) done(FenceOutcome::fenced);
}

void OfiClient::end(Grant grant, RevokeReason reason, Deadline deadline,
                    std::function<void(FenceOutcome)> done) {
  if (forked_after_open()) {
    forget(std::move(grant));
    done(FenceOutcome::quarantined);  // the parent still has its window out
    return;
  }
  const bool close_lane = traits_.fence == FenceKind::close_lane && reason == RevokeReason::doubtful;
  FenceJob job{std::move(grant), close_lane, deadline, std::move(done)};
  if (!close_lane || traits_.cheap_lane) {
    // The lane is busy only while the progress thread is inside libfabric for it.
    std::unique_lock busy(job.grant.lane->mutex, std::try_to_lock);
    if (busy) {
      finish_locked(job.grant, close_lane);
      busy.unlock();
      settle(job);
      return;
    }
  }
  {
    const std::lock_guard lock(mutex_);
    fences_.push_back(std::move(job));
    start_keeper_locked();
  }
  wake_keeper_.notify_one();
}

std::vector<std::shared_ptr<ClientLane>> OfiClient::lanes() const {
  const std::lock_guard lock(mutex_);
  return lanes_;
}

void OfiClient::start_keeper_locked() {
  if (!keeper_.joinable()) keeper_ = std::thread([this] { keep(); });
}

void OfiClient::keep() {
  std::unique_lock lock(mutex_);
  while (!stopping_) {
    try_fences(lock);
    close_idle(lock);
    if (stopping_) break;
    wake_keeper_.wait_until(lock, next_keeping_locked());
  }
}

Clock::time_point OfiClient::next_keeping_locked() const {
  const auto now = Clock::now();
  auto next = now + limits::kLaneIdle;
  for (const auto& lane : lanes_)
    if (lane->users == 0) next = std::min(next, lane->parked_at + limits::kLaneIdle);
  for (const FenceJob& job : fences_)
    next = std::min(next, now + (job.done ? kFenceRetry : kQuarantineRetry));
  return next;
}

void OfiClient::try_fences(std::unique_lock<std::mutex>& lock) {
  std::list<FenceJob> waiting = std::exchange(fences_, {});
  if (waiting.empty()) return;
  lock.unlock();
  for (auto job = waiting.begin(); job != waiting.end();) {
    std::unique_lock busy(job->grant.lane->mutex, std::try_to_lock);
    if (busy) {
      finish_locked(job->grant, job->close_lane);
      busy.unlock();
      settle(*job);
      job = waiting.erase(job);
      continue;
    }
    if (job->done && job->deadline.expired()) {
      quarantined_bytes_.fetch_add(job->grant.window.bytes(), std::memory_order_relaxed);
      std::exchange(job->done, nullptr)(FenceOutcome::quarantined);
    }
    ++job;
  }
  lock.lock();
  fences_.splice(fences_.begin(), waiting);
}

void OfiClient::close_idle(std::unique_lock<std::mutex>& lock) {
  const auto limit = Clock::now() - limits::kLaneIdle;
  const auto idle =
      std::partition(lanes_.begin(), lanes_.end(), [limit](const std::shared_ptr<ClientLane>& lane) {
        return lane->users != 0 || lane->parked_at > limit;
      });
  std::vector<std::shared_ptr<ClientLane>> closing(std::make_move_iterator(idle),
                                                   std::make_move_iterator(lanes_.end()));
  lanes_.erase(idle, lanes_.end());
  lock.unlock();
  closing.clear();
  lock.lock();
}

}  // namespace sluice::fabric::ofi
