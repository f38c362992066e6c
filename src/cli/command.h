// What every command gets and gives: parsed flags in, an exit code out.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sluice/client.h"
#include "sluice/error.h"
#include "sluice/options.h"

namespace sluice::cli {

/// Exit codes (design 8).
inline constexpr int kDone = 0;
inline constexpr int kFailed = 1;
inline constexpr int kUsage = 2;

/// Flags that every client command has.
struct ClientFlags {
  std::string endpoint;
  std::string region;
  std::string fabric = "default";
  std::string data_path;  ///< empty: the command's default
  std::string checksum = "crc64nvme";
  std::string timeout;    ///< empty: from size and lease
  std::string threshold;  ///< empty: measured default
  std::string ca_file;
  int attempts = 3;
  bool fence_always = false;
};

struct OutputFlags {
  bool json = false;
  bool quiet = false;
};

struct CopyFlags {
  ClientFlags client;
  OutputFlags output;
  std::string source;
  std::string target;
  std::string part_size = "64MiB";
  std::string content_type;
  std::vector<std::string> metadata;  ///< NAME=VALUE
  bool no_clobber = false;
};

struct CatFlags {
  ClientFlags client;
  OutputFlags output;
  std::vector<std::string> objects;
  std::string range;
  std::string part_size = "64MiB";
};

struct ListFlags {
  ClientFlags client;
  OutputFlags output;
  std::string location;
  bool recursive = false;
};

struct LocationFlags {
  ClientFlags client;
  OutputFlags output;
  std::vector<std::string> locations;
};

struct DoctorFlags {
  ClientFlags client;
  OutputFlags output;
};

struct ServeFlags {
  std::string directory;
  std::string listen = "127.0.0.1:9000";
  std::string fabric = "default";
  std::string ready_file;
  std::string config;
  std::string credentials_file;
  std::string region;
  std::string tls_certificate;
  std::string tls_key;
  std::string log_level = "info";
  std::string log_format = "text";
  std::string fsync = "always";
  std::string threads = "auto";
  std::string lease = "5s";
  std::string lease_min_rate = "32MiB";
  std::string drain = "3s";
  std::string shutdown_timeout = "15s";
  std::string max_connections = "1024";
  std::string staging = "256MiB";
  std::vector<std::string> allow_peer;
  bool read_only = false;
};

int run_serve(const ServeFlags& flags);
int run_cp(const CopyFlags& flags);
int run_cat(const CatFlags& flags);
int run_ls(const ListFlags& flags);
int run_stat(const LocationFlags& flags);
int run_rm(const LocationFlags& flags);
int run_mb(const LocationFlags& flags);
int run_rb(const LocationFlags& flags);
int run_doctor(const DoctorFlags& flags);

/// A client from flags over the AWS environment. `fallback_policy` is the command's default data path.
Result<Client> make_client(const ClientFlags& flags, DataPathPolicy fallback_policy);
Result<ClientOptions> client_options(const ClientFlags& flags, DataPathPolicy fallback_policy);
Result<TransferOptions> transfer_options(const ClientFlags& flags);

}  // namespace sluice::cli
