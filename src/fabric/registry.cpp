#include "fabric/registry.h"

#include <algorithm>
#include <array>
#include <map>
#include <mutex>
#include <optional>

#include "base/try.h"
#include "fabric/ofi/client.h"
#include "fabric/ofi/provider.h"
#include "fabric/ofi/server.h"

namespace sluice::fabric {
namespace {

constexpr std::string_view kPrefix = "ofi:";
constexpr std::string_view kDefault = "ofi:tcp";
constexpr std::string_view kHint = "; `--fabric none` turns RDMA off";
// What "ofi:tcp" stands for, best first (provider.h says how they differ).
constexpr std::array<std::string_view, 3> kTcp = {"net", "tcp", "tcp;ofi_rxm"};

std::string known_names() {
  std::string names;
  for (const ofi::Traits& traits : ofi::all_traits())
    names += std::string(kPrefix) + std::string(traits.name) + ", ";
  return names + "default, none";
}

/// The provider behind a name like "ofi:net". Errors: config_error.
Result<const ofi::Traits*> traits_of(std::string_view name) {
  if (name.substr(0, kPrefix.size()) == kPrefix) {
    const std::string_view provider = name.substr(kPrefix.size());
    if (const ofi::Traits* traits = ofi::find_traits(provider)) return traits;
    if (const std::string_view why = ofi::refusal(provider); !why.empty())
      return Error(ErrorCode::config_error,
                   "fabric " + std::string(name) + " is not used: " + std::string(why) + std::string(kHint));
  }
  return Error(ErrorCode::config_error, "unknown fabric \"" + std::string(name) + "\"; known are " +
                                            known_names() + std::string(kHint));
}

/// Opens `name`, or for "ofi:tcp" the first that works.
template <class T, class Open>
Result<T> open_named(std::string_view name, Open open) {
  if (name != kDefault) {
    SLUICE_TRY(const ofi::Traits* traits, traits_of(name));
    return open(*traits, std::string(name));
  }
  std::optional<Error> first;
  for (const std::string_view provider : kTcp) {
    Result<T> opened = open(*ofi::find_traits(provider), std::string(kPrefix) + std::string(provider));
    if (opened) return opened;
    if (!first) first = std::move(opened).error();
  }
  return std::move(*first).with_context("no socket provider of libfabric works here");
}

struct Clients {
  std::mutex mutex;
  std::map<std::string, std::shared_ptr<ofi::OfiClient>, std::less<>> opened;
};

// Never destroyed: tokens and quarantined memory may outlive the statics.
Clients& clients() {
  static auto* const instance = new Clients;
  return *instance;
}

}  // namespace

Result<std::vector<std::string>> parse_fabric_list(std::string_view text) {
  std::vector<std::string> names;
  if (text == "none") return names;
  while (true) {
    const std::size_t comma = text.find(',');
    std::string_view name = text.substr(0, comma);
    while (!name.empty() && name.front() == ' ') name.remove_prefix(1);
    while (!name.empty() && name.back() == ' ') name.remove_suffix(1);
    if (name == "default") name = kDefault;
    if (name == "none")
      return Error(ErrorCode::config_error, "fabric \"none\" stands alone: it turns RDMA off");
    SLUICE_CHECK(traits_of(name));
    if (std::find(names.begin(), names.end(), name) == names.end()) names.emplace_back(name);
    if (comma == std::string_view::npos) return names;
    text.remove_prefix(comma + 1);
  }
}

Result<std::shared_ptr<ClientFabric>> client_fabric(std::string_view name) {
  Clients& all = clients();
  const auto open = [&all](const ofi::Traits& traits,
                           const std::string& full) -> Result<std::shared_ptr<ClientFabric>> {
    if (const auto known = all.opened.find(full); known != all.opened.end())
      return std::shared_ptr<ClientFabric>(known->second);
    SLUICE_TRY(auto client, ofi::OfiClient::open(traits, full));
    all.opened.emplace(full, client);
    return std::shared_ptr<ClientFabric>(std::move(client));
  };
  const std::lock_guard lock(all.mutex);
  return open_named<std::shared_ptr<ClientFabric>>(name, open);
}

Result<std::unique_ptr<ServerFabric>> make_server_fabric(std::string_view name) {
  const auto open = [](const ofi::Traits& traits,
                       const std::string& full) -> Result<std::unique_ptr<ServerFabric>> {
    SLUICE_TRY(auto server, ofi::OfiServer::make(traits, full));
    return std::unique_ptr<ServerFabric>(std::move(server));
  };
  return open_named<std::unique_ptr<ServerFabric>>(name, open);
}

std::vector<FabricReport> report_fabrics() {
  std::vector<FabricReport> reports;
  for (const ofi::Traits& traits : ofi::all_traits()) {
    FabricReport report;
    report.name = std::string(kPrefix) + std::string(traits.name);
    auto server = make_server_fabric(report.name);
    report.usable = server.has_value();
    if (server) {
      report.identity = (*server)->identity();
      report.detail =
          ofi::library_version() + ", " +
          (traits.address == ofi::AddressKind::socket ? "IP socket addresses" : "addresses of its own");
    } else {
      report.detail = server.error().describe() + "; needs the hardware and its libfabric provider";
    }
    reports.push_back(std::move(report));
  }
  return reports;
}

}  // namespace sluice::fabric
