// What the libfabric providers differ in, as data, and how they are looked up on this machine.
#pragma once

#include <rdma/fabric.h>

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "sluice/error.h"

namespace sluice::fabric::ofi {

/// What ends every RDMA into a window, whatever the peer does.
enum class FenceKind : std::uint8_t {
  close_lane,    ///< closing the endpoint: bytes land only inside our own progress calls on it (socket
                 ///< providers)
  close_region,  ///< closing the registration, which the NIC checks (verbs, with the registration cache off)
};

/// How endpoint names look, and so what can be checked before libfabric sees one.
enum class AddressKind : std::uint8_t {
  socket,  ///< sockaddr_in or sockaddr_in6; lanes are bound to an IP address
  other,   ///< opaque
};

/// One row per provider. Adding a provider is adding a row.
struct Traits {
  std::string_view name;           ///< libfabric's name, as it stands in tokens
  std::string_view wire_protocol;  ///< two halves talk if these are equal
  FenceKind fence;
  AddressKind address;
  std::size_t windows_per_lane;  ///< 1 where the lane is the fence
  /// Whether closing and opening an endpoint takes well under a millisecond, so that it can be done on a
  /// request's path, and leaves the rest of its domain sound (ofi_rxm 1.17 crashes in the queue after it).
  bool cheap_lane;
  /// Whether to wait on an event queue's descriptor instead of the completion queue's: in libfabric 1.17 the
  /// latter stays readable for ever after net's first completion.
  bool waits_on_events;
  /// libfabric needs to be called now and then, not only when its descriptor is readable.
  bool needs_tick;
};

/// The row of that provider, or null if Sluice does not use it (`refusal` says why).
const Traits* find_traits(std::string_view provider);
std::span<const Traits> all_traits();
/// Why a provider that libfabric may offer is not used; empty for unknown names.
std::string_view refusal(std::string_view provider);

/// Which half of the seam an endpoint is for: decides its capabilities.
enum class Side : std::uint8_t {
  client,  ///< FI_REMOTE_READ | FI_REMOTE_WRITE: the passive half, which owns windows
  server,  ///< FI_READ | FI_WRITE only: nothing of the server's memory can be reached
};

/// A description that libfabric gave for one provider, side and local address. Immutable.
using Info = std::shared_ptr<const fi_info>;

/// Asks libfabric; answers are kept for the life of the process, because the first question takes 100 ms.
/// Initialises libfabric on first use: sets FI_MR_CACHE_MAX_COUNT=0 (else closing a registration revokes
/// nothing), RDMAV_FORK_SAFE=1, FI_EFA_FORK_SAFE=1 and small queues for ofi_rxm where the environment does
/// not say otherwise, and removes the signal handlers of its PSM libraries. `address` is a
/// textual IP address, ignored where names are not sockets'. Safe from any thread. Errors: unsupported (the
/// provider is not here), invalid_argument (the address is not one of this machine).
Result<Info> query(const Traits& traits, Side side, const std::string& address);

/// An address as libfabric wants it: without brackets, and IPv4 where it is IPv4 mapped into IPv6.
std::string plain_address(std::string_view text);

/// `what` failed with libfabric's negative `code`.
Error library_error(ErrorCode code, std::string_view what, long status);

/// "libfabric 1.17".
std::string library_version();

}  // namespace sluice::fabric::ofi
