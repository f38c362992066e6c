#include "client/token_exchange.h"

#include <utility>

#include "base/limits.h"
#include "base/metrics.h"
#include "base/try.h"
#include "client/request.h"
#include "fabric/window.h"

namespace sluice::client {

Task<Result<void>> fence(std::shared_ptr<Engine> engine, fabric::Token token, fabric::RevokeReason reason) {
  if (engine->options().fence == FencePolicy::always) reason = fabric::RevokeReason::doubtful;
  OneShot<fabric::FenceOutcome> done(engine->executor());
  std::function<void(fabric::FenceOutcome)> callback = [done](fabric::FenceOutcome outcome) mutable {
    done.set(outcome);
  };
  const Deadline deadline = Deadline::after(limits::kFenceTimeout);
  std::move(token).revoke(reason, deadline, std::move(callback));
  // The fabric answers by its own deadline; the margin only keeps a bug there from hanging the caller.
  const Deadline patience = Deadline::after(limits::kFenceTimeout + limits::kClientMargin);
  auto outcome = co_await done.wait(patience);
  if (outcome && *outcome == fabric::FenceOutcome::fenced) co_return Result<void>{};
  metrics::counter("sluice_client_fence_failures_total").add();
  co_return Error(ErrorCode::fence_failed,
                  "RDMA into the window could not be ended: the memory is quarantined and must not be used "
                  "or freed until "
                  "the process ends")
      .with_outcome(Outcome::uncertain);
}

namespace {

/// The error that ends an attempt, after the fence that it makes necessary.
Task<Error> fenced_error(std::shared_ptr<Engine> engine, fabric::Token token, Error error) {
  auto fenced = co_await fence(std::move(engine), std::move(token), fabric::RevokeReason::doubtful);
  if (!fenced) {
    Error failed = std::move(fenced).error();
    failed.add_context(error.describe());
    co_return failed;
  }
  co_return error;
}

Error cancelled_error(Outcome outcome) {
  return Error(ErrorCode::cancelled, "the transfer was cancelled").with_outcome(outcome);
}

}  // namespace

Task<Result<TokenReply>> exchange_with_token(std::shared_ptr<Engine> engine, TokenRequest request,
                                             std::shared_ptr<AttemptControl> control) {
  SLUICE_CO_TRY(auto connection, co_await engine->pool().acquire(request.deadline));
  if (control->cancelled()) co_return cancelled_error(Outcome::refused);

  const auto direction =
      request.operation == s3::RdmaOperation::get ? fabric::Direction::get : fabric::Direction::put;
  SLUICE_CO_TRY(auto region, fabric::Region::make(request.memory));
  SLUICE_CO_TRY(auto window, fabric::Window::make(region, 0, request.memory.bytes, direction));
  fabric::MintOptions mint;
  mint.local_address = connection->addresses().local;
  mint.peer = engine->url().to_string();
  auto minted = request.fabric->mint(window, mint);
  if (!minted) {
    co_return Error(ErrorCode::declined,
                    request.fabric->identity().name + " cannot offer a window: " + minted.error().describe())
        .with_outcome(Outcome::refused);
  }
  fabric::Token token = std::move(*minted);

  s3::add_rdma_request(request.headers, request.operation, token.text());
  std::optional<std::uint64_t> length;
  if (request.operation == s3::RdmaOperation::put) length = 0;
  auto head = make_head(*engine, request.method, request.target, std::move(request.headers), length);
  if (!head) co_return co_await fenced_error(engine, std::move(token), std::move(head).error());

  control->watch(connection.get());
  auto sent = co_await connection->send_head(std::move(*head), request.deadline);
  if (!sent) {
    control->watch(nullptr);
    Error error = control->cancelled() ? cancelled_error(sent.error().outcome()) : std::move(sent).error();
    co_return co_await fenced_error(engine, std::move(token), std::move(error));
  }
  const Deadline lease = Deadline::after(engine->endpoint().lease().client_duration(request.memory.bytes));
  auto response = co_await connection->read_head(earlier(request.deadline, lease));
  control->watch(nullptr);
  if (!response) {
    Error error = control->cancelled() ? cancelled_error(Outcome::uncertain) : std::move(response).error();
    error.set_outcome(Outcome::uncertain);
    connection.reset();  // closed, so that the server stops posting as soon as it can
    co_return co_await fenced_error(engine, std::move(token), std::move(error));
  }
  co_return TokenReply{std::move(connection), std::move(token), std::move(*response)};
}

}  // namespace sluice::client
