// Reading an object in parts: the windows of a big download, in order, pinned to one version.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "sluice/client.h"

namespace sluice::cli {

/// Sums over the parts of one object.
struct PartsResult {
  std::uint64_t bytes = 0;
  std::uint64_t rdma_bytes = 0;
  std::size_t parts = 0;
  int retries = 0;
  std::string fabric;
  std::string etag;
  std::string checksum;  ///< of the whole, combined from the parts; empty if one part had none
  std::string fallback_reason;
  std::string delivery = "direct";
  [[nodiscard]] std::string data_path() const;  ///< "rdma", "http", "none" or "mixed"
};

/// The flag --part-size, more than 0. Errors: invalid_argument.
Result<std::uint64_t> parse_part_size(const std::string& text);

/// Gets [first, first + bytes) of `bucket`/`key` into `into` (same length) in parts of `part_bytes`, several
/// in flight, every part pinned to `etag` (design rule 8). `on_part(offset_in_into, bytes, path)` is called
/// in completion order from the client's thread. On an error the parts in flight are cancelled and waited
/// for, so `into` is the caller's again.
Result<PartsResult> get_parts(Client& client, const std::string& bucket, const std::string& key,
                              const std::string& etag, std::uint64_t object_bytes, std::uint64_t first,
                              Memory into, std::uint64_t part_bytes, const TransferOptions& options,
                              const std::function<void(std::uint64_t, std::uint64_t, DataPath)>& on_part);

}  // namespace sluice::cli
