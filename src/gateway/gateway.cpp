#include "gateway/gateway.h"

#include <algorithm>
#include <future>
#include <thread>
#include <utility>

#include "base/encoding.h"
#include "base/log.h"
#include "base/try.h"
#include "gateway/context.h"
#include "gateway/discovery.h"
#include "gateway/worker.h"

namespace sluice::gateway {
namespace {

Result<void> check(const GatewayOptions& options) {
  const auto bad = [](std::string why) { return Error(ErrorCode::config_error, std::move(why)); };
  if (options.credentials.anonymous() || options.credentials.secret_key.empty()) {
    return bad("a gateway needs an access key and a secret key");
  }
  if (options.threads == 0 || options.threads > limits::kGatewayThreads) {
    return bad("threads must be 1 to " + std::to_string(limits::kGatewayThreads));
  }
  if (options.chunks_in_flight == 0) return bad("chunks in flight must be at least 1");
  if (options.chunk_bytes == 0 || options.chunk_bytes > options.staging_bytes) {
    return bad("the chunk size must be at least 1 byte and at most the staging memory");
  }
  if (options.max_requests == 0) return bad("requests in flight must be at least 1");
  return {};
}

class GatewayImpl final : public Gateway {
 public:
  explicit GatewayImpl(std::unique_ptr<Context> context) : context_(std::move(context)) {}
  ~GatewayImpl() override {
    if (!stopped_) static_cast<void>(stop(Deadline::after(std::chrono::seconds(1))));
  }
  GatewayImpl(const GatewayImpl&) = delete;
  GatewayImpl& operator=(const GatewayImpl&) = delete;

  Result<void> serve() {
    for (std::size_t i = 0; i < context_->options.threads; ++i) {
      workers_.push_back(std::make_unique<Worker>(*context_));
      SLUICE_CHECK(workers_.back()->start());
    }
    context_->discovery_json = discovery_json(context_->options, context_->instance_id, fabrics());
    std::vector<Executor> executors;
    std::vector<http::Handler> handlers;
    for (const auto& worker : workers_) {
      executors.push_back(worker->executor());
      handlers.push_back(worker->handler());
    }
    SLUICE_TRY(server_,
               http::Server::start(context_->options.http, std::move(executors), std::move(handlers)));
    return {};
  }

  ListenAddress address() const override { return server_->address(); }
  std::string instance_id() const override { return context_->instance_id; }
  std::vector<fabric::FabricIdentity> fabrics() const override { return workers_.front()->identities(); }

  StopReport stop(Deadline deadline) override {
    StopReport report;
    if (stopped_) return report;
    stopped_ = true;
    if (server_) report.requests_cut_off = stop_server(deadline);
    const Deadline grace = Deadline::after(limits::kStopGrace);
    bool all_home = true;
    for (auto& worker : workers_) {
      const Worker::Left left = worker->stop(grace);
      report.fabric_operations_left += left.operations;
      if (left.nothing()) continue;
      all_home = false;
      log::error("gateway.worker_left_behind", {{"requests", static_cast<std::uint64_t>(left.requests)},
                                                {"operations", static_cast<std::uint64_t>(left.operations)}});
    }
    if (!all_home) {
      // Memory and frames that a fabric or a store may still touch: kept to the end of the process.
      for (auto& worker : workers_) static_cast<void>(worker.release());
      static_cast<void>(server_.release());
      static_cast<void>(context_.release());
    }
    return report;
  }

 private:
  std::size_t stop_server(Deadline deadline) {
    const auto cut = std::make_shared<std::promise<std::size_t>>();
    auto answer = cut->get_future();
    server_->stop(deadline, [cut](std::size_t count) { cut->set_value(count); });
    if (answer.wait_until(deadline.when()) != std::future_status::ready) {
      for (const auto& worker : workers_) worker->cut_off();
      const auto patience = deadline.when() + limits::kStopGrace;
      if (answer.wait_until(patience) != std::future_status::ready) return server_->connections();
    }
    return answer.get();
  }

  std::unique_ptr<Context> context_;
  std::vector<std::unique_ptr<Worker>> workers_;
  std::unique_ptr<http::Server> server_;
  bool stopped_ = false;
};

}  // namespace

Result<std::unique_ptr<Gateway>> Gateway::start(GatewayOptions options,
                                                std::shared_ptr<store::ObjectStore> store) {
  SLUICE_CHECK(check(options));
  SLUICE_TRY(Staging staging, Staging::make(options.chunk_bytes, options.staging_bytes));
  // Dates have whole seconds: what was signed in this one may have been used on a gateway before us.
  const auto first_second =
      std::chrono::floor<std::chrono::seconds>(WallClock::now()) + std::chrono::seconds(1);
  auto context =
      std::make_unique<Context>(std::move(options), std::move(store), std::move(staging), first_second);
  context->instance_id = hex_u64(random_u64());
  auto gateway = std::make_unique<GatewayImpl>(std::move(context));
  SLUICE_CHECK(gateway->serve());
  std::this_thread::sleep_until(first_second);  // so that nobody is told to sign again
  return std::unique_ptr<Gateway>(std::move(gateway));
}

}  // namespace sluice::gateway
