// One request on its way through the gateway.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "base/deadline.h"
#include "gateway/route.h"
#include "http/server.h"
#include "s3/keys.h"
#include "s3/sigv4.h"

namespace sluice::gateway {

struct Context;
class Worker;

/// Lives in its handler's frame, from the head's arrival to the end of the response. Only on its worker's
/// thread.
struct Request {
  Request(Worker& by, Context& shared, http::Exchange& over) : worker(by), context(shared), exchange(over) {}
  Request(const Request&) = delete;
  Request& operator=(const Request&) = delete;

  Worker& worker;
  Context& context;
  http::Exchange& exchange;
  std::string id;
  Operation operation = Operation::unknown;
  s3::Target target;
  s3::Identity identity;

  /// Ends what the request waits for on the fabric; set while a window is open.
  std::function<void()> interrupt;
  bool peer_gone = false;  ///< nobody reads the response any more
  bool cut_off = false;    ///< the gateway stops and its deadline has passed
  [[nodiscard]] bool over() const { return peer_gone || cut_off; }

  // What the log and the metrics say about it.
  int status = 0;
  std::uint64_t bytes = 0;              ///< of payload
  std::string_view data_path = "none";  ///< none, http, rdma
  std::string fabric;                   ///< of an rdma payload
  std::string_view declined;            ///< why a token was not used; empty if it was, or if there was none
  std::string failure;                  ///< what went wrong, with what only the log may know

  [[nodiscard]] const HeaderList& headers() const { return exchange.request().headers; }
  [[nodiscard]] std::string resource() const;
  /// Whose share of the staging memory it takes.
  [[nodiscard]] std::string client() const { return identity.access_key + "@" + exchange.addresses().peer; }
};

}  // namespace sluice::gateway
