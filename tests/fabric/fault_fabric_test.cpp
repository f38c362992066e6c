// What each fault does, exactly: on a fabric of memory that records what reaches it.
#include "fabric/fault/fault_fabric.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <deque>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "fabric/token_text.h"
#include "fixtures/canary.h"
#include "fixtures/fabric_loop.h"
#include "fixtures/matchers.h"

namespace sluice::fabric {
namespace {

using test::as_close;
using test::CallbackBox;
using test::CompletionBox;
using test::Fails;
using test::FenceBox;
using test::HasOutcome;
using test::holds_pattern;
using test::IsOk;
using test::IsOkAndHolds;
using test::patience;
using test::pattern;
using test::run_until;
using testing::ElementsAre;
using testing::IsEmpty;

constexpr std::uint64_t kKey = 77;
constexpr std::size_t kWindowBytes = 1000;

/// The inner fabric: one window of memory, operations that happen in progress(), a journal of them.
struct Wire {
  std::vector<std::byte> window = pattern(kWindowBytes, 1);
  std::vector<std::string> journal;
  std::deque<std::function<void()>> queue;
  int wake = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  std::set<const void*> open;

  Wire() = default;
  Wire(const Wire&) = delete;
  Wire& operator=(const Wire&) = delete;
  ~Wire() { ::close(wake); }
  void push(std::function<void()> work) {
    queue.push_back(std::move(work));
    ::eventfd_write(wake, 1);
  }
};

class WireTarget final : public Target {
 public:
  WireTarget(Wire& wire, ParsedToken token, OpenPolicy policy)
      : wire_(wire), token_(std::move(token)), policy_(std::move(policy)) {
    wire_.open.insert(this);
  }
  ~WireTarget() override { EXPECT_FALSE(wire_.open.contains(this)) << "destroyed before it was closed"; }
  std::uint64_t window_bytes() const override { return token_.bytes; }
  std::uint64_t max_operation_bytes() const override { return 1U << 20U; }
  void write(std::uint64_t offset, std::span<const std::byte> local, Completion done) override {
    post("write", offset, local.size(), std::move(done),
         [this, offset, local] { std::memcpy(wire_.window.data() + offset, local.data(), local.size()); });
  }
  void read(std::uint64_t offset, std::span<std::byte> local, Completion done) override {
    post("read", offset, local.size(), std::move(done),
         [this, offset, local] { std::memcpy(local.data(), wire_.window.data() + offset, local.size()); });
  }
  void close(std::function<void()> done) override {
    wire_.journal.emplace_back("close");
    wire_.push([this, done = std::move(done)] {
      wire_.open.erase(this);
      done();
    });
  }

 private:
  template <class Move>
  void post(const char* what, std::uint64_t offset, std::size_t bytes, Completion done, Move move) {
    wire_.journal.push_back(std::string(what) + " " + std::to_string(offset) + "+" + std::to_string(bytes));
    if (policy_.lease.expired()) {
      wire_.push([done = std::move(done)] { done(Error(ErrorCode::lease_expired, "the lease is over")); });
      return;
    }
    wire_.push([this, offset, bytes, done = std::move(done), move] {
      if (token_.key != kKey || offset + bytes > kWindowBytes) {
        done(Error(ErrorCode::io_error, "the peer's fabric refused").with_outcome(Outcome::uncertain));
        return;
      }
      move();
      done(std::uint64_t{bytes});
    });
  }
  Wire& wire_;
  ParsedToken token_;
  OpenPolicy policy_;
};

class WireServer final : public ServerFabric {
 public:
  explicit WireServer(Wire& wire) : wire_(wire) {}
  const FabricIdentity& identity() const override { return identity_; }
  bool speaks(const ParsedToken&) const override { return true; }
  Result<std::unique_ptr<Target>> open(const ParsedToken& token, const OpenPolicy& policy) override {
    wire_.journal.push_back("open " + std::to_string(token.bytes) + (token.key == kKey ? "" : " wrong key"));
    return std::make_unique<WireTarget>(wire_, token, policy);
  }
  Progress progress() override {
    std::uint64_t count = 0;
    [[maybe_unused]] const auto read = ::read(wire_.wake, &count, sizeof count);
    std::deque<std::function<void()>> work;
    work.swap(wire_.queue);
    for (auto& one : work) one();
    return wire_.queue.empty() ? Progress::idle : Progress::again;
  }
  int wait_descriptor() const override { return wire_.wake; }
  std::size_t outstanding() const override { return wire_.queue.size(); }

