#include "base/gate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

#include "base/deadline.h"
#include "fixtures/matchers.h"

namespace sluice {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

Deadline soon() {
  return Deadline::after(std::chrono::milliseconds(1));
}
Deadline patient() {
  return Deadline::after(std::chrono::seconds(30));
}

TEST(GateTest, CountsAndNamesWhoIsInside) {
  Gate gate("gateway");
  auto first = gate.enter("get b/k");
  auto second = gate.enter("put b/k");
  ASSERT_THAT(first, test::IsOk());
  ASSERT_THAT(second, test::IsOk());
  EXPECT_EQ(gate.count(), 2U);
  EXPECT_THAT(gate.inside(), UnorderedElementsAre("get b/k", "put b/k"));
  first->release();
  first->release();
  EXPECT_THAT(gate.inside(), ElementsAre("put b/k"));
  EXPECT_FALSE(gate.closing());
}

TEST(GateTest, RefusesNewcomersOnceShutAndSaysWhichGate) {
  Gate gate("gateway");
  gate.shut();
  EXPECT_TRUE(gate.closing());
  EXPECT_THAT(gate.enter("late"), test::Fails(ErrorCode::cancelled, "gateway"));
  EXPECT_EQ(gate.count(), 0U);
}

TEST(GateTest, CloseReturnsTheNamesOfThoseWhoDidNotLeaveInTime) {
  Gate gate("gateway");
  auto holder = gate.enter("slow put");
  ASSERT_THAT(holder, test::IsOk());
  EXPECT_THAT(gate.close(soon()), ElementsAre("slow put"));
  EXPECT_THAT(gate.enter("late"), test::Fails(ErrorCode::cancelled));
  holder->release();
  EXPECT_THAT(gate.close(soon()), IsEmpty());
}

TEST(GateTest, CloseWaitsForTheLastHolder) {
  Gate gate("gateway");
  std::vector<std::thread> workers;
  std::atomic<int> left{0};
  for (int i = 0; i < 4; ++i) {
    auto holder = gate.enter("worker");
    ASSERT_THAT(holder, test::IsOk());
    workers.emplace_back([held = std::move(*holder), &left]() mutable {
      ++left;
      held.release();
    });
  }
  EXPECT_THAT(gate.close(patient()), IsEmpty());
  EXPECT_EQ(left.load(), 4);
  for (auto& worker : workers) worker.join();
}

TEST(GateTest, MayBeDestroyedAsSoonAsCloseReturns) {
  for (int round = 0; round < 200; ++round) {
    auto gate = std::make_unique<Gate>("short");
    auto holder = gate->enter("worker");
    ASSERT_THAT(holder, test::IsOk());
    std::thread worker([held = std::move(*holder)]() mutable { held.release(); });
    EXPECT_THAT(gate->close(patient()), IsEmpty());
    gate.reset();
    worker.join();
  }
}

TEST(GateTest, OnEmptyRunsAtOnceWhenNobodyIsInside) {
  Gate gate("gateway");
  int calls = 0;
  gate.on_empty([&] { ++calls; });
  EXPECT_EQ(calls, 1);
  EXPECT_TRUE(gate.closing());
}

TEST(GateTest, OnEmptyRunsOnceWhenTheLastOneLeaves) {
  Gate gate("gateway");
  auto first = gate.enter("a");
  auto second = gate.enter("b");
  ASSERT_THAT(first, test::IsOk());
  ASSERT_THAT(second, test::IsOk());
  int calls = 0;
  gate.on_empty([&] { ++calls; });
  first->release();
  EXPECT_EQ(calls, 0);
  second->release();
  EXPECT_EQ(calls, 1);
  EXPECT_THAT(gate.close(soon()), IsEmpty());
  EXPECT_EQ(calls, 1);
}

TEST(GateTest, AHolderLeavesOnceHoweverOftenItIsMoved) {
  Gate gate("gateway");
  {
    auto entered = gate.enter("a");
    ASSERT_THAT(entered, test::IsOk());
    Gate::Holder first = std::move(*entered);
    Gate::Holder second;
    second = std::move(first);
    EXPECT_EQ(gate.count(), 1U);
    auto other = gate.enter("b");
    ASSERT_THAT(other, test::IsOk());
    second = std::move(*other);  // "a" leaves
    EXPECT_THAT(gate.inside(), ElementsAre("b"));
  }
  EXPECT_EQ(gate.count(), 0U);
}

#ifndef NDEBUG
TEST(GateDeathTest, DestroyingANonEmptyGateAbortsAndNamesTheHolder) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_DEATH(
      {
        Gate::Holder outlives;
        Gate gate("lanes");
        auto entered = gate.enter("write to 10.0.0.1");
        outlives = std::move(*entered);
      },
      "gate lanes destroyed while write to 10.0.0.1 is inside");
}
#endif

TEST(DeadlineTest, RemainingIsNeverNegativeAndRoundsUp) {
  const Deadline past = Deadline::at(Deadline::Clock::now() - std::chrono::seconds(1));
  EXPECT_TRUE(past.expired());
  EXPECT_EQ(past.remaining(), Deadline::Clock::duration::zero());
  EXPECT_EQ(past.remaining_ms().count(), 0);
  const Deadline future = Deadline::after(std::chrono::hours(1));
  EXPECT_FALSE(future.expired());
  EXPECT_GT(future.remaining_ms().count(), 0);
  EXPECT_EQ(earlier(past, future), past);
  EXPECT_EQ(later(past, future), future);
  EXPECT_LT(future, Deadline::never());
}

}  // namespace
}  // namespace sluice
