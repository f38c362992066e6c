#include "base/time.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "fixtures/matchers.h"

namespace sluice {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using test::Fails;
using test::IsOkAndHolds;

WallClock::time_point at(std::int64_t unix_seconds, std::int64_t ms = 0) {
  return WallClock::time_point(seconds(unix_seconds) + milliseconds(ms));
}

constexpr std::int64_t kNewYear2026 = 1767225600;
constexpr std::int64_t kRfcExample = 784111777;  // Sun, 06 Nov 1994 08:49:37 GMT

TEST(TimeTest, FormatsTheThreeTexts) {
  EXPECT_EQ(format_amz_date(at(kNewYear2026)), "20260101T000000Z");
  EXPECT_EQ(format_http_date(at(kNewYear2026)), "Thu, 01 Jan 2026 00:00:00 GMT");
  EXPECT_EQ(format_iso8601(at(kNewYear2026)), "2026-01-01T00:00:00.000Z");
  EXPECT_EQ(format_iso8601(at(kNewYear2026 - 1, 999)), "2025-12-31T23:59:59.999Z");
  EXPECT_EQ(format_http_date(at(kRfcExample)), "Sun, 06 Nov 1994 08:49:37 GMT");
  EXPECT_EQ(format_iso8601(at(951782400)), "2000-02-29T00:00:00.000Z");
}

TEST(TimeTest, FormatsTimesBefore1970) {
  EXPECT_EQ(format_iso8601(at(-1, 500)), "1969-12-31T23:59:59.500Z");
  EXPECT_EQ(format_http_date(at(-86400)), "Wed, 31 Dec 1969 00:00:00 GMT");
}

TEST(TimeTest, ParsesAmzDatesAndNothingElse) {
  EXPECT_THAT(parse_amz_date("20260101T000000Z"), IsOkAndHolds(at(kNewYear2026)));
  EXPECT_THAT(parse_amz_date("20240229T235959Z"), IsOkAndHolds(at(1709251199)));
  for (const auto* bad : {"",
                          "20260101",
                          "20260101T000000",
                          "20260101t000000Z",
                          "20260101T000000z",
                          "20260101T000000Z ",
                          " 20260101T000000Z",
                          "20261301T000000Z",
                          "20260001T000000Z",
                          "20260132T000000Z",
                          "20260100T000000Z",
                          "20250229T000000Z",
                          "20260101T240000Z",
                          "20260101T006000Z",
                          "20260101T000061Z",
                          "2026-101T000000Z",
                          "+0260101T000000Z",
                          "2026010aT000000Z",
                          "2026-01-01T00:00:00Z",
                          "00010101T000000Z",
                          "00000101T000000Z",
                          "16770101T000000Z",
                          "22620101T000000Z",
                          "99991231T235959Z"})
    EXPECT_THAT(parse_amz_date(bad), Fails(ErrorCode::invalid_argument)) << bad;
}

// The three forms of RFC 9110 5.6.7.
TEST(TimeTest, ParsesTheThreeHttpDates) {
  for (const auto* good :
       {"Sun, 06 Nov 1994 08:49:37 GMT", "Sunday, 06-Nov-94 08:49:37 GMT", "Sun Nov  6 08:49:37 1994"})
    EXPECT_THAT(parse_http_date(good), IsOkAndHolds(at(kRfcExample))) << good;
  EXPECT_THAT(parse_http_date("Wed Nov 16 08:49:37 1994"), IsOkAndHolds(at(kRfcExample + 10 * 86400)));
  EXPECT_THAT(parse_http_date("Sat, 31 Dec 2016 23:59:60 GMT"),
              IsOkAndHolds(at(1483228800)));  // a leap second
}

TEST(TimeTest, RefusesOtherHttpDates) {
  for (const auto* bad : {"",
                          "0",
                          "-1",
                          "784111777",
                          "Sun, 06 Nov 1994 08:49:37",
                          "Sun, 06 Nov 1994 08:49:37 UTC",
                          "Sun, 06 Nov 1994 08:49:37 +0000",
                          "sun, 06 nov 1994 08:49:37 gmt",
                          "Sun, 6 Nov 1994 08:49:37 GMT",
                          "Sun 06 Nov 1994 08:49:37 GMT",
                          "Xxx, 06 Nov 1994 08:49:37 GMT",
                          "Sun, 06 Foo 1994 08:49:37 GMT",
                          "Sun, 31 Nov 1994 08:49:37 GMT",
                          "Sun, 06 Nov 1994 24:00:00 GMT",
                          "Sun, 06 Nov 1994 08:60:37 GMT",
                          "Sun, 06 Nov 1994 08:49:37 GMT ",
                          " Sun, 06 Nov 1994 08:49:37 GMT",
                          "Sunday, 06-Nov-1994 08:49:37 GMT",
                          "Sun Nov 6 08:49:37 1994",
                          "Mon, 01 Jan 0001 00:00:00 GMT",
                          "Fri, 31 Dec 9999 23:59:59 GMT",
                          "1994-11-06T08:49:37Z",
                          "Sun, 06 Nov 1994 08:49:37 GMTx"})
    EXPECT_THAT(parse_http_date(bad), Fails(ErrorCode::invalid_argument)) << bad;
}

TEST(TimeTest, ATwoDigitYearIsNeverMoreThan50YearsAhead) {
  const auto now = WallClock::now();
  for (const auto* text :
       {"Monday, 01-Jan-00 00:00:00 GMT", "Monday, 01-Jan-50 00:00:00 GMT", "Monday, 01-Jan-76 00:00:00 GMT",
        "Monday, 01-Jan-77 00:00:00 GMT", "Monday, 01-Jan-99 00:00:00 GMT"}) {
    auto when = parse_http_date(text);
    ASSERT_THAT(when, test::IsOk()) << text;
    EXPECT_LT(*when, now + std::chrono::hours(24 * 366 * 51)) << text;
    EXPECT_GT(*when, now - std::chrono::hours(24 * 366 * 100)) << text;
  }
}

TEST(TimeTest, ParsesIso8601WithAndWithoutMilliseconds) {
  EXPECT_THAT(parse_iso8601("2026-01-01T00:00:00.000Z"), IsOkAndHolds(at(kNewYear2026)));
  EXPECT_THAT(parse_iso8601("2026-01-01T00:00:00.250Z"), IsOkAndHolds(at(kNewYear2026, 250)));
  EXPECT_THAT(parse_iso8601("2026-01-01T00:00:00Z"), IsOkAndHolds(at(kNewYear2026)));
  for (const auto* bad :
       {"", "2026-01-01", "2026-01-01T00:00:00", "2026-01-01 00:00:00Z", "2026-01-01T00:00:00.Z",
        "2026-01-01T00:00:00.25Z", "2026-01-01T00:00:00.2500Z", "2026-01-01T00:00:00+00:00",
        "2026-1-1T00:00:00Z", "2026-02-30T00:00:00Z", "20260101T000000Z", "2026-01-01T00:00:00Zx"})
    EXPECT_THAT(parse_iso8601(bad), Fails(ErrorCode::invalid_argument)) << bad;
}

TEST(TimeTest, RoundTripsRandomTimes) {
  std::mt19937_64 random(1);
  std::uniform_int_distribution<std::int64_t> any(-9'000'000'000, 9'000'000'000);  // 1684 to 2255
  for (int round = 0; round < 5000; ++round) {
    const auto whole = at(any(random));
    const auto when = whole + milliseconds(round % 1000);
    ASSERT_THAT(parse_amz_date(format_amz_date(when)), IsOkAndHolds(whole));
    ASSERT_THAT(parse_http_date(format_http_date(when)), IsOkAndHolds(whole));
    ASSERT_THAT(parse_iso8601(format_iso8601(when)), IsOkAndHolds(when));
  }
}

}  // namespace
}  // namespace sluice
