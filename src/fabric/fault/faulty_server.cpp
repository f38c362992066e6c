#include <poll.h>
#include <sys/epoll.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/limits.h"
#include "fabric/fault/due_list.h"
#include "fabric/fault/fault_fabric.h"

namespace sluice::fabric {
namespace {

/// How much longer than allowed the targets of a lying server stay usable.
constexpr std::chrono::seconds kLie{30};
/// What an over-long operation adds to the window, at least.
constexpr std::uint64_t kPastTheEnd = 4096;
constexpr std::uint64_t kKeyChange = 0x5a5a5a5a;

Error injected(ErrorCode code, const std::string& what, Outcome outcome) {
  return Error(code, "injected fault: " + what).with_outcome(outcome);
}

/// One write or read as the caller asked for it.
struct Operation {
  bool write = true;
  std::uint64_t offset = 0;
  std::span<const std::byte> source;
  std::span<std::byte> destination;
  Completion done;
  [[nodiscard]] std::size_t bytes() const { return write ? source.size() : destination.size(); }
  void post(Target& target, std::uint64_t at, std::size_t length, Completion completion) const {
    if (write) {
      target.write(at, source.first(length), std::move(completion));
    } else {
      target.read(at, destination.first(length), std::move(completion));
    }
  }
};
using OperationPtr = std::shared_ptr<Operation>;

/// What all decorated targets of one server share. Lives as long as the server; targets and their callbacks
/// go before.
struct Shared {
  explicit Shared(std::shared_ptr<FaultPlan> p) : plan(std::move(p)) {}
  std::shared_ptr<FaultPlan> plan;
  DueList due;
  ServerFabric* inner = nullptr;
  std::size_t outstanding = 0;
};

/// A decorated target's state. Outlives the target that the caller holds where a lying server keeps
/// operations back.
class Session : public std::enable_shared_from_this<Session> {
 public:
  Session(Shared& shared, ParsedToken token, OpenPolicy policy, std::unique_ptr<Target> inner, bool wrong_key)
      : shared_(shared),
        token_(std::move(token)),
        policy_(std::move(policy)),
        inner_(std::move(inner)),
        wrong_key_(wrong_key) {}

  [[nodiscard]] const Target& inner() const { return *inner_; }
  /// Closed by its owner while operations are still held back.
  [[nodiscard]] bool lying() const { return close_asked_ && !inner_close_asked_; }

  void start(Operation asked) {
    const Fault fault = shared_.plan->next();
    auto operation = std::make_shared<Operation>(std::move(asked));
    ++in_flight_;
    ++shared_.outstanding;
    if (close_asked_) {
      finish_soon(operation, injected(ErrorCode::cancelled, "the target is closed", Outcome::refused));
      return;
    }
    inject(fault, operation);
  }

  void close(std::function<void()> done) {
    close_asked_ = true;
    closed_ = std::move(done);
    for (auto& delayed : delayed_) {
      finish_soon(delayed,
                  Error(ErrorCode::cancelled, "the target was closed before the operation was posted"));
    }
    delayed_.clear();
    if (held_.empty() && releasing_ == 0) {
      close_inner();
    } else {
      fail_lost();
      check_closed();
    }
  }

  /// Posts what `late` held back, whatever has become of the target since.
  void release() {
    std::list<Held> held;
    held.swap(held_);
    for (auto& one : held) {
      auto late = std::make_shared<Held>(std::move(one));
      ++releasing_;
      const auto gone = [self = shared_from_this(), late](const Result<std::uint64_t>&) {
        --self->releasing_;
        if (self->lying() && self->releasing_ == 0 && self->held_.empty()) self->close_inner();
      };
      if (late->write) {
        inner_->write(late->offset, late->bytes, gone);
      } else {
        inner_->read(late->offset, late->bytes, gone);
      }
    }
  }

  /// Ends a lie that nobody released.
  void drop_held() {
    held_.clear();
    if (lying()) close_inner();
  }
  [[nodiscard]] bool inner_closed() const { return inner_closed_; }

 private:
  struct Held {
    bool write;
    std::uint64_t offset;
    std::vector<std::byte> bytes;  ///< a copy: the caller has its memory back
  };

