#include "s3/conditions.h"

#include <chrono>

#include "s3/errors.h"
#include "s3/headers.h"

namespace sluice::s3 {
namespace {

struct EntityTag {
  std::string_view text;  // without quotes
  bool weak = false;
};

// The next member of a list, which shrinks behind it; false at its end. Commas inside quotes belong to the
// tag.
bool next_tag(std::string_view& list, EntityTag& tag) {
  while (!list.empty() && (list.front() == ',' || list.front() == ' ' || list.front() == '\t'))
    list.remove_prefix(1);
  if (list.empty()) return false;
  tag.weak = list.size() >= 2 && list[0] == 'W' && list[1] == '/';
  if (tag.weak) list.remove_prefix(2);
  if (!list.empty() && list.front() == '"') {
    const auto close = list.find('"', 1);
    const auto length = close == std::string_view::npos ? list.size() - 1 : close - 1;
    tag.text = list.substr(1, length);
    list.remove_prefix(close == std::string_view::npos ? list.size() : close + 1);
    return true;
  }
  const auto comma = list.find(',');
  tag.text = trim_blanks(list.substr(0, comma));
  list.remove_prefix(comma == std::string_view::npos ? list.size() : comma);
  return true;
}

// A header that came several times is one list (RFC 9110 5.3).
std::optional<std::string> folded(const HeaderList& headers, std::string_view name) {
  std::optional<std::string> value;
  for (const Header& field : headers) {
    if (field.name != name) continue;
    if (value) {
      *value += "," + field.value;
    } else {
      value = field.value;
    }
  }
  return value;
}

std::optional<WallClock::time_point> date_of(const HeaderList& headers, std::string_view name) {
  if (headers.count(name) != 1) return std::nullopt;
  const auto when = parse_http_date(trim_blanks(headers.get(name)));
  if (!when) return std::nullopt;
  return *when;
}

std::chrono::seconds whole_seconds(WallClock::time_point when) {
  return std::chrono::floor<std::chrono::seconds>(when.time_since_epoch());
}

}  // namespace

ReadConditions read_conditions(const HeaderList& headers) {
  ReadConditions conditions;
  conditions.if_match = folded(headers, header::kIfMatch);
  conditions.if_none_match = folded(headers, header::kIfNoneMatch);
  conditions.if_modified_since = date_of(headers, header::kIfModifiedSince);
  conditions.if_unmodified_since = date_of(headers, header::kIfUnmodifiedSince);
  return conditions;
}

WriteConditions write_conditions(const HeaderList& headers) {
  WriteConditions conditions;
  conditions.if_match = folded(headers, header::kIfMatch);
  conditions.if_none_match = folded(headers, header::kIfNoneMatch);
  return conditions;
}

bool etag_list_matches(std::string_view list, std::string_view etag, EtagComparison comparison) {
  if (trim_blanks(list) == "*") return true;
  EntityTag tag;
  while (next_tag(list, tag)) {
    if (tag.text == etag && (comparison == EtagComparison::weak || !tag.weak)) return true;
  }
  return false;
}

ReadDecision evaluate_read(const ReadConditions& conditions, std::string_view etag,
                           WallClock::time_point modified) {
  if (conditions.if_match) {
    if (!etag_list_matches(*conditions.if_match, etag, EtagComparison::strong)) {
      return ReadDecision::precondition_failed;
    }
  } else if (conditions.if_unmodified_since &&
             whole_seconds(modified) > whole_seconds(*conditions.if_unmodified_since)) {
    return ReadDecision::precondition_failed;
  }
  if (conditions.if_none_match) {
    if (etag_list_matches(*conditions.if_none_match, etag, EtagComparison::weak))
      return ReadDecision::not_modified;
  } else if (conditions.if_modified_since &&
             whole_seconds(modified) <= whole_seconds(*conditions.if_modified_since)) {
    return ReadDecision::not_modified;
  }
  return ReadDecision::proceed;
}

Result<void> check_write(const WriteConditions& conditions, std::optional<std::string_view> current_etag) {
  if (conditions.if_match) {
    if (!current_etag) return make_error("NoSuchKey", "If-Match: there is no such object");
    if (!etag_list_matches(*conditions.if_match, *current_etag, EtagComparison::strong)) {
      return make_error("PreconditionFailed", "If-Match: the object has another ETag");
    }
  }
  if (conditions.if_none_match && current_etag &&
      etag_list_matches(*conditions.if_none_match, *current_etag, EtagComparison::weak)) {
    return make_error("PreconditionFailed", "If-None-Match: the object exists");
  }
  return {};
}

std::string quote_etag(std::string_view etag) {
  return "\"" + std::string(etag) + "\"";
}

std::string unquote_etag(std::string_view value) {
  value = trim_blanks(value);
  if (value.substr(0, 2) == "W/") value.remove_prefix(2);
  if (value.size() >= 2 && value.front() == '"' && value.back() == '"')
    value = value.substr(1, value.size() - 2);
  return std::string(value);
}

}  // namespace sluice::s3
