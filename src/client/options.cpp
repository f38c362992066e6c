#include "client/options.h"

#include "base/limits.h"
#include "base/uri.h"
#include "fabric/registry.h"

namespace sluice {

std::string_view to_string(DataPathPolicy policy) noexcept {
  switch (policy) {
    case DataPathPolicy::require:
      return "require";
    case DataPathPolicy::prefer:
      return "prefer";
    case DataPathPolicy::off:
      return "off";
  }
  return "?";
}

std::string_view to_string(DataPath path) noexcept {
  switch (path) {
    case DataPath::none:
      return "none";
    case DataPath::rdma:
      return "rdma";
    case DataPath::http:
      return "http";
  }
  return "?";
}

std::string_view to_string(Delivery delivery) noexcept {
  return delivery == Delivery::direct ? "direct" : "staged";
}

Result<DataPathPolicy> parse_data_path_policy(std::string_view text) {
  if (text == "require") return DataPathPolicy::require;
  if (text == "prefer") return DataPathPolicy::prefer;
  if (text == "off") return DataPathPolicy::off;
  return Error(ErrorCode::invalid_argument,
               "unknown data path policy '" + std::string(text) + "': use require, prefer or off");
}

namespace client {

Result<void> validate(const ClientOptions& options) {
  const auto bad = [](std::string message) { return Error(ErrorCode::config_error, std::move(message)); };
  if (options.endpoint.empty()) {
    return bad(
        "no endpoint: set AWS_ENDPOINT_URL, --endpoint or ClientOptions::endpoint to something like "
        "http://127.0.0.1:9000");
  }
  if (auto url = parse_endpoint_url(options.endpoint); !url) {
    return bad("endpoint: " + url.error().describe());
  }
  const auto& keys = options.credentials;
  if (keys.access_key.empty() != keys.secret_key.empty()) {
    return bad("credentials: an access key needs its secret key and the other way round");
  }
  if (options.region.empty()) return bad("region: must not be empty; us-east-1 is the usual one");
  if (auto fabrics = fabric::parse_fabric_list(options.fabric); !fabrics)
    return bad("fabric: " + fabrics.error().describe());
  if (options.attempts < 1 || options.attempts > 10) {
    return bad("attempts: " + std::to_string(options.attempts) + " is not between 1 and 10");
  }
  if (options.max_connections < 1 || options.max_connections > limits::kServerConnections) {
    return bad("max_connections: " + std::to_string(options.max_connections) + " is not between 1 and " +
               std::to_string(limits::kServerConnections));
  }
  if (options.request_timeout <= std::chrono::milliseconds::zero())
    return bad("request_timeout: must be more than 0 ms");
  return {};
}

}  // namespace client

}  // namespace sluice