  void inject(const Fault& fault, const OperationPtr& operation) {
    switch (fault.kind) {
      case FaultKind::fail_before_post:
        finish_soon(operation,
                    injected(ErrorCode::io_error, "the operation was not posted", Outcome::refused));
        return;
      case FaultKind::fail_after_move:
        pass(operation, [](Result<std::uint64_t>) -> Result<std::uint64_t> {
          return injected(ErrorCode::io_error, "the completion is an error", Outcome::uncertain);
        });
        return;
      case FaultKind::short_move: {
        const std::size_t half = operation->bytes() / 2;
        if (half == 0) {
          finish_soon(operation, std::uint64_t{0});
        } else {
          operation->post(*inner_, operation->offset, half, completion_of(operation));
        }
        return;
      }
      case FaultKind::over_long:
        over_long(operation);
        return;
      case FaultKind::duplicate:
        duplicate(operation);
        return;
      case FaultKind::late:
        hold(operation);
        return;
      case FaultKind::lost_completion:
        operation->post(*inner_, operation->offset, operation->bytes(),
                        [self = shared_from_this(), operation](const Result<std::uint64_t>&) {
                          self->lost_.push_back(operation);
                          if (self->close_asked_) self->fail_lost();
                        });
        return;
      case FaultKind::wrong_key: {
        ParsedToken forged = token_;
        forged.key ^= kKeyChange;
        elsewhere(forged, operation->write, operation->offset, operation->source, operation->destination,
                  [self = shared_from_this(), operation](Result<std::uint64_t> result) {
                    if (result) result = key_accepted();
                    self->finish(operation, std::move(result));
                  });
        return;
      }
      case FaultKind::delay: {
        delayed_.push_back(operation);
        shared_.due.at(Deadline::after(fault.delay), [self = shared_from_this(), operation] {
          const auto found = std::ranges::find(self->delayed_, operation);
          if (found == self->delayed_.end()) return;  // close has failed it
          self->delayed_.erase(found);
          self->pass(operation);
        });
        return;
      }
      case FaultKind::call:
        if (fault.hook) fault.hook();
        pass(operation);
        return;
      case FaultKind::none:
      case FaultKind::fail_open:
      case FaultKind::fail_fence:
        pass(operation);
        return;
    }
  }

  static Error key_accepted() {
    return injected(ErrorCode::internal, "the fabric accepted a key that was never minted",
                    Outcome::uncertain);
  }

  Completion completion_of(const OperationPtr& operation) {
    return [self = shared_from_this(), operation](Result<std::uint64_t> result) {
      if (self->wrong_key_ && result) result = key_accepted();
      self->finish(operation, std::move(result));
    };
  }

  void pass(const OperationPtr& operation) {
    operation->post(*inner_, operation->offset, operation->bytes(), completion_of(operation));
  }
  template <class Change>
  void pass(const OperationPtr& operation, Change change) {
    operation->post(*inner_, operation->offset, operation->bytes(),
                    [complete = completion_of(operation), change](Result<std::uint64_t> result) {
                      complete(change(std::move(result)));
                    });
  }

  void duplicate(const OperationPtr& operation) {
    struct Both {
      int left = 2;
      std::optional<Result<std::uint64_t>> worst;
    };
    auto both = std::make_shared<Both>();
    for (int i = 0; i < 2; ++i) {
      operation->post(*inner_, operation->offset, operation->bytes(),
                      [both, complete = completion_of(operation)](Result<std::uint64_t> result) {
                        if (!both->worst || !result) both->worst = std::move(result);
                        if (--both->left == 0) complete(std::move(*both->worst));
                      });
    }
  }

  void hold(const OperationPtr& operation) {
    Held held{operation->write, operation->offset, std::vector<std::byte>(operation->bytes())};
    if (operation->write) std::ranges::copy(operation->source, held.bytes.begin());
    held_.push_back(std::move(held));
    finish_soon(operation, std::uint64_t{operation->bytes()});
  }

