// Transfer: the handle of a get or put that is under way.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "sluice/error.h"
#include "sluice/export.h"
#include "sluice/options.h"

namespace sluice {

/// How a transfer went.
struct TransferResult {
  std::uint64_t bytes = 0;         ///< payload bytes moved into or out of the caller's memory
  std::uint64_t object_bytes = 0;  ///< size of the whole object
  DataPath data_path = DataPath::none;
  Delivery delivery = Delivery::direct;
  std::string fabric;           ///< "ofi:net"; empty when data_path is not rdma
  std::string fallback_reason;  ///< why `prefer` used HTTP; empty otherwise
  std::string etag;             ///< without quotes
  std::string version_id;
  std::string content_type;
  /// "crc64nvme:<16 hex digits>" of the bytes moved, or empty when nothing was verified.
  std::string checksum;
  int retries = 0;  ///< attempts beyond the first
  std::chrono::nanoseconds elapsed{0};
};

namespace detail {
class TransferState;
}

/// Completion is exactly once. Copyable: copies are the same transfer. Safe from any thread.
///
/// The memory given to `Client::get`/`put` must stay valid, and is Sluice's, until the transfer is done.
/// Dropping the last handle does not cancel: the client finishes the transfer by itself. When it is done with
/// anything but error code `fence_failed`, no byte of the memory changes any more, whatever the server does.
class SLUICE_EXPORT Transfer {
 public:
  Transfer() = default;
  explicit Transfer(std::shared_ptr<detail::TransferState> state);

  /// Whether it is done. Never blocks.
  [[nodiscard]] bool done() const;
  /// Blocks until it is done. Always returns: every transfer has a deadline.
  Result<TransferResult> wait() const;
  /// Empty if the time passed first.
  std::optional<Result<TransferResult>> wait_for(std::chrono::milliseconds time) const;
  /// Asks it to end early; it completes with `cancelled` (outcome `uncertain` if the request was out) after
  /// its window is fenced.
  void cancel() const;
  /// Runs `callback` when done, on a thread of the client's, or right here if it already is. It must not
  /// block; it may start other transfers.
  void on_complete(std::function<void(const Result<TransferResult>&)> callback) const;
  /// Payload bytes known to have moved so far; 0 until the end on fabrics that do not tell.
  [[nodiscard]] std::uint64_t bytes_so_far() const;

 private:
  std::shared_ptr<detail::TransferState> state_;
};

}  // namespace sluice
