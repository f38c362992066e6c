#include "s3/range.h"

#include <algorithm>

#include "base/headers.h"
#include "base/parse.h"
#include "base/try.h"

namespace sluice::s3 {
namespace {

// Digits only, saturating: RFC 9110 sets no bound, and what is beyond 64 bits is beyond every object.
std::optional<std::uint64_t> parse_saturating(std::string_view digits) {
  if (digits.empty()) return std::nullopt;
  std::uint64_t value = 0;
  for (const char c : digits) {
    if (c < '0' || c > '9') return std::nullopt;
    const auto digit = static_cast<std::uint64_t>(c - '0');
    value = value > (UINT64_MAX - digit) / 10 ? UINT64_MAX : value * 10 + digit;
  }
  return value;
}

Error bad_content_range(std::string_view what) {
  return Error(ErrorCode::protocol_error, "the server's Content-Range " + std::string(what))
      .with_outcome(Outcome::uncertain);
}

}  // namespace

std::optional<RangeSpec> parse_range(std::string_view header_value) {
  constexpr std::string_view kUnit = "bytes=";
  const std::string_view text = trim_blanks(header_value);
  if (text.size() <= kUnit.size() || !equal_ignore_case(text.substr(0, kUnit.size()), kUnit))
    return std::nullopt;
  const std::string_view spec = text.substr(kUnit.size());
  const auto dash = spec.find('-');
  if (dash == std::string_view::npos) return std::nullopt;
  const std::string_view before = spec.substr(0, dash);
  const std::string_view after = spec.substr(dash + 1);
  RangeSpec range;
  if (!before.empty()) {
    range.first = parse_saturating(before);
    if (!range.first) return std::nullopt;
  }
  if (!after.empty()) {
    range.last = parse_saturating(after);
    if (!range.last) return std::nullopt;
  }
  if (!range.first && !range.last) return std::nullopt;
  if (range.first && range.last && *range.last < *range.first) return std::nullopt;
  return range;
}

ResolvedRange resolve_range(std::optional<std::string_view> header_value, std::uint64_t object_bytes) {
  const auto range = header_value ? parse_range(*header_value) : std::nullopt;
  if (!range) return {RangeKind::whole, 0, object_bytes};
  if (!range->first) {
    const std::uint64_t count = std::min(*range->last, object_bytes);
    if (count == 0) return {RangeKind::unsatisfiable, 0, 0};
    return {RangeKind::partial, object_bytes - count, count};
  }
  if (*range->first >= object_bytes) return {RangeKind::unsatisfiable, 0, 0};
  const std::uint64_t last = range->last ? std::min(*range->last, object_bytes - 1) : object_bytes - 1;
  return {RangeKind::partial, *range->first, last - *range->first + 1};
}

std::string format_range(std::uint64_t first, std::uint64_t count) {
  return "bytes=" + std::to_string(first) + "-" + std::to_string(first + count - 1);
}

std::string format_content_range(std::uint64_t first, std::uint64_t count, std::uint64_t object_bytes) {
  return "bytes " + std::to_string(first) + "-" + std::to_string(first + count - 1) + "/" +
         std::to_string(object_bytes);
}

std::string format_unsatisfied_range(std::uint64_t object_bytes) {
  return "bytes */" + std::to_string(object_bytes);
}

Result<ContentRange> parse_content_range(std::string_view header_value) {
  constexpr std::string_view kUnit = "bytes ";
  std::string_view text = trim_blanks(header_value);
  if (text.size() < kUnit.size() || !equal_ignore_case(text.substr(0, kUnit.size()), kUnit)) {
    return bad_content_range("does not begin with 'bytes '");
  }
  text.remove_prefix(kUnit.size());
  const auto slash = text.find('/');
  if (slash == std::string_view::npos) return bad_content_range("has no '/'");
  const std::string_view span = text.substr(0, slash);
  const std::string_view size = text.substr(slash + 1);
  ContentRange range;
  if (size != "*") {
    const auto bytes = parse_u64(size);
    if (!bytes) return bad_content_range("has no number after '/'");
    range.object_bytes = *bytes;
  }
  if (span == "*") {
    if (!range.object_bytes) return bad_content_range("says nothing: '*/*'");
    return range;
  }
  const auto dash = span.find('-');
  if (dash == std::string_view::npos) return bad_content_range("has no '-'");
  const auto first = parse_u64(span.substr(0, dash));
  const auto last = parse_u64(span.substr(dash + 1));
  if (!first || !last) return bad_content_range("has something else than numbers around '-'");
  if (*last < *first || *last - *first == UINT64_MAX) return bad_content_range("ends before it begins");
  if (range.object_bytes && *last >= *range.object_bytes)
    return bad_content_range("reaches past the object's end");
  range.first = *first;
  range.count = *last - *first + 1;
  return range;
}

}  // namespace sluice::s3
