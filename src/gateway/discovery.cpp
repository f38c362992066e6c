// The discovery document: what this gateway speaks. Unauthenticated, so nothing secret is in it.
#include "gateway/discovery.h"

#include <utility>

#include "gateway/context.h"
#include "gateway/operations.h"
#include "gateway/reply.h"
#include "s3/discovery.h"
#include "s3/errors.h"
#include "s3/headers.h"

namespace sluice::gateway {

std::string discovery_json(const GatewayOptions& options, const std::string& instance_id,
                           const std::vector<fabric::FabricIdentity>& fabrics) {
  s3::DiscoveryDocument document;
  document.instance_id = instance_id;
  std::uint64_t largest = 0;
  for (const fabric::FabricIdentity& fabric : fabrics) {
    s3::DiscoveredFabric found;
    found.name = fabric.name;
    found.provider = fabric.provider;
    found.wire_protocol = fabric.wire_protocol;
    document.fabrics.push_back(std::move(found));
    largest = std::max(largest, fabric.max_window_bytes);
  }
  if (!fabrics.empty()) document.dialects.emplace_back("ofi1");
  document.lease = options.lease.lease;
  document.lease_min_bytes_per_second = options.lease.min_bytes_per_second;
  document.drain = options.lease.drain;
  document.max_window_bytes = std::min(largest, options.max_window_bytes);
  document.checksums.emplace_back("crc64nvme");
  return s3::to_json(document);
}

Task<Result<void>> send_discovery(Request& request) {
  const std::string& method = request.exchange.request().method;
  if (method != "GET" && method != "HEAD") {
    co_return s3::make_error("MethodNotAllowed", "the discovery document can only be read");
  }
  http::ResponseHead head = make_head(request, 200);
  head.headers.add(s3::header::kContentType, "application/json");
  head.headers.add(s3::header::kCacheControl, "no-store");
  std::string body = request.context.discovery_json;
  const std::uint64_t length = body.size();
  co_return co_await request.exchange.respond(std::move(head), std::move(body), length);
}

}  // namespace sluice::gateway
