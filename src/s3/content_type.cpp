#include "s3/content_type.h"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "base/headers.h"

namespace sluice::s3 {
namespace {

using Row = std::pair<std::string_view, std::string_view>;

// Sorted by extension. From the IANA registry, or the customary type where nothing is registered.
constexpr std::array kTypes = {
    Row{"7z", "application/x-7z-compressed"},
    Row{"aac", "audio/aac"},
    Row{"apng", "image/apng"},
    Row{"arrow", "application/vnd.apache.arrow.file"},
    Row{"avi", "video/x-msvideo"},
    Row{"avif", "image/avif"},
    Row{"avro", "application/vnd.apache.avro"},
    Row{"bin", "application/octet-stream"},
    Row{"bmp", "image/bmp"},
    Row{"bz2", "application/x-bzip2"},
    Row{"c", "text/x-c"},
    Row{"cpp", "text/x-c"},
    Row{"css", "text/css"},
    Row{"csv", "text/csv"},
    Row{"deb", "application/vnd.debian.binary-package"},
    Row{"doc", "application/msword"},
    Row{"docx", "application/vnd.openxmlformats-officedocument.wordprocessingml.document"},
    Row{"eot", "application/vnd.ms-fontobject"},
    Row{"epub", "application/epub+zip"},
    Row{"feather", "application/vnd.apache.arrow.file"},
    Row{"flac", "audio/flac"},
    Row{"geojson", "application/geo+json"},
    Row{"gif", "image/gif"},
    Row{"gz", "application/gzip"},
    Row{"h", "text/x-c"},
    Row{"h5", "application/x-hdf5"},
    Row{"hdf5", "application/x-hdf5"},
    Row{"heic", "image/heic"},
    Row{"htm", "text/html"},
    Row{"html", "text/html"},
    Row{"ico", "image/vnd.microsoft.icon"},
    Row{"ics", "text/calendar"},
    Row{"ipynb", "application/x-ipynb+json"},
    Row{"iso", "application/x-iso9660-image"},
    Row{"jar", "application/java-archive"},
    Row{"java", "text/x-java-source"},
    Row{"jpeg", "image/jpeg"},
    Row{"jpg", "image/jpeg"},
    Row{"js", "text/javascript"},
    Row{"json", "application/json"},
    Row{"jsonl", "application/jsonl"},
    Row{"jsonld", "application/ld+json"},
    Row{"log", "text/plain"},
    Row{"m3u8", "application/vnd.apple.mpegurl"},
    Row{"m4a", "audio/mp4"},
    Row{"md", "text/markdown"},
    Row{"mid", "audio/midi"},
    Row{"mjs", "text/javascript"},
    Row{"mkv", "video/matroska"},
    Row{"mov", "video/quicktime"},
    Row{"mp3", "audio/mpeg"},
    Row{"mp4", "video/mp4"},
    Row{"mpeg", "video/mpeg"},
    Row{"ndjson", "application/x-ndjson"},
    Row{"npy", "application/x-npy"},
    Row{"npz", "application/x-npz"},
    Row{"ods", "application/vnd.oasis.opendocument.spreadsheet"},
    Row{"odt", "application/vnd.oasis.opendocument.text"},
    Row{"ogg", "audio/ogg"},
    Row{"ogv", "video/ogg"},
    Row{"onnx", "application/x-onnx"},
    Row{"opus", "audio/ogg"},
    Row{"orc", "application/vnd.apache.orc"},
    Row{"otf", "font/otf"},
    Row{"parquet", "application/vnd.apache.parquet"},
    Row{"pdf", "application/pdf"},
    Row{"png", "image/png"},
    Row{"ppt", "application/vnd.ms-powerpoint"},
    Row{"pptx", "application/vnd.openxmlformats-officedocument.presentationml.presentation"},
    Row{"ps", "application/postscript"},
    Row{"py", "text/x-python"},
    Row{"rar", "application/vnd.rar"},
    Row{"rpm", "application/x-rpm"},
    Row{"rtf", "application/rtf"},
    Row{"safetensors", "application/x-safetensors"},
    Row{"sh", "application/x-sh"},
    Row{"sql", "application/sql"},
    Row{"sqlite", "application/vnd.sqlite3"},
    Row{"svg", "image/svg+xml"},
    Row{"tar", "application/x-tar"},
    Row{"tgz", "application/gzip"},
    Row{"tif", "image/tiff"},
    Row{"tiff", "image/tiff"},
    Row{"toml", "application/toml"},
    Row{"ts", "video/mp2t"},
    Row{"tsv", "text/tab-separated-values"},
    Row{"ttf", "font/ttf"},
    Row{"txt", "text/plain"},
    Row{"wasm", "application/wasm"},
    Row{"wav", "audio/wav"},
    Row{"weba", "audio/webm"},
    Row{"webm", "video/webm"},
    Row{"webmanifest", "application/manifest+json"},
    Row{"webp", "image/webp"},
    Row{"woff", "font/woff"},
    Row{"woff2", "font/woff2"},
    Row{"xhtml", "application/xhtml+xml"},
    Row{"xls", "application/vnd.ms-excel"},
    Row{"xlsx", "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"},
    Row{"xml", "application/xml"},
    Row{"xz", "application/x-xz"},
    Row{"yaml", "application/yaml"},
    Row{"yml", "application/yaml"},
    Row{"zip", "application/zip"},
    Row{"zst", "application/zstd"},
};
static_assert(std::is_sorted(kTypes.begin(), kTypes.end(),
                             [](const Row& a, const Row& b) { return a.first < b.first; }),
              "the table is searched by halving");

}  // namespace

std::string_view content_type_of(std::string_view file_name) {
  const std::string_view segment = file_name.substr(file_name.rfind('/') + 1);
  const auto dot = segment.rfind('.');
  // ".gitignore" has no extension: the dot is where its name begins.
  if (dot == std::string_view::npos || dot == 0) return kDefaultContentType;
  const std::string extension = ascii_lower(segment.substr(dot + 1));
  const auto it =
      std::lower_bound(kTypes.begin(), kTypes.end(), extension,
                       [](const Row& row, const std::string& wanted) { return row.first < wanted; });
  return it != kTypes.end() && it->first == extension ? it->second : kDefaultContentType;
}

}  // namespace sluice::s3
