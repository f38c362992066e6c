// Who may go on: requests in flight and staging buffers, bounded and fair between clients.
#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/deadline.h"
#include "base/task.h"
#include "memory/pool.h"
#include "sluice/error.h"

namespace sluice::gateway {

class StagingState;

/// Staging buffers lent to one request. Gives them back, and lets the next in line go on, when destroyed; so
/// it must outlive every fabric operation on its buffers. Move-only; one thread at a time.
class StagingLoan {
 public:
  StagingLoan() = default;
  StagingLoan(StagingLoan&& other) noexcept = default;
  StagingLoan& operator=(StagingLoan&& other) noexcept;
  StagingLoan(const StagingLoan&) = delete;
  StagingLoan& operator=(const StagingLoan&) = delete;
  ~StagingLoan();
  [[nodiscard]] std::size_t size() const { return buffers_.size(); }
  [[nodiscard]] std::span<std::byte> buffer(std::size_t index) const { return buffers_[index].span(); }

 private:
  friend class StagingState;
  StagingLoan(std::shared_ptr<StagingState> state, std::string client, std::vector<PooledBuffer> buffers)
      : state_(std::move(state)), client_(std::move(client)), buffers_(std::move(buffers)) {}
  void give_back() noexcept;
  std::shared_ptr<StagingState> state_;
  std::string client_;
  std::vector<PooledBuffer> buffers_;
};

/// Staging memory of all workers. Safe from any thread.
///
/// First come, first served, but for two rules: a client that holds half of the buffers waits while another
/// client does, and no client ever holds more than three quarters, so that one which does not let go blocks
/// nobody else. A client is an access key at an IP address.
class Staging {
 public:
  /// Errors: invalid_argument unless 0 < buffer_bytes <= limit_bytes.
  static Result<Staging> make(std::size_t buffer_bytes, std::uint64_t limit_bytes);
  /// `count` buffers (fewer if one client cannot have that many at all). Waits until `deadline`.
  /// Errors: overloaded (also when too many wait), out_of_memory; nothing is held then.
  [[nodiscard]] Task<Result<StagingLoan>> take(std::string client, std::size_t count,
                                               Deadline deadline) const;
  [[nodiscard]] std::size_t buffer_bytes() const;
  [[nodiscard]] std::size_t waiting() const;
  [[nodiscard]] std::size_t in_use() const;

 private:
  explicit Staging(std::shared_ptr<StagingState> state) : state_(std::move(state)) {}
  std::shared_ptr<StagingState> state_;
};

}  // namespace sluice::gateway
