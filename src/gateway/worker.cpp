#include "gateway/worker.h"

#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <utility>

#include "base/log.h"
#include "gateway/reply.h"
#include "s3/errors.h"

namespace sluice::gateway {

Worker::Worker(Context& context) : context_(context), work_(loop_.get_executor()) {}

Worker::~Worker() {
  if (thread_.joinable()) {
    static_cast<void>(stop(Deadline::after(std::chrono::milliseconds(0))));
  }
}

Result<void> Worker::start() {
  // Shared: the thread may still be inside set_value when the answer is here already.
  auto opened = std::make_shared<std::promise<Result<void>>>();
  auto answer = opened->get_future();
  thread_ = std::thread([this, opened] { run(*opened); });
  Result<void> result = answer.get();
  if (!result) thread_.join();
  return result;
}

void Worker::run(std::promise<Result<void>>& opened) {
  Result<void> result = open_fabrics();
  const bool usable = result.has_value();
  opened.set_value(std::move(result));
  if (usable) loop_.run();
  // Fabrics belong to this thread to the end, unless memory of ours is still in their hands.
  watches_.clear();
  if (kept_.empty() && operations_left_ == 0) fabrics_.clear();
}

Result<void> Worker::open_fabrics() {
  for (const auto& make : context_.options.fabrics) {
    auto fabric = make();
    if (!fabric) return std::move(fabric).error();
    identities_.push_back((*fabric)->identity());
    fabrics_.push_back(std::move(*fabric));
  }
  for (const auto& fabric : fabrics_) {
    watches_.push_back(std::make_unique<Watch>(loop_, fabric->wait_descriptor()));
    auto started = spawn(executor(), drivers_gate_, "drive " + fabric->identity().name,
                         drive(*fabric, *watches_.back(), stopping_));
    if (!started) return std::move(started).error();
  }
  return {};
}

Task<void> Worker::drive(fabric::ServerFabric& fabric, Watch& watch, const bool& stopping) {
  const Executor executor = co_await boost::asio::this_coro::executor;
  while (!stopping) {
    if (fabric.progress() == fabric::ServerFabric::Progress::again) {
      co_await boost::asio::post(executor, boost::asio::use_awaitable);  // the others' turn
      continue;
    }
    const auto readable = co_await watch.readable.async_wait(
        boost::asio::posix::descriptor_base::wait_read, boost::asio::as_tuple(boost::asio::use_awaitable));
    if (std::get<0>(readable) && !stopping) {
      log::error("gateway.fabric_wait_failed",
                 {{"fabric", fabric.identity().name}, {"error", std::get<0>(readable).message()}});
      break;
    }
  }
  static_cast<void>(watch.readable.release());  // the fabric closes it
}

http::Handler Worker::handler() {
  return [this](http::Exchange& exchange) { return handle(exchange); };
}

void Worker::cut_off() {
  boost::asio::post(loop_, [this] {
    for (Request* request : requests_) {
      request->cut_off = true;
      if (request->interrupt) request->interrupt();
    }
  });
}

void Worker::keep_for_ever(std::unique_ptr<OperationRing> ring) {
  log::error("gateway.memory_kept", {{"reason", "a fabric did not give buffers back"}});
  kept_.push_back(std::move(ring));
}

Worker::Left Worker::stop(Deadline deadline) {
  Left left;
  left.requests = requests_gate_.close(deadline).size();
  boost::asio::post(loop_, [this] {
    for (const auto& fabric : fabrics_) operations_left_ += fabric->outstanding();
    stopping_ = true;
    boost::system::error_code ignored;
    for (const auto& watch : watches_) watch->readable.cancel(ignored);
  });
  static_cast<void>(drivers_gate_.close(Deadline::after(limits::kStopGrace)));
  work_.reset();
  loop_.stop();
  if (thread_.joinable()) thread_.join();
  left.operations = operations_left_;
  for (const auto& ring : kept_) left.operations += ring->slots();
  return left;
}

}  // namespace sluice::gateway
