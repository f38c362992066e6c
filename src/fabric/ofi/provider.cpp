#include "fabric/ofi/provider.h"

#include <dlfcn.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>
#include <signal.h>

#include <array>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <tuple>

namespace sluice::fabric::ofi {
namespace {

// The API that we ask for: the oldest we support. libfabric adapts its behaviour to it.
constexpr std::uint32_t kApiVersion = FI_VERSION(1, 17);

// Answers are kept per local address. More addresses than this means that somebody feeds us random ones.
constexpr std::size_t kKeptAnswers = 256;

constexpr std::array kTraits = {
    Traits{"net", "xnet", FenceKind::close_lane, AddressKind::socket, 1, true, true, false},
    Traits{"tcp", "xnet", FenceKind::close_lane, AddressKind::socket, 1, true, false, false},
    Traits{"tcp;ofi_rxm", "rxm-tcp", FenceKind::close_lane, AddressKind::socket, 1, false, false, true},
    Traits{"verbs;ofi_rxm", "rxm-verbs", FenceKind::close_region, AddressKind::socket, 1024, false, false,
           true},
    Traits{"efa", "efa", FenceKind::close_lane, AddressKind::other, 1, false, false, true},
};

struct Refusal {
  std::string_view name;
  std::string_view reason;
};
constexpr std::array kRefusals = {
    Refusal{"shm", "it checks no memory keys, so revoked and forged tokens would work; use ofi:tcp"},
    Refusal{"udp", "it is a slow emulation without a descriptor to wait on; use ofi:tcp"},
    Refusal{"udp;ofi_rxd", "it is a slow emulation without a descriptor to wait on; use ofi:tcp"},
    Refusal{"sockets", "it is deprecated and takes milliseconds per operation; use ofi:tcp"},
    Refusal{"verbs", "it has no reliable datagram endpoints by itself; use ofi:verbs;ofi_rxm"},
};

// Signals that the PSM libraries handle by printing a backtrace.
constexpr std::array kHandledSignals = {SIGSEGV, SIGBUS, SIGILL, SIGABRT, SIGFPE, SIGINT, SIGTERM};

void set_default(const char* name, const char* value) {
  ::setenv(name, value, 0);
}

void prepare_environment() {
  set_default("FI_MR_CACHE_MAX_COUNT", "0");
  set_default("RDMAV_FORK_SAFE", "1");
  set_default("FI_EFA_FORK_SAFE", "1");
  // Buffers for messages, which we never send: with the defaults opening a lane of tcp;ofi_rxm takes 50 ms,
  // with these 2 ms. The transmit queue is what bounds operations in flight on verbs.
  set_default("FI_OFI_RXM_MSG_RX_SIZE", "8");
  set_default("FI_OFI_RXM_MSG_TX_SIZE", "64");
}

/// Takes away the signal handlers of libpsm, which libfabric links: they are installed when it is loaded,
/// before main, print a backtrace and write a file into the working directory. Everybody else's stay.
void remove_psm_handlers() {
  for (const int number : kHandledSignals) {
    struct sigaction action {};
    if (::sigaction(number, nullptr, &action) != 0) continue;
    // Both members are one union on Linux: the handler's address, whatever its signature.
    auto* const handler = reinterpret_cast<void*>(action.sa_handler);
    Dl_info library{};
    if (handler == reinterpret_cast<void*>(SIG_DFL) || ::dladdr(handler, &library) == 0) continue;
    if (std::string_view(library.dli_fname).find("libpsm") == std::string_view::npos) continue;
    action.sa_handler = SIG_DFL;
    action.sa_flags = 0;
    ::sigaction(number, &action, nullptr);
  }
}

struct InfoDeleter {
  void operator()(fi_info* info) const { fi_freeinfo(info); }
};
using OwnedInfo = std::unique_ptr<fi_info, InfoDeleter>;

OwnedInfo make_hints(const Traits& traits, Side side) {
  OwnedInfo hints(fi_allocinfo());
  if (!hints) return hints;
  hints->ep_attr->type = FI_EP_RDM;
  hints->caps = FI_RMA | (side == Side::server ? (FI_READ | FI_WRITE) : (FI_REMOTE_READ | FI_REMOTE_WRITE));
  hints->mode = FI_CONTEXT | FI_CONTEXT2;
  hints->domain_attr->mr_mode =
      FI_MR_LOCAL | FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY | FI_MR_ENDPOINT;
  hints->domain_attr->threading = FI_THREAD_SAFE;
  hints->domain_attr->resource_mgmt = FI_RM_ENABLED;
  hints->fabric_attr->prov_name = ::strdup(std::string(traits.name).c_str());
  return hints;
}

Result<Info> ask(const Traits& traits, Side side, const std::string& address) {
  const OwnedInfo hints = make_hints(traits, side);
  if (!hints) return Error(ErrorCode::out_of_memory, "no memory for libfabric's hints");
  const bool socket = traits.address == AddressKind::socket;
  fi_info* found = nullptr;
  const int status = fi_getinfo(kApiVersion, socket ? address.c_str() : nullptr, nullptr,
                                socket ? FI_SOURCE : 0, hints.get(), &found);
  const OwnedInfo answers(found);
  remove_psm_handlers();
  if (status != 0) {
    std::string what = "libfabric provider " + std::string(traits.name);
    if (socket) what += " on " + address;
    return library_error(ErrorCode::unsupported, what, status);
  }
  // Asked for "tcp", libfabric 1.17 answers with "tcp;ofi_rxm", which speaks another protocol.
  for (const fi_info* info = found; info != nullptr; info = info->next) {
    if (traits.name != info->fabric_attr->prov_name) continue;
    fi_info* copy = fi_dupinfo(info);
    if (copy == nullptr) return Error(ErrorCode::out_of_memory, "no memory for libfabric's answer");
    return Info(copy, [](const fi_info* owned) { fi_freeinfo(const_cast<fi_info*>(owned)); });  // NOLINT
  }
  return Error(ErrorCode::unsupported, "libfabric provider " + std::string(traits.name) +
                                           " is not offered here (" + library_version() + ")");
}

struct Answers {
  std::mutex mutex;
  std::map<std::tuple<std::string_view, Side, std::string>, Info> kept;
};

// Never destroyed: threads of ours may outlive the statics.
Answers& answers() {
  static auto* const instance = new Answers;
  return *instance;
}

}  // namespace

const Traits* find_traits(std::string_view provider) {
  for (const Traits& traits : kTraits)
    if (traits.name == provider) return &traits;
  return nullptr;
}

std::span<const Traits> all_traits() {
  return kTraits;
}

std::string_view refusal(std::string_view provider) {
  for (const Refusal& entry : kRefusals)
    if (entry.name == provider) return entry.reason;
  return {};
}

Result<Info> query(const Traits& traits, Side side, const std::string& address) {
  static std::once_flag once;
  std::call_once(once, prepare_environment);
  Answers& cache = answers();
  const auto key =
      std::make_tuple(traits.name, side, traits.address == AddressKind::socket ? address : std::string());
  // Held over libfabric's first, slow answer on purpose: its initialisation is not something to race for.
  const std::lock_guard lock(cache.mutex);
  if (const auto known = cache.kept.find(key); known != cache.kept.end()) return known->second;
  Result<Info> answer = ask(traits, side, address);
  if (!answer) return answer;
  if (cache.kept.size() >= kKeptAnswers) cache.kept.clear();
  cache.kept.emplace(key, *answer);
  return answer;
}

std::string plain_address(std::string_view text) {
  constexpr std::string_view kMapped = "::ffff:";
  if (text.size() > 2 && text.front() == '[' && text.back() == ']') text = text.substr(1, text.size() - 2);
  if (text.substr(0, kMapped.size()) == kMapped && text.find('.') != std::string_view::npos)
    text.remove_prefix(kMapped.size());
  return std::string(text);
}

Error library_error(ErrorCode code, std::string_view what, long status) {
  const int number = static_cast<int>(status < 0 ? -status : status);
  return Error(code, std::string(what) + ": " + fi_strerror(number)).with_native("libfabric", number);
}

std::string library_version() {
  const std::uint32_t version = fi_version();
  return "libfabric " + std::to_string(FI_MAJOR(version)) + "." + std::to_string(FI_MINOR(version));
}

}  // namespace sluice::fabric::ofi
