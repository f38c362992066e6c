// CRC64NVME: reflected polynomial 0x9a6c9329ac4bc9b5, initial value and final xor all ones (protocol.md 9).
//
// Three implementations, the fastest that the CPU has chosen once at run time. All are safe from any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace sluice {

/// Of `bytes`, or of what gave `before` followed by `bytes`. No bytes: 0.
std::uint64_t crc64nvme(std::span<const std::byte> bytes, std::uint64_t before = 0);

/// Of A followed by B from the sums of A and B: log time in the length of B.
std::uint64_t crc64nvme_combine(std::uint64_t of_a, std::uint64_t of_b, std::uint64_t bytes_of_b);

/// The same as `crc64nvme`, with up to `threads` threads (this one included) when the span is worth it.
std::uint64_t crc64nvme_parallel(std::span<const std::byte> bytes, std::size_t threads);

/// One way to compute it; for tests, benchmarks and `sluice doctor`.
struct Crc64Implementation {
  std::string_view name;  ///< "portable", "pclmul", "vpclmul-256", "vpclmul-512"
  std::uint64_t (*update)(std::span<const std::byte> bytes, std::uint64_t before);
};
/// Those that work on this CPU, slowest first; the last is the one in use.
const std::vector<Crc64Implementation>& crc64nvme_implementations();

}  // namespace sluice
