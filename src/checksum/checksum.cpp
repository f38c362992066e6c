#include "checksum/checksum.h"

#include "base/encoding.h"

namespace sluice {

std::string_view to_string(ChecksumAlgorithm algorithm) noexcept {
  switch (algorithm) {
    case ChecksumAlgorithm::crc64nvme:
      return "crc64nvme";
  }
  return "?";
}

std::string Checksum::checksum_text(ChecksumAlgorithm algorithm, std::uint64_t value) {
  return std::string(to_string(algorithm)) + ":" + hex_u64(value);
}

}  // namespace sluice
