#include "gateway/admission.h"

#include <gtest/gtest.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>

#include "fixtures/matchers.h"

namespace sluice::gateway {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

/// Runs takers on one loop, one turn at a time, and notes who got what in which order.
class StagingTest : public testing::Test {
 protected:
  StagingTest() : staging_(*Staging::make(4096, 8 * 4096)) {}

  void take(const std::string& client, std::size_t count, Deadline deadline = Deadline::after(seconds(60))) {
    boost::asio::co_spawn(loop_, taker(this, client, count, deadline), boost::asio::detached);
    loop_.poll();
    loop_.restart();
  }
  void give_back(const std::string& client) {
    std::erase_if(loans_, [&](const auto& held) { return held.first == client; });
    loop_.poll();
    loop_.restart();
  }
  static Task<void> taker(StagingTest* test, std::string client, std::size_t count, Deadline deadline) {
    auto loan = co_await test->staging_.take(client, count, deadline);
    test->order_.push_back(loan ? client : client + " refused");
    if (loan) test->loans_.emplace_back(client, std::move(*loan));
  }

  boost::asio::io_context loop_{1};
  Staging staging_;
  std::vector<std::pair<std::string, StagingLoan>> loans_;
  std::vector<std::string> order_;
};

TEST_F(StagingTest, GivesDistinctBuffersAndTakesThemBack) {
  take("a", 3);
  ASSERT_EQ(loans_.size(), 1U);
  EXPECT_EQ(loans_[0].second.size(), 3U);
  EXPECT_NE(loans_[0].second.buffer(0).data(), loans_[0].second.buffer(1).data());
  EXPECT_EQ(staging_.in_use(), 3U);
  give_back("a");
  EXPECT_EQ(staging_.in_use(), 0U);
}

TEST_F(StagingTest, NoClientHoldsMoreThanThreeQuarters) {
  take("a", 100);
  ASSERT_EQ(loans_.size(), 1U);
  EXPECT_EQ(loans_[0].second.size(), 6U);
  take("a", 1);  // there are two left, but not for a
  EXPECT_EQ(staging_.waiting(), 1U);
  take("b", 2);  // who passes it
  EXPECT_EQ(order_, (std::vector<std::string>{"a", "b"}));
  give_back("a");
  EXPECT_EQ(order_, (std::vector<std::string>{"a", "b", "a"}));
}

TEST_F(StagingTest, TheNextInLineIsServedWhenBuffersComeBack) {
  take("a", 6);
  take("z", 2);
  take("b", 2);
  take("c", 2);
  EXPECT_EQ(order_, (std::vector<std::string>{"a", "z"}));
  EXPECT_EQ(staging_.waiting(), 2U);
  give_back("a");
  EXPECT_EQ(order_, (std::vector<std::string>{"a", "z", "b", "c"}));
  EXPECT_EQ(staging_.in_use(), 6U);
}

TEST_F(StagingTest, NobodyOvertakesWhoWaitsForMore) {
  take("a", 6);
  take("b", 4);
  take("c", 1);  // would fit, but b was first
  EXPECT_EQ(order_, (std::vector<std::string>{"a"}));
  give_back("a");
  EXPECT_EQ(order_, (std::vector<std::string>{"a", "b", "c"}));
}

TEST_F(StagingTest, WhoHoldsHalfStepsAsideForOthers) {
  take("greedy", 4);
  take("b", 4);
  take("greedy", 2);
  take("c", 2);
  EXPECT_EQ(order_, (std::vector<std::string>{"greedy", "b"}));
  give_back("b");
  // c passes greedy's second request, which is then let in, too: nobody else waits any more.
  EXPECT_EQ(order_, (std::vector<std::string>{"greedy", "b", "c", "greedy"}));
  EXPECT_EQ(staging_.waiting(), 0U);
}

TEST_F(StagingTest, WaitingEndsAtTheDeadlineAndHoldsNothing) {
  take("a", 6);
  take("z", 2);
  take("b", 1, Deadline::after(milliseconds(20)));
  EXPECT_EQ(staging_.waiting(), 1U);
  loop_.run_for(seconds(10));
  loop_.restart();
  EXPECT_EQ(order_, (std::vector<std::string>{"a", "z", "b refused"}));
  EXPECT_EQ(staging_.waiting(), 0U);
  give_back("a");
  EXPECT_EQ(staging_.in_use(), 2U);
}

TEST_F(StagingTest, WhoseDeadlineHasPassedDoesNotWait) {
  take("a", 6);
  take("z", 2);
  take("b", 1, Deadline::after(milliseconds(0)));
  EXPECT_EQ(order_, (std::vector<std::string>{"a", "z", "b refused"}));
}

}  // namespace
}  // namespace sluice::gateway
