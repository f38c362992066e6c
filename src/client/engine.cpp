#include "client/engine.h"

#include <utility>

#include "base/limits.h"
#include "base/log.h"
#include "base/try.h"
#include "client/get.h"
#include "client/options.h"
#include "client/put.h"

namespace sluice::client {

Engine::Engine(ClientOptions options, EndpointUrl url, FabricOpener open_fabric)
    : options_(std::move(options)),
      url_(std::move(url)),
      context_(std::make_shared<boost::asio::io_context>(1)),
      keep_running_(context_->get_executor()),
      endpoint_(*fabric::parse_fabric_list(options_.fabric), std::move(open_fabric)),
      closing_token_(closing_.token()) {}

Result<std::shared_ptr<Engine>> Engine::make(ClientOptions options, FabricOpener open_fabric) {
  SLUICE_CHECK(validate(options));
  SLUICE_TRY(EndpointUrl url, parse_endpoint_url(options.endpoint));
  auto engine =
      std::shared_ptr<Engine>(new Engine(std::move(options), std::move(url), std::move(open_fabric)));
  http::ClientPoolOptions pool;
  pool.max_connections = engine->options_.max_connections;
  pool.tls.ca_file = engine->options_.ca_file;
  SLUICE_TRY(engine->pool_, http::ClientPool::make(engine->executor(), engine->url_, pool));
  engine->thread_ = std::thread([context = engine->context_] { context->run(); });
  return engine;
}

Engine::~Engine() {
  keep_running_.reset();
  context_->stop();
  if (!thread_.joinable()) return;
  if (thread_.get_id() == std::this_thread::get_id()) {
    thread_.detach();  // the last owner was a coroutine: this thread ends when its handler returns
  } else {
    thread_.join();
  }
}

Result<void> Engine::usable(bool blocking) const {
  if (in_forked_child()) {
    return Error(ErrorCode::unsupported,
                 "this Client was made before fork: make a new one in the child, or exec (RDMA needs exec)");
  }
  if (closing_token_.cancelled()) return Error(ErrorCode::cancelled, "this Client is closed");
  if (blocking && std::this_thread::get_id() == thread_.get_id()) {
    return Error(ErrorCode::invalid_argument,
                 "a blocking call from a completion callback would wait for itself: use get or put and their "
                 "Transfer");
  }
  return {};
}

std::size_t Engine::close(std::chrono::milliseconds timeout) {
  closing_.cancel();
  const auto left = gate_.close(Deadline::after(timeout));
  for (const auto& name : left) log::warn("client.left_behind", {{"what", name}});
  return left.size();
}

namespace {

/// Joins the transfer's own cancellation with the client's closing for as long as the coroutine runs.
Task<void> run_transfer(std::shared_ptr<Engine> engine, std::shared_ptr<detail::TransferState> state,
                        std::shared_ptr<AttemptControl> control, Task<Result<TransferResult>> work) {
  const auto executor = engine->executor();
  const auto abort = [control, executor] { boost::asio::post(executor, [control] { control->cancel(); }); };
  const auto by_caller = state->cancel_source().token().on_cancel(abort);
  const auto by_close = engine->closing().on_cancel(abort);
  Result<TransferResult> result = co_await std::move(work);
  if (result) {
    result->elapsed = std::chrono::steady_clock::now() - state->started();
    state->set_bytes(result->bytes);
  }
  state->complete(std::move(result));
}

}  // namespace

template <class Start>
Transfer Engine::start_transfer(std::string name, Start start) {
  auto state = std::make_shared<detail::TransferState>();
  if (auto ok = usable(false); !ok) {
    state->complete(std::move(ok).error());
    return Transfer(state);
  }
  auto control = std::make_shared<AttemptControl>(executor());
  auto self = shared_from_this();
  auto spawned = spawn(executor(), gate_, std::move(name),
                       run_transfer(self, state, control, start(self, state, control)));
  if (!spawned) state->complete(std::move(spawned).error());
  return Transfer(state);
}

Transfer Engine::get(GetRequest request, Memory into, TransferOptions options) {
  std::string name = "get s3://" + request.bucket + "/" + request.key;
  return start_transfer(std::move(name), [&](auto self, auto state, auto control) {
    return get_object(self, std::move(request), into, options, state, control);
  });
}

Transfer Engine::put(PutRequest request, Memory from, TransferOptions options) {
  std::string name = "put s3://" + request.bucket + "/" + request.key;
  return start_transfer(std::move(name), [&](auto self, auto state, auto control) {
    return put_object(self, std::move(request), from, options, state, control);
  });
}

void dispose(std::shared_ptr<Engine> engine) {
  if (engine == nullptr) return;
  if (engine->in_forked_child()) {
    // The engine's epoll set and sockets are shared with the parent: undoing them here would undo them there.
    // The child keeps the memory until it exits or execs.
    static auto* left_to_exit = new std::vector<std::shared_ptr<Engine>>;
    left_to_exit->push_back(std::move(engine));
    return;
  }
  engine->close(limits::kFenceTimeout + limits::kClientMargin);
}

}  // namespace sluice::client
