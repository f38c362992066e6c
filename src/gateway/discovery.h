// What the gateway says about itself before anybody has signed anything.
#pragma once

#include <string>
#include <vector>

#include "fabric/fabric.h"
#include "gateway/gateway.h"

namespace sluice::gateway {

/// The document as it is served, the same for the gateway's whole life.
std::string discovery_json(const GatewayOptions& options, const std::string& instance_id,
                           const std::vector<fabric::FabricIdentity>& fabrics);

}  // namespace sluice::gateway
