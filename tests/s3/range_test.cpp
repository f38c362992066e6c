#include "s3/range.h"

#include <gtest/gtest.h>
// rapidcheck wants gtest first
#include <rapidcheck/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "s3/support.h"

namespace sluice::s3 {

inline void PrintTo(const ResolvedRange& range, std::ostream* out) {
  *out << "kind " << static_cast<int>(range.kind) << " first " << range.first << " count " << range.count;
}

namespace {

constexpr std::uint64_t kPart = 8U << 20U;

ResolvedRange whole(std::uint64_t size) {
  return {RangeKind::whole, 0, size};
}
ResolvedRange partial(std::uint64_t first, std::uint64_t count) {
  return {RangeKind::partial, first, count};
}
const ResolvedRange kUnsatisfiable{RangeKind::unsatisfiable, 0, 0};

struct Case {
  const char* header;
  ResolvedRange on0, on1, on3, on_part;
};

// The ranges of the project's list of nasty inputs, with what RFC 9110 and S3 make of them.
TEST(RangeTest, ResolvesTheNastyListOnEverySize) {
  const std::vector<Case> cases = {
      {"bytes=0-0", kUnsatisfiable, partial(0, 1), partial(0, 1), partial(0, 1)},
      {"bytes=0-", kUnsatisfiable, partial(0, 1), partial(0, 3), partial(0, kPart)},
      {"bytes=-1", kUnsatisfiable, partial(0, 1), partial(2, 1), partial(kPart - 1, 1)},
      {"bytes=-0", kUnsatisfiable, kUnsatisfiable, kUnsatisfiable, kUnsatisfiable},
      {"bytes=2-2", kUnsatisfiable, kUnsatisfiable, partial(2, 1), partial(2, 1)},
      {"bytes=2-99", kUnsatisfiable, kUnsatisfiable, partial(2, 1), partial(2, 98)},
      {"bytes=3-", kUnsatisfiable, kUnsatisfiable, kUnsatisfiable, partial(3, kPart - 3)},
      {"bytes=-18446744073709551615", kUnsatisfiable, partial(0, 1), partial(0, 3), partial(0, kPart)},
      {"BYTES=0-0", kUnsatisfiable, partial(0, 1), partial(0, 1), partial(0, 1)},
      // Beyond 64 bits: larger than every object.
      {"bytes=0-18446744073709551616", kUnsatisfiable, partial(0, 1), partial(0, 3), partial(0, kPart)},
      {"bytes=18446744073709551616-", kUnsatisfiable, kUnsatisfiable, kUnsatisfiable, kUnsatisfiable},
      {"bytes=-99999999999999999999999", kUnsatisfiable, partial(0, 1), partial(0, 3), partial(0, kPart)},
      {" bytes=0-0 ", kUnsatisfiable, partial(0, 1), partial(0, 1), partial(0, 1)},
  };
  for (const Case& c : cases) {
    EXPECT_EQ(resolve_range(c.header, 0), c.on0) << c.header;
    EXPECT_EQ(resolve_range(c.header, 1), c.on1) << c.header;
    EXPECT_EQ(resolve_range(c.header, 3), c.on3) << c.header;
    EXPECT_EQ(resolve_range(c.header, kPart), c.on_part) << c.header;
  }
}

TEST(RangeTest, IgnoresWhatIsMalformedOrSeveral) {
  for (const char* header : {"bytes=5-1", "bytes=abc", "bytes=0-1,2-2", "bytes=+1-2", "bytes= 0-1",
                             "items=0-1", "bytes=", "bytes=-", "bytes", "", "0-1", "bytes=1", "bytes=--1",
                             "bytes=1-2-3", "bytes=0x0-1", "bytes=0 - 1", "bytes=-+1", "bytes=1-,"}) {
    EXPECT_FALSE(parse_range(header).has_value()) << header;
    for (const std::uint64_t size : {0ULL, 1ULL, 3ULL, 99ULL}) {
      EXPECT_EQ(resolve_range(header, size), whole(size)) << header;
    }
  }
  EXPECT_EQ(resolve_range(std::nullopt, 7), whole(7));
}

TEST(RangeTest, ReachesTheLastByteOfTheLargestSize) {
  EXPECT_EQ(resolve_range("bytes=18446744073709551614-", UINT64_MAX), partial(UINT64_MAX - 1, 1));
  EXPECT_EQ(resolve_range("bytes=0-18446744073709551615", UINT64_MAX), partial(0, UINT64_MAX));
  EXPECT_EQ(resolve_range("bytes=4294967295-4294967296", 1ULL << 33U), partial(4294967295, 2));
}

TEST(ContentRangeTest, IsWrittenAsS3WritesIt) {
  EXPECT_EQ(format_range(1048576, 4096), "bytes=1048576-1052671");
  EXPECT_EQ(format_content_range(1048576, 4096, 9999999), "bytes 1048576-1052671/9999999");
  EXPECT_EQ(format_unsatisfied_range(3), "bytes */3");
}

TEST(ContentRangeTest, IsReadStrictly) {
  const auto range = parse_content_range("bytes 2-4/10");
  ASSERT_THAT(range, test::IsOk());
  EXPECT_EQ(range->first, 2U);
  EXPECT_EQ(range->count, 3U);
  EXPECT_EQ(range->object_bytes, 10U);
  const auto unknown = parse_content_range("Bytes 2-4/*");
  ASSERT_THAT(unknown, test::IsOk());
  EXPECT_FALSE(unknown->object_bytes.has_value());
  const auto unsatisfied = parse_content_range("bytes */10");
  ASSERT_THAT(unsatisfied, test::IsOk());
  EXPECT_FALSE(unsatisfied->first.has_value());
  EXPECT_EQ(unsatisfied->object_bytes, 10U);
  for (const char* bad :
       {"", "bytes", "bytes ", "bytes 2-4", "bytes=2-4/10", "bytes 4-2/10", "bytes 2-10/10", "bytes -4/10",
        "bytes 2-/10", "bytes */*", "bytes 2-4/x", "bytes 2-4/10/11", "bytes +2-4/10", "bytes  2-4/10",
        "bytes 0-18446744073709551615/*", "bytes 0-18446744073709551616/*", "items 2-4/10"}) {
    EXPECT_THAT(parse_content_range(bad), test::Fails(ErrorCode::protocol_error, "Content-Range")) << bad;
  }
}

RC_GTEST_PROP(RangePropertyTest, WhatIsFormattedIsResolvedAndReadBack, ()) {
  const auto size = *rc::gen::inRange<std::uint64_t>(1, 1ULL << 40U);
  const auto first = *rc::gen::inRange<std::uint64_t>(0, size);
  const auto count = *rc::gen::inRange<std::uint64_t>(1, size - first + 1);
  RC_ASSERT(resolve_range(format_range(first, count), size) == partial(first, count));
  const auto read = parse_content_range(format_content_range(first, count, size));
  RC_ASSERT(read.has_value());
  RC_ASSERT(read->first == first && read->count == count && read->object_bytes == size);
}

RC_GTEST_PROP(RangePropertyTest, AResolvedRangeLiesInsideTheObject,
              (std::uint64_t a, std::uint64_t b, std::uint64_t size)) {
  for (const std::string& header : {"bytes=" + std::to_string(a) + "-" + std::to_string(b),
                                    "bytes=" + std::to_string(a) + "-", "bytes=-" + std::to_string(b)}) {
    const auto range = resolve_range(header, size);
    RC_ASSERT(range.count <= size);
    RC_ASSERT(range.first <= size - range.count);
    RC_ASSERT((range.kind == RangeKind::partial) <= (range.count > 0));
  }
}

}  // namespace
}  // namespace sluice::s3
