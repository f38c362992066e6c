#include "fabric/ofi/lane.h"

#include <dirent.h>
#include <linux/filter.h>
#include <rdma/fi_cm.h>
#include <sys/socket.h>

#include <cstdlib>
#include <cstring>

#include "base/limits.h"
#include "base/try.h"

namespace sluice::fabric::ofi {

Result<std::unique_ptr<Domain>> Domain::open(Info info, std::size_t queue_entries) {
  std::unique_ptr<Domain> domain(new Domain(std::move(info)));
  // libfabric takes the description by pointer to non-const and only reads it.
  auto* const description =
      const_cast<fi_info*>(domain->info_.get());  // NOLINT(cppcoreguidelines-pro-type-const-cast)
  fid_fabric* fabric = nullptr;
  if (const int status = fi_fabric(description->fabric_attr, &fabric, nullptr); status != 0)
    return library_error(ErrorCode::io_error, "opening a libfabric fabric", status);
  domain->fabric_.reset(fabric);

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

  fi_cq_attr queue_attributes{};
  queue_attributes.size = queue_entries;
  queue_attributes.format = FI_CQ_FORMAT_CONTEXT;
  queue_attributes.wait_obj = FI_WAIT_FD;
  fid_cq* queue = nullptr;
  int status = fi_cq_open(opened, &queue_attributes, &queue, nullptr);
  if (status == 0) {
    domain->queue_.reset(queue);
    if (fi_control(&queue->fid, FI_GETWAIT, &domain->descriptor_) != 0) domain->descriptor_ = -1;
  } else {
    queue_attributes.wait_obj = FI_WAIT_NONE;
    status = fi_cq_open(opened, &queue_attributes, &queue, nullptr);
    if (status != 0)
      return library_error(ErrorCode::io_error, "opening a libfabric completion queue", status);
    domain->queue_.reset(queue);
  }
  return domain;
}

bool Domain::may_wait() const {
  if (descriptor_ < 0) return true;
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

bool refuse_callers(const Endpoint& endpoint) {
  const auto& name = endpoint.name();
  const std::unique_ptr<DIR, int (*)(DIR*)> directory(::opendir("/proc/self/fd"), &::closedir);
  if (!directory) return false;
  while (const dirent* entry = ::readdir(directory.get())) {
    const int descriptor = std::atoi(entry->d_name);
    int listening = 0;
    socklen_t length = sizeof listening;
    if (::getsockopt(descriptor, SOL_SOCKET, SO_ACCEPTCONN, &listening, &length) != 0 || listening == 0)
      continue;
    sockaddr_storage address{};
    length = sizeof address;
    if (::getsockname(descriptor, reinterpret_cast<sockaddr*>(&address), &length) != 0) continue;
    if (length != name.size() || std::memcmp(&address, name.data(), length) != 0) continue;
    sock_filter drop = BPF_STMT(BPF_RET | BPF_K, 0);  // accept 0 bytes of every packet: drop it
    const sock_fprog program{1, &drop};
    return ::setsockopt(descriptor, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof program) == 0;
  }
  return false;
}

}  // namespace sluice::fabric::ofi
