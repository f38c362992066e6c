#include "fabric/ofi/lane.h"

#include <fcntl.h>
#include <linux/filter.h>
#include <rdma/fi_cm.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstring>

#include "base/limits.h"
#include "base/try.h"

namespace sluice::fabric::ofi {
namespace {

// Other threads open descriptors at the same time; the listening socket is a few above the first free one.
constexpr int kDescriptorsToTry = 64;

}  // namespace

Result<std::unique_ptr<Domain>> Domain::open(const Traits& traits, Info info, std::size_t queue_entries) {
  std::unique_ptr<Domain> domain(new Domain(std::move(info)));
  // libfabric takes the description by pointer to non-const and only reads it.
  auto* const description =
      const_cast<fi_info*>(domain->info_.get());  // NOLINT(cppcoreguidelines-pro-type-const-cast)
  fid_fabric* fabric = nullptr;
  if (const int status = fi_fabric(description->fabric_attr, &fabric, nullptr); status != 0)
    return library_error(ErrorCode::io_error, "opening a libfabric fabric", status);
  domain->fabric_.reset(fabric);

  if (traits.waits_on_events) {
    fi_eq_attr attributes{};
    attributes.wait_obj = FI_WAIT_FD;
    fid_eq* events = nullptr;
    if (const int status = fi_eq_open(fabric, &attributes, &events, nullptr); status != 0)
      return library_error(ErrorCode::io_error, "opening a libfabric event queue", status);
    domain->events_.reset(events);
  }

  fid_domain* opened = nullptr;
  if (const int status = fi_domain(fabric, description, &opened, nullptr); status != 0)
    return library_error(ErrorCode::io_error, "opening a libfabric domain", status);
  domain->domain_.reset(opened);

  fi_av_attr address_attributes{};
  address_attributes.type = FI_AV_UNSPEC;
  fid_av* addresses = nullptr;
  if (const int status = fi_av_open(opened, &address_attributes, &addresses, nullptr); status != 0)
    return library_error(ErrorCode::io_error, "opening a libfabric address table", status);
  domain->addresses_.reset(addresses);

  SLUICE_CHECK(domain->open_queue(traits, queue_entries));
  return domain;
}

Result<void> Domain::open_queue(const Traits& traits, std::size_t entries) {
  fi_cq_attr attributes{};
  attributes.size = entries;
  attributes.format = FI_CQ_FORMAT_CONTEXT;
  attributes.wait_obj = traits.waits_on_events ? FI_WAIT_NONE : FI_WAIT_FD;
  fid_cq* queue = nullptr;
  int status = fi_cq_open(domain_.get(), &attributes, &queue, nullptr);
  if (status != 0 && attributes.wait_obj == FI_WAIT_FD) {
    attributes.wait_obj = FI_WAIT_NONE;
    status = fi_cq_open(domain_.get(), &attributes, &queue, nullptr);
  }
  if (status != 0) return library_error(ErrorCode::io_error, "opening a libfabric completion queue", status);
  queue_.reset(queue);
  fid* waited = nullptr;
  if (attributes.wait_obj == FI_WAIT_FD) waited = &queue->fid;
  if (traits.waits_on_events) waited = &events_->fid;
  if (waited != nullptr && fi_control(waited, FI_GETWAIT, &descriptor_) != 0) descriptor_ = -1;
  return {};
}

bool Domain::may_wait() const {
  if (descriptor_ < 0 || events_) return true;
  fid* waited = &queue_->fid;
  return fi_trywait(fabric_.get(), &waited, 1) == 0;
}

Result<Endpoint> Endpoint::open(Domain& domain) {
  Endpoint endpoint;
  auto* const description =
      const_cast<fi_info*>(&domain.info());  // NOLINT(cppcoreguidelines-pro-type-const-cast)
  fid_ep* opened = nullptr;
  if (const int status = fi_endpoint(domain.get(), description, &opened, nullptr); status != 0)
    return library_error(ErrorCode::io_error, "opening a libfabric endpoint", status);
  endpoint.endpoint_.reset(opened);
  int status = fi_ep_bind(opened, &domain.addresses()->fid, 0);
  if (status == 0) status = fi_ep_bind(opened, &domain.queue()->fid, FI_TRANSMIT | FI_RECV);
  if (status == 0) status = fi_enable(opened);
  if (status != 0) return library_error(ErrorCode::io_error, "enabling a libfabric endpoint", status);

  std::size_t length = limits::kEndpointNameBytes;
  endpoint.name_.resize(length);
  status = fi_getname(&opened->fid, endpoint.name_.data(), &length);
  if (status != 0)
    return library_error(ErrorCode::io_error, "asking for a libfabric endpoint's name", status);
  endpoint.name_.resize(length);
  return endpoint;
}

int free_descriptor() {
  const int descriptor = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  if (descriptor >= 0) ::close(descriptor);
  return descriptor;
}

bool refuse_callers(const Endpoint& endpoint, int hint) {
  const auto& name = endpoint.name();
  for (int descriptor = hint; descriptor >= 0 && descriptor < hint + kDescriptorsToTry; ++descriptor) {
    int listening = 0;
    socklen_t length = sizeof listening;
    if (::getsockopt(descriptor, SOL_SOCKET, SO_ACCEPTCONN, &listening, &length) != 0 || listening == 0)
      continue;
    sockaddr_storage address{};
    length = sizeof address;
    if (::getsockname(descriptor, reinterpret_cast<sockaddr*>(&address), &length) != 0) continue;
    if (length != name.size() || std::memcmp(&address, name.data(), length) != 0) continue;
    sock_filter drop = BPF_STMT(BPF_RET | BPF_K, 0);  // keep 0 bytes of every packet: drop it
    const sock_fprog program{1, &drop};
    return ::setsockopt(descriptor, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof program) == 0;
  }
  return false;
}

}  // namespace sluice::fabric::ofi