 private:
  Wire& wire_;
  FabricIdentity identity_{"wire", "wire", "wire", kWindowBytes};
};

class FaultFabricTest : public testing::Test {
 protected:
  /// A server with one fault, and an open target.
  void begin(Fault fault, OpenPolicy policy = {}) {
    plan_ = std::make_shared<FaultPlan>(std::vector<Fault>{std::move(fault)});
    server_ = make_faulty(std::make_unique<WireServer>(wire_), plan_);
    ParsedToken token;
    token.bytes = kWindowBytes;
    token.key = kKey;
    auto opened = server_->open(token, policy);
    if (opened) target_ = std::move(*opened);
    open_error_ = opened ? std::nullopt : std::optional(opened.error());
  }
  void begin(FaultKind kind, std::uint64_t at) { begin({.kind = kind, .at_operation = at}); }
  bool wait(const CompletionBox& box) {
    return run_until(
        *server_, [&] { return box.done(); }, patience());
  }
  Result<std::uint64_t> write(std::uint64_t offset, std::span<const std::byte> bytes) {
    CompletionBox box;
    target_->write(offset, bytes, box.callback());
    EXPECT_EQ(box.count(), 0);
    EXPECT_EQ(server_->outstanding(), 1U);
    EXPECT_TRUE(wait(box));
    EXPECT_EQ(box.count(), 1);
    EXPECT_EQ(server_->outstanding(), 0U);
    return box.value();
  }
  void close() {
    CallbackBox<bool> closed;
    target_->close(as_close(closed));
    EXPECT_EQ(closed.count(), 0);
    EXPECT_TRUE(run_until(
        *server_, [&] { return closed.done(); }, patience()));
    EXPECT_EQ(closed.count(), 1);
    target_ = nullptr;
  }
  void TearDown() override {
    if (target_) close();
    server_ = nullptr;
    EXPECT_THAT(wire_.open, IsEmpty()) << "an inner target was left open";
  }

