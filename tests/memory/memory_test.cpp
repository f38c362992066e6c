#include "memory/memory.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <utility>

#include "fixtures/canary.h"
#include "fixtures/matchers.h"

namespace sluice {
namespace {

using test::Fails;
using test::IsOk;

TEST(AlignedBufferTest, StartsOnAPageAndIsZeroAndAsLongAsAsked) {
  for (const std::size_t bytes :
       {std::size_t{1}, std::size_t{4095}, std::size_t{4096}, std::size_t{1048577}}) {
    auto buffer = AlignedBuffer::allocate(bytes);
    ASSERT_THAT(buffer, IsOk());
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(buffer->data()) % test::page_bytes(), 0U);
    EXPECT_EQ(buffer->size(), bytes);
    EXPECT_TRUE(std::ranges::all_of(buffer->span(), [](std::byte b) { return b == std::byte{0}; }));
    test::fill_pattern(buffer->span(), bytes);
    EXPECT_TRUE(test::holds_pattern(buffer->span(), bytes));
  }
}

TEST(AlignedBufferTest, MovingHandsTheMappingOverAndFreesTheOldOne) {
  auto first = AlignedBuffer::allocate(100);
  auto second = AlignedBuffer::allocate(200);
  ASSERT_THAT(first, IsOk());
  ASSERT_THAT(second, IsOk());
  std::byte* const kept = second->data();
  AlignedBuffer target = std::move(*first);
  target = std::move(*second);
  EXPECT_EQ(target.data(), kept);
  EXPECT_EQ(target.size(), 200U);
  EXPECT_FALSE(*second);  // NOLINT(bugprone-use-after-move): what a moved-from buffer is
  AlignedBuffer& alias = target;
  target = std::move(alias);
  EXPECT_EQ(target.data(), kept);
  EXPECT_TRUE(target);
}

TEST(AlignedBufferTest, RefusesZeroAndMoreThanThereIs) {
  EXPECT_THAT(AlignedBuffer::allocate(0), Fails(ErrorCode::invalid_argument, "zero bytes"));
  EXPECT_THAT(AlignedBuffer::allocate(SIZE_MAX), Fails(ErrorCode::out_of_memory, "ask for less"));
  EXPECT_THAT(AlignedBuffer::allocate(std::size_t{1} << 60U), Fails(ErrorCode::out_of_memory));
}

}  // namespace
}  // namespace sluice
