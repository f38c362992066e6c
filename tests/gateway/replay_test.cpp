#include "gateway/replay.h"

#include <gtest/gtest.h>

#include "fixtures/matchers.h"

namespace sluice::gateway {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;
using test::Fails;
using test::IsOk;

const WallClock::time_point kStart = WallClock::time_point(seconds(1'800'000'000));

std::string signature(std::uint64_t n) {
  std::string text(64, '0');
  for (std::size_t i = 0; i < 16; ++i) text[15 - i] = "0123456789abcdef"[(n >> (4 * i)) & 15U];
  return text;
}

TEST(ReplayTest, TheSecondUseIsRefusedAndNamesTheCure) {
  ReplayCache cache(kStart);
  EXPECT_THAT(cache.admit(signature(1), kStart, kStart), IsOk());
  EXPECT_THAT(cache.admit(signature(1), kStart, kStart), Fails(ErrorCode::permission_denied, "fresh token"));
  EXPECT_THAT(cache.admit(signature(2), kStart, kStart), IsOk());
  EXPECT_EQ(cache.size(), 2U);
}

TEST(ReplayTest, ARequestDatedBeforeTheStartIsToBeSignedAgain) {
  ReplayCache cache(kStart);
  const auto refused = cache.admit(signature(1), kStart - seconds(1), kStart);
  EXPECT_THAT(refused, Fails(ErrorCode::overloaded, "signed before this gateway started; sign again"));
  EXPECT_EQ(refused.error().retry(), Retry::later);
  EXPECT_EQ(refused.error().s3().http_status, 503);
}

TEST(ReplayTest, ASignatureIsRememberedAsLongAsItsDateIsAccepted) {
  ReplayCache cache(kStart, minutes(15));
  for (const auto ahead : {minutes(0), minutes(14)}) {  // a client's clock may be fast
    const auto date = kStart + ahead;
    const auto id = signature(static_cast<std::uint64_t>(ahead.count()) + 1);
    EXPECT_THAT(cache.admit(id, date, kStart), IsOk());
    // Up to the last moment at which the signature itself would still pass.
    EXPECT_THAT(cache.admit(id, date, date + minutes(15)), Fails(ErrorCode::permission_denied));
  }
}

TEST(ReplayTest, WhatIsTooOldIsForgotten) {
  ReplayCache cache(kStart, minutes(15));
  for (std::uint64_t i = 0; i < 100; ++i) ASSERT_THAT(cache.admit(signature(i), kStart, kStart), IsOk());
  const auto later = kStart + minutes(20);
  EXPECT_THAT(cache.admit(signature(1000), later, later), IsOk());
  EXPECT_EQ(cache.size(), 1U);
}

TEST(ReplayTest, AFullCacheAsksForPatienceAndForgetsNobody) {
  ReplayCache cache(kStart, minutes(15), 3);
  for (std::uint64_t i = 0; i < 3; ++i) ASSERT_THAT(cache.admit(signature(i), kStart, kStart), IsOk());
  EXPECT_THAT(cache.admit(signature(3), kStart, kStart), Fails(ErrorCode::overloaded));
  EXPECT_THAT(cache.admit(signature(0), kStart, kStart), Fails(ErrorCode::permission_denied));
}

TEST(ReplayTest, WhatIsNoSignatureIsRefused) {
  ReplayCache cache(kStart);
  EXPECT_THAT(cache.admit("", kStart, kStart), Fails(ErrorCode::permission_denied));
  EXPECT_THAT(cache.admit("abc", kStart, kStart), Fails(ErrorCode::permission_denied));
  EXPECT_THAT(cache.admit(std::string(64, 'z'), kStart, kStart), Fails(ErrorCode::permission_denied));
}

}  // namespace
}  // namespace sluice::gateway
