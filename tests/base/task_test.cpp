#include "base/task.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <future>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "base/try.h"
#include "fixtures/matchers.h"
#include "fixtures/run_task.h"

namespace sluice {
namespace {

using testing::IsEmpty;

Deadline patient() {
  return Deadline::after(std::chrono::seconds(30));
}

Task<void> note(std::vector<std::string>* log, std::string what) {
  log->push_back(std::move(what));
  co_return;
}

Task<void> throw_something() {
  throw std::runtime_error("a bug");
  co_return;
}

TEST(SpawnTest, HoldsTheGateUntilTheTaskHasEnded) {
  boost::asio::io_context context;
  Gate gate("tasks");
  std::vector<std::string> log;
  ASSERT_THAT(spawn(context.get_executor(), gate, "note", note(&log, "ran")), test::IsOk());
  EXPECT_EQ(gate.count(), 1U);
  EXPECT_THAT(log, IsEmpty());
  context.run();
  EXPECT_THAT(log, testing::ElementsAre("ran"));
  EXPECT_EQ(gate.count(), 0U);
}

TEST(SpawnTest, AClosingGateRefusesTheTask) {
  boost::asio::io_context context;
  Gate gate("tasks");
  gate.shut();
  std::vector<std::string> log;
  EXPECT_THAT(spawn(context.get_executor(), gate, "note", note(&log, "ran")),
              test::Fails(ErrorCode::cancelled));
  context.run();
  EXPECT_THAT(log, IsEmpty());
}

TEST(SpawnTest, AnEscapingExceptionLeavesTheGateAndTheLoopAlive) {
  boost::asio::io_context context;
  Gate gate("tasks");
  std::vector<std::string> log;
  ASSERT_THAT(spawn(context.get_executor(), gate, "thrower", throw_something()), test::IsOk());
  ASSERT_THAT(spawn(context.get_executor(), gate, "note", note(&log, "ran")), test::IsOk());
  context.run();
  EXPECT_EQ(gate.count(), 0U);
  EXPECT_THAT(log, testing::ElementsAre("ran"));
}

TEST(SpawnTest, DestroyingTheLoopLetsGoOfTheGate) {
  Gate gate("tasks");
  {
    boost::asio::io_context context;
    std::vector<std::string> log;
    ASSERT_THAT(spawn(context.get_executor(), gate, "note", note(&log, "ran")), test::IsOk());
    EXPECT_EQ(gate.count(), 1U);
  }
  EXPECT_EQ(gate.count(), 0U);
}

TEST(SleepUntilTest, ReturnsOnceTheDeadlineHasPassed) {
  const Deadline deadline = Deadline::after(std::chrono::milliseconds(5));
  EXPECT_THAT(test::run_task(sleep_until(deadline)), test::IsOk());
  EXPECT_TRUE(deadline.expired());
}

Task<Result<std::string>> wait_for(OneShot<std::string> shot, Deadline deadline) {
  co_return co_await shot.wait(deadline);
}

/// Makes the OneShot on the executor of the running task and sets it from a thread of its own.
Task<Result<std::string>> set_by_thread() {
  const Executor executor = co_await boost::asio::this_coro::executor;
  OneShot<std::string> shot(executor);
  std::thread other([shot]() mutable { shot.set("from afar"); });
  const Deadline deadline = patient();
  auto result = co_await shot.wait(deadline);
  other.join();
  co_return result;
}

TEST(OneShotTest, AValueThatIsThereBeforeTheWaitIsTakenAtOnce) {
  boost::asio::io_context context;
  OneShot<std::string> shot(context.get_executor());
  EXPECT_FALSE(shot.ready());
  shot.set("first");
  shot.set("second");
  EXPECT_TRUE(shot.ready());
  const Deadline past = Deadline::at(Deadline::Clock::now() - std::chrono::seconds(1));
  std::optional<Result<std::string>> result;
  boost::asio::co_spawn(context, test::store_result(wait_for(shot, past), &result), boost::asio::detached);
  context.run();
  ASSERT_TRUE(result);
  EXPECT_THAT(*result, test::IsOkAndHolds("first"));
}

TEST(OneShotTest, AThreadWakesTheWaiterManyTimesOver) {
  for (int round = 0; round < 200; ++round) {
    EXPECT_THAT(test::run_task(set_by_thread()), test::IsOkAndHolds("from afar"));
  }
}

Task<Result<std::string>> never_set(bool* set_late) {
  const Executor executor = co_await boost::asio::this_coro::executor;
  OneShot<std::string> shot(executor);
  const Deadline deadline = Deadline::after(std::chrono::milliseconds(1));
  auto result = co_await shot.wait(deadline);
  shot.set("too late");
  *set_late = true;
  co_return result;
}

TEST(OneShotTest, TimesOutAndDropsALaterValue) {
  bool set_late = false;
  EXPECT_THAT(test::run_task(never_set(&set_late)), test::Fails(ErrorCode::timeout));
  EXPECT_TRUE(set_late);
}

Task<void> wait_and_note(OneShot<int> shot, std::vector<std::thread::id>* where) {
  const Deadline deadline = patient();
  auto value = co_await shot.wait(deadline);
  if (value && *value == 7) where->push_back(std::this_thread::get_id());
}

TEST(OneShotTest, TheWaiterResumesOnItsOwnExecutor) {
  boost::asio::io_context context(1);
  OneShot<int> shot(context.get_executor());
  std::vector<std::thread::id> where;
  boost::asio::co_spawn(context, wait_and_note(shot, &where), boost::asio::detached);
  std::thread loop([&] { context.run(); });
  const std::thread::id loop_id = loop.get_id();
  shot.set(7);
  loop.join();
  EXPECT_THAT(where, testing::ElementsAre(loop_id));
}

TEST(OneShotTest, AWaiterThatIsDestroyedWithItsLoopLeavesNothingBehind) {
  auto context = std::make_unique<boost::asio::io_context>(1);
  auto witness = std::make_shared<int>(0);
  OneShot<std::shared_ptr<int>> shot(context->get_executor());
  std::function<Task<void>(OneShot<std::shared_ptr<int>>, std::shared_ptr<int>)> body =
      [](OneShot<std::shared_ptr<int>> one, std::shared_ptr<int> kept) -> Task<void> {
    const Deadline deadline = patient();
    auto value = co_await one.wait(deadline);
    if (value) *kept = 1;
  };
  boost::asio::co_spawn(*context, body(shot, witness), boost::asio::detached);
  context->run_for(std::chrono::milliseconds(5));
  EXPECT_EQ(witness.use_count(), 2);
  context.reset();
  EXPECT_EQ(witness.use_count(), 1);
  EXPECT_EQ(*witness, 0);
}

template <class T>
Task<Result<T>> run_on(BlockingPool* pool, std::function<Result<T>()> call) {
  co_return co_await pool->run<T>(std::move(call));
}

TEST(BlockingPoolTest, ReturnsValuesErrorsAndNothing) {
  BlockingPool pool(2, 8);
  std::function<Result<std::string>()> text = [] {
    return Result<std::string>("a text that is too long for the small buffer");
  };
  EXPECT_THAT(test::run_task(run_on(&pool, text)),
              test::IsOkAndHolds("a text that is too long for the small buffer"));
  std::function<Result<std::string>()> failing = []() -> Result<std::string> {
    return errno_error(ENOENT, "reading x");
  };
  EXPECT_THAT(test::run_task(run_on(&pool, failing)), test::Fails(ErrorCode::not_found, "reading x"));
  std::function<Result<void>()> nothing = [] { return Result<void>(); };
  EXPECT_THAT(test::run_task(run_on(&pool, nothing)), test::IsOk());
  std::function<Result<void>()> failing_nothing = []() -> Result<void> {
    return Error(ErrorCode::io_error, "fsync");
  };
  EXPECT_THAT(test::run_task(run_on(&pool, failing_nothing)), test::Fails(ErrorCode::io_error, "fsync"));
  std::function<Result<bool>()> no = [] { return Result<bool>(false); };
  EXPECT_THAT(test::run_task(run_on(&pool, no)), test::IsOkAndHolds(false));
  std::function<Result<bool>()> failing_bool = []() -> Result<bool> {
    return Error(ErrorCode::io_error, "stat");
  };
  EXPECT_THAT(test::run_task(run_on(&pool, failing_bool)), test::Fails(ErrorCode::io_error, "stat"));
  std::function<Result<std::unique_ptr<int>>()> movable = [] {
    return Result<std::unique_ptr<int>>(std::make_unique<int>(5));
  };
  auto moved = test::run_task(run_on(&pool, movable));
  ASSERT_THAT(moved, test::IsOk());
  EXPECT_EQ(**moved, 5);
}

Task<Result<std::thread::id>> where_it_resumes(BlockingPool* pool, std::thread::id* ran_on) {
  std::function<Result<std::thread::id>()> call = [] {
    return Result<std::thread::id>(std::this_thread::get_id());
  };
  SLUICE_CO_TRY(*ran_on, co_await pool->run<std::thread::id>(std::move(call)));
  co_return std::this_thread::get_id();
}

TEST(BlockingPoolTest, RunsOnAPoolThreadAndResumesTheCallerOnItsOwn) {
  BlockingPool pool(1, 8);
  std::thread::id ran_on;
  EXPECT_THAT(test::run_task(where_it_resumes(&pool, &ran_on)),
              test::IsOkAndHolds(std::this_thread::get_id()));
  EXPECT_NE(ran_on, std::this_thread::get_id());
}

TEST(BlockingPoolTest, AThrowingCallIsAnErrorAndThePoolGoesOn) {
  BlockingPool pool(1, 8);
  std::function<Result<int>()> thrower = []() -> Result<int> { throw std::runtime_error("a library's bug"); };
  EXPECT_THAT(test::run_task(run_on(&pool, thrower)), test::Fails(ErrorCode::internal, "a library's bug"));
  std::function<Result<int>()> fine = [] { return Result<int>(1); };
  EXPECT_THAT(test::run_task(run_on(&pool, fine)), test::IsOkAndHolds(1));
}

Task<void> keep(BlockingPool* pool, std::function<Result<int>()> call, std::vector<Result<int>>* results) {
  auto result = co_await pool->run<int>(std::move(call));
  results->push_back(std::move(result));
}

TEST(BlockingPoolTest, RefusesWhatDoesNotFitAndRunsTheRest) {
  boost::asio::io_context context(1);
  std::vector<Result<int>> results;
  std::promise<void> go_on;
  {
    BlockingPool pool(1, 2);
    const std::shared_future<void> gate = go_on.get_future().share();
    const std::function<Result<int>()> call = [gate] {
      gate.wait();
      return Result<int>(1);
    };
    for (int i = 0; i < 5; ++i)
      boost::asio::co_spawn(context, keep(&pool, call, &results), boost::asio::detached);
    while (results.size() < 2) context.run_one();  // one runs, two wait, two are refused
    for (const auto& result : results) EXPECT_THAT(result, test::Fails(ErrorCode::overloaded));
    EXPECT_EQ(results.front().error().retry(), Retry::later);
    go_on.set_value();
  }
  // The pool is gone; what was queued has run.
  context.run();
  ASSERT_EQ(results.size(), 5U);
  for (std::size_t i = 2; i < results.size(); ++i) EXPECT_THAT(results[i], test::IsOkAndHolds(1));
}

TEST(BlockingPoolTest, ServesManyLoopsAtOnce) {
  BlockingPool pool(3, 1000);
  std::atomic<int> sum{0};
  std::vector<std::thread> loops;
  for (int i = 0; i < 4; ++i) {
    loops.emplace_back([&] {
      for (int k = 0; k < 50; ++k) {
        std::function<Result<int>()> call = [k] { return Result<int>(k); };
        auto result = test::run_task(run_on(&pool, std::move(call)));
        if (result) sum += *result;
      }
    });
  }
  for (auto& loop : loops) loop.join();
  EXPECT_EQ(sum.load(), 4 * 49 * 50 / 2);
}

}  // namespace
}  // namespace sluice
