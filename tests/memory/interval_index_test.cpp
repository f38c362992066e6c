#include "memory/interval_index.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <iterator>
#include <map>
#include <random>
#include <vector>

namespace sluice {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::UnorderedElementsAre;
using testing::UnorderedElementsAreArray;

TEST(IntervalIndexTest, CoveringNeedsEveryByte) {
  IntervalIndex<int> index;
  index.insert(100, 50, 1);
  EXPECT_THAT(index.covering(100, 50), ElementsAre(1));
  EXPECT_THAT(index.covering(149, 1), ElementsAre(1));
  EXPECT_THAT(index.covering(99, 2), IsEmpty());
  EXPECT_THAT(index.covering(149, 2), IsEmpty());
  EXPECT_THAT(index.covering(150, 1), IsEmpty());
}

TEST(IntervalIndexTest, OverlappingNeedsOneByte) {
  IntervalIndex<int> index;
  index.insert(100, 50, 1);
  EXPECT_THAT(index.overlapping(99, 1), IsEmpty());
  EXPECT_THAT(index.overlapping(99, 2), ElementsAre(1));
  EXPECT_THAT(index.overlapping(149, 100), ElementsAre(1));
  EXPECT_THAT(index.overlapping(150, 100), IsEmpty());
  EXPECT_THAT(index.overlapping(0, 1000), ElementsAre(1));
  EXPECT_THAT(index.overlapping(120, 0), IsEmpty());
}

TEST(IntervalIndexTest, TheSameIntervalTwiceIsTwoEntries) {
  IntervalIndex<int> index;
  const auto first = index.insert(100, 50, 1);
  index.insert(100, 50, 2);
  EXPECT_THAT(index.covering(100, 50), UnorderedElementsAre(1, 2));
  EXPECT_TRUE(index.erase(first));
  EXPECT_FALSE(index.erase(first));
  EXPECT_THAT(index.covering(100, 50), ElementsAre(2));
  EXPECT_EQ(index.size(), 1U);
}

TEST(IntervalIndexTest, ReachesTheEndOfTheAddressSpace) {
  IntervalIndex<int> index;
  index.insert(UINTPTR_MAX - 9, 10, 1);
  EXPECT_THAT(index.covering(UINTPTR_MAX, 1), ElementsAre(1));
  EXPECT_THAT(index.overlapping(UINTPTR_MAX - 20, 12), ElementsAre(1));
}

TEST(IntervalIndexTest, AgreesWithALinearSearch) {
  struct Plain {
    std::uintptr_t begin;
    std::size_t bytes;
    IntervalIndex<int>::Id id;
  };
  std::mt19937_64 random(7);
  IntervalIndex<int> index;
  std::map<int, Plain> plain;
  for (int step = 0; step < 3000; ++step) {
    const std::uintptr_t begin = random() % 500;
    // Mostly short ones and a few long ones, so that the search has to look past short neighbours.
    const std::size_t bytes = 1 + random() % (step % 10 == 0 ? 300 : 12);
    if (plain.size() > 60 || (random() % 4 == 0 && !plain.empty())) {
      auto victim = plain.begin();
      std::advance(victim, static_cast<std::ptrdiff_t>(random() % plain.size()));
      EXPECT_TRUE(index.erase(victim->second.id));
      plain.erase(victim);
    } else {
      plain.emplace(step, Plain{begin, bytes, index.insert(begin, bytes, step)});
    }
    const std::uintptr_t asked = random() % 500;
    const std::size_t length = 1 + random() % 40;
    std::vector<int> covering;
    std::vector<int> overlapping;
    for (const auto& [value, one] : plain) {
      if (one.begin <= asked && asked + length <= one.begin + one.bytes) covering.push_back(value);
      if (one.begin < asked + length && asked < one.begin + one.bytes) overlapping.push_back(value);
    }
    ASSERT_THAT(index.covering(asked, length), UnorderedElementsAreArray(covering)) << "step " << step;
    ASSERT_THAT(index.overlapping(asked, length), UnorderedElementsAreArray(overlapping)) << "step " << step;
    ASSERT_EQ(index.size(), plain.size());
  }
}

}  // namespace
}  // namespace sluice
