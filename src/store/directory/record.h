// What is kept beside the bytes of an object: a small JSON text in the extended attribute "user.sluice.meta".
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "sluice/error.h"
#include "store/directory/version.h"
#include "store/store.h"

namespace sluice::store::directory {

struct Record {
  ObjectMetadata metadata;
  std::optional<std::uint64_t> crc64nvme;
  [[nodiscard]] bool empty() const {
    return metadata.content_headers.empty() && metadata.user.empty() && !crc64nvme;
  }
};

/// The text, bound to inode, size and mtime of the file that it describes. Errors: MetadataTooLarge.
Result<std::string> encode_record(const Record& record, const FileVersion& version);
/// nullopt if the text is not a record that we write, or is about another version of the file.
std::optional<Record> decode_record(std::string_view text, const FileVersion& version);

/// Writes the attribute. False: the file system has no room for it or knows no attributes. Errors:
/// file_error.
Result<bool> store_record(int fd, const std::string& text);
/// nullopt: none, unreadable or of another version.
std::optional<Record> load_record(int fd, const FileVersion& version);

/// Whether files made in this folder's file system take the attribute; tried on `fd`.
bool attributes_work(int fd);

}  // namespace sluice::store::directory
