// Data movers: a window of a client on one side, an object on the other, a ring of staging buffers between.
#pragma once

#include <boost/asio/steady_timer.hpp>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/task.h"
#include "checksum/checksum.h"
#include "fabric/fabric.h"
#include "gateway/admission.h"
#include "sluice/error.h"
#include "store/store.h"

namespace sluice::gateway {

/// RDMA operations in flight on one window, one per staging buffer. Only on its executor, which is its
/// fabric's thread.
///
/// Ownership: a buffer is the fabric's from `write`/`read` until `wait` on its slot returned true or `close`
/// ended. `close` must have ended before the ring is destroyed. If it returns false the fabric still has
/// buffers: the ring must then be kept for ever.
class OperationRing {
 public:
  OperationRing(Executor executor, std::unique_ptr<fabric::Target> target, StagingLoan buffers,
                std::uint64_t operation_bytes, Deadline drain);
  ~OperationRing();
  OperationRing(const OperationRing&) = delete;
  OperationRing& operator=(const OperationRing&) = delete;

  [[nodiscard]] std::size_t slots() const { return slots_.size(); }
  /// Bytes of one operation at most: the smaller of buffer, configured chunk and the fabric's limit.
  [[nodiscard]] std::uint64_t chunk_bytes() const { return chunk_bytes_; }
  [[nodiscard]] std::span<std::byte> buffer(std::size_t slot) const { return buffers_.buffer(slot); }

  /// First `bytes` of the slot's buffer -> window. The slot must be idle.
  void write(std::size_t slot, std::uint64_t offset_in_window, std::uint64_t bytes);
  /// Window -> first `bytes` of the slot's buffer. The slot must be idle.
  void read(std::size_t slot, std::uint64_t offset_in_window, std::uint64_t bytes);
  /// Until the slot is idle. False: the transfer is over (an operation failed, nothing was heard for
  /// limits::kCompletionPatience, or it was interrupted), and so is the ring's use but for `close`.
  Task<bool> wait(std::size_t slot);
  /// Ends the grant: when it returns true no operation is left and all buffers are ours.
  Task<bool> close();
  /// Makes `wait` return false from now on. Any time on the executor.
  void interrupt();

  [[nodiscard]] bool usable() const { return !failure_ && !interrupted_; }
  [[nodiscard]] bool interrupted() const { return interrupted_; }
  /// The first failed operation.
  [[nodiscard]] const std::optional<Error>& failure() const { return failure_; }
  /// Whether an operation was, or may have been, given to the network. Final once `close` has ended.
  [[nodiscard]] bool anything_posted() const { return posted_; }

 private:
  struct Slot {
    OperationRing* ring = nullptr;
    std::uint64_t expected = 0;
    bool in_flight = false;
  };
  fabric::Completion completion(Slot& slot);
  void completed(Slot& slot, Result<std::uint64_t> moved);
  void fail(Error error);

  Executor executor_;
  std::unique_ptr<fabric::Target> target_;
  StagingLoan buffers_;
  std::uint64_t chunk_bytes_;
  Deadline drain_;
  boost::asio::steady_timer wake_;
  std::vector<Slot> slots_;
  std::optional<Error> failure_;
  const Slot* awaited_ = nullptr;
  bool interrupted_ = false;
  bool posted_ = false;
  bool closed_ = false;
};

/// How moving ended. Unless `complete`, some, all or none of the bytes may have moved.
enum class MoveEnd : std::uint8_t {
  complete,       ///< every byte moved
  store_failed,   ///< `error` is the store's
  fabric_failed,  ///< `error` is the fabric's
  interrupted,    ///< the client left or the gateway stops
};
struct MoveReport {
  MoveEnd end = MoveEnd::complete;
  std::optional<Error> error;
};

// Both leave the ring open; close it before anything else is made of the report. `sum` (may be null) gets the
// bytes in order, from the staging buffer that is also moved or stored, never from the client's memory.

/// [first, first + count) of the object -> the front of the window; the next chunk is read while others are
/// written.
Task<MoveReport> move_to_window(OperationRing& ring, store::ObjectReader& reader, std::uint64_t first,
                                std::uint64_t count, Checksum* sum);
/// The window's first `count` bytes -> the new object.
Task<MoveReport> move_from_window(OperationRing& ring, store::ObjectWriter& writer, std::uint64_t count,
                                  Checksum* sum);

/// Fills `into` from the object: what is in memory at once, the rest on the store's threads.
Task<Result<void>> read_fully(store::ObjectReader& reader, std::uint64_t offset, std::span<std::byte> into);

}  // namespace sluice::gateway
