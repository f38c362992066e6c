#include <algorithm>
#include <utility>

#include "base/limits.h"
#include "fabric/ofi/server.h"

namespace sluice::fabric::ofi {

OfiTarget::OfiTarget(OfiServer& server, ServerLane& lane, const ParsedToken& token, const OpenPolicy& policy)
    : server_(server),
      lane_(&lane),
      base_(token.base),
      bytes_(token.bytes),
      key_(token.key),
      direction_(policy.direction),
      lease_(policy.lease),
      drain_(policy.drain) {
  ++lane.targets;
  server.targets_.push_back(this);
}

OfiTarget::~OfiTarget() {
  if (state_ != State::closed) server_.forget(*this);
}

std::uint64_t OfiTarget::max_operation_bytes() const {
  return server_.max_operation_bytes_;
}

void OfiTarget::write(std::uint64_t offset_in_window, std::span<const std::byte> local, Completion done) {
  // libfabric takes one descriptor type for both directions; a write only reads from it.
  auto* const source = const_cast<std::byte*>(local.data());  // NOLINT(cppcoreguidelines-pro-type-const-cast)
  start(Operation::Kind::write, offset_in_window, source, local.size(), std::move(done));
}

void OfiTarget::read(std::uint64_t offset_in_window, std::span<std::byte> local, Completion done) {
  start(Operation::Kind::read, offset_in_window, local.data(), local.size(), std::move(done));
}

std::optional<Error> OfiTarget::refuse(Operation::Kind kind, std::uint64_t offset, std::size_t bytes) const {
  if (state_ != State::open) return Error(ErrorCode::cancelled, "the window is closed");
  const bool writes = kind == Operation::Kind::write;
  if (writes != (direction_ == Direction::get))
    return Error(ErrorCode::invalid_argument,
                 writes ? "a put window cannot be written" : "a get window cannot be read");
  if (bytes == 0 || bytes > server_.max_operation_bytes_)
    return Error(ErrorCode::invalid_argument, "an operation of " + std::to_string(bytes) + " bytes; 1 to " +
                                                  std::to_string(server_.max_operation_bytes_) +
                                                  " can be moved");
  if (offset > bytes_ || bytes > bytes_ - offset)
    return Error(ErrorCode::invalid_argument, "bytes " + std::to_string(offset) + " + " +
                                                  std::to_string(bytes) + " reach beyond the window's " +
                                                  std::to_string(bytes_));
  if (lease_.expired()) return Error(ErrorCode::lease_expired, "the lease on the window is over");
  if (lane_->state == ServerLane::State::broken || lane_->state == ServerLane::State::retired)
    return Error(lane_->cause->code(), "the lane to the client is closed: " + lane_->cause->message());
  return std::nullopt;
}

void OfiTarget::start(Operation::Kind kind, std::uint64_t offset, std::byte* local, std::size_t bytes,
                      Completion done) {
  Operation& operation = server_.pool_.take();
  operation.lane = lane_;
  operation.target = this;
  operation.kind = kind;
  operation.local = local;
  operation.bytes = bytes;
  operation.offset = offset;
  operation.done = std::move(done);
  ++operations_;
  if (auto refusal = refuse(kind, offset, bytes)) {
    server_.finish(operation, std::move(refusal));
    server_.expect(Clock::now());
    return;
  }
  server_.submit(operation);
}

void OfiTarget::close(std::function<void()> done) {
  state_ = State::closing;
  closed_ = std::move(done);
  drain_ = earlier(drain_, Deadline::after(limits::kDrain));
  server_.fail_queued(*lane_, this,
                      Error(ErrorCode::cancelled, "the window was closed before the operation began"));
  server_.something_closed_ = true;
  server_.expect(operations_ == 0 ? Clock::now() : drain_.when());
}

}  // namespace sluice::fabric::ofi
