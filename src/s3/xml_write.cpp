// Writing: an own escaper, because what XML libraries do to CR and control characters changes keys.
#include <cstdint>
#include <string>

#include "base/encoding.h"
#include "base/time.h"
#include "s3/utf8.h"
#include "s3/xml.h"

namespace sluice::s3 {
namespace {

constexpr std::string_view kDeclaration = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n";
constexpr std::string_view kNamespace = " xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\"";
constexpr std::string_view kReplacement = "\xEF\xBF\xBD";  // U+FFFD

// The Char production of XML 1.0.
bool is_xml_char(char32_t c) {
  return c == 0x9 || c == 0xA || c == 0xD || (c >= 0x20 && c <= 0xD7FF) || (c >= 0xE000 && c <= 0xFFFD) ||
         (c >= 0x10000 && c <= 0x10FFFF);
}

void element(std::string& out, std::string_view name, std::string_view text) {
  out += '<';
  out += name;
  out += '>';
  out += xml_escape(text);
  out += "</";
  out += name;
  out += '>';
}

std::string key_text(const ListBucketResult& result, std::string_view text) {
  // '/' stays: readers decode it alike, and a blank is %20, which readers of '+' understand too.
  return result.url_encoded ? percent_encode(text, EncodeSlash::no) : std::string(text);
}

}  // namespace

std::string xml_escape(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  std::size_t position = 0;
  while (position < text.size()) {
    const std::size_t start = position;
    const auto c = decode_utf8(text, position);
    if (!c || !is_xml_char(*c)) {
      out += kReplacement;
      continue;
    }
    switch (*c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      case '\'':
        out += "&apos;";
        break;
      case '\t':  // references, or readers would fold them (CR) or drop them (leading blanks)
        out += "&#9;";
        break;
      case '\n':
        out += "&#10;";
        break;
      case '\r':
        out += "&#13;";
        break;
      default:
        out += text.substr(start, position - start);
    }
  }
  return out;
}

bool is_xml_text(std::string_view text) {
  std::size_t position = 0;
  while (position < text.size()) {
    const auto c = decode_utf8(text, position);
    if (!c || !is_xml_char(*c)) return false;
  }
  return true;
}

std::string to_xml(const ListAllMyBucketsResult& result) {
  std::string out(kDeclaration);
  out += "<ListAllMyBucketsResult";
  out += kNamespace;
  out += "><Owner>";
  element(out, "ID", result.owner_id);
  element(out, "DisplayName", result.owner_id);
  out += "</Owner><Buckets>";
  for (const BucketEntry& bucket : result.buckets) {
    out += "<Bucket>";
    element(out, "Name", bucket.name);
    element(out, "CreationDate", format_iso8601(bucket.created));
    out += "</Bucket>";
  }
  out += "</Buckets></ListAllMyBucketsResult>";
  return out;
}

std::string to_xml(const ListBucketResult& result) {
  std::string out(kDeclaration);
  out += "<ListBucketResult";
  out += kNamespace;
  out += ">";
  element(out, "Name", result.bucket);
  element(out, "Prefix", key_text(result, result.prefix));
  if (!result.delimiter.empty()) element(out, "Delimiter", key_text(result, result.delimiter));
  if (!result.start_after.empty()) element(out, "StartAfter", key_text(result, result.start_after));
  if (!result.continuation_token.empty()) element(out, "ContinuationToken", result.continuation_token);
  if (!result.next_continuation_token.empty()) {
    element(out, "NextContinuationToken", result.next_continuation_token);
  }
  element(out, "KeyCount", std::to_string(result.objects.size() + result.common_prefixes.size()));
  element(out, "MaxKeys", std::to_string(result.max_keys));
  if (result.url_encoded) element(out, "EncodingType", "url");
  element(out, "IsTruncated", result.truncated ? "true" : "false");
  for (const ListedObject& object : result.objects) {
    out += "<Contents>";
    element(out, "Key", key_text(result, object.key));
    element(out, "LastModified", format_iso8601(object.modified));
    element(out, "ETag", "\"" + object.etag + "\"");
    element(out, "Size", std::to_string(object.bytes));
    element(out, "StorageClass", "STANDARD");
    out += "</Contents>";
  }
  for (const std::string& prefix : result.common_prefixes) {
    out += "<CommonPrefixes>";
    element(out, "Prefix", key_text(result, prefix));
    out += "</CommonPrefixes>";
  }
  out += "</ListBucketResult>";
  return out;
}

std::string to_xml(const ErrorDocument& error) {
  std::string out(kDeclaration);
  out += "<Error>";
  element(out, "Code", error.code);
  element(out, "Message", error.message);
  if (!error.resource.empty()) element(out, "Resource", error.resource);
  element(out, "RequestId", error.request_id);
  out += "</Error>";
  return out;
}

}  // namespace sluice::s3
