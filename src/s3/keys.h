// Bucket names, keys and request targets: what the bytes of a URL mean, in both directions.
//
// A target is split first and percent-decoded afterwards, exactly once, so "%2F" in a key is a slash of the
// key and never a path separator, "%252F" is the text "%2F", and "a//b" and "a/" keep their empty segments.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sluice/error.h"

namespace sluice::s3 {

/// S3's rules for general-purpose buckets: 3 to 63 of [a-z0-9.-], letter or digit at both ends, no "..", no
/// IPv4 address, none of the reserved prefixes and suffixes. Errors: InvalidBucketName.
Result<void> check_bucket_name(std::string_view bucket);

/// 1 to 1024 bytes of UTF-8 without NUL that do not rise above their start: "a/../b" is legal, "../b" and
/// "a/../../b" are not (empty and "." segments do not count as a step down). Errors: KeyTooLongError,
/// InvalidURI, InvalidArgument (empty).
Result<void> check_key(std::string_view key);

struct QueryParameter {
  std::string name;
  std::string value;
  bool has_value = false;  ///< "acl=" has one, "acl" has not
  friend bool operator==(const QueryParameter&, const QueryParameter&) = default;
};

/// The decoded query of a request ('+' is a blank), in the order in which it came.
class Query {
 public:
  Query() = default;
  Query(std::initializer_list<std::pair<std::string_view, std::string_view>> parameters);
  void add(std::string name, std::string value);
  void add_flag(std::string name);  ///< "?uploads"
  [[nodiscard]] bool has(std::string_view name) const;
  /// The first value of that name; empty for a flag.
  [[nodiscard]] std::optional<std::string_view> find(std::string_view name) const;
  [[nodiscard]] const std::vector<QueryParameter>& all() const { return parameters_; }
  [[nodiscard]] bool empty() const { return parameters_.empty(); }
  /// "a=1&b=x%20y&uploads": percent-encoded (SigV4's rule), without the '?'.
  [[nodiscard]] std::string to_string() const;
  friend bool operator==(const Query&, const Query&) = default;

 private:
  friend Result<Query> parse_query(std::string_view raw);
  std::vector<QueryParameter> parameters_;
};
/// Errors: InvalidURI (malformed percent, too many parameters).
Result<Query> parse_query(std::string_view raw);

/// A target in its two raw halves, checked for what no part of it may contain.
struct RawTarget {
  std::string_view path;   ///< begins with '/'
  std::string_view query;  ///< without the '?'
};
/// Errors: InvalidURI (not in origin form, longer than kTargetBytes, controls, blanks, '#', malformed
/// percent).
Result<RawTarget> split_target(std::string_view raw_target);

/// What a request is about. Names are decoded and not yet checked (`check_bucket_name`, `check_key`).
struct Target {
  std::string bucket;  ///< empty: the service itself ("/")
  std::string key;     ///< empty: the bucket itself
  Query query;
};
/// Path style: "/bucket/key?query". Errors: InvalidURI (not in origin form, control characters, '#',
/// malformed percent, longer than kTargetBytes).
Result<Target> parse_target(std::string_view raw_target);
/// Virtual-host style: the bucket is given by the Host header, the whole path is the key.
Result<Target> parse_target_in_bucket(std::string_view raw_target, std::string bucket);

/// "/bucket/a%20b/c?list-type=2". Empty bucket: "/". Every byte that is not unreserved is encoded, '/' of the
/// key is kept.
std::string make_target(std::string_view bucket, std::string_view key, const Query& query = {});

/// Whether the bytes are well-formed UTF-8 (no overlong forms, no surrogates).
[[nodiscard]] bool is_utf8(std::string_view bytes);

}  // namespace sluice::s3
