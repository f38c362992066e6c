// One thread of the gateway: its loop, its server fabrics, the requests of its connections.
#pragma once

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <cstddef>
#include <future>
#include <memory>
#include <thread>
#include <unordered_set>
#include <vector>

#include "base/gate.h"
#include "base/task.h"
#include "gateway/context.h"
#include "gateway/mover.h"
#include "gateway/request.h"

namespace sluice::gateway {

/// Constructed, started and stopped from the gateway's caller; everything else happens on its own thread.
class Worker {
 public:
  explicit Worker(Context& context);
  ~Worker();
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  /// Starts the thread, opens the fabrics on it and waits for that. Errors: what a fabric's factory says.
  Result<void> start();
  [[nodiscard]] Executor executor() { return loop_.get_executor(); }
  /// For the connections of this worker.
  [[nodiscard]] http::Handler handler();
  [[nodiscard]] const std::vector<fabric::FabricIdentity>& identities() const { return identities_; }

  /// Ends windows under the requests that are still here. Safe from any thread.
  void cut_off();
  /// Blocks until nobody is here or the deadline passes, then ends the thread and closes the fabrics. Returns
  /// how many fabric operations are still out; if there are any, or requests, the worker must never be
  /// destroyed.
  struct Left {
    std::size_t requests = 0;
    std::size_t operations = 0;
    [[nodiscard]] bool nothing() const { return requests == 0 && operations == 0; }
  };
  Left stop(Deadline deadline);

  // --- on its thread
  [[nodiscard]] const std::vector<std::unique_ptr<fabric::ServerFabric>>& fabrics() const { return fabrics_; }
  /// Memory that a fabric did not give back.
  void keep_for_ever(std::unique_ptr<OperationRing> ring);

 private:
  /// A fabric's descriptor, lent to the loop.
  struct Watch {
    Watch(boost::asio::io_context& loop, int descriptor) : readable(loop, descriptor) {}
    boost::asio::posix::stream_descriptor readable;
  };
  void run(std::promise<Result<void>>& opened);
  Result<void> open_fabrics();
  /// Calls progress whenever the fabric has something to do.
  static Task<void> drive(fabric::ServerFabric& fabric, Watch& watch, const bool& stopping);
  Task<void> handle(http::Exchange& exchange);
  Task<Result<void>> perform(Request& request);
  void finish(const Request& request);

  Context& context_;
  boost::asio::io_context loop_{1};
  boost::asio::executor_work_guard<boost::asio::io_context::executor_type> work_;
  Gate requests_gate_{"requests"};
  Gate drivers_gate_{"fabrics"};
  std::vector<fabric::FabricIdentity> identities_;
  std::vector<std::unique_ptr<fabric::ServerFabric>> fabrics_;
  std::vector<std::unique_ptr<Watch>> watches_;
  std::unordered_set<Request*> requests_;
  std::vector<std::unique_ptr<OperationRing>> kept_;
  std::size_t operations_left_ = 0;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace sluice::gateway