  Wire wire_;
  std::shared_ptr<FaultPlan> plan_;
  std::unique_ptr<ServerFabric> server_;
  std::unique_ptr<Target> target_;
  std::optional<Error> open_error_;
  const std::vector<std::byte> object_ = pattern(kWindowBytes, 2);
};

TEST_F(FaultFabricTest, WithoutAFaultEverythingPasses) {
  begin(FaultKind::none, 0);
  EXPECT_THAT(write(0, object_), IsOkAndHolds(kWindowBytes));
  EXPECT_TRUE(holds_pattern(wire_.window, 2));
  close();
  EXPECT_THAT(wire_.journal, ElementsAre("open 1000", "write 0+1000", "close"));
  EXPECT_EQ(plan_->operations(), 2U);
}

TEST_F(FaultFabricTest, OnlyTheNthOperationIsHit) {
  begin(FaultKind::fail_before_post, 3);
  EXPECT_THAT(write(0, object_), IsOk());
  EXPECT_FALSE(plan_->all_hit());
  EXPECT_THAT(write(0, object_), Fails(ErrorCode::io_error, "injected fault"));
  EXPECT_TRUE(plan_->all_hit());
  EXPECT_THAT(write(0, object_), IsOk());
}

TEST_F(FaultFabricTest, FailOpenOpensNothing) {
  begin(FaultKind::fail_open, 1);
  ASSERT_TRUE(open_error_.has_value());
  EXPECT_EQ(open_error_->code(), ErrorCode::overloaded);
  EXPECT_EQ(open_error_->outcome(), Outcome::refused);
  EXPECT_THAT(wire_.journal, IsEmpty());
}

TEST_F(FaultFabricTest, FailBeforePostMovesNothing) {
  begin(FaultKind::fail_before_post, 2);
  EXPECT_THAT(write(0, object_), HasOutcome(Outcome::refused));
  EXPECT_TRUE(holds_pattern(wire_.window, 1));
  EXPECT_THAT(wire_.journal, ElementsAre("open 1000"));
}

TEST_F(FaultFabricTest, FailAfterMoveMovesAndSaysItIsUncertain) {
  begin(FaultKind::fail_after_move, 2);
  EXPECT_THAT(write(0, object_), HasOutcome(Outcome::uncertain));
  EXPECT_TRUE(holds_pattern(wire_.window, 2));
}

TEST_F(FaultFabricTest, ShortMoveMovesHalfAndSaysSo) {
  begin(FaultKind::short_move, 2);
  EXPECT_THAT(write(0, object_), IsOkAndHolds(kWindowBytes / 2));
  EXPECT_TRUE(holds_pattern(std::span(wire_.window).first(500), 2));
  EXPECT_TRUE(holds_pattern(std::span(wire_.window).subspan(500), 1, 500));
}

TEST_F(FaultFabricTest, AShortMoveOfOneByteMovesNone) {
  begin(FaultKind::short_move, 2);
  EXPECT_THAT(write(0, std::span(object_).first(1)), IsOkAndHolds(0U));
  EXPECT_THAT(wire_.journal, ElementsAre("open 1000"));
}

TEST_F(FaultFabricTest, OverLongTriesTheBytesBehindTheWindowFirst) {
  begin(FaultKind::over_long, 2);
  EXPECT_THAT(write(0, std::span(object_).first(100)), IsOkAndHolds(100U));
  EXPECT_THAT(wire_.journal, ElementsAre("open 1000", "open 5096", "write 1000+100", "close", "write 0+100"));
}

TEST_F(FaultFabricTest, OverLongReportsAFabricThatLetsItHappen) {
  begin({.kind = FaultKind::over_long, .at_operation = 2});
  // The peer's fabric knows a larger window than the token says: so the bytes do move.
  close();
  ParsedToken smaller;
  smaller.bytes = 400;
  smaller.key = kKey;
  plan_ = std::make_shared<FaultPlan>(std::vector<Fault>{{.kind = FaultKind::over_long, .at_operation = 2}});
  server_ = make_faulty(std::make_unique<WireServer>(wire_), plan_);
  target_ = std::move(*server_->open(smaller, {}));
  EXPECT_THAT(write(0, std::span(object_).first(100)), Fails(ErrorCode::internal, "past the window's end"));
}

TEST_F(FaultFabricTest, OverLongReadsGoToScratchMemory) {
  begin(FaultKind::over_long, 2);
  auto local = pattern(100, 9);
  CompletionBox box;
  target_->read(0, local, box.callback());
  ASSERT_TRUE(wait(box));
  EXPECT_THAT(box.value(), IsOkAndHolds(100U));
  EXPECT_TRUE(holds_pattern(local, 1));
  EXPECT_THAT(wire_.journal, ElementsAre("open 1000", "open 5096", "read 1000+100", "close", "read 0+100"));
}

TEST_F(FaultFabricTest, DuplicateMovesTwiceAndCompletesOnce) {
  begin(FaultKind::duplicate, 2);
  EXPECT_THAT(write(8, std::span(object_).first(10)), IsOkAndHolds(10U));
  EXPECT_THAT(wire_.journal, ElementsAre("open 1000", "write 8+10", "write 8+10"));
}

TEST_F(FaultFabricTest, LateCompletesFirstAndMovesACopyAfterCloseAndLease) {
  begin({.kind = FaultKind::late, .at_operation = 2},
        {.lease = Deadline::after(std::chrono::milliseconds(30))});
  {
    auto temporary = pattern(kWindowBytes, 2);
    EXPECT_THAT(write(0, temporary), IsOkAndHolds(kWindowBytes));
    test::fill_pattern(temporary, 99);
  }
  close();
  EXPECT_TRUE(holds_pattern(wire_.window, 1));
  EXPECT_THAT(wire_.journal, ElementsAre("open 1000")) << "the liar keeps its target";
  test::run_for(*server_, std::chrono::milliseconds(40));
  EXPECT_TRUE(holds_pattern(wire_.window, 1));
  plan_->release_late();
  EXPECT_TRUE(run_until(
      *server_, [&] { return wire_.open.empty(); }, patience()));
  EXPECT_TRUE(holds_pattern(wire_.window, 2));
  EXPECT_THAT(wire_.journal, ElementsAre("open 1000", "write 0+1000", "close"));
}

TEST_F(FaultFabricTest, ALateReadLeavesTheLocalMemoryAlone) {
  begin(FaultKind::late, 2);
  auto local = pattern(100, 9);
  CompletionBox box;
  target_->read(0, local, box.callback());
  ASSERT_TRUE(wait(box));
  EXPECT_THAT(box.value(), IsOkAndHolds(100U));
  plan_->release_late();
  EXPECT_TRUE(run_until(
      *server_, [&] { return wire_.journal.size() == 2 && wire_.queue.empty(); }, patience()));
  close();
  EXPECT_TRUE(holds_pattern(local, 9));
  EXPECT_THAT(wire_.journal, ElementsAre("open 1000", "read 0+100", "close"));
}

TEST_F(FaultFabricTest, ReleasingWakesWhoeverWaitsOnTheDescriptor) {
  begin(FaultKind::late, 2);
  EXPECT_THAT(write(0, object_), IsOk());
  while (server_->progress() == ServerFabric::Progress::again) {
  }
  pollfd waiting{server_->wait_descriptor(), POLLIN, 0};
  EXPECT_EQ(::poll(&waiting, 1, 0), 0) << "readable though nothing is to be done";
  plan_->release_late();
  EXPECT_EQ(::poll(&waiting, 1, 5000), 1);
  EXPECT_TRUE(run_until(
      *server_, [&] { return !test::first_mismatch(wire_.window, 2); }, patience()));
  while (server_->progress() == ServerFabric::Progress::again) {
  }
  EXPECT_EQ(::poll(&waiting, 1, 0), 0) << "a release must not make the loop spin for ever";
}

TEST_F(FaultFabricTest, ALieThatNobodyReleasesEndsWithTheServer) {
  begin(FaultKind::late, 2);
  EXPECT_THAT(write(0, object_), IsOk());
  close();
  EXPECT_EQ(wire_.open.size(), 1U);
  server_ = nullptr;
  EXPECT_THAT(wire_.open, IsEmpty());
  EXPECT_TRUE(holds_pattern(wire_.window, 1));
}

TEST_F(FaultFabricTest, ALostCompletionComesWithCloseAsAnError) {
  begin(FaultKind::lost_completion, 2);
  CompletionBox box;
  target_->write(0, object_, box.callback());
  EXPECT_TRUE(run_until(
      *server_, [&] { return !test::first_mismatch(wire_.window, 2); }, patience()));
  test::run_for(*server_, std::chrono::milliseconds(20));
  EXPECT_EQ(box.count(), 0);
  EXPECT_EQ(server_->outstanding(), 1U);
  int completions_at_close = -1;
  CallbackBox<bool> closed;
  target_->close([&, report = as_close(closed)] {
    completions_at_close = box.count();
    report();
  });
  ASSERT_TRUE(run_until(
      *server_, [&] { return closed.done(); }, patience()));
  EXPECT_EQ(completions_at_close, 1);
  EXPECT_EQ(box.count(), 1);
  EXPECT_THAT(box.value(), Fails(ErrorCode::timeout));
  EXPECT_THAT(box.value(), HasOutcome(Outcome::uncertain));
  target_ = nullptr;
}

TEST_F(FaultFabricTest, WrongKeyAtAnOperationUsesATargetOfItsOwn) {
  begin(FaultKind::wrong_key, 2);
  EXPECT_THAT(write(0, object_), Fails(ErrorCode::io_error, "refused"));
  EXPECT_THAT(write(0, object_), IsOkAndHolds(kWindowBytes));
  EXPECT_THAT(wire_.journal,
              ElementsAre("open 1000", "open 1000 wrong key", "write 0+1000", "close", "write 0+1000"));
}

TEST_F(FaultFabricTest, WrongKeyAtOpenIsForEveryOperation) {
  begin(FaultKind::wrong_key, 1);
  EXPECT_THAT(write(0, object_), Fails(ErrorCode::io_error));
  EXPECT_THAT(write(0, object_), Fails(ErrorCode::io_error));
  EXPECT_TRUE(holds_pattern(wire_.window, 1));
}

TEST_F(FaultFabricTest, DelayPostsLater) {
  begin({.kind = FaultKind::delay, .at_operation = 2, .delay = std::chrono::milliseconds(30)});
  CompletionBox box;
  target_->write(0, object_, box.callback());
  test::run_for(*server_, std::chrono::milliseconds(1));
  EXPECT_THAT(wire_.journal, ElementsAre("open 1000"));
  ASSERT_TRUE(wait(box));
  EXPECT_THAT(box.value(), IsOkAndHolds(kWindowBytes));
}

TEST_F(FaultFabricTest, CloseFailsWhatIsDelayed) {
  begin({.kind = FaultKind::delay, .at_operation = 2, .delay = std::chrono::hours(1)});
  CompletionBox box;
  target_->write(0, object_, box.callback());
  close();
  EXPECT_EQ(box.count(), 1);
  EXPECT_THAT(box.value(), Fails(ErrorCode::cancelled));
  EXPECT_THAT(box.value(), HasOutcome(Outcome::refused));
  EXPECT_THAT(wire_.journal, ElementsAre("open 1000", "close"));
}

TEST_F(FaultFabricTest, CallRunsTheHookBeforeTheOperation) {
  std::vector<std::string> seen;
  begin({.kind = FaultKind::call, .at_operation = 2, .hook = [&] { seen = wire_.journal; }});
  EXPECT_THAT(write(0, object_), IsOkAndHolds(kWindowBytes));
  EXPECT_THAT(seen, ElementsAre("open 1000"));
  EXPECT_THAT(wire_.journal, ElementsAre("open 1000", "write 0+1000"));
}

TEST_F(FaultFabricTest, AnOperationAfterCloseIsRefused) {
  begin(FaultKind::none, 0);
  CallbackBox<bool> closed;
  target_->close(as_close(closed));
  CompletionBox box;
  target_->write(0, object_, box.callback());
  EXPECT_TRUE(run_until(
      *server_, [&] { return closed.done(); }, patience()));
  EXPECT_EQ(box.count(), 1);
  EXPECT_THAT(box.value(), Fails(ErrorCode::cancelled));
  target_ = nullptr;
}

/// A client half whose tokens record how they end.
class WireClient final : public ClientFabric {
 public:
  class Impl final : public Token::Impl {
   public:
    explicit Impl(std::vector<RevokeReason>& revoked) : revoked_(revoked) {}
    const std::string& text() const override { return text_; }
    void revoke(RevokeReason reason, Deadline, std::function<void(FenceOutcome)> done) override {
      revoked_.push_back(reason);
      done(FenceOutcome::fenced);
    }

