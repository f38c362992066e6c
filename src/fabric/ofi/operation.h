// Operations of the server half: intrusive, pooled, so that posting one allocates nothing.
#pragma once

#include <rdma/fabric.h>
#include <rdma/fi_domain.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "fabric/fabric.h"
#include "fabric/ofi/lane.h"

namespace sluice::fabric::ofi {

struct ServerLane;
class OfiTarget;

/// One RDMA operation. Owned by the pool; on exactly one list at a time.
struct Operation {
  /// What libfabric gets and hands back. It may scribble over the first member.
  struct Context {
    fi_context2 reserved{};
    Operation* operation = nullptr;
  };
  enum class Kind : std::uint8_t { write, read };
  enum class State : std::uint8_t {
    free,
    queued,     ///< on its lane, not posted
    in_flight,  ///< libfabric has it
    finished,   ///< its result waits to be reported
    abandoned,  ///< its lane was closed and libfabric never returned it; never used again
  };
  Context context;
  Operation* next = nullptr;
  Operation* previous = nullptr;
  ServerLane* lane = nullptr;
  OfiTarget* target = nullptr;
  Kind kind = Kind::write;
  State state = State::free;
  std::byte* local = nullptr;
  std::size_t bytes = 0;
  std::uint64_t offset = 0;
  /// Only where the provider wants local memory registered (FI_MR_LOCAL). For this operation alone: the
  /// memory may be a mapped file that is gone a moment later, and a kept registration would then reach other
  /// pages.
  Fid<fid_mr> registration;
  Completion done;
  std::optional<Error> failure;  ///< what to report, if not success
};

/// A doubly linked list through the operations themselves.
class OperationList {
 public:
  void push_back(Operation& operation);
  void remove(Operation& operation);
  Operation* pop_front();
  [[nodiscard]] Operation* front() const { return first_; }
  [[nodiscard]] bool empty() const { return first_ == nullptr; }

 private:
  Operation* first_ = nullptr;
  Operation* last_ = nullptr;
};

/// Grows to the largest number in use at once and stays there.
class OperationPool {
 public:
  Operation& take();
  void give_back(Operation& operation);

 private:
  std::vector<std::unique_ptr<Operation>> all_;
  OperationList free_;
};

}  // namespace sluice::fabric::ofi
