// The XML bodies of S3: writers for the gateway, parsers for the client.
//
// Characters that XML 1.0 cannot carry (controls other than tab, LF, CR; bytes that are no UTF-8; U+FFFE and
// U+FFFF) cannot be escaped either. Keys with them are listed right with encoding-type=url, which our client
// always asks for; without it each such character is replaced by U+FFFD, so that the listing stays
// well-formed and the other keys are readable. Tab, LF and CR are written as character references and
// survive.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.h"
#include "sluice/error.h"

namespace sluice::s3 {

struct BucketEntry {
  std::string name;
  WallClock::time_point created;
};
struct ListedObject {
  std::string key;
  std::uint64_t bytes = 0;
  std::string etag;  ///< without quotes
  WallClock::time_point modified;
};

/// ListBucketResult of ListObjectsV2.
struct ListBucketResult {
  std::string bucket;
  std::string prefix;
  std::string delimiter;
  std::string start_after;
  std::string continuation_token;       ///< as the request gave it
  std::string next_continuation_token;  ///< set when truncated
  std::uint64_t max_keys = 1000;
  bool truncated = false;
  bool url_encoded =
      false;  ///< encoding-type=url: keys, prefixes, delimiter and start-after are percent-encoded
  std::vector<ListedObject> objects;
  std::vector<std::string> common_prefixes;
};
struct ListAllMyBucketsResult {
  std::string owner_id;
  std::vector<BucketEntry> buckets;
};
struct ErrorDocument {
  std::string code;
  std::string message;
  std::string resource;
  std::string request_id;
};

std::string to_xml(const ListAllMyBucketsResult& result);
std::string to_xml(const ListBucketResult& result);
std::string to_xml(const ErrorDocument& error);

// Parsers: names are compared without their namespace prefix, unknown elements are skipped, sizes and depth
// are bounded. Errors: protocol_error saying what was expected.
Result<ListAllMyBucketsResult> parse_list_buckets(std::string_view xml);
/// Values come back decoded, whether the response was url-encoded or not.
Result<ListBucketResult> parse_list_objects(std::string_view xml);
Result<ErrorDocument> parse_error_document(std::string_view xml);
/// The body of CreateBucket: empty, or a CreateBucketConfiguration. Returns the LocationConstraint, or empty.
/// Errors: MalformedXML.
Result<std::string> parse_create_bucket_body(std::string_view xml);

/// Text with everything escaped that must be; characters XML cannot carry become U+FFFD.
std::string xml_escape(std::string_view text);
/// Whether XML 1.0 can carry the text unchanged.
[[nodiscard]] bool is_xml_text(std::string_view text);

}  // namespace sluice::s3
