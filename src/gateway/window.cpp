#include "gateway/window.h"

#include <algorithm>
#include <utility>

#include "base/limits.h"
#include "base/metrics.h"
#include "base/try.h"
#include "fabric/token_text.h"
#include "gateway/auth.h"
#include "gateway/context.h"
#include "gateway/reply.h"
#include "gateway/worker.h"
#include "s3/errors.h"
#include "s3/token_shape.h"

namespace sluice::gateway {
namespace {

TokenChoice declined(std::string_view reason) {
  TokenChoice choice;
  choice.declined = reason;
  return choice;
}

OpenedWindow not_opened(std::string_view reason) {
  OpenedWindow window;
  window.declined = reason;
  return window;
}

}  // namespace

Result<TokenChoice> judge_token(Request& request, std::string_view text) {
  const s3::TokenShape shape = s3::detect_token_shape(text);
  if (shape == s3::TokenShape::malformed || shape == s3::TokenShape::too_long) {
    return s3::make_error("InvalidRDMAToken", "The RDMA token is malformed.");
  }
  if (shape != s3::TokenShape::ofi1) return declined(decline::kShape);
  auto parsed = fabric::parse_token_text(text);
  if (!parsed) return s3::make_error("InvalidRDMAToken").with_context(parsed.error().describe());
  if (request.worker.fabrics().empty()) return declined(decline::kNoFabric);
  for (const auto& fabric : request.worker.fabrics()) {
    if (!fabric->speaks(*parsed)) continue;
    TokenChoice choice;
    choice.token = std::move(*parsed);
    choice.fabric = fabric.get();
    return choice;
  }
  return declined(decline::kOtherFabric);
}

Task<Result<OpenedWindow>> open_window(Request& request, TokenChoice choice, fabric::Direction direction,
                                       std::uint64_t bytes) {
  SLUICE_CO_CHECK(admit_token_once(request));
  const GatewayOptions& options = request.context.options;
  const std::uint64_t chunk = options.chunk_bytes;
  // One buffer more than operations, so that the next chunk is read or stored while they are in flight.
  const std::uint64_t wanted =
      std::min<std::uint64_t>(options.chunks_in_flight + 1, (bytes + chunk - 1) / chunk);
  auto staging = co_await request.context.staging.take(request.client(), static_cast<std::size_t>(wanted),
                                                       Deadline::after(limits::kStagingWaitRdma));
  if (!staging) co_return not_opened(decline::kStaging);
  if (request.over()) co_return s3::make_error("ServiceUnavailable");

  fabric::OpenPolicy policy;
  policy.direction = direction;
  policy.peer_address = request.exchange.addresses().peer;
  policy.allowed_peers = options.allowed_peers;
  policy.local_address = request.exchange.addresses().local;
  policy.lease = Deadline::at(request.exchange.arrived() + options.lease.duration(bytes));
  policy.drain = Deadline::at(policy.lease.when() + options.lease.drain);
  auto target = choice.fabric->open(*choice.token, policy);
  if (!target) {
    metrics::counter("sluice_gateway_fabric_errors_total{fabric=\"" + choice.fabric->identity().name +
                     "\",step=\"open\"}")
        .add();
    request.failure = target.error().describe();
    if (target.error().code() != ErrorCode::token_refused) co_return not_opened(decline::kOpen);
    co_return s3::make_error("InvalidRDMAToken", "The RDMA token is refused: " + target.error().message());
  }
  const Executor executor = co_await boost::asio::this_coro::executor;
  OpenedWindow window;
  window.ring =
      std::make_unique<OperationRing>(executor, std::move(*target), std::move(*staging), chunk, policy.drain);
  request.fabric = choice.fabric->identity().name;
  request.interrupt = [ring = window.ring.get()] { ring->interrupt(); };
  co_return window;
}

Task<bool> close_window(Request& request, std::unique_ptr<OperationRing> ring) {
  const bool closed = co_await ring->close();
  request.interrupt = nullptr;
  if (ring->failure()) {
    metrics::counter("sluice_gateway_fabric_errors_total{fabric=\"" + request.fabric + "\",step=\"move\"}")
        .add();
  }
  if (closed) co_return ring->anything_posted();
  request.worker.keep_for_ever(std::move(ring));
  co_return true;
}

}  // namespace sluice::gateway
