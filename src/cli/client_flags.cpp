#include "base/parse.h"
#include "base/try.h"
#include "cli/command.h"

namespace sluice::cli {

Result<ClientOptions> client_options(const ClientFlags& flags, DataPathPolicy fallback_policy) {
  ClientOptions options;
  options.endpoint = flags.endpoint;
  options.fabric = flags.fabric;
  options.data_path = fallback_policy;
  options.attempts = flags.attempts;
  options.ca_file = flags.ca_file;
  if (flags.fence_always) options.fence = FencePolicy::always;
  if (!flags.data_path.empty()) {
    auto policy = parse_data_path_policy(flags.data_path);
    if (!policy) return std::move(policy).error().with_context("--data-path");
    options.data_path = *policy;
  }
  if (flags.checksum == "none") {
    options.checksum = ChecksumMode::none;
  } else if (flags.checksum != "crc64nvme") {
    return Error(ErrorCode::invalid_argument,
                 "--checksum: unknown '" + flags.checksum + "'; use crc64nvme or none");
  }
  if (!flags.threshold.empty()) {
    auto bytes = parse_size(flags.threshold);
    if (!bytes) return std::move(bytes).error().with_context("--rdma-threshold");
    options.rdma_threshold_bytes = *bytes;
  }
  SLUICE_TRY(options, options_from_environment(std::move(options)));
  if (!flags.region.empty()) options.region = flags.region;  // also when it names the default
  return options;
}

Result<TransferOptions> transfer_options(const ClientFlags& flags) {
  TransferOptions options;
  if (!flags.timeout.empty()) {
    auto timeout = parse_duration(flags.timeout);
    if (!timeout) return std::move(timeout).error().with_context("--timeout");
    options.timeout = *timeout;
  }
  return options;
}

Result<Client> make_client(const ClientFlags& flags, DataPathPolicy fallback_policy) {
  SLUICE_TRY(ClientOptions options, client_options(flags, fallback_policy));
  return Client::make(std::move(options));
}

}  // namespace sluice::cli
