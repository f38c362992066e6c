#include "gateway/mover.h"

#include <algorithm>
#include <string>
#include <utility>

#include "base/limits.h"
#include "base/log.h"
#include "base/try.h"

namespace sluice::gateway {

OperationRing::OperationRing(Executor executor, std::unique_ptr<fabric::Target> target, StagingLoan buffers,
                             std::uint64_t operation_bytes, Deadline drain)
    : executor_(std::move(executor)),
      target_(std::move(target)),
      buffers_(std::move(buffers)),
      chunk_bytes_(std::min(
          {operation_bytes, target_->max_operation_bytes(), std::uint64_t{buffers_.buffer(0).size()}})),
      drain_(drain),
      wake_(executor_),
      slots_(buffers_.size()) {
  for (Slot& slot : slots_) slot.ring = this;
}

OperationRing::~OperationRing() {
  if (!closed_) log::error("gateway.window_dropped_open");
}

fabric::Completion OperationRing::completion(Slot& slot) {
  return [at = &slot](Result<std::uint64_t> moved) { at->ring->completed(*at, std::move(moved)); };
}

void OperationRing::write(std::size_t slot, std::uint64_t offset_in_window, std::uint64_t bytes) {
  slots_[slot].expected = bytes;
  slots_[slot].in_flight = true;
  target_->write(offset_in_window, buffers_.buffer(slot).first(bytes), completion(slots_[slot]));
}

void OperationRing::read(std::size_t slot, std::uint64_t offset_in_window, std::uint64_t bytes) {
  slots_[slot].expected = bytes;
  slots_[slot].in_flight = true;
  target_->read(offset_in_window, buffers_.buffer(slot).first(bytes), completion(slots_[slot]));
}

void OperationRing::completed(Slot& slot, Result<std::uint64_t> moved) {
  slot.in_flight = false;
  if (moved || moved.error().outcome() != Outcome::refused) posted_ = true;
  if (!moved) {
    fail(std::move(moved).error());
  } else if (*moved != slot.expected) {
    fail(Error(ErrorCode::size_mismatch,
               std::to_string(*moved) + " bytes moved where " + std::to_string(slot.expected) + " were to")
             .with_outcome(Outcome::uncertain));
  }
  if (awaited_ == &slot || failure_) wake_.cancel();
}

void OperationRing::fail(Error error) {
  if (!failure_) failure_ = std::move(error);
}

void OperationRing::interrupt() {
  interrupted_ = true;
  wake_.cancel();
}

Task<bool> OperationRing::wait(std::size_t slot) {
  while (slots_[slot].in_flight && usable()) {
    // Never beyond what the client was promised: it takes the request for lost soon after lease and drain.
    const Deadline promised = Deadline::at(drain_.when() + limits::kDrainGrace);
    wake_.expires_at(earlier(Deadline::after(limits::kCompletionPatience), promised).when());
    awaited_ = &slots_[slot];
    const auto ended = co_await wake_.async_wait(boost::asio::as_tuple(boost::asio::use_awaitable));
    awaited_ = nullptr;
    if (!std::get<0>(ended) && slots_[slot].in_flight) {
      posted_ = true;
      fail(Error(ErrorCode::timeout, "the fabric did not report the end of an operation")
               .with_outcome(Outcome::uncertain));
    }
  }
  co_return usable();
}

Task<bool> OperationRing::close() {
  if (closed_) co_return true;
  OneShot<bool> done(executor_);
  std::function<void()> callback = [done]() mutable { done.set(true); };
  target_->close(std::move(callback));
  // The fabric answers by the drain deadline; the margin only keeps a bug there from hanging the request.
  const Deadline patience = earlier(later(drain_, Deadline::after(limits::kDrain)),
                                    Deadline::after(limits::kDrain + limits::kCompletionPatience));
  const auto closed = co_await done.wait(patience);
  closed_ = closed.has_value();
  co_return closed_;
}

Task<Result<void>> read_fully(store::ObjectReader& reader, std::uint64_t offset, std::span<std::byte> into) {
  SLUICE_CO_TRY(const std::size_t at_once, reader.try_read(offset, into));
  if (at_once == into.size()) co_return Result<void>{};
  const std::span<std::byte> rest = into.subspan(at_once);
  co_return co_await reader.read(offset + at_once, rest);
}

namespace {

MoveReport report(MoveEnd end, std::optional<Error> error = std::nullopt) {
  MoveReport out;
  out.end = end;
  out.error = std::move(error);
  return out;
}

MoveReport broken(const OperationRing& ring) {
  if (ring.failure()) return report(MoveEnd::fabric_failed, ring.failure());
  return report(MoveEnd::interrupted);
}

}  // namespace

Task<MoveReport> move_to_window(OperationRing& ring, store::ObjectReader& reader, std::uint64_t first,
                                std::uint64_t count, Checksum* sum) {
  std::size_t slot = 0;
  for (std::uint64_t done = 0; done < count;) {
    const bool idle = co_await ring.wait(slot);
    if (!idle) co_return broken(ring);
    const std::uint64_t bytes = std::min(ring.chunk_bytes(), count - done);
    const std::span<std::byte> chunk = ring.buffer(slot).first(bytes);
    auto filled = co_await read_fully(reader, first + done, chunk);
    if (!filled) co_return report(MoveEnd::store_failed, std::move(filled).error());
    if (!ring.usable()) co_return broken(ring);
    ring.write(slot, done, bytes);
    // After posting: the network works while this thread hashes. Nobody writes to the buffer.
    if (sum != nullptr) sum->update(chunk);
    done += bytes;
    slot = (slot + 1) % ring.slots();
  }
  for (std::size_t last = 0; last < ring.slots(); ++last) {
    const bool idle = co_await ring.wait((slot + last) % ring.slots());
    if (!idle) co_return broken(ring);
  }
  co_return report(MoveEnd::complete);
}

Task<MoveReport> move_from_window(OperationRing& ring, store::ObjectWriter& writer, std::uint64_t count,
                                  Checksum* sum) {
  std::uint64_t asked = 0;
  const auto ask = [&ring, &asked, count](std::size_t into) {
    const std::uint64_t bytes = std::min(ring.chunk_bytes(), count - asked);
    ring.read(into, asked, bytes);
    asked += bytes;
  };
  for (std::size_t i = 0; i < ring.slots() && asked < count; ++i) ask(i);
  std::size_t slot = 0;
  for (std::uint64_t done = 0; done < count;) {
    const bool arrived = co_await ring.wait(slot);
    if (!arrived) co_return broken(ring);
    const std::uint64_t bytes = std::min(ring.chunk_bytes(), count - done);
    const std::span<const std::byte> chunk = ring.buffer(slot).first(bytes);
    if (sum != nullptr) sum->update(chunk);
    auto written = co_await writer.write(chunk);
    if (!written) co_return report(MoveEnd::store_failed, std::move(written).error());
    if (!ring.usable()) co_return broken(ring);
    done += bytes;
    if (asked < count) ask(slot);
    slot = (slot + 1) % ring.slots();
  }
  co_return report(MoveEnd::complete);
}

}  // namespace sluice::gateway
