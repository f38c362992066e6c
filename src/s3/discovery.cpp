#include "s3/discovery.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "base/limits.h"
#include "base/try.h"

namespace sluice::s3 {
namespace {

using Json = nlohmann::json;

constexpr std::size_t kTextBytes = 256;  // of one name, address or id
// A lease or drain above this is a mistake or an attack on the client's patience.
constexpr std::uint64_t kDurationMs = 60 * 60 * 1000;

Error bad(std::string_view why) {
  return Error(ErrorCode::protocol_error, "the discovery document " + std::string(why));
}

Error bad_key(std::string_view key, std::string_view want) {
  return bad("has a '" + std::string(key) + "' that is not " + std::string(want));
}

Result<std::string> text_value(const Json& value, std::string_view key) {
  if (!value.is_string()) return bad_key(key, "a text");
  const auto& text = value.get_ref<const std::string&>();
  if (text.size() > kTextBytes) return bad_key(key, "a text of at most 256 bytes");
  for (const char c : text) {
    const auto u = static_cast<unsigned char>(c);
    if (u < 0x20 || u == 0x7f) return bad_key(key, "free of control characters");
  }
  return text;
}

Result<std::string> text_member(const Json& object, const char* key, bool required) {
  const auto it = object.find(key);
  if (it == object.end()) {
    if (required) return bad("has no '" + std::string(key) + "'");
    return std::string();
  }
  return text_value(*it, key);
}

Result<std::uint64_t> number_member(const Json& object, const char* key, std::uint64_t max) {
  const auto it = object.find(key);
  if (it == object.end()) return bad("has no '" + std::string(key) + "'");
  if (!it->is_number_unsigned()) return bad_key(key, "a whole number of at least 0");
  const auto value = it->get<std::uint64_t>();
  if (value > max) return bad_key(key, "at most " + std::to_string(max));
  return value;
}

// The array under `key`; nullptr if it is absent.
Result<const Json*> array_member(const Json& object, const char* key) {
  const auto it = object.find(key);
  if (it == object.end()) return nullptr;
  if (!it->is_array()) return bad_key(key, "an array");
  if (it->size() > limits::kDiscoveryEntries) {
    return bad_key(key, "an array of at most " + std::to_string(limits::kDiscoveryEntries) + " entries");
  }
  return &*it;
}

Result<std::vector<std::string>> texts_member(const Json& object, const char* key) {
  SLUICE_TRY(const Json* array, array_member(object, key));
  std::vector<std::string> texts;
  if (array == nullptr) return texts;
  for (const Json& value : *array) {
    SLUICE_TRY(std::string text, text_value(value, key));
    texts.push_back(std::move(text));
  }
  return texts;
}

Result<std::vector<DiscoveredFabric>> fabrics_member(const Json& object) {
  SLUICE_TRY(const Json* array, array_member(object, "fabrics"));
  std::vector<DiscoveredFabric> fabrics;
  if (array == nullptr) return fabrics;
  for (const Json& value : *array) {
    if (!value.is_object()) return bad_key("fabrics", "an array of objects");
    DiscoveredFabric fabric;
    SLUICE_TRY(fabric.name, text_member(value, "name", true));
    SLUICE_TRY(fabric.provider, text_member(value, "provider", true));
    SLUICE_TRY(fabric.wire_protocol, text_member(value, "wire_protocol", true));
    SLUICE_TRY(fabric.address, text_member(value, "address", false));
    fabrics.push_back(std::move(fabric));
  }
  return fabrics;
}

}  // namespace

std::string to_json(const DiscoveryDocument& document) {
  Json fabrics = Json::array();
  for (const DiscoveredFabric& fabric : document.fabrics) {
    Json entry = Json::object();
    entry["name"] = fabric.name;
    entry["provider"] = fabric.provider;
    entry["wire_protocol"] = fabric.wire_protocol;
    entry["address"] = fabric.address;
    fabrics.push_back(std::move(entry));
  }
  Json out = Json::object();
  out["version"] = document.version;
  out["instance_id"] = document.instance_id;
  out["dialects"] = document.dialects;
  out["fabrics"] = std::move(fabrics);
  out["lease_ms"] = document.lease.count();
  out["lease_min_bytes_per_second"] = document.lease_min_bytes_per_second;
  out["drain_ms"] = document.drain.count();
  out["max_window_bytes"] = document.max_window_bytes;
  out["checksums"] = document.checksums;
  return out.dump(-1, ' ', false, Json::error_handler_t::replace);
}

Result<DiscoveryDocument> parse_discovery(std::string_view json) {
  if (json.size() > limits::kDiscoveryBytes) {
    return bad("is larger than " + std::to_string(limits::kDiscoveryBytes) + " bytes");
  }
  bool too_deep = false;
  const auto limit_depth = [&too_deep](int depth, Json::parse_event_t, Json&) {
    too_deep = too_deep || depth > limits::kDiscoveryDepth;
    return !too_deep;
  };
  const Json root = Json::parse(json, limit_depth, /*allow_exceptions=*/false);
  if (too_deep) return bad("is nested too deeply");
  if (root.is_discarded()) return bad("is not JSON");
  if (!root.is_object()) return bad("is not a JSON object");

  DiscoveryDocument document;
  SLUICE_TRY(const std::uint64_t version, number_member(root, "version", INT32_MAX));
  if (version == 0) return bad_key("version", "at least 1");
  document.version = static_cast<int>(version);
  SLUICE_TRY(document.instance_id, text_member(root, "instance_id", true));
  SLUICE_TRY(document.dialects, texts_member(root, "dialects"));
  SLUICE_TRY(document.fabrics, fabrics_member(root));
  SLUICE_TRY(const std::uint64_t lease, number_member(root, "lease_ms", kDurationMs));
  document.lease = std::chrono::milliseconds(static_cast<std::int64_t>(lease));
  SLUICE_TRY(document.lease_min_bytes_per_second,
             number_member(root, "lease_min_bytes_per_second", UINT64_MAX));
  SLUICE_TRY(const std::uint64_t drain, number_member(root, "drain_ms", kDurationMs));
  document.drain = std::chrono::milliseconds(static_cast<std::int64_t>(drain));
  SLUICE_TRY(document.max_window_bytes, number_member(root, "max_window_bytes", UINT64_MAX));
  SLUICE_TRY(document.checksums, texts_member(root, "checksums"));
  return document;
}

}  // namespace sluice::s3
