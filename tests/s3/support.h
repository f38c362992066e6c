// What the S3 tests share.
#pragma once

#include <gmock/gmock.h>

#include <string>
#include <string_view>

#include "base/time.h"
#include "fixtures/matchers.h"
#include "sluice/error.h"

namespace sluice::s3 {

/// The Result failed with this S3 code.
MATCHER_P(FailsWith, s3_code, "fails with that S3 code") {
  if (arg.has_value()) {
    *result_listener << "which is ok";
    return false;
  }
  *result_listener << "which is " << arg.error().s3().code << ": " << arg.error().describe();
  return arg.error().s3().code == s3_code;
}
MATCHER_P2(FailsWith, s3_code, part, "fails with that S3 code and message") {
  if (arg.has_value()) {
    *result_listener << "which is ok";
    return false;
  }
  *result_listener << "which is " << arg.error().s3().code << ": " << arg.error().describe();
  return arg.error().s3().code == s3_code && arg.error().message().find(part) != std::string::npos;
}

inline WallClock::time_point amz_time(std::string_view text) {
  const auto when = parse_amz_date(text);
  EXPECT_TRUE(when.has_value()) << text;
  return when ? *when : WallClock::time_point{};
}

/// The descriptor of protocol.md section 9.
inline constexpr std::string_view kDescriptor =
    "00007f0000200000:00001000:0000beef:0000:0012ab:1:00000000000000000000ffff0a000102";

}  // namespace sluice::s3
