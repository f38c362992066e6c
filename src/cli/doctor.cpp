// sluice doctor: what works here, and what to do about what does not.
#include <sys/resource.h>

#include <nlohmann/json.hpp>

#include "base/limits.h"
#include "base/parse.h"
#include "checksum/crc64nvme.h"
#include "cli/command.h"
#include "cli/output.h"
#include "fabric/registry.h"

namespace sluice::cli {

namespace {

using Json = nlohmann::ordered_json;

std::string limit_text(int resource) {
  rlimit limit{};
  if (::getrlimit(static_cast<__rlimit_resource>(resource), &limit) != 0) return "unknown";
  return limit.rlim_cur == RLIM_INFINITY ? "unlimited" : std::to_string(limit.rlim_cur);
}

Json limits_json() {
  return {{"chunk_bytes", limits::kChunkBytes},
          {"chunks_in_flight", limits::kChunksInFlight},
          {"rdma_threshold_bytes", limits::kRdmaThresholdBytes},
          {"max_window_bytes", limits::kWindowBytes},
          {"lease_ms", limits::kLease.count()},
          {"lease_min_bytes_per_second", limits::kLeaseMinBytesPerSecond},
          {"drain_ms", limits::kDrain.count()},
          {"client_lanes", limits::kClientLanes},
          {"server_lanes", limits::kServerLanes},
          {"staging_bytes", limits::kStagingBytes},
          {"header_bytes", limits::kHeaderBytes},
          {"key_bytes", limits::kKeyBytes}};
}

/// What the endpoint says; `problem` gets the first thing that is wrong with it.
Json endpoint_json(const ClientFlags& flags, std::string& problem) {
  auto options = client_options(flags, DataPathPolicy::prefer);
  if (!options) {
    problem = options.error().describe();
    return {{"usable", false}, {"problem", problem}};
  }
  if (options->endpoint.empty()) return nullptr;
  Json out = {{"url", options->endpoint}};
  auto client = Client::make(*options);
  if (!client) {
    problem = client.error().describe();
    out["usable"] = false;
    out["problem"] = problem;
    return out;
  }
  auto report = client->probe();
  if (!report) {
    problem = report.error().describe();
    out["usable"] = false;
    out["problem"] = problem;
    return out;
  }
  out["usable"] = true;
  out["discovered"] = report->discovered;
  out["fabrics"] = report->fabrics;
  out["lease_ms"] = report->lease.count();
  out["drain_ms"] = report->drain.count();
  out["max_window_bytes"] = report->max_window_bytes;
  if (!report->rdma_unavailable.empty()) out["rdma_unavailable"] = report->rdma_unavailable;
  if (options->credentials.access_key.empty()) {
    out["credentials"] =
        "none: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or source the gateway's credentials file";
  } else if (auto buckets = client->buckets(); !buckets) {
    problem = buckets.error().describe();
    out["credentials"] = problem;
  } else {
    out["credentials"] = "accepted";
  }
  return out;
}

}  // namespace

int run_doctor(const DoctorFlags& flags) {
  const auto fabrics = fabric::report_fabrics();
  bool any_fabric = false;
  Json fabric_list = Json::array();
  for (const auto& report : fabrics) {
    any_fabric = any_fabric || report.usable;
    fabric_list.push_back({{"name", report.name},
                           {"usable", report.usable},
                           {"provider", report.identity.provider},
                           {"wire_protocol", report.identity.wire_protocol},
                           {"detail", report.detail}});
  }
  Json checksums = Json::array();
  for (const auto& implementation : crc64nvme_implementations())
    checksums.push_back(std::string(implementation.name));
  std::string problem;
  const Json endpoint = endpoint_json(flags.client, problem);
  const bool healthy = any_fabric && problem.empty();

  if (flags.output.json) {
    print_json({{"healthy", healthy},
                {"fabrics", fabric_list},
                {"crc64nvme", checksums},
                {"locked_memory", limit_text(RLIMIT_MEMLOCK)},
                {"open_files", limit_text(RLIMIT_NOFILE)},
                {"endpoint", endpoint},
                {"limits", limits_json()}});
    return healthy ? kDone : kFailed;
  }
  print_line("Fabrics");
  for (const auto& report : fabrics) {
    print_line(std::string(report.usable ? "  ok   " : "  --   ") + report.name + "  " + report.detail);
  }
  print_line("GPU memory");
  print_line("  --   no fabric of this build reaches device memory; objects move through host memory");
  print_line("Checksums");
  print_line("  ok   crc64nvme by " + std::string(crc64nvme_implementations().back().name));
  print_line("Limits of this process");
  print_line("  locked memory " + limit_text(RLIMIT_MEMLOCK) + " bytes (RDMA NICs need it), open files " +
             limit_text(RLIMIT_NOFILE));
  print_line("Endpoint");
  if (endpoint.is_null()) {
    print_line("  --   none given: set --endpoint or AWS_ENDPOINT_URL to have one checked");
  } else {
    for (const auto& [name, value] : endpoint.items()) {
      print_line("  " + name + ": " +
                 (value.is_string() ? printable(value.get<std::string>()) : value.dump()));
    }
  }
  print_line("Sluice's own limits");
  const Json own_limits = limits_json();  // named: items() refers to it
  for (const auto& [name, value] : own_limits.items()) print_line("  " + name + " " + value.dump());
  if (!any_fabric)
    print_error("no fabric is usable: install libfabric (Debian: libfabric1) for RDMA over TCP");
  if (!problem.empty()) print_error(problem);
  return healthy ? kDone : kFailed;
}

}  // namespace sluice::cli
