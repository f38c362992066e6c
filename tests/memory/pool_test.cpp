#include "memory/pool.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <thread>
#include <utility>
#include <vector>

#include "fixtures/canary.h"
#include "fixtures/matchers.h"

namespace sluice {
namespace {

using test::Fails;
using test::IsOk;

TEST(BufferPoolTest, RefusesALimitBelowOneBuffer) {
  EXPECT_THAT(BufferPool::make(0, 4096), Fails(ErrorCode::invalid_argument));
  EXPECT_THAT(BufferPool::make(4096, 4095), Fails(ErrorCode::invalid_argument, "raise its limit"));
}

TEST(BufferPoolTest, HandsOutUpToTheLimitAndAgainWhatCameBack) {
  auto pool = BufferPool::make(10000, 39999);
  ASSERT_THAT(pool, IsOk());
  EXPECT_EQ(pool->limit(), 3U);
  std::vector<PooledBuffer> taken;
  for (std::size_t i = 0; i < 3; ++i) {
    auto buffer = pool->try_take();
    ASSERT_THAT(buffer, IsOk());
    EXPECT_EQ(buffer->size(), 10000U);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(buffer->data()) % test::page_bytes(), 0U);
    taken.push_back(std::move(*buffer));
    EXPECT_EQ(pool->in_use(), i + 1);
  }
  EXPECT_EQ(pool->bytes_in_use(), 30000U);
  auto refused = pool->try_take();
  EXPECT_THAT(refused, Fails(ErrorCode::overloaded, "all 3 buffers"));
  EXPECT_EQ(refused.error().retry(), Retry::later);
  EXPECT_EQ(pool->in_use(), 3U);

  std::byte* const warmest = taken.back().data();
  taken.pop_back();
  EXPECT_EQ(pool->in_use(), 2U);
  EXPECT_EQ(pool->idle(), 1U);
  auto again = pool->try_take();
  ASSERT_THAT(again, IsOk());
  EXPECT_EQ(again->data(), warmest);
  EXPECT_EQ(pool->idle(), 0U);
}

TEST(BufferPoolTest, MovingABufferKeepsTheCount) {
  auto pool = BufferPool::make(4096, 8192);
  ASSERT_THAT(pool, IsOk());
  auto first = pool->try_take();
  auto second = pool->try_take();
  ASSERT_THAT(first, IsOk());
  ASSERT_THAT(second, IsOk());
  PooledBuffer one = std::move(*first);
  EXPECT_FALSE(*first);  // NOLINT(bugprone-use-after-move): what a moved-from buffer is
  EXPECT_EQ(pool->in_use(), 2U);
  one = std::move(*second);
  EXPECT_EQ(pool->in_use(), 1U);
  PooledBuffer& alias = one;
  one = std::move(alias);
  EXPECT_TRUE(one);
  EXPECT_EQ(pool->in_use(), 1U);
  one = PooledBuffer();
  EXPECT_FALSE(one);
  EXPECT_EQ(pool->in_use(), 0U);
}

TEST(BufferPoolTest, TrimGivesIdleBuffersBackToTheSystem) {
  auto pool = BufferPool::make(4096, 5 * 4096);
  ASSERT_THAT(pool, IsOk());
  auto kept = pool->try_take();
  ASSERT_THAT(kept, IsOk());
  {
    auto a = pool->try_take();
    auto b = pool->try_take();
  }
  EXPECT_EQ(pool->idle(), 2U);
  EXPECT_EQ(pool->trim(), 2U);
  EXPECT_EQ(pool->idle(), 0U);
  EXPECT_EQ(pool->in_use(), 1U);
  test::fill_pattern(kept->span(), 3);
  EXPECT_TRUE(test::holds_pattern(kept->span(), 3));
}

TEST(BufferPoolTest, BuffersOutliveThePool) {
  PooledBuffer survivor;
  {
    auto pool = BufferPool::make(4096, 4096);
    ASSERT_THAT(pool, IsOk());
    auto taken = pool->try_take();
    ASSERT_THAT(taken, IsOk());
    survivor = std::move(*taken);
  }
  test::fill_pattern(survivor.span(), 1);
  EXPECT_TRUE(test::holds_pattern(survivor.span(), 1));
}

TEST(BufferPoolTest, AMappingThatFailsDoesNotCount) {
  auto pool = BufferPool::make(std::size_t{1} << 60U, std::uint64_t{1} << 62U);
  ASSERT_THAT(pool, IsOk());
  EXPECT_THAT(pool->try_take(), Fails(ErrorCode::out_of_memory));
  EXPECT_EQ(pool->in_use(), 0U);
}

TEST(BufferPoolTest, NoTwoThreadsEverHoldTheSameBuffer) {
  auto pool = BufferPool::make(4096, 3 * 4096);
  ASSERT_THAT(pool, IsOk());
  std::atomic<int> torn = 0;
  std::atomic<int> taken = 0;
  std::vector<std::thread> threads;
  for (std::uint64_t id = 1; id <= 4; ++id) {
    threads.emplace_back([&, id] {
      for (std::uint64_t round = 0; round < 500; ++round) {
        auto buffer = pool->try_take();
        if (!buffer) continue;
        ++taken;
        test::fill_pattern(buffer->span(), id * 1000 + round);
        if (test::first_mismatch(buffer->span(), id * 1000 + round)) ++torn;
      }
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(torn, 0);
  EXPECT_GT(taken, 0);
  EXPECT_EQ(pool->in_use(), 0U);
  EXPECT_LE(pool->idle(), 3U);
}

}  // namespace
}  // namespace sluice
