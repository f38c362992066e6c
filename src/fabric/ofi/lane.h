// Thin owners of libfabric objects: one local address' fabric, a domain with its queue, an endpoint.
#pragma once

#include <rdma/fabric.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_eq.h>

#include <cstddef>
#include <memory>
#include <vector>

#include "fabric/ofi/provider.h"

namespace sluice::fabric::ofi {

struct FidCloser {
  template <class T>
  void operator()(T* object) const {
    fi_close(&object->fid);
  }
};
template <class T>
using Fid = std::unique_ptr<T, FidCloser>;

/// A libfabric domain with one completion queue and one address table. One thread at a time.
///
/// Every byte that a socket provider moves into local memory is moved inside `read` of the domain's queue (or
/// another call on it), never behind our back: the client's fence and its parked lanes rest on that.
class Domain {
 public:
  /// Errors: io_error.
  static Result<std::unique_ptr<Domain>> open(const Traits& traits, Info info, std::size_t queue_entries);
  Domain(const Domain&) = delete;
  Domain& operator=(const Domain&) = delete;
  ~Domain() = default;

  [[nodiscard]] const fi_info& info() const { return *info_; }
  [[nodiscard]] fid_domain* get() const { return domain_.get(); }
  [[nodiscard]] fid_cq* queue() const { return queue_.get(); }
  [[nodiscard]] fid_av* addresses() const { return addresses_.get(); }
  /// Readable when the queue may have something, or -1 where the provider offers no descriptor.
  [[nodiscard]] int wait_descriptor() const { return descriptor_; }
  /// Whether waiting on the descriptor is safe now; if not, read the queue again first.
  [[nodiscard]] bool may_wait() const;
  [[nodiscard]] bool mr_mode(int bit) const { return (info_->domain_attr->mr_mode & bit) != 0; }

 private:
  explicit Domain(Info info) : info_(std::move(info)) {}
  Result<void> open_queue(const Traits& traits, std::size_t entries);
  Info info_;
  Fid<fid_fabric> fabric_;
  Fid<fid_domain> domain_;
  Fid<fid_av> addresses_;
  Fid<fid_cq> queue_;
  Fid<fid_eq> events_;  ///< only for its descriptor
  int descriptor_ = -1;
};

/// An enabled endpoint of a domain. Closing it ends every operation on it. One thread at a time with its
/// domain.
class Endpoint {
 public:
  /// Errors: io_error.
  static Result<Endpoint> open(Domain& domain);
  Endpoint() = default;

  [[nodiscard]] fid_ep* get() const { return endpoint_.get(); }
  /// Its address, as it stands in tokens.
  [[nodiscard]] const std::vector<std::byte>& name() const { return name_; }
  void close() { endpoint_.reset(); }
  [[nodiscard]] bool is_open() const { return endpoint_ != nullptr; }

 private:
  Fid<fid_ep> endpoint_;
  std::vector<std::byte> name_;
};

/// Makes a server's endpoint deaf: a socket provider listens on every endpoint, and the server's need no
/// callers. Drops what arrives at the listening socket of that name. `hint` is a descriptor that was free
/// before the endpoint was opened: the socket is not far from it. Best effort; returns whether it was found.
bool refuse_callers(const Endpoint& endpoint, int hint);
/// The lowest free descriptor, for `refuse_callers`; negative when there is none.
int free_descriptor();

}  // namespace sluice::fabric::ofi
