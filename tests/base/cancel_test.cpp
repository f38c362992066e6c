#include "base/cancel.h"

#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

namespace sluice {
namespace {

TEST(CancelTest, ADefaultTokenIsNeverCancelled) {
  const CancelToken token;
  bool called = false;
  const auto registration = token.on_cancel([&] { called = true; });
  EXPECT_FALSE(token.cancelled());
  EXPECT_FALSE(called);
}

TEST(CancelTest, TellsEveryoneOnceAndInOrder) {
  const CancelSource source;
  const CancelToken token = source.token();
  std::vector<int> calls;
  const auto first = token.on_cancel([&] { calls.push_back(1); });
  const auto second = source.token().on_cancel([&] { calls.push_back(2); });
  const CancelSource same = source;
  EXPECT_FALSE(token.cancelled());
  same.cancel();
  source.cancel();
  EXPECT_TRUE(token.cancelled());
  EXPECT_EQ(calls, (std::vector{1, 2}));
}

TEST(CancelTest, TellsWhoAsksAfterwardsAtOnce) {
  const CancelSource source;
  source.cancel();
  bool called = false;
  const auto registration = source.token().on_cancel([&] { called = true; });
  EXPECT_TRUE(called);
}

TEST(CancelTest, ADestroyedOrReplacedRegistrationIsNotCalled) {
  const CancelSource source;
  int first = 0;
  int second = 0;
  int third = 0;
  {
    const auto gone = source.token().on_cancel([&] { ++first; });
  }
  auto replaced = source.token().on_cancel([&] { ++second; });
  replaced = source.token().on_cancel([&] { ++third; });
  const CancelRegistration moved = std::move(replaced);
  source.cancel();
  EXPECT_EQ(first, 0);
  EXPECT_EQ(second, 0);
  EXPECT_EQ(third, 1);
}

TEST(CancelTest, ACallbackMayUnhookItselfAndOthers) {
  const CancelSource source;
  std::optional<CancelRegistration> self;
  std::optional<CancelRegistration> other;
  int calls = 0;
  self = source.token().on_cancel([&] {
    ++calls;
    other.reset();
    self.reset();
  });
  other = source.token().on_cancel([&] { calls += 100; });
  source.cancel();
  EXPECT_EQ(calls, 1);
}

TEST(CancelTest, ACallbackMayCancelAgainAndAddAnother) {
  const CancelSource source;
  int calls = 0;
  std::optional<CancelRegistration> inner;
  const auto outer = source.token().on_cancel([&] {
    source.cancel();
    inner = source.token().on_cancel([&] { ++calls; });
  });
  source.cancel();
  EXPECT_EQ(calls, 1);
}

TEST(CancelTest, ACallbackMayDestroyTheSourceAndEverythingElseThatKeepsTheState) {
  auto source = std::make_unique<CancelSource>();
  std::optional<CancelRegistration> registration;
  int calls = 0;
  registration = source->token().on_cancel([&] {
    registration.reset();
    source.reset();
    ++calls;
  });
  source->cancel();
  EXPECT_EQ(source, nullptr);
  EXPECT_EQ(calls, 1);
}

TEST(CancelTest, TheDestructorWaitsForACallbackThatRunsOnAnotherThread) {
  const CancelSource source;
  std::promise<void> entered;
  std::promise<void> go_on;
  std::atomic<bool> finished{false};
  auto registration =
      std::make_unique<CancelRegistration>(source.token().on_cancel([&, go = go_on.get_future().share()] {
        entered.set_value();
        go.wait();
        finished = true;
      }));
  std::thread canceller([&] { source.cancel(); });
  entered.get_future().wait();
  std::thread releaser([&] { go_on.set_value(); });
  registration.reset();
  EXPECT_TRUE(finished);
  canceller.join();
  releaser.join();
}

TEST(CancelTest, NoCallComesAfterUnhookingWhoeverWinsTheRace) {
  for (int round = 0; round < 300; ++round) {
    const CancelSource source;
    std::vector<std::thread> threads;
    for (int i = 0; i < 3; ++i) {
      threads.emplace_back([&] {
        auto called = std::make_unique<std::atomic<bool>>(false);
        auto registration = source.token().on_cancel([flag = called.get()] { *flag = true; });
        registration = CancelRegistration();
        called.reset();  // a call from now on would be a use after free
      });
    }
    threads.emplace_back([&] { source.cancel(); });
    for (auto& thread : threads) thread.join();
    EXPECT_TRUE(source.token().cancelled());
  }
}

}  // namespace
}  // namespace sluice
