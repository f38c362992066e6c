// Gateway: an S3 endpoint over an ObjectStore, with an HTTP and an RDMA data plane.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/deadline.h"
#include "base/limits.h"
#include "base/uri.h"
#include "fabric/fabric.h"
#include "fabric/lease.h"
#include "http/server.h"
#include "s3/sigv4.h"
#include "sluice/error.h"
#include "store/store.h"

namespace sluice::gateway {

struct GatewayOptions {
  http::ServerOptions http;
  s3::Credentials credentials;  ///< the one key pair (several keys: a later issue)
  std::string region;           ///< empty: any region in a signature's scope is accepted
  /// Makes the server half of each fabric, once per worker thread; empty: no RDMA data plane.
  /// In the order of preference; tests decorate them with faults.
  std::vector<std::function<Result<std::unique_ptr<fabric::ServerFabric>>()>> fabrics;
  std::size_t threads = 1;
  fabric::LeaseTerms lease;
  std::uint64_t chunk_bytes = limits::kChunkBytes;
  std::size_t chunks_in_flight = limits::kChunksInFlight;
  std::uint64_t staging_bytes = limits::kStagingBytes;
  std::size_t max_requests = limits::kRequestsInFlight;
  std::uint64_t max_window_bytes = limits::kWindowBytes;
  /// Token endpoints that are allowed besides the address the request came from.
  std::vector<std::string> allowed_peers;
  bool read_only = false;
};

/// What `stop` had to leave behind.
struct StopReport {
  std::size_t requests_cut_off = 0;
  std::size_t fabric_operations_left = 0;
};

/// Runs on threads of its own. Safe from any thread.
class Gateway {
 public:
  /// `store` is shared by all threads. Errors: io_error (busy port…), config_error (TLS, fabric), each one
  /// line with the cure.
  static Result<std::unique_ptr<Gateway>> start(GatewayOptions options,
                                                std::shared_ptr<store::ObjectStore> store);
  virtual ~Gateway() = default;  ///< stops with a short deadline if `stop` was not called
  [[nodiscard]] virtual ListenAddress address() const = 0;
  [[nodiscard]] virtual std::string instance_id() const = 0;
  [[nodiscard]] virtual std::vector<fabric::FabricIdentity> fabrics() const = 0;
  /// Refuses new connections, finishes running requests until the deadline, then cuts. Blocks; once.
  virtual StopReport stop(Deadline deadline) = 0;
};

}  // namespace sluice::gateway
