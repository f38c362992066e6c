// Checksums of objects behind one streaming and combining interface.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "checksum/crc64nvme.h"
#include "sluice/error.h"

namespace sluice {

/// The algorithms of S3; crc32, crc32c, sha1 and sha256 join here.
enum class ChecksumAlgorithm : std::uint8_t { crc64nvme };
std::string_view to_string(ChecksumAlgorithm algorithm) noexcept;  ///< "crc64nvme"

/// A running sum. A value; one thread at a time.
class Checksum {
 public:
  explicit Checksum(ChecksumAlgorithm algorithm) : algorithm_(algorithm) {}
  void update(std::span<const std::byte> bytes) {
    sum_ = crc64nvme(bytes, sum_);
    bytes_ += bytes.size();
  }
  /// Appends a part that was summed elsewhere. `part` has the same algorithm.
  void append(const Checksum& part) {
    sum_ = crc64nvme_combine(sum_, part.sum_, part.bytes_);
    bytes_ += part.bytes_;
  }
  void reset() {
    sum_ = 0;
    bytes_ = 0;
  }
  [[nodiscard]] ChecksumAlgorithm algorithm() const { return algorithm_; }
  [[nodiscard]] std::uint64_t bytes() const { return bytes_; }
  [[nodiscard]] std::uint64_t value() const { return sum_; }
  /// "crc64nvme:<16 hex digits>", as results and `--json` show it.
  [[nodiscard]] std::string text() const { return checksum_text(algorithm_, sum_); }

  static std::string checksum_text(ChecksumAlgorithm algorithm, std::uint64_t value);

 private:
  ChecksumAlgorithm algorithm_;
  std::uint64_t sum_ = 0;
  std::uint64_t bytes_ = 0;
};

}  // namespace sluice
