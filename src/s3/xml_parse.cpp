// Reading what a server (or, for CreateBucket, a client) sent, whatever it is.
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <pugixml.hpp>

#include "base/encoding.h"
#include "base/limits.h"
#include "base/parse.h"
#include "base/time.h"
#include "base/try.h"
#include "s3/conditions.h"
#include "s3/errors.h"
#include "s3/xml.h"

namespace sluice::s3 {
namespace {

// pugixml knows no namespaces: "s3:Key" and "Key" are the same element to us.
std::string_view local_name(const pugi::xml_node& node) {
  const std::string_view name = node.name();
  const auto colon = name.find(':');
  return colon == std::string_view::npos ? name : name.substr(colon + 1);
}

class DepthCheck : public pugi::xml_tree_walker {
 public:
  bool for_each(pugi::xml_node&) override { return depth() < limits::kXmlDepth; }
};

Error bad(std::string_view document, std::string_view why) {
  return Error(ErrorCode::protocol_error, "the server's " + std::string(document) + " " + std::string(why))
      .with_outcome(Outcome::uncertain);
}

// Loads into `document`, which owns what the returned root points to.
Result<pugi::xml_node> load(pugi::xml_document& document, std::string_view xml, std::size_t limit,
                            std::string_view root_name) {
  if (xml.size() > limit) return bad(root_name, "is larger than " + format_size(limit));
  // A text of blanks only is a key like any other, so it must not be dropped.
  constexpr unsigned int kOptions = pugi::parse_default | pugi::parse_ws_pcdata_single;
  const auto parsed = document.load_buffer(xml.data(), xml.size(), kOptions, pugi::encoding_utf8);
  if (!parsed) return bad(root_name, std::string("is not well-formed XML: ") + parsed.description());
  DepthCheck depth;
  if (!document.traverse(depth)) return bad(root_name, "is nested too deeply");
  const pugi::xml_node root = document.document_element();
  if (local_name(root) != root_name) return bad(root_name, "is another document");
  return root;
}

pugi::xml_node child(const pugi::xml_node& parent, std::string_view name) {
  for (const pugi::xml_node& node : parent.children()) {
    if (node.type() == pugi::node_element && local_name(node) == name) return node;
  }
  return {};
}

// All character data of an element: comments and CDATA sections may cut it into pieces.
std::string text_of(const pugi::xml_node& element) {
  std::string text;
  for (const pugi::xml_node& node : element.children()) {
    if (node.type() == pugi::node_pcdata || node.type() == pugi::node_cdata) text += node.value();
  }
  return text;
}

std::string child_text(const pugi::xml_node& parent, std::string_view name) {
  return text_of(child(parent, name));
}

Result<WallClock::time_point> child_time(const pugi::xml_node& parent, std::string_view name,
                                         std::string_view document) {
  const pugi::xml_node node = child(parent, name);
  if (!node) return WallClock::time_point{};
  const auto when = parse_iso8601(text_of(node));
  if (!when) return bad(document, "has a " + std::string(name) + " that is no ISO 8601 date");
  return *when;
}

Result<bool> child_bool(const pugi::xml_node& parent, std::string_view name, std::string_view document) {
  const std::string text = child_text(parent, name);
  if (text == "true") return true;
  if (text == "false" || text.empty()) return false;
  return bad(document, "has a " + std::string(name) + " that is neither true nor false");
}

// Servers write a blank of a url-encoded key as '+' or %20, and a plus always as %2B.
Result<std::string> decode_key(std::string text, bool url_encoded) {
  if (!url_encoded) return text;
  std::replace(text.begin(), text.end(), '+', ' ');
  auto decoded = percent_decode(text);
  if (!decoded) return bad("ListBucketResult", "has a key that is not percent-encoded as it says");
  return std::move(*decoded);
}

Result<ListedObject> parse_contents(const pugi::xml_node& node, bool url_encoded) {
  constexpr std::string_view kDocument = "ListBucketResult";
  ListedObject object;
  SLUICE_TRY(object.key, decode_key(child_text(node, "Key"), url_encoded));
  if (object.key.empty()) return bad(kDocument, "lists an object without a key");
  const auto bytes = parse_u64(child_text(node, "Size"));
  if (!bytes) return bad(kDocument, "lists an object without a right Size");
  object.bytes = *bytes;
  object.etag = unquote_etag(child_text(node, "ETag"));
  SLUICE_TRY(object.modified, child_time(node, "LastModified", kDocument));
  return object;
}

}  // namespace

Result<ListAllMyBucketsResult> parse_list_buckets(std::string_view xml) {
  constexpr std::string_view kDocument = "ListAllMyBucketsResult";
  pugi::xml_document document;
  SLUICE_TRY(const pugi::xml_node root, load(document, xml, limits::kListBodyBytes, kDocument));
  ListAllMyBucketsResult result;
  result.owner_id = child_text(child(root, "Owner"), "ID");
  for (const pugi::xml_node& node : child(root, "Buckets").children()) {
    if (local_name(node) != "Bucket") continue;
    BucketEntry bucket;
    bucket.name = child_text(node, "Name");
    if (bucket.name.empty()) return bad(kDocument, "lists a bucket without a name");
    SLUICE_TRY(bucket.created, child_time(node, "CreationDate", kDocument));
    result.buckets.push_back(std::move(bucket));
  }
  return result;
}

Result<ListBucketResult> parse_list_objects(std::string_view xml) {
  constexpr std::string_view kDocument = "ListBucketResult";
  pugi::xml_document document;
  SLUICE_TRY(const pugi::xml_node root, load(document, xml, limits::kListBodyBytes, kDocument));
  ListBucketResult result;
  result.url_encoded = child_text(root, "EncodingType") == "url";
  result.bucket = child_text(root, "Name");
  SLUICE_TRY(result.prefix, decode_key(child_text(root, "Prefix"), result.url_encoded));
  SLUICE_TRY(result.delimiter, decode_key(child_text(root, "Delimiter"), result.url_encoded));
  SLUICE_TRY(result.start_after, decode_key(child_text(root, "StartAfter"), result.url_encoded));
  result.continuation_token = child_text(root, "ContinuationToken");
  result.next_continuation_token = child_text(root, "NextContinuationToken");
  SLUICE_TRY(result.truncated, child_bool(root, "IsTruncated", kDocument));
  if (const pugi::xml_node max_keys = child(root, "MaxKeys"); max_keys) {
    const auto count = parse_u64(text_of(max_keys));
    if (!count) return bad(kDocument, "has a MaxKeys that is no number");
    result.max_keys = *count;
  }
  if (result.truncated && result.next_continuation_token.empty()) {
    return bad(kDocument, "says that there is more, but not how to get it (no NextContinuationToken)");
  }
  for (const pugi::xml_node& node : root.children()) {
    if (local_name(node) == "Contents") {
      SLUICE_TRY(ListedObject object, parse_contents(node, result.url_encoded));
      result.objects.push_back(std::move(object));
    } else if (local_name(node) == "CommonPrefixes") {
      SLUICE_TRY(std::string prefix, decode_key(child_text(node, "Prefix"), result.url_encoded));
      if (prefix.empty()) return bad(kDocument, "lists an empty common prefix");
      result.common_prefixes.push_back(std::move(prefix));
    }
  }
  return result;
}

Result<ErrorDocument> parse_error_document(std::string_view xml) {
  pugi::xml_document document;
  SLUICE_TRY(const pugi::xml_node root, load(document, xml, limits::kErrorBodyBytes, "Error"));
  ErrorDocument error;
  error.code = child_text(root, "Code");
  error.message = child_text(root, "Message");
  error.resource = child_text(root, "Resource");
  error.request_id = child_text(root, "RequestId");
  if (error.code.empty()) return bad("Error", "has no Code");
  return error;
}

Result<std::string> parse_create_bucket_body(std::string_view xml) {
  if (xml.find_first_not_of(" \t\r\n") == std::string_view::npos) return std::string();
  pugi::xml_document document;
  const auto root = load(document, xml, limits::kErrorBodyBytes, "CreateBucketConfiguration");
  if (!root) return make_error("MalformedXML", "the body must be empty or a CreateBucketConfiguration");
  return child_text(*root, "LocationConstraint");
}

}  // namespace sluice::s3
