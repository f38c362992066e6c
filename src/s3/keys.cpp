#include "s3/keys.h"

#include <algorithm>
#include <array>

#include "base/encoding.h"
#include "base/headers.h"
#include "base/limits.h"
#include "base/try.h"
#include "s3/errors.h"
#include "s3/utf8.h"

namespace sluice::s3 {
namespace {

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}
bool is_lower_or_digit(char c) {
  return (c >= 'a' && c <= 'z') || is_digit(c);
}
bool is_hex(char c) {
  return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

bool looks_like_ipv4(std::string_view name) {
  int groups = 0;
  while (true) {
    const auto dot = name.find('.');
    const std::string_view group = name.substr(0, dot);
    if (group.empty() || group.size() > 3 || !std::all_of(group.begin(), group.end(), is_digit)) return false;
    ++groups;
    if (dot == std::string_view::npos) return groups == 4;
    name.remove_prefix(dot + 1);
  }
}

Error bad_bucket(std::string_view why) {
  return make_error("InvalidBucketName", "the bucket name is not valid: " + std::string(why));
}

Error bad_uri(std::string_view why) {
  return make_error("InvalidURI", "the request target couldn't be parsed: " + std::string(why));
}

// Whether ".." segments would leave the place where the key starts.
bool rises_above_start(std::string_view key) {
  std::size_t depth = 0;
  while (true) {
    const auto slash = key.find('/');
    const std::string_view segment = key.substr(0, slash);
    if (segment == "..") {
      if (depth == 0) return true;
      --depth;
    } else if (!segment.empty() && segment != ".") {
      ++depth;
    }
    if (slash == std::string_view::npos) return false;
    key.remove_prefix(slash + 1);
  }
}

Result<std::string> decode_query_text(std::string_view raw) {
  std::string text(raw);
  std::replace(text.begin(), text.end(), '+', ' ');
  auto decoded = percent_decode(text);
  if (!decoded) return bad_uri("a '%' in the query is not followed by two hex digits");
  return std::move(*decoded);
}

Result<std::string> decode_path_text(std::string_view raw) {
  auto decoded = percent_decode(raw);
  if (!decoded) return bad_uri("a '%' in the path is not followed by two hex digits");
  return std::move(*decoded);
}

}  // namespace

bool is_utf8(std::string_view bytes) {
  std::size_t position = 0;
  while (position < bytes.size()) {
    if (!decode_utf8(bytes, position)) return false;
  }
  return true;
}

Result<void> check_bucket_name(std::string_view bucket) {
  constexpr std::array<std::string_view, 3> kReservedPrefixes = {"xn--", "sthree-", "amzn-s3-demo-"};
  constexpr std::array<std::string_view, 5> kReservedSuffixes = {"-s3alias", "--ol-s3", ".mrap", "--x-s3",
                                                                 "--table-s3"};
  if (bucket.size() < 3 || bucket.size() > 63) return bad_bucket("it must have 3 to 63 characters");
  if (!std::all_of(bucket.begin(), bucket.end(),
                   [](char c) { return is_lower_or_digit(c) || c == '.' || c == '-'; })) {
    return bad_bucket("only lower-case letters, digits, dots and hyphens are allowed");
  }
  if (!is_lower_or_digit(bucket.front()) || !is_lower_or_digit(bucket.back())) {
    return bad_bucket("it must begin and end with a letter or digit");
  }
  if (bucket.find("..") != std::string_view::npos) return bad_bucket("two dots in a row are not allowed");
  if (looks_like_ipv4(bucket)) return bad_bucket("it must not look like an IP address");
  for (const std::string_view prefix : kReservedPrefixes) {
    if (bucket.starts_with(prefix))
      return bad_bucket("names that begin with '" + std::string(prefix) + "' are reserved");
  }
  for (const std::string_view suffix : kReservedSuffixes) {
    if (bucket.ends_with(suffix))
      return bad_bucket("names that end with '" + std::string(suffix) + "' are reserved");
  }
  return {};
}

Result<void> check_key(std::string_view key) {
  if (key.empty()) return make_error("InvalidArgument", "the key is empty");
  if (key.size() > limits::kKeyBytes) {
    return make_error("KeyTooLongError", "the key has " + std::to_string(key.size()) + " bytes; at most " +
                                             std::to_string(limits::kKeyBytes) + " are allowed");
  }
  if (!is_utf8(key)) return bad_uri("the key is not UTF-8");
  if (key.find('\0') != std::string_view::npos) return bad_uri("the key contains a NUL character");
  if (rises_above_start(key)) return bad_uri("the key's '..' segments rise above its start");
  return {};
}

Query::Query(std::initializer_list<std::pair<std::string_view, std::string_view>> parameters) {
  for (const auto& [name, value] : parameters) add(std::string(name), std::string(value));
}

void Query::add(std::string name, std::string value) {
  parameters_.push_back({std::move(name), std::move(value), true});
}

void Query::add_flag(std::string name) {
  parameters_.push_back({std::move(name), {}, false});
}

bool Query::has(std::string_view name) const {
  return find(name).has_value();
}

std::optional<std::string_view> Query::find(std::string_view name) const {
  for (const QueryParameter& parameter : parameters_) {
    if (parameter.name == name) return std::string_view(parameter.value);
  }
  return std::nullopt;
}

std::string Query::to_string() const {
  std::string out;
  for (const QueryParameter& parameter : parameters_) {
    if (!out.empty()) out += '&';
    out += percent_encode(parameter.name, EncodeSlash::yes);
    if (parameter.has_value) out += "=" + percent_encode(parameter.value, EncodeSlash::yes);
  }
  return out;
}

Result<Query> parse_query(std::string_view raw) {
  Query query;
  while (!raw.empty()) {
    const auto ampersand = raw.find('&');
    const std::string_view piece = raw.substr(0, ampersand);
    raw = ampersand == std::string_view::npos ? std::string_view{} : raw.substr(ampersand + 1);
    if (piece.empty()) continue;
    if (query.parameters_.size() == limits::kQueryParameters) {
      return bad_uri("more than " + std::to_string(limits::kQueryParameters) + " query parameters");
    }
    const auto equals = piece.find('=');
    QueryParameter parameter;
    parameter.has_value = equals != std::string_view::npos;
    SLUICE_TRY(parameter.name, decode_query_text(piece.substr(0, equals)));
    if (parameter.has_value) {
      SLUICE_TRY(parameter.value, decode_query_text(piece.substr(equals + 1)));
    }
    query.parameters_.push_back(std::move(parameter));
  }
  return query;
}

Result<RawTarget> split_target(std::string_view raw_target) {
  if (raw_target.size() > limits::kTargetBytes) {
    return bad_uri("it is longer than " + std::to_string(limits::kTargetBytes) + " bytes");
  }
  if (raw_target.empty() || raw_target.front() != '/') return bad_uri("it does not begin with '/'");
  for (std::size_t i = 0; i < raw_target.size(); ++i) {
    const auto u = static_cast<unsigned char>(raw_target[i]);
    if (u <= 0x20 || u == 0x7f) return bad_uri("blanks and control characters must be percent-encoded");
    if (u == '#') return bad_uri("'#' must be percent-encoded");
    if (u == '%' && (raw_target.size() - i < 3 || !is_hex(raw_target[i + 1]) || !is_hex(raw_target[i + 2]))) {
      return bad_uri("a '%' is not followed by two hex digits");
    }
  }
  const auto question = raw_target.find('?');
  if (question == std::string_view::npos) return RawTarget{raw_target, {}};
  return RawTarget{raw_target.substr(0, question), raw_target.substr(question + 1)};
}

Result<Target> parse_target(std::string_view raw_target) {
  SLUICE_TRY(const RawTarget raw, split_target(raw_target));
  const std::string_view path = raw.path.substr(1);
  const auto slash = path.find('/');
  Target target;
  SLUICE_TRY(target.bucket, decode_path_text(path.substr(0, slash)));
  if (slash != std::string_view::npos) {
    SLUICE_TRY(target.key, decode_path_text(path.substr(slash + 1)));
  }
  SLUICE_TRY(target.query, parse_query(raw.query));
  return target;
}

Result<Target> parse_target_in_bucket(std::string_view raw_target, std::string bucket) {
  SLUICE_TRY(const RawTarget raw, split_target(raw_target));
  Target target;
  target.bucket = std::move(bucket);
  SLUICE_TRY(target.key, decode_path_text(raw.path.substr(1)));
  SLUICE_TRY(target.query, parse_query(raw.query));
  return target;
}

std::string make_target(std::string_view bucket, std::string_view key, const Query& query) {
  std::string target = "/" + percent_encode(bucket, EncodeSlash::yes);
  if (!key.empty()) target += "/" + percent_encode(key, EncodeSlash::no);
  if (!query.empty()) target += "?" + query.to_string();
  return target;
}

}  // namespace sluice::s3
