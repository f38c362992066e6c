// The discovery document, GET /.well-known/s3-rdma (design.md 6): unauthenticated, so a hint and nothing
// more.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "sluice/error.h"

namespace sluice::s3 {

inline constexpr std::string_view kDiscoveryTarget = "/.well-known/s3-rdma";

struct DiscoveredFabric {
  std::string name;           ///< "ofi:tcp"
  std::string provider;       ///< "net"
  std::string wire_protocol;  ///< two fabrics talk if these are equal
  std::string address;        ///< text; may be empty
  friend bool operator==(const DiscoveredFabric&, const DiscoveredFabric&) = default;
};

struct DiscoveryDocument {
  int version = 1;
  std::string instance_id;
  std::vector<std::string> dialects;      ///< token shapes spoken, best first: "ofi1"
  std::vector<DiscoveredFabric> fabrics;  ///< best first; empty: no RDMA here
  std::chrono::milliseconds lease{0};
  std::uint64_t lease_min_bytes_per_second = 0;  ///< 0: the lease does not grow with the size
  std::chrono::milliseconds drain{0};
  std::uint64_t max_window_bytes = 0;
  std::vector<std::string> checksums;  ///< "crc64nvme"
  friend bool operator==(const DiscoveryDocument&, const DiscoveryDocument&) = default;
};

std::string to_json(const DiscoveryDocument& document);
/// Strict about types, ranges and sizes (kDiscoveryBytes, kDiscoveryDepth); unknown keys are ignored; a
/// higher version is accepted as long as the known keys are right. Errors: protocol_error naming the key.
Result<DiscoveryDocument> parse_discovery(std::string_view json);

}  // namespace sluice::s3
