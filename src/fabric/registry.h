// From `--fabric` names to provider instances: the one place that knows which providers exist.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "fabric/fabric.h"

namespace sluice::fabric {

/// What `sluice doctor` shows of one provider on this machine.
struct FabricReport {
  std::string name;
  bool usable = false;
  FabricIdentity identity;
  std::string detail;  ///< library version and address format, or why it is not usable and what to do
};

/// Splits and checks a `--fabric` list ("ofi:tcp", "ofi:net,ofi:tcp;ofi_rxm", "none", "default"). "ofi:tcp"
/// stands for the best socket provider that libfabric has here: net (1.17), tcp (1.18 and later), then
/// tcp;ofi_rxm (fabric.md 0.2). Errors: config_error naming the unknown one, the known ones and how to turn
/// RDMA off.
Result<std::vector<std::string>> parse_fabric_list(std::string_view text);

/// The process-wide client half of that name (one registration table, one progress thread). Opened on first
/// use.
Result<std::shared_ptr<ClientFabric>> client_fabric(std::string_view name);
/// A new server half for the calling thread.
Result<std::unique_ptr<ServerFabric>> make_server_fabric(std::string_view name);
/// Every provider that could exist, tried.
std::vector<FabricReport> report_fabrics();

}  // namespace sluice::fabric
