// Endpoint URLs and S3 locations.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "sluice/error.h"

namespace sluice {

/// "http://host:port" or "https://[::1]:9000"; nothing after the authority but an optional "/".
struct EndpointUrl {
  bool tls = false;
  std::string host;  ///< without brackets
  std::uint16_t port = 0;

  /// The Host header: brackets for IPv6, the port unless it is the scheme's default.
  [[nodiscard]] std::string host_header() const;
  [[nodiscard]] std::string to_string() const;
  [[nodiscard]] bool is_loopback() const;  ///< "localhost", 127.0.0.0/8 or ::1
  friend bool operator==(const EndpointUrl&, const EndpointUrl&) = default;
};
Result<EndpointUrl> parse_endpoint_url(std::string_view text);

/// "s3://bucket", "s3://bucket/", "s3://bucket/any/key?even=this": the key is everything after the first
/// slash.
struct S3Location {
  std::string bucket;
  std::string key;  ///< empty: the bucket itself
};
[[nodiscard]] bool is_s3_location(std::string_view text);
Result<S3Location> parse_s3_location(std::string_view text);

/// "127.0.0.1:9000", "[::1]:0", ":9000" (0.0.0.0: all IPv4 interfaces), "9000" (127.0.0.1). Port 0: any free
/// one.
struct ListenAddress {
  std::string host;
  std::uint16_t port = 0;
  [[nodiscard]] std::string to_string() const;
  [[nodiscard]] bool is_loopback() const;
};
Result<ListenAddress> parse_listen_address(std::string_view text);

}  // namespace sluice