  void over_long(const OperationPtr& operation) {
    const std::uint64_t end = token_.base + token_.bytes;
    const std::uint64_t more = std::min<std::uint64_t>(kPastTheEnd, UINT64_MAX - end);
    const std::size_t length = std::min<std::size_t>(operation->bytes(), static_cast<std::size_t>(more));
    if (length == 0) {
      pass(operation);
      return;
    }
    ParsedToken forged = token_;
    forged.bytes += more;
    // A read goes to scratch memory: the caller's is for the operation itself.
    auto scratch = std::make_shared<std::vector<std::byte>>(operation->write ? 0 : length);
    elsewhere(forged, operation->write, token_.bytes, operation->source.first(operation->write ? length : 0),
              *scratch, [self = shared_from_this(), operation, scratch](const Result<std::uint64_t>& result) {
                if (result) {
                  self->finish(operation, injected(ErrorCode::internal,
                                                   "the fabric let bytes move past the window's end",
                                                   Outcome::uncertain));
                } else if (self->inner_close_asked_) {
                  self->finish(operation, Error(ErrorCode::cancelled, "the target was closed"));
                } else {
                  self->pass(operation);
                }
              });
  }

  /// Does one operation on a target of its own, made of a forged token, and says what came of it (never
  /// before returning).
  void elsewhere(const ParsedToken& forged, bool write, std::uint64_t offset,
                 std::span<const std::byte> source, std::span<std::byte> destination, Completion then) {
    auto opened = shared_.inner->open(forged, policy_);
    if (!opened) {
      shared_.due.soon([then = std::move(then), error = opened.error()] { then(error); });
      return;
    }
    std::shared_ptr<Target> target = std::move(*opened);
    auto& due = shared_.due;
    const auto moved = [&due, target, then = std::move(then)](Result<std::uint64_t> result) {
      due.soon([&due, target, then, result = std::move(result)] {
        target->close([&due, target, then, result] { due.soon([target, then, result] { then(result); }); });
      });
    };
    if (write) {
      target->write(offset, source, moved);
    } else {
      target->read(offset, destination, moved);
    }
  }

  void finish_soon(const OperationPtr& operation, Result<std::uint64_t> result) {
    shared_.due.soon([self = shared_from_this(), operation, result = std::move(result)] {
      self->finish(operation, result);
    });
  }
  void finish(const OperationPtr& operation, Result<std::uint64_t> result) {
    --in_flight_;
    --shared_.outstanding;
    const Completion done = std::move(operation->done);
    done(std::move(result));
    check_closed();
  }

  void fail_lost() {
    std::vector<OperationPtr> lost;
    lost.swap(lost_);
    for (const auto& operation : lost) {
      finish_soon(operation, injected(ErrorCode::timeout, "no completion ever came", Outcome::uncertain));
    }
  }

  void close_inner() {
    if (inner_close_asked_) return;
    inner_close_asked_ = true;
    inner_->close([self = shared_from_this()] {
      self->inner_closed_ = true;
      self->fail_lost();
      self->check_closed();
      // Keeps the inner target alive beyond this callback of its own.
      self->shared_.due.soon([self] {});
    });
  }
  void check_closed() {
    if (!close_asked_ || !closed_ || in_flight_ > 0) return;
    if (inner_close_asked_ && !inner_closed_) return;
    shared_.due.soon(std::exchange(closed_, nullptr));
  }

  Shared& shared_;
  ParsedToken token_;
  OpenPolicy policy_;
  std::unique_ptr<Target> inner_;
  bool wrong_key_;
  std::size_t in_flight_ = 0;  ///< operations whose completion the caller still waits for
  std::size_t releasing_ = 0;
  std::list<Held> held_;
  std::vector<OperationPtr> delayed_;
  std::vector<OperationPtr> lost_;
  std::function<void()> closed_;
  bool close_asked_ = false;
  bool inner_close_asked_ = false;
  bool inner_closed_ = false;
};

class FaultyTarget final : public Target {
 public:
  explicit FaultyTarget(std::shared_ptr<Session> session) : session_(std::move(session)) {}
  std::uint64_t window_bytes() const override { return session_->inner().window_bytes(); }
  std::uint64_t max_operation_bytes() const override { return session_->inner().max_operation_bytes(); }
  void write(std::uint64_t offset, std::span<const std::byte> local, Completion done) override {
    session_->start({true, offset, local, {}, std::move(done)});
  }
  void read(std::uint64_t offset, std::span<std::byte> local, Completion done) override {
    session_->start({false, offset, {}, local, std::move(done)});
  }
  void close(std::function<void()> done) override { session_->close(std::move(done)); }

