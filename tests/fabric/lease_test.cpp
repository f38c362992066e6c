#include "fabric/lease.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <random>
#include <vector>

#include "base/deadline.h"
#include "base/limits.h"

namespace sluice::fabric {
namespace {

using namespace std::chrono_literals;

TEST(LeaseTest, IsTheLeasePlusTheTimeAtTheLowestRateRoundedUp) {
  LeaseTerms terms;
  terms.lease = 5s;
  terms.min_bytes_per_second = 1000;
  EXPECT_EQ(terms.duration(0), 5000ms);
  EXPECT_EQ(terms.duration(1), 5001ms);
  EXPECT_EQ(terms.duration(1000), 6000ms);
  EXPECT_EQ(terms.duration(1001), 6001ms);
  terms.min_bytes_per_second = 3;
  EXPECT_EQ(terms.duration(1), 5334ms);
  EXPECT_EQ(terms.duration(2), 5667ms);
  EXPECT_EQ(terms.duration(3), 6000ms);
}

TEST(LeaseTest, TheClientWaitsForTheDrainAndAMarginMore) {
  LeaseTerms terms;
  terms.lease = 5s;
  terms.min_bytes_per_second = 1000;
  terms.drain = 3s;
  EXPECT_EQ(terms.client_duration(2000), 7s + 3s + limits::kClientMargin);
}

std::vector<std::uint64_t> interesting_bytes() {
  std::vector<std::uint64_t> bytes{0, 1, 999, limits::kMiB, limits::kWindowBytes, UINT64_MAX};
  for (unsigned shift = 10; shift < 64; ++shift) {
    bytes.push_back((std::uint64_t{1} << shift) - 1);
    bytes.push_back(std::uint64_t{1} << shift);
  }
  std::ranges::sort(bytes);
  return bytes;
}

std::vector<LeaseTerms> interesting_terms() {
  using std::chrono::milliseconds;
  std::vector<LeaseTerms> all{LeaseTerms{}};
  const std::vector<milliseconds> times{milliseconds::min(), -1ms, 0ms, 1ms, 5s, 48h, milliseconds::max()};
  const std::vector<std::uint64_t> rates{
      0, 1, 3, 32 * limits::kMiB, std::uint64_t{1} << 54U, UINT64_MAX / 1000, UINT64_MAX - 1, UINT64_MAX};
  for (const auto lease : times) {
    for (const auto drain : times) {
      for (const auto rate : rates) all.push_back({lease, rate, drain});
    }
  }
  std::mt19937_64 random(3);
  for (int i = 0; i < 200; ++i) {
    all.push_back(
        {milliseconds(random() % 100000), random() >> (random() % 64), milliseconds(random() % 100000)});
  }
  return all;
}

TEST(LeaseTest, TheClientIsAlwaysLaterThanTheServer) {
  for (const LeaseTerms& terms : interesting_terms()) {
    const auto drain = std::clamp(terms.drain, std::chrono::milliseconds{0}, limits::kLongestLease);
    for (const std::uint64_t bytes : interesting_bytes()) {
      ASSERT_GT(terms.client_duration(bytes), terms.duration(bytes) + drain)
          << terms.lease.count() << " " << terms.min_bytes_per_second << " " << terms.drain.count() << " "
          << bytes;
    }
  }
}

TEST(LeaseTest, GrowsWithTheBytesAndStaysWithinDeadlines) {
  const auto longest = std::chrono::duration_cast<std::chrono::milliseconds>(Deadline::never().remaining());
  for (const LeaseTerms& terms : interesting_terms()) {
    std::chrono::milliseconds last{0};
    for (const std::uint64_t bytes : interesting_bytes()) {
      const auto now = terms.duration(bytes);
      ASSERT_GE(now, last) << terms.min_bytes_per_second << " " << bytes;
      ASSERT_GE(now, std::clamp(terms.lease, std::chrono::milliseconds{0}, limits::kLongestLease));
      ASSERT_LE(now, limits::kLongestLease);
      ASSERT_LT(terms.client_duration(bytes), longest);
      last = now;
    }
  }
}

TEST(LeaseTest, IsNeverShorterThanTheLowestRateNeeds) {
  std::mt19937_64 random(5);
  LeaseTerms terms;
  terms.lease = 0ms;
  for (int i = 0; i < 10000; ++i) {
    terms.min_bytes_per_second = (random() >> (random() % 40)) | 1U;
    const std::uint64_t bytes = random() >> (random() % 64);
    const long double needed =
        static_cast<long double>(bytes) * 1000.0L / static_cast<long double>(terms.min_bytes_per_second);
    const auto given = terms.duration(bytes);
    if (given == limits::kLongestLease) continue;
    ASSERT_GE(static_cast<long double>(given.count()) + 1e-6L, needed)
        << bytes << " " << terms.min_bytes_per_second;
    ASSERT_LE(static_cast<long double>(given.count()), needed * 1.002L + 1.0L)
        << bytes << " " << terms.min_bytes_per_second;
  }
}

}  // namespace
}  // namespace sluice::fabric