   private:
    std::vector<RevokeReason>& revoked_;
    std::string text_ = format_token_text({.base = 0,
                                           .bytes = kWindowBytes,
                                           .provider = "net",
                                           .endpoint_name = std::vector<std::byte>(16, std::byte{7}),
                                           .key = kKey});
  };
  const FabricIdentity& identity() const override { return identity_; }
  bool reaches(MemoryKind kind) const override { return kind == MemoryKind::host; }
  Result<Token> mint(const Window&, const MintOptions&) override {
    return Token(std::make_unique<Impl>(revoked));
  }
  std::uint64_t quarantined_bytes() const override { return 5; }
  std::vector<RevokeReason> revoked;

 private:
  FabricIdentity identity_{"wire", "wire", "wire", kWindowBytes};
};

class FaultyClientTest : public testing::Test {
 protected:
  Result<Token> mint(FaultKind kind, std::uint64_t at) {
    auto plan = std::make_shared<FaultPlan>(
        std::vector<Fault>{{.kind = kind, .at_operation = at, .hook = [this] { ++hooks_; }}});
    client_ = make_faulty(inner_, plan);
    auto region = Region::make(Memory::host(memory_));
    EXPECT_THAT(region, IsOk());
    auto window = Window::make(*region, 0, kWindowBytes, Direction::get);
    EXPECT_THAT(window, IsOk());
    return client_->mint(*window, {});
  }
  static FenceOutcome end(Token token) {
    return std::move(token).revoke_and_wait(RevokeReason::completed, patience());
  }
  std::vector<std::byte> memory_ = pattern(kWindowBytes, 1);
  std::shared_ptr<WireClient> inner_ = std::make_shared<WireClient>();
  std::shared_ptr<ClientFabric> client_;
  int hooks_ = 0;
};

TEST_F(FaultyClientTest, WithoutAFaultEverythingPasses) {
  auto token = mint(FaultKind::none, 0);
  ASSERT_THAT(token, IsOk());
  EXPECT_THAT(parse_token_text(token->text()), IsOkAndHolds(testing::Field(&ParsedToken::key, kKey)));
  EXPECT_EQ(client_->identity().name, "wire");
  EXPECT_TRUE(client_->reaches(MemoryKind::host));
  EXPECT_FALSE(client_->reaches(MemoryKind::device));
  EXPECT_EQ(end(std::move(*token)), FenceOutcome::fenced);
  EXPECT_THAT(inner_->revoked, ElementsAre(RevokeReason::completed));
  EXPECT_EQ(client_->quarantined_bytes(), 5U);
}

TEST_F(FaultyClientTest, FailOpenMintsNothing) {
  EXPECT_THAT(mint(FaultKind::fail_open, 1), Fails(ErrorCode::overloaded, "injected fault"));
  EXPECT_THAT(inner_->revoked, IsEmpty());
}

TEST_F(FaultyClientTest, WrongKeyChangesTheTextOnly) {
  auto token = mint(FaultKind::wrong_key, 1);
  ASSERT_THAT(token, IsOk());
  const auto parsed = parse_token_text(token->text());
  ASSERT_THAT(parsed, IsOk());
  EXPECT_NE(parsed->key, kKey);
  EXPECT_EQ(parsed->bytes, kWindowBytes);
  EXPECT_EQ(end(std::move(*token)), FenceOutcome::fenced);
}

TEST_F(FaultyClientTest, FailFenceFencesAndKeepsTheWindowOutOfUse) {
  auto token = mint(FaultKind::fail_fence, 2);
  ASSERT_THAT(token, IsOk());
  EXPECT_EQ(end(std::move(*token)), FenceOutcome::quarantined);
  EXPECT_THAT(inner_->revoked, ElementsAre(RevokeReason::completed));
  EXPECT_EQ(client_->quarantined_bytes(), 5 + kWindowBytes);
}

TEST_F(FaultyClientTest, CallRunsTheHookAtMintOrRevoke) {
  auto token = mint(FaultKind::call, 2);
  ASSERT_THAT(token, IsOk());
  EXPECT_EQ(hooks_, 0);
  EXPECT_EQ(end(std::move(*token)), FenceOutcome::fenced);
  EXPECT_EQ(hooks_, 1);
}

TEST(FaultKindTest, EveryKindHasItsName) {
  std::set<std::string_view> names;
  for (int kind = 0; kind <= static_cast<int>(FaultKind::fail_fence); ++kind) {
    names.insert(to_string(static_cast<FaultKind>(kind)));
  }
  EXPECT_EQ(names.size(), 13U);
  EXPECT_FALSE(names.contains("unknown"));
}

}  // namespace
}  // namespace sluice::fabric
