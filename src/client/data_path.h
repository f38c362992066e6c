// Which way a payload goes, decided in one place for get and put.
#pragma once

#include <memory>
#include <string>

#include "client/engine.h"
#include "fabric/fabric.h"
#include "s3/rdma_headers.h"

namespace sluice::client {

struct DataPathChoice {
  std::shared_ptr<fabric::ClientFabric> fabric;  ///< null: the HTTP body
  std::string reason;                            ///< why not RDMA; empty with policy `off`
};

/// Discovers the endpoint if needed. Errors: `declined` under `require` when RDMA is not possible, naming
/// why.
Task<Result<DataPathChoice>> choose_data_path(std::shared_ptr<Engine> engine, DataPathPolicy policy,
                                              std::uint64_t window_bytes, Deadline deadline);

/// Whether an RDMA attempt's error is the fabric's fault, so that `prefer` goes on over HTTP.
[[nodiscard]] bool is_fabric_fault(const Error& error);

/// Deadline of a transfer whose caller gave none: later than every lease that its size can have, with time
/// for retries.
Deadline transfer_deadline(Engine& engine, const TransferOptions& options, std::uint64_t bytes);

/// CRC64NVME of a span, off the engine's thread when it is long, on two cores when it is very long.
Task<std::uint64_t> checksum_of(std::shared_ptr<Engine> engine, std::span<const std::byte> bytes);

/// "crc64nvme:<16 hex digits>", as results show it.
std::string checksum_text(std::uint64_t crc);

}  // namespace sluice::client
