// Conditional requests (RFC 9110 section 13) as S3 uses them.
//
// ETags are given and stored without quotes. Header values may be quoted, unquoted, weak (W/"x"), "*" or a
// list. If-Match compares strongly (a weak tag never matches), If-None-Match weakly. An empty If-Match
// matches nothing, an empty If-None-Match restricts nothing. Dates that do not parse are ignored, and so are
// dates beside the stronger ETag header.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/headers.h"
#include "base/time.h"
#include "sluice/error.h"

namespace sluice::s3 {

struct ReadConditions {
  std::optional<std::string> if_match;
  std::optional<std::string> if_none_match;
  std::optional<WallClock::time_point> if_modified_since;
  std::optional<WallClock::time_point> if_unmodified_since;
};
ReadConditions read_conditions(const HeaderList& headers);

enum class ReadDecision : std::uint8_t { proceed, not_modified, precondition_failed };
/// RFC 9110 13.2.2 for GET and HEAD. Dates are compared in whole seconds.
ReadDecision evaluate_read(const ReadConditions& conditions, std::string_view etag,
                           WallClock::time_point modified);

/// What must hold for the object that is there when a write becomes visible.
struct WriteConditions {
  std::optional<std::string> if_match;
  std::optional<std::string> if_none_match;
  [[nodiscard]] bool empty() const { return !if_match && !if_none_match; }
};
WriteConditions write_conditions(const HeaderList& headers);
/// `current_etag` is unset when there is no such object. Errors: PreconditionFailed; NoSuchKey for If-Match
/// without an object, as S3 answers it.
Result<void> check_write(const WriteConditions& conditions, std::optional<std::string_view> current_etag);

/// Whether a header's list of tags contains `etag`.
enum class EtagComparison : std::uint8_t { strong, weak };
[[nodiscard]] bool etag_list_matches(std::string_view list, std::string_view etag, EtagComparison comparison);
/// "\"abc\"" from "abc".
std::string quote_etag(std::string_view etag);
/// "abc" from "\"abc\"", "W/\"abc\"" or "abc".
std::string unquote_etag(std::string_view value);

}  // namespace sluice::s3
