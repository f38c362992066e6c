// What is known of one S3 endpoint: its discovery document and the fabrics that both sides have.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/deadline.h"
#include "base/task.h"
#include "fabric/fabric.h"
#include "fabric/lease.h"
#include "fabric/registry.h"
#include "s3/discovery.h"
#include "sluice/client.h"

namespace sluice::client {

class Engine;
using FabricOpener = std::function<Result<std::shared_ptr<fabric::ClientFabric>>(std::string_view)>;

/// Io thread only.
class Endpoint {
 public:
  Endpoint(std::vector<std::string> wanted, FabricOpener open_fabric)
      : wanted_(std::move(wanted)), open_fabric_(std::move(open_fabric)) {}

  /// Asks the discovery document once (again after kFabricRetry if that failed, or after `forget`), and opens
  /// the fabrics that match. An endpoint without one is not an error: `unavailable()` says why RDMA is off.
  Task<Result<void>> discover(std::shared_ptr<Engine> engine, Deadline deadline);
  /// The best fabric that has not failed lately, or null.
  [[nodiscard]] std::shared_ptr<fabric::ClientFabric> fabric() const;
  /// Why `fabric()` is null.
  [[nodiscard]] std::string unavailable() const;
  /// Whether a discovery document was read: the endpoint is a gateway that follows it.
  [[nodiscard]] bool discovered() const { return document_.has_value(); }
  [[nodiscard]] fabric::LeaseTerms lease() const;
  [[nodiscard]] std::uint64_t max_window_bytes() const;
  /// A fabric failed to reach the peer: leave it alone for kFabricRetry.
  void mark_failed(const fabric::ClientFabric& fabric, std::string reason);
  /// The endpoint may be another instance now: ask again before the next transfer.
  void forget() { asked_ = false; }
  [[nodiscard]] EndpointReport report() const;

 private:
  struct Candidate {
    std::shared_ptr<fabric::ClientFabric> fabric;
    Deadline usable_from = Deadline::after(std::chrono::seconds(0));
    std::string failure;
  };
  void match();

  std::vector<std::string> wanted_;
  FabricOpener open_fabric_;
  bool asked_ = false;
  Deadline ask_again_ = Deadline::never();
  std::optional<s3::DiscoveryDocument> document_;
  std::vector<Candidate> candidates_;
  std::string unavailable_;
};

}  // namespace sluice::client
