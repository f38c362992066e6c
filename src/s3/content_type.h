// Content types by file name, for uploads and for files that a directory holds without metadata.
#pragma once

#include <string_view>

namespace sluice::s3 {

inline constexpr std::string_view kDefaultContentType = "application/octet-stream";

/// By the extension after the last '.' of the last segment, in any case. Text types carry no charset: nobody
/// looked at the bytes.
[[nodiscard]] std::string_view content_type_of(std::string_view file_name);

}  // namespace sluice::s3
