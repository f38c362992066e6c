#include "store/directory/record.h"

#include <sys/xattr.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <nlohmann/json.hpp>

#include "base/encoding.h"
#include "base/limits.h"
#include "s3/errors.h"
#include "s3/keys.h"
#include "store/directory/errors.h"

namespace sluice::store::directory {
namespace {

using Json = nlohmann::json;
using Pairs = std::vector<std::pair<std::string, std::string>>;

constexpr const char* kAttribute = "user.sluice.meta";
constexpr int kRecordVersion = 1;

// JSON is UTF-8; header values may be any bytes.
Json text_to_json(const std::string& text) {
  if (s3::is_utf8(text)) return text;
  return Json{{"b64", base64_encode(as_bytes(text))}};
}

std::optional<std::string> text_from_json(const Json& json) {
  std::string text;
  if (json.is_string()) {
    text = json.get<std::string>();
  } else {
    if (!json.is_object() || !json.contains("b64") || !json["b64"].is_string()) return std::nullopt;
    const auto bytes = base64_decode(json["b64"].get<std::string>());
    if (!bytes) return std::nullopt;
    text.assign(reinterpret_cast<const char*>(bytes->data()), bytes->size());
  }
  // Whoever may write the file may write the attribute: nothing in it may end a header line.
  const auto control = [](char c) {
    const auto u = static_cast<unsigned char>(c);
    return (u < 0x20 && u != '\t') || u == 0x7f;
  };
  if (std::any_of(text.begin(), text.end(), control)) return std::nullopt;
  return text;
}

Json pairs_to_json(const Pairs& pairs) {
  Json list = Json::array();
  for (const auto& [name, value] : pairs)
    list.push_back(Json::array({text_to_json(name), text_to_json(value)}));
  return list;
}

bool pairs_from_json(const Json& record, const char* member, Pairs& pairs) {
  if (!record.contains(member)) return true;
  const Json& list = record[member];
  if (!list.is_array()) return false;
  for (const Json& pair : list) {
    if (!pair.is_array() || pair.size() != 2) return false;
    auto name = text_from_json(pair[0]);
    auto value = text_from_json(pair[1]);
    if (!name || !value) return false;
    pairs.emplace_back(std::move(*name), std::move(*value));
  }
  return true;
}

bool number_is(const Json& record, const char* member, std::uint64_t value) {
  return record.contains(member) && record[member].is_number_unsigned() &&
         record[member].get<std::uint64_t>() == value;
}

}  // namespace

Result<std::string> encode_record(const Record& record, const FileVersion& version) {
  Json json{
      {"v", kRecordVersion}, {"ino", version.inode}, {"size", version.bytes}, {"mtime", version.mtime_ns}};
  if (!record.metadata.content_headers.empty())
    json["headers"] = pairs_to_json(record.metadata.content_headers);
  if (!record.metadata.user.empty()) json["user"] = pairs_to_json(record.metadata.user);
  if (record.crc64nvme) json["crc64nvme"] = hex_u64(*record.crc64nvme);
  std::string text = json.dump();
  if (text.size() > limits::kMetadataRecordBytes) {
    return s3::make_error("MetadataTooLarge", "headers and metadata of an object may take " +
                                                  std::to_string(limits::kMetadataRecordBytes) +
                                                  " bytes in the directory store; these take " +
                                                  std::to_string(text.size()));
  }
  return text;
}

std::optional<Record> decode_record(std::string_view text, const FileVersion& version) {
  const Json json = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object() || !number_is(json, "v", kRecordVersion) || !number_is(json, "ino", version.inode) ||
      !number_is(json, "size", version.bytes) || !number_is(json, "mtime", version.mtime_ns)) {
    return std::nullopt;
  }
  Record record;
  if (!pairs_from_json(json, "headers", record.metadata.content_headers) ||
      !pairs_from_json(json, "user", record.metadata.user)) {
    return std::nullopt;
  }
  if (json.contains("crc64nvme")) {
    if (!json["crc64nvme"].is_string()) return std::nullopt;
    const auto digits = json["crc64nvme"].get<std::string>();
    std::uint64_t value = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value, 16);
    if (digits.size() != 16 || error != std::errc() || end != digits.data() + digits.size())
      return std::nullopt;
    record.crc64nvme = value;
  }
  return record;
}

Result<bool> store_record(int fd, const std::string& text) {
  if (::fsetxattr(fd, kAttribute, text.data(), text.size(), 0) == 0) return true;
  switch (errno) {
    case ENOTSUP:
    case ENOSPC:  // ext4 says so when the attribute does not fit into its block; a full disk shows elsewhere,
                  // too
    case E2BIG:
    case ERANGE:
      return false;
    default:
      return file_error(errno, "storing the metadata");
  }
}

std::optional<Record> load_record(int fd, const FileVersion& version) {
  std::array<char, limits::kMetadataRecordBytes> text{};
  const ssize_t size = ::fgetxattr(fd, kAttribute, text.data(), text.size());
  if (size <= 0) return std::nullopt;
  return decode_record({text.data(), static_cast<std::size_t>(size)}, version);
}

bool attributes_work(int fd) {
  constexpr char kProbe[] = "probe";
  return ::fsetxattr(fd, kAttribute, kProbe, sizeof kProbe, 0) == 0;
}

}  // namespace sluice::store::directory