 private:
  std::shared_ptr<Session> session_;
};

class FaultyServer final : public ServerFabric {
 public:
  FaultyServer(std::unique_ptr<ServerFabric> inner, std::shared_ptr<FaultPlan> plan)
      : inner_(std::move(inner)), shared_(std::move(plan)), poller_(::epoll_create1(EPOLL_CLOEXEC)) {
    shared_.inner = inner_.get();
    watch(inner_->wait_descriptor());
    watch(shared_.due.descriptor());
    if (shared_.plan->plans(FaultKind::late)) watch(shared_.plan->late_descriptor());
  }
  FaultyServer(const FaultyServer&) = delete;
  FaultyServer& operator=(const FaultyServer&) = delete;
  ~FaultyServer() override {
    const Deadline deadline = Deadline::after(limits::kDrain);
    for (const auto& session : liars_) session->drop_held();
    const auto open = [](const auto& session) { return session->lying() || !session->inner_closed(); };
    while (std::ranges::any_of(liars_, open) && !deadline.expired()) {
      if (progress() == Progress::again) continue;
      pollfd waiting{poller_, POLLIN, 0};
      ::poll(&waiting, 1, 20);
    }
    ::close(poller_);
  }

  const FabricIdentity& identity() const override { return inner_->identity(); }
  bool speaks(const ParsedToken& token) const override { return inner_->speaks(token); }

  Result<std::unique_ptr<Target>> open(const ParsedToken& token, const OpenPolicy& policy) override {
    const Fault fault = shared_.plan->next();
    if (fault.kind == FaultKind::fail_open) {
      return injected(ErrorCode::overloaded, "no lane for a target", Outcome::refused);
    }
    if (fault.kind == FaultKind::call && fault.hook) fault.hook();
    ParsedToken used = token;
    if (fault.kind == FaultKind::wrong_key) used.key ^= kKeyChange;
    OpenPolicy allowed = policy;
    const bool lies = shared_.plan->plans(FaultKind::late);
    if (lies) {
      allowed.lease = later(policy.lease, Deadline::after(kLie));
      allowed.drain = later(policy.drain, Deadline::after(kLie));
    }
    auto inner = inner_->open(used, allowed);
    if (!inner) return std::move(inner).error();
    auto session = std::make_shared<Session>(shared_, std::move(used), std::move(allowed), std::move(*inner),
                                             fault.kind == FaultKind::wrong_key);
    if (lies) liars_.push_back(session);
    return std::make_unique<FaultyTarget>(std::move(session));
  }

  Progress progress() override {
    if (shared_.plan->late_released()) {
      if (!late_seen_) ::epoll_ctl(poller_, EPOLL_CTL_DEL, shared_.plan->late_descriptor(), nullptr);
      late_seen_ = true;
      for (const auto& session : liars_) session->release();
    }
    const bool again = inner_->progress() == Progress::again;
    const bool due = shared_.due.run();
    std::erase_if(liars_, [](const auto& session) { return session->inner_closed(); });
    return again || due ? Progress::again : Progress::idle;
  }
  int wait_descriptor() const override { return poller_; }
  std::size_t outstanding() const override { return shared_.outstanding; }

 private:
  void watch(int descriptor) const {
    epoll_event event{};
    event.events = EPOLLIN;
    event.data.fd = descriptor;
    ::epoll_ctl(poller_, EPOLL_CTL_ADD, descriptor, &event);
  }

  std::unique_ptr<ServerFabric> inner_;
  Shared shared_;
  std::vector<std::shared_ptr<Session>> liars_;  ///< targets of a plan with `late`, until really closed
  int poller_;
  bool late_seen_ = false;
};

}  // namespace

std::unique_ptr<ServerFabric> make_faulty(std::unique_ptr<ServerFabric> inner,
                                          std::shared_ptr<FaultPlan> plan) {
  return std::make_unique<FaultyServer>(std::move(inner), std::move(plan));
}

}  // namespace sluice::fabric
