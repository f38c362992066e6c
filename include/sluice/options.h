// How a client behaves. Plain structs; every field says its unit, its default and what unset means.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "sluice/error.h"
#include "sluice/export.h"

namespace sluice {

/// Whether the payload may, must or must not move by RDMA.
enum class DataPathPolicy : std::uint8_t {
  require,  ///< RDMA or an error (`declined`); the default of the library
  prefer,  ///< RDMA where it works and pays (see `rdma_threshold_bytes`), else the HTTP body; the result says
           ///< which
  off,     ///< the HTTP body
};

/// How the payload of a finished request moved.
enum class DataPath : std::uint8_t { none, rdma, http };

/// Whether RDMA reached the caller's own memory or a bounce buffer was copied from.
enum class Delivery : std::uint8_t { direct, staged };

/// When the client ends RDMA into a window by force instead of trusting a complete, checked success reply.
enum class FencePolicy : std::uint8_t {
  when_doubtful,  ///< timeouts, cancels, errors, odd replies: the default
  always,         ///< after every request, for servers that are not trusted to stop when they say so; costs a
                  ///< reconnect
};

enum class ChecksumMode : std::uint8_t {
  crc64nvme,  ///< PUTs carry it, GETs are verified against what landed: the default
  none,       ///< nothing is verified end to end; shows as "none" in the result
};

SLUICE_EXPORT std::string_view to_string(DataPathPolicy policy) noexcept;
SLUICE_EXPORT std::string_view to_string(DataPath path) noexcept;
SLUICE_EXPORT std::string_view to_string(Delivery delivery) noexcept;
/// "require", "prefer", "off". Errors: invalid_argument listing the three.
SLUICE_EXPORT Result<DataPathPolicy> parse_data_path_policy(std::string_view text);

struct ClientCredentials {
  std::string access_key;
  std::string secret_key;
  std::string session_token;  ///< empty: none
};

struct ClientOptions {
  std::string endpoint;           ///< "http://127.0.0.1:9000" or "https://…"; required
  ClientCredentials credentials;  ///< empty keys: anonymous requests, which can never use RDMA
  std::string region = "us-east-1";
  /// Fabrics to try, best first: "ofi:tcp", "ofi:net,ofi:tcp;ofi_rxm"; "none" turns RDMA off; "default"
  /// picks.
  std::string fabric = "default";
  DataPathPolicy data_path = DataPathPolicy::require;
  /// With `prefer`, smaller objects use the HTTP body. Unset: the measured default (docs/architecture.md).
  std::optional<std::uint64_t> rdma_threshold_bytes;
  ChecksumMode checksum = ChecksumMode::crc64nvme;
  FencePolicy fence = FencePolicy::when_doubtful;
  std::string ca_file;                                ///< PEM bundle for https; empty: the system's
  std::chrono::milliseconds request_timeout{30'000};  ///< for requests that move no payload
  int attempts = 3;                                   ///< tries per request, the first included; 1 to 10
  std::size_t max_connections = 64;                   ///< HTTP connections, and so requests in flight
};

/// The AWS environment and configuration files (AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN,
/// AWS_REGION, AWS_DEFAULT_REGION, AWS_ENDPOINT_URL_S3, AWS_ENDPOINT_URL, AWS_PROFILE,
/// AWS_SHARED_CREDENTIALS_FILE, AWS_CONFIG_FILE, AWS_CA_BUNDLE) over defaults. Fields already set in `base`
/// win. Errors: config_error naming file, line and profile.
SLUICE_EXPORT Result<ClientOptions> options_from_environment(ClientOptions base = {});

/// What stands in one transfer's way of the client's options.
struct TransferOptions {
  std::optional<DataPathPolicy> data_path;  ///< unset: the client's
  std::optional<ChecksumMode> checksum;     ///< unset: the client's
  /// The whole call, retries included. Unset: from the size and the server's lease (always later than lease +
  /// drain). A shorter one is honoured: the window is fenced at that moment and the outcome is `uncertain`.
  std::optional<std::chrono::milliseconds> timeout;
};

}  // namespace sluice
