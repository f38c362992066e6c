#include "base/parse.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fixtures/matchers.h"

namespace sluice {
namespace {

using std::chrono::milliseconds;
using test::Fails;
using test::IsOkAndHolds;

TEST(ParseU64Test, TakesDecimalDigitsOnly) {
  EXPECT_THAT(parse_u64("0"), IsOkAndHolds(0U));
  EXPECT_THAT(parse_u64("0042"), IsOkAndHolds(42U));
  EXPECT_THAT(parse_u64("18446744073709551615"), IsOkAndHolds(UINT64_MAX));
  for (const auto* bad : {"", "-1", "+1", " 1", "1 ", "1e3", "0x10", "1.0", "1,000", "\xd9\xa1", "a"})
    EXPECT_THAT(parse_u64(bad), Fails(ErrorCode::invalid_argument)) << bad;
  EXPECT_THAT(parse_u64(std::string_view("1\0", 2)), Fails(ErrorCode::invalid_argument));
}

TEST(ParseU64Test, RefusesWhatIsLargerThanTheMaximum) {
  EXPECT_THAT(parse_u64("18446744073709551616"), Fails(ErrorCode::invalid_argument, "18446744073709551615"));
  EXPECT_THAT(parse_u64("99999999999999999999999999"), Fails(ErrorCode::invalid_argument));
  EXPECT_THAT(parse_u64("65535", 65535), IsOkAndHolds(65535U));
  EXPECT_THAT(parse_u64("65536", 65535), Fails(ErrorCode::invalid_argument, "65535"));
}

TEST(ParseHexTest, TakesOneToSixteenDigitsOfEitherCase) {
  EXPECT_THAT(parse_hex_u64("0"), IsOkAndHolds(0U));
  EXPECT_THAT(parse_hex_u64("DeadBeef"), IsOkAndHolds(0xdeadbeefU));
  EXPECT_THAT(parse_hex_u64("ffffffffffffffff"), IsOkAndHolds(UINT64_MAX));
  for (const auto* bad : {"", "0x1", "g", "-1", "+1", " 1", "1 ", "00000000000000001"})
    EXPECT_THAT(parse_hex_u64(bad), Fails(ErrorCode::invalid_argument)) << bad;
}

TEST(ParseSizeTest, TellsPowersOf1024FromPowersOf1000) {
  const std::pair<const char*, std::uint64_t> expected[] = {{"0", 0},
                                                            {"4096", 4096},
                                                            {"1B", 1},
                                                            {"64k", 65536},
                                                            {"64K", 65536},
                                                            {"64Ki", 65536},
                                                            {"64KiB", 65536},
                                                            {"64KB", 64000},
                                                            {"8m", 8388608},
                                                            {"8MiB", 8388608},
                                                            {"8MB", 8000000},
                                                            {"5g", 5368709120},
                                                            {"5Gi", 5368709120},
                                                            {"5GB", 5000000000},
                                                            {"1TiB", 1099511627776},
                                                            {"1t", 1099511627776},
                                                            {"1TB", 1000000000000},
                                                            {"18446744073709551615", UINT64_MAX},
                                                            {"16777215TiB", 16777215ULL << 40U}};
  for (const auto& [text, bytes] : expected) EXPECT_THAT(parse_size(text), IsOkAndHolds(bytes)) << text;
}

TEST(ParseSizeTest, RefusesFractionsSignsBlanksAndUnknownUnits) {
  for (const auto* bad : {"", "k", "KiB", "1.5GiB", "-1", "-1k", "+1k", " 1k", "1 k", "1k ", "1kk", "1KiBB",
                          "1PiB", "1e3", "0x10", "1iB", "1Kib ", "1K i"})
    EXPECT_THAT(parse_size(bad), Fails(ErrorCode::invalid_argument)) << bad;
}

TEST(ParseSizeTest, RefusesWhatDoesNotFitInto64Bits) {
  for (const auto* bad :
       {"18446744073709551616", "16777216TiB", "18014398509481984k", "18446745TB", "99999999999999999999g"})
    EXPECT_THAT(parse_size(bad), Fails(ErrorCode::invalid_argument, "64 bits")) << bad;
}

TEST(ParseDurationTest, WantsAUnit) {
  EXPECT_THAT(parse_duration("0ms"), IsOkAndHolds(milliseconds(0)));
  EXPECT_THAT(parse_duration("250ms"), IsOkAndHolds(milliseconds(250)));
  EXPECT_THAT(parse_duration("5s"), IsOkAndHolds(milliseconds(5000)));
  EXPECT_THAT(parse_duration("2m"), IsOkAndHolds(milliseconds(120'000)));
  EXPECT_THAT(parse_duration("1h"), IsOkAndHolds(milliseconds(3'600'000)));
  for (const auto* bad :
       {"", "5", "s", "-5s", "+5s", "5 s", " 5s", "5s ", "1.5s", "5S", "5sec", "1d", "5us", "1h30m"})
    EXPECT_THAT(parse_duration(bad), Fails(ErrorCode::invalid_argument)) << bad;
  EXPECT_THAT(parse_duration("5"), Fails(ErrorCode::invalid_argument, "5s"));
}

TEST(ParseDurationTest, RefusesWhatDeadlinesCannotCarry) {
  EXPECT_THAT(parse_duration("2400h"), IsOkAndHolds(std::chrono::hours(2400)));
  for (const auto* bad : {"2401h", "18446744073709551615ms", "18446744073709551616ms", "5124095576030431h"})
    EXPECT_THAT(parse_duration(bad), Fails(ErrorCode::invalid_argument, "100 days")) << bad;
}

TEST(ParseBoolTest, KnowsTheFourPairs) {
  for (const auto* yes : {"true", "yes", "on", "1"}) EXPECT_THAT(parse_bool(yes), IsOkAndHolds(true)) << yes;
  for (const auto* no : {"false", "no", "off", "0"}) EXPECT_THAT(parse_bool(no), IsOkAndHolds(false)) << no;
  for (const auto* bad : {"", "TRUE", "2", "01", " true", "y", "enabled"})
    EXPECT_THAT(parse_bool(bad), Fails(ErrorCode::invalid_argument)) << bad;
}

TEST(FormatSizeTest, ShowsOneDecimalWhereItSaysSomething) {
  EXPECT_EQ(format_size(0), "0 B");
  EXPECT_EQ(format_size(812), "812 B");
  EXPECT_EQ(format_size(1023), "1023 B");
  EXPECT_EQ(format_size(1024), "1 KiB");
  EXPECT_EQ(format_size(1536), "1.5 KiB");
  EXPECT_EQ(format_size(1024 * 1024 - 1), "1.0 MiB");
  EXPECT_EQ(format_size(64ULL << 20U), "64 MiB");
  EXPECT_EQ(format_size(5ULL << 30U), "5 GiB");
  EXPECT_EQ(format_size(3ULL << 29U), "1.5 GiB");
  EXPECT_EQ(format_size(UINT64_MAX), "16 EiB");
}

TEST(FormatDurationTest, ShowsThreeDigits) {
  using std::chrono::nanoseconds;
  EXPECT_EQ(format_duration(nanoseconds(0)), "0.00 us");
  EXPECT_EQ(format_duration(nanoseconds(1'240'000'000)), "1.24 s");
  EXPECT_EQ(format_duration(nanoseconds(310'000'000)), "310 ms");
  EXPECT_EQ(format_duration(nanoseconds(3'200'000)), "3.20 ms");
  EXPECT_EQ(format_duration(nanoseconds(45'600)), "45.6 us");
  EXPECT_EQ(format_duration(nanoseconds(999'600'000)), "1.00 s");
  EXPECT_EQ(format_duration(nanoseconds(9'996'000)), "10.0 ms");
  EXPECT_EQ(format_duration(std::chrono::seconds(3600)), "3600 s");
}

}  // namespace
}  // namespace sluice
