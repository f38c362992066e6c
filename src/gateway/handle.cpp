// One request from its head to its log line.
#include <boost/asio/this_coro.hpp>
#include <utility>

#include "base/encoding.h"
#include "base/log.h"
#include "base/metrics.h"
#include "base/try.h"
#include "gateway/auth.h"
#include "gateway/operations.h"
#include "gateway/reply.h"
#include "gateway/worker.h"
#include "s3/errors.h"
#include "s3/headers.h"

namespace sluice::gateway {
namespace {

/// One of the gateway's places for requests; given back when destroyed.
class Place {
 public:
  explicit Place(Context& context) : context_(context) {
    free_ = context.requests_in_flight.fetch_add(1, std::memory_order_relaxed) < context.options.max_requests;
  }
  ~Place() { context_.requests_in_flight.fetch_sub(1, std::memory_order_relaxed); }
  Place(const Place&) = delete;
  Place& operator=(const Place&) = delete;
  [[nodiscard]] bool free() const { return free_; }

 private:
  Context& context_;
  bool free_;
};

/// Enters a request into its worker's set while it lives.
class Enrolled {
 public:
  Enrolled(std::unordered_set<Request*>& requests, Request& request)
      : requests_(requests), request_(request) {
    requests_.insert(&request_);
  }
  ~Enrolled() { requests_.erase(&request_); }
  Enrolled(const Enrolled&) = delete;
  Enrolled& operator=(const Enrolled&) = delete;

 private:
  std::unordered_set<Request*>& requests_;
  Request& request_;
};

std::string next_request_id(Context& context) {
  const std::uint64_t number = context.requests_begun.fetch_add(1, std::memory_order_relaxed);
  return context.instance_id.substr(0, 8) + hex_u64(number, 8);
}

/// The counter of an operation and a status class ("2xx"), looked up once.
metrics::Counter& requests_counter(Operation operation, int status) {
  constexpr std::size_t kClasses = 6;
  static std::array<std::atomic<metrics::Counter*>, kOperations * kClasses> counters{};
  const std::size_t status_class = status >= 100 && status < 600 ? static_cast<std::size_t>(status / 100) : 0;
  auto& slot = counters[static_cast<std::size_t>(operation) * kClasses + status_class];
  metrics::Counter* counter = slot.load(std::memory_order_acquire);
  if (counter == nullptr) {
    const std::string text = status_class == 0 ? "none" : std::to_string(status_class) + "xx";
    counter = &metrics::counter("sluice_gateway_requests_total{operation=\"" +
                                std::string(to_string(operation)) + "\",status=\"" + text + "\"}");
    slot.store(counter, std::memory_order_release);
  }
  return *counter;
}

Task<Result<void>> run_operation(Request& request) {
  switch (request.operation) {
    case Operation::list_buckets:
      return list_buckets(request);
    case Operation::create_bucket:
      return create_bucket(request);
    case Operation::head_bucket:
      return head_bucket(request);
    case Operation::delete_bucket:
      return delete_bucket(request);
    case Operation::get_bucket_location:
      return get_bucket_location(request);
    case Operation::list_objects_v2:
      return list_objects(request);
    case Operation::put_object:
      return put_object(request);
    case Operation::get_object:
    case Operation::head_object:
      return get_object(request);
    case Operation::delete_object:
      return delete_object(request);
    case Operation::discovery:
    case Operation::unknown:
      break;
  }
  return send_discovery(request);
}

/// Whether the peer's going has to be watched: nothing but the fabric will be waited for.
bool moves_by_window(const Request& request) {
  return request.headers().has(s3::header::kRdmaToken) && !request.exchange.chunked() &&
         request.exchange.content_length().value_or(0) == 0;
}

}  // namespace

Task<Result<void>> Worker::perform(Request& request) {
  const http::RequestHead& head = request.exchange.request();
  if (is_discovery(head.target)) {
    request.operation = Operation::discovery;
    co_return co_await run_operation(request);
  }
  SLUICE_CO_TRY(request.target, s3::parse_target(head.target));
  SLUICE_CO_CHECK(authenticate(request));
  SLUICE_CO_TRY(request.operation, route(head.method, request.target, head.headers));
  if (!request.target.bucket.empty()) SLUICE_CO_CHECK(s3::check_bucket_name(request.target.bucket));
  if (!request.target.key.empty()) SLUICE_CO_CHECK(s3::check_key(request.target.key));
  if (context_.options.read_only && writes(request.operation)) {
    co_return s3::make_error("AccessDenied", "the gateway runs with --read-only");
  }
  co_return co_await run_operation(request);
}

Task<void> Worker::handle(http::Exchange& exchange) {
  Request request(*this, context_, exchange);
  request.id = next_request_id(context_);
  if (moves_by_window(request)) {
    // `request` lives in this frame until the exchange's handler ends, and so does the watch.
    exchange.on_peer_gone([&request] {
      request.peer_gone = true;
      if (request.interrupt) request.interrupt();
    });
  }
  const auto holder = requests_gate_.enter("request " + request.id);
  const Enrolled enrolled(requests_, request);
  const Place place(context_);

  Result<void> result;
  if (!holder) {
    exchange.close_after_response();
    result = s3::make_error("ServiceUnavailable", "the gateway is stopping").with_retry(Retry::later);
  } else if (!place.free()) {
    result =
        s3::make_error("SlowDown", "too many requests at once; try again later").with_retry(Retry::later);
  } else {
    result = co_await perform(request);
  }
  if (!result && !request.over()) {
    Error error = std::move(result).error();
    auto sent = co_await reply_error(request, std::move(error));
    if (!sent && request.failure.empty()) request.failure = sent.error().describe();
  } else if (!result) {
    request.failure = result.error().describe();
    exchange.close_after_response();
  }
  finish(request);
}

void Worker::finish(const Request& request) {
  requests_counter(request.operation, request.status).add();
  if (!log::enabled(log::Level::info)) return;
  const auto took = Deadline::Clock::now() - request.exchange.arrived();
  const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(took).count();
  log::info("gateway.request",
            {{"request_id", request.id},
             {"operation", to_string(request.operation)},
             {"bucket", request.target.bucket},
             {"key", request.target.key},
             {"peer", request.exchange.addresses().peer},
             {"status", request.status},
             {"bytes", request.bytes},
             {"data_path", request.data_path},
             {"fabric", request.data_path == "rdma" ? std::string_view(request.fabric) : std::string_view()},
             {"declined", request.declined},
             {"ms", static_cast<std::int64_t>(ms)},
             {"error", request.failure}});
}

}  // namespace sluice::gateway
