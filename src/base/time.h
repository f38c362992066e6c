// Wall-clock texts of S3: SigV4 dates, HTTP dates, ISO 8601 in listings.
#pragma once

#include <chrono>
#include <string>
#include <string_view>

#include "sluice/error.h"

namespace sluice {

using WallClock = std::chrono::system_clock;

std::string format_amz_date(WallClock::time_point when);   ///< 20260101T000000Z
std::string format_http_date(WallClock::time_point when);  ///< Thu, 01 Jan 2026 00:00:00 GMT
std::string format_iso8601(WallClock::time_point when);    ///< 2026-01-01T00:00:00.000Z
Result<WallClock::time_point> parse_amz_date(std::string_view text);
/// The three forms of RFC 9110 5.6.7; anything else is an error (callers ignore the condition then).
Result<WallClock::time_point> parse_http_date(std::string_view text);
Result<WallClock::time_point> parse_iso8601(std::string_view text);

}  // namespace sluice
