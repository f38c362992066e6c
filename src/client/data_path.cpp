#include "client/data_path.h"

#include <utility>

#include "base/encoding.h"
#include "base/limits.h"
#include "base/parse.h"
#include "base/try.h"
#include "checksum/checksum.h"

namespace sluice::client {

Task<Result<DataPathChoice>> choose_data_path(std::shared_ptr<Engine> engine, DataPathPolicy policy,
                                              std::uint64_t window_bytes, Deadline deadline) {
  DataPathChoice choice;
  if (policy == DataPathPolicy::off) co_return choice;
  const std::uint64_t threshold =
      engine->options().rdma_threshold_bytes.value_or(limits::kRdmaThresholdBytes);
  if (policy == DataPathPolicy::prefer && window_bytes < threshold) {
    choice.reason = "it is smaller than the RDMA threshold of " + format_size(threshold);
    co_return choice;
  }
  auto& endpoint = engine->endpoint();
  if (engine->options().credentials.access_key.empty()) {
    choice.reason = "an anonymous request cannot carry a token; set credentials";
  } else {
    SLUICE_CO_CHECK(co_await endpoint.discover(engine, deadline));
    choice.fabric = endpoint.fabric();
    if (choice.fabric == nullptr) {
      choice.reason = endpoint.unavailable();
    } else if (window_bytes > endpoint.max_window_bytes()) {
      choice.fabric = nullptr;
      choice.reason = format_size(window_bytes) + " is more than the endpoint's largest window of " +
                      format_size(endpoint.max_window_bytes()) + "; get it in ranges";
    }
  }
  if (choice.fabric == nullptr && policy == DataPathPolicy::require) {
    co_return Error(ErrorCode::declined, "RDMA is required and not possible: " + choice.reason)
        .with_outcome(Outcome::refused);
  }
  co_return choice;
}

bool is_fabric_fault(const Error& error) {
  return error.code() == ErrorCode::declined || error.code() == ErrorCode::token_refused ||
         error.code() == ErrorCode::lease_expired || error.s3().code == "RDMATransferFailed" ||
         error.s3().code == "InvalidRDMAToken";
}

Deadline transfer_deadline(Engine& engine, const TransferOptions& options, std::uint64_t bytes) {
  if (options.timeout) return Deadline::after(*options.timeout);
  return Deadline::after(engine.endpoint().lease().client_duration(bytes) + engine.options().request_timeout);
}

Task<std::uint64_t> checksum_of(std::shared_ptr<Engine> engine, std::span<const std::byte> bytes) {
  if (bytes.size() < limits::kInlineHashBytes) co_return crc64nvme(bytes);
  std::function<Result<std::uint64_t>()> work = [bytes]() -> Result<std::uint64_t> {
    return crc64nvme_parallel(bytes, limits::kHashThreads);
  };
  auto sum = co_await engine->hashing().run<std::uint64_t>(std::move(work));
  if (sum) co_return *sum;
  co_return crc64nvme(bytes);  // the pool is full: hash here
}

std::string checksum_text(std::uint64_t crc) {
  return "crc64nvme:" + hex_u64(crc);
}

}  // namespace sluice::client
