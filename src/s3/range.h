// Range and Content-Range: single byte ranges, resolved against an object's size.
//
// What S3 does, and so do we: several ranges and anything malformed are ignored (the whole object, 200); a
// range that covers the whole object is still 206; every range of an empty object, "-0", and a start past the
// end are 416.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "sluice/error.h"

namespace sluice::s3 {

/// "bytes=first-last", "bytes=first-", "bytes=-suffix". Numbers that do not fit 64 bits are taken as the
/// largest.
struct RangeSpec {
  std::optional<std::uint64_t> first;  ///< unset: the last `last` bytes are meant
  std::optional<std::uint64_t> last;   ///< inclusive; unset: to the end
};
/// nullopt: to be ignored (RFC 9110 14.2).
std::optional<RangeSpec> parse_range(std::string_view header_value);

enum class RangeKind : std::uint8_t {
  whole,          ///< no (valid) range: 200
  partial,        ///< 206, also when it covers everything
  unsatisfiable,  ///< 416
};
struct ResolvedRange {
  RangeKind kind = RangeKind::whole;
  std::uint64_t first = 0;
  std::uint64_t count = 0;  ///< 0 when unsatisfiable
  friend bool operator==(const ResolvedRange&, const ResolvedRange&) = default;
};
ResolvedRange resolve_range(std::optional<std::string_view> header_value, std::uint64_t object_bytes);

/// "bytes=first-last" for `count` > 0 bytes.
std::string format_range(std::uint64_t first, std::uint64_t count);
/// "bytes first-last/size" for `count` > 0 bytes.
std::string format_content_range(std::uint64_t first, std::uint64_t count, std::uint64_t object_bytes);
/// "bytes */size", the 416 form.
std::string format_unsatisfied_range(std::uint64_t object_bytes);

struct ContentRange {
  std::optional<std::uint64_t> first;  ///< unset: the "*" of a 416
  std::uint64_t count = 0;
  std::optional<std::uint64_t> object_bytes;  ///< unset: "*"
};
/// Strict. Errors: protocol_error (grammar, last < first, last >= size, numbers beyond 64 bits).
Result<ContentRange> parse_content_range(std::string_view header_value);

}  // namespace sluice::s3
