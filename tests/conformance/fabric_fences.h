// Conformance of fabrics: after a fence no byte of the window changes; closing and destroying in every order.
#pragma once

#include <atomic>
#include <cstring>
#include <mutex>
#include <random>
#include <thread>

#include "conformance/fabric_fixture.h"
#include "fabric/region_table.h"

namespace sluice::test {

/// A server that will not stop: keeps operations on a token in flight, opens the token again when its lane
/// breaks, from a thread of its own. Everything it reads is checked against `forbidden`.
class Hammer {
 public:
  static constexpr std::size_t kInFlight = 4;
  static constexpr std::uint64_t kWritten = 0xbad;  ///< seed of what it writes

  Hammer(const FabricUnderTest& under_test, Direction direction)
      : under_test_(under_test), direction_(direction), server_(under_test.make_server) {}

  ServerThread& server() { return server_; }
  /// Begins to attack the token.
  void start(fabric::ParsedToken token) {
    server_.call([this, token = std::move(token)](fabric::ServerFabric& fabric) {
      token_ = token;
      stop_ = false;
      source_ = pattern(1U << 20U, kWritten);
      open(fabric);
    });
  }
  /// Waits until this many operations have ended well.
  [[nodiscard]] bool wait_for_moves(std::uint64_t count) {
    const Deadline deadline = patience();
    while (moves_ < count && !deadline.expired()) std::this_thread::sleep_for(std::chrono::microseconds(200));
    return moves_ >= count;
  }
  /// Ends the attack and waits until nothing is open.
  void stop() {
    server_.call([this](fabric::ServerFabric&) {
      stop_ = true;
      if (target_ && !closing_) begin_close(nullptr);
    });
    const Deadline deadline = patience();
    while (!server_.call([this](fabric::ServerFabric&) { return target_ == nullptr; })) {
      if (deadline.expired()) throw std::runtime_error("Hammer: the target does not close");
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  }
  [[nodiscard]] std::uint64_t moves() const { return moves_; }
  /// Reads must not bring this byte any more: the client has its memory back and has filled it with it.
  void forbid(std::byte value) { forbidden_ = std::to_integer<int>(value); }
  [[nodiscard]] bool saw_forbidden() const { return saw_forbidden_; }

 private:
  void open(fabric::ServerFabric& fabric) {
    auto opened = fabric.open(token_, open_policy(under_test_, direction_));
    if (!opened) return;
    target_ = std::move(*opened);
    failures_ = 0;
    for (std::size_t i = 0; i < kInFlight; ++i) post(fabric, i);
  }
  void post(fabric::ServerFabric& fabric, std::size_t slot) {
    const std::uint64_t window = target_->window_bytes();
    const auto size = std::min<std::uint64_t>({target_->max_operation_bytes(), window, source_.size()});
    const std::uint64_t at = (next_++ * size) % (window - size + 1);
    // ones.
    const auto done = [this, &fabric, slot](const Result<std::uint64_t>& result) {
      if (result) ++moves_;
      if (direction_ == Direction::put) inspect(slot);
      if (stop_ || closing_) return;
      if (result) {
        post(fabric, slot);
      } else if (++failures_ == kInFlight) {
        begin_close(&fabric);
      }
    };
    if (direction_ == Direction::get) {
      target_->write(at, std::span(source_).first(size), done);
    } else {
      sinks_[slot].assign(size, std::byte{0});
      target_->read(at, sinks_[slot], done);
    }
  }
  void inspect(std::size_t slot) {
    const int forbidden = forbidden_;
    if (forbidden < 0) return;
    // A run of the byte is the client's fill: the pattern has none.
    std::byte fill[64];
    std::memset(fill, forbidden, sizeof fill);
    const std::span<const std::byte> sink = sinks_[slot];
    for (std::size_t at = 0; at + sizeof fill <= sink.size(); at += sizeof fill) {
      if (std::memcmp(sink.data() + at, fill, sizeof fill) == 0) saw_forbidden_ = true;
    }
  }
  /// Closes the target; opens the token again on `fabric` unless that is null or the attack is over.
  void begin_close(fabric::ServerFabric* fabric) {
    closing_ = true;
    target_->close([this, fabric] {
      closing_ = false;
      target_ = nullptr;
      if (!stop_ && fabric != nullptr) open(*fabric);
    });
  }

  FabricUnderTest under_test_;
  Direction direction_;
  // Only on the server's thread.
  fabric::ParsedToken token_;
  std::unique_ptr<fabric::Target> target_;
  std::vector<std::byte> source_;
  std::vector<std::byte> sinks_[kInFlight];
  std::uint64_t next_ = 0;
  std::size_t failures_ = 0;
  bool closing_ = false;
  bool stop_ = false;
  // Shared.
  std::atomic<std::uint64_t> moves_ = 0;
  std::atomic<int> forbidden_ = -1;
  std::atomic<bool> saw_forbidden_ = false;
  ServerThread server_;  ///< last: its thread uses the rest
};

TEST_P(FabricSuite, ARevokedTokenIsDead) {
  for (const RevokeReason reason : {RevokeReason::completed, RevokeReason::doubtful}) {
    for (const bool reopen : {false, true}) {
      SCOPED_TRACE(testing::Message() << (reason == RevokeReason::completed ? "completed" : "doubtful")
                                      << (reopen ? ", opened again" : ", same target"));
      const auto window = TestWindow::make(100000, Direction::get);
      auto token = mint(window);
      const auto parsed = parse(token);
      auto target = open(parsed, policy(Direction::get));
      EXPECT_THAT(write(*target, 0, pattern(100000, 1)), IsOkAndHolds(100000U));
      if (reopen) close(std::move(target));
      ASSERT_EQ(revoke(std::move(token), reason), FenceOutcome::fenced);
      fill_pattern(window.span(), 2);
      if (reopen) target = open(parsed, policy(Direction::get));
      EXPECT_FALSE(write(*target, 0, pattern(100000, 3)).has_value()) << "a replayed token moved bytes";
      close(std::move(target));
      EXPECT_TRUE(holds_pattern(window.span(), 2));
      EXPECT_TRUE(window.buffer.canaries_intact());
    }
  }
}

TEST_P(FabricSuite, ARevokedTokenIsDeadThoughItsLaneServesTheNextWindow) {
  const auto window = TestWindow::make(100000, Direction::get);
  auto token = mint(window);
  const auto replayed = parse(token);
  auto target = open(replayed, policy(Direction::get));
  EXPECT_THAT(write(*target, 0, pattern(100000, 1)), IsOkAndHolds(100000U));
  close(std::move(target));
  ASSERT_EQ(revoke(std::move(token), RevokeReason::completed), FenceOutcome::fenced);
  fill_pattern(window.span(), 2);

  const auto next = TestWindow::make(100000, Direction::get);
  fill_pattern(next.span(), 4);
  auto next_token = mint(next);
  target = open(replayed, policy(Direction::get));
  EXPECT_FALSE(write(*target, 0, pattern(100000, 3)).has_value());
  close(std::move(target));
  EXPECT_TRUE(holds_pattern(window.span(), 2));
  EXPECT_TRUE(holds_pattern(next.span(), 4));
  EXPECT_EQ(revoke(std::move(next_token), RevokeReason::doubtful), FenceOutcome::fenced);
}

/// Revokes windows that a server is hammering, and uses their memory again in the very callback. Then the
/// next window goes out: what was stuck on its way in a lane that serves on would come through now.
TEST_P(FabricSuite, AfterAFenceNoByteChangesWhateverIsInFlight) {
  constexpr std::byte kCanary{0xc5};
  const fabric::MintOptions options{.local_address = GetParam().address, .peer = "server.test:9000"};
  const auto window = TestWindow::make((3U << 20U) + 17, Direction::get);
  const auto other = TestWindow::make(4096, Direction::get);
  Hammer hammer(GetParam(), Direction::get);
  std::mt19937 random(11);
  for (int round = 0; round < 50; ++round) {
    SCOPED_TRACE(testing::Message() << "round " << round);
    auto token = client_->mint(window.window, options);
    ASSERT_THAT(token, IsOk());
    const std::uint64_t before = hammer.moves();
    auto parsed = GetParam().parse(token->text());
    ASSERT_THAT(parsed, IsOk());
    hammer.start(*parsed);
    ASSERT_TRUE(hammer.wait_for_moves(before + 1 + random() % 8));
    std::this_thread::sleep_for(std::chrono::microseconds(random() % 2000));
    FenceBox fence;
    std::move(*token).revoke(RevokeReason::doubtful, Deadline::after(limits::kFenceTimeout),
                             [&window, report = fence.callback()](FenceOutcome outcome) {
                               if (outcome == FenceOutcome::fenced) {
                                 std::memset(window.span().data(), std::to_integer<int>(kCanary),
                                             window.span().size());
                               }
                               report(outcome);
                             });
    const auto outcome = fence.wait(patience());
    ASSERT_TRUE(outcome.has_value()) << "the fence never answered";
    ASSERT_EQ(*outcome, FenceOutcome::fenced);
    auto next = client_->mint(other.window, options);
    ASSERT_THAT(next, IsOk());
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    hammer.stop();
    const auto changed = first_other(window.span(), kCanary);
    ASSERT_FALSE(changed.has_value()) << "byte " << *changed << " changed after the fence";
    ASSERT_EQ(fence.count(), 1);
    ASSERT_EQ(std::move(*next).revoke_and_wait(RevokeReason::doubtful, patience()), FenceOutcome::fenced);
  }
  EXPECT_TRUE(window.buffer.canaries_intact());
  EXPECT_TRUE(other.buffer.canaries_intact());
}

TEST_P(FabricSuite, AfterAFenceNoReadSeesWhatTheOwnerWritesNext) {
  constexpr std::byte kSecret{0x5e};
  const auto window = TestWindow::make((3U << 20U) + 17, Direction::put);
  std::mt19937 random(12);
  for (int round = 0; round < 15; ++round) {
    SCOPED_TRACE(testing::Message() << "round " << round);
    fill_pattern(window.span(), 6);
    Hammer hammer(GetParam(), Direction::put);
    auto token = mint(window);
    hammer.start(parse(token));
    ASSERT_TRUE(hammer.wait_for_moves(1 + random() % 4));
    std::this_thread::sleep_for(std::chrono::microseconds(random() % 2000));
    ASSERT_EQ(revoke(std::move(token), RevokeReason::doubtful), FenceOutcome::fenced);
    hammer.forbid(kSecret);
    std::memset(window.span().data(), std::to_integer<int>(kSecret), window.span().size());
    std::this_thread::sleep_for(std::chrono::milliseconds(3));
    hammer.stop();
    EXPECT_FALSE(hammer.saw_forbidden()) << "the server read memory that it no longer had a right to";
  }
}

TEST_P(FabricSuite, DestroyingALiveTokenFencesIt) {
  constexpr std::byte kCanary{0xc5};
  const auto window = TestWindow::make((2U << 20U) + 17, Direction::get);
  Hammer hammer(GetParam(), Direction::get);
  {
    const auto token = mint(window);
    hammer.start(parse(token));
    ASSERT_TRUE(hammer.wait_for_moves(2));
  }
  std::memset(window.span().data(), std::to_integer<int>(kCanary), window.span().size());
  std::this_thread::sleep_for(std::chrono::milliseconds(5));
  hammer.stop();
  EXPECT_FALSE(first_other(window.span(), kCanary).has_value());
}

TEST_P(FabricSuite, AFenceBindsAServerThatHangs) {
  constexpr std::byte kCanary{0xc5};
  const auto window = TestWindow::make((2U << 20U) + 17, Direction::get);
  for (int round = 0; round < 5; ++round) {
    Hammer hammer(GetParam(), Direction::get);
    auto token = mint(window);
    hammer.start(parse(token));
    ASSERT_TRUE(hammer.wait_for_moves(2));
    hammer.server().pause(true);
    ASSERT_EQ(revoke(std::move(token), RevokeReason::doubtful), FenceOutcome::fenced);
    std::memset(window.span().data(), std::to_integer<int>(kCanary), window.span().size());
    hammer.server().pause(false);
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    hammer.stop();
    const auto changed = first_other(window.span(), kCanary);
    ASSERT_FALSE(changed.has_value()) << "byte " << *changed << " changed after the fence";
  }
}

TEST_P(FabricSuite, AFenceWithoutTimeStillAnswersOnce) {
  const auto window = TestWindow::make(1U << 20U, Direction::get);
  Hammer hammer(GetParam(), Direction::get);
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t before = hammer.moves();
    auto token = mint(window);
    hammer.start(parse(token));
    ASSERT_TRUE(hammer.wait_for_moves(before + 1));
    FenceBox fence;
    std::move(token).revoke(RevokeReason::doubtful, Deadline::after(std::chrono::seconds(0)),
                            fence.callback());
    ASSERT_TRUE(fence.wait(patience()).has_value());
    hammer.stop();
    EXPECT_EQ(fence.count(), 1);
  }
  // What could not be fenced in no time is fenced later, and comes back.
  const Deadline deadline = patience();
  while (client_->quarantined_bytes() > 0 && !deadline.expired()) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  EXPECT_EQ(client_->quarantined_bytes(), 0U);
}

TEST_P(FabricSuite, AFenceEndsOneWindowAndNoOther) {
  const auto other = TestWindow::make(100000, Direction::get);
  auto other_token = mint(other);
  auto target = open(other_token, Direction::get);
  EXPECT_THAT(write(*target, 0, pattern(50000, 9)), IsOkAndHolds(50000U));
  const auto window = TestWindow::make(100000, Direction::get);
  ASSERT_EQ(revoke(mint(window), RevokeReason::doubtful), FenceOutcome::fenced);
  EXPECT_THAT(write(*target, 50000, pattern(50000, 9, 50000)), IsOkAndHolds(50000U));
  EXPECT_TRUE(holds_pattern(other.span(), 9));
  close(std::move(target));
  EXPECT_EQ(revoke(std::move(other_token), RevokeReason::completed), FenceOutcome::fenced);
}

TEST_P(FabricSuite, ARegionLeavesWhenItsLastTokenIsFenced) {
  auto& table = fabric::RegionTable::instance();
  const std::size_t before = table.size();
  auto buffer = GuardedBuffer::at_offset(1000, 0);
  auto owner = std::make_shared<int>(0);
  const std::weak_ptr<int> watched = owner;
  auto region = fabric::Region::make(Memory::host(buffer.span()), std::move(owner));
  ASSERT_THAT(region, IsOk());
  auto window = fabric::Window::make(*region, 0, 1000, Direction::get);
  ASSERT_THAT(window, IsOk());
  auto token = client_->mint(*window, {.local_address = GetParam().address, .peer = "server.test:9000"});
  ASSERT_THAT(token, IsOk());
  (*region)->retire();
  *region = nullptr;
  window = Error(ErrorCode::cancelled, "gone");
  EXPECT_FALSE(watched.expired()) << "the memory went while a token was out on it";
  EXPECT_EQ(table.size(), before + 1);
  ASSERT_EQ(revoke(std::move(*token), RevokeReason::doubtful), FenceOutcome::fenced);
  EXPECT_TRUE(watched.expired()) << "fenced means that the memory is the caller's again";
  EXPECT_EQ(table.size(), before);
}

TEST_P(FabricSuite, ClosingWithOperationsInFlightAnswersForEachOfThem) {
  const auto window = TestWindow::make(16U << 20U, Direction::get);
  const auto object = pattern(1U << 20U, 1);
  auto token = mint(window);
  auto target = open(token, Direction::get);
  const std::size_t step = std::min<std::uint64_t>(object.size(), target->max_operation_bytes());
  std::deque<CompletionBox> boxes;
  for (std::size_t at = 0; at + step <= (16U << 20U); at += 1U << 20U) {
    target->write(at, std::span(object).first(step), boxes.emplace_back().callback());
  }
  std::size_t missing_at_close = 99;
  CallbackBox<bool> closed;
  target->close([&, report = as_close(closed)] {
    missing_at_close =
        static_cast<std::size_t>(std::ranges::count_if(boxes, [](const auto& box) { return !box.done(); }));
    report();
  });
  CompletionBox after;
  target->write(0, std::span(object).first(step), after.callback());
  ASSERT_TRUE(run_until(
      *server_, [&] { return closed.done() && after.done(); }, patience()));
  EXPECT_EQ(missing_at_close, 0U) << "close called back before the operations were over";
  EXPECT_EQ(server_->outstanding(), 0U);
  run_for(*server_, std::chrono::milliseconds(20));
  for (const auto& box : boxes) EXPECT_EQ(box.count(), 1);
  EXPECT_EQ(closed.count(), 1);
  EXPECT_THAT(after.value(), Fails(ErrorCode::cancelled));
  EXPECT_THAT(after.value(), HasOutcome(Outcome::refused));
  target = nullptr;
  EXPECT_EQ(revoke(std::move(token), RevokeReason::doubtful), FenceOutcome::fenced);
  EXPECT_TRUE(window.buffer.canaries_intact());
}

TEST_P(FabricSuite, ATargetMayBeDestroyedInItsOwnCloseCallback) {
  const auto window = TestWindow::make(1000, Direction::get);
  auto token = mint(window);
  auto target = open(token, Direction::get);
  EXPECT_THAT(write(*target, 0, pattern(1000, 1)), IsOkAndHolds(1000U));
  bool gone = false;
  target->close([&] {
    target = nullptr;
    gone = true;
  });
  EXPECT_TRUE(run_until(
      *server_, [&] { return gone; }, patience()));
  run_for(*server_, std::chrono::milliseconds(5));
  revoke(std::move(token), RevokeReason::completed);
}

TEST_P(FabricSuite, ACompletionMayPostTheNextOperationAndCloseTheTarget) {
  const auto window = TestWindow::make(50000, Direction::get);
  const auto object = pattern(50000, 4);
  auto token = mint(window);
  auto target = open(token, Direction::get);
  std::size_t moved = 0;
  CallbackBox<bool> closed;
  std::function<void()> next = [&] {
    target->write(moved, std::span(object).subspan(moved, 1000), [&](const Result<std::uint64_t>& result) {
      ASSERT_THAT(result, IsOkAndHolds(1000U));
      moved += 1000;
      if (moved < object.size()) {
        next();
      } else {
        target->close(as_close(closed));
      }
    });
  };
  next();
  ASSERT_TRUE(run_until(
      *server_, [&] { return closed.done(); }, patience()));
  target = nullptr;
  EXPECT_TRUE(holds_pattern(window.span(), 4));
  EXPECT_EQ(revoke(std::move(token), RevokeReason::completed), FenceOutcome::fenced);
}

TEST_P(FabricSuite, APeerThatDoesNotAnswerFailsInTimeAndDisturbsNobody) {
  if (!GetParam().unreachable) GTEST_SKIP() << "a token cannot name a peer that is not there";
  const auto window = TestWindow::make(100000, Direction::get);
  auto token = mint(window);
  auto nobody = open(GetParam().unreachable(parse(token)), policy(Direction::get));
  const auto bytes = pattern(1000, 1);
  CompletionBox lost;
  nobody->write(0, bytes, lost.callback());
  auto target = open(token, Direction::get);
  EXPECT_THAT(write(*target, 0, pattern(100000, 2)), IsOkAndHolds(100000U));
  EXPECT_TRUE(run_until(
      *server_, [&] { return lost.done(); }, Deadline::after(std::chrono::seconds(20))));
  ASSERT_TRUE(lost.done()) << "posting to a peer that is not there never ends";
  EXPECT_FALSE(lost.value().has_value());
  EXPECT_THAT(write(*target, 0, pattern(100000, 3)), IsOkAndHolds(100000U));
  close(std::move(nobody));
  close(std::move(target));
  EXPECT_EQ(lost.count(), 1);
  revoke(std::move(token), RevokeReason::completed);
}

TEST_P(FabricSuite, TokensOutliveTheHandleToTheirFabric) {
  const auto window = TestWindow::make(1000, Direction::get);
  auto token = mint(window);
  client_ = nullptr;
  auto target = open(token, Direction::get);
  EXPECT_THAT(write(*target, 0, pattern(1000, 1)), IsOkAndHolds(1000U));
  close(std::move(target));
  server_ = nullptr;
  EXPECT_EQ(revoke(std::move(token), RevokeReason::doubtful), FenceOutcome::fenced);
  EXPECT_TRUE(holds_pattern(window.span(), 1));
}

TEST_P(FabricSuite, ManyThreadsMintAndRevokeAtOnce) {
  std::atomic<int> fenced = 0;
  std::atomic<int> minted = 0;
  std::vector<std::thread> threads;
  for (int id = 0; id < 4; ++id) {
    threads.emplace_back([&, id] {
      const auto window = TestWindow::make(10000, id % 2 == 0 ? Direction::get : Direction::put);
      for (int round = 0; round < 25; ++round) {
        auto token =
            client_->mint(window.window, {.local_address = GetParam().address, .peer = "server.test:9000"});
        if (!token) continue;
        ++minted;
        const auto reason = round % 2 == 0 ? RevokeReason::completed : RevokeReason::doubtful;
        if (revoke(std::move(*token), reason) == FenceOutcome::fenced) ++fenced;
      }
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(minted, 100);
  EXPECT_EQ(fenced, minted);
}

}  // namespace sluice::test
