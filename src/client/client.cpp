// The public Client: forwards to the engine. No work happens here.
#include "sluice/client.h"

#include <utility>

#include "base/try.h"
#include "client/engine.h"
#include "client/operations.h"

namespace sluice {

using client::Engine;

Result<Client> Client::make(ClientOptions options) {
  SLUICE_TRY(auto engine, Engine::make(std::move(options)));
  return Client(std::move(engine));
}

Client::Client(std::shared_ptr<Engine> engine) : engine_(std::move(engine)) {}
Client::Client(Client&&) noexcept = default;
Client& Client::operator=(Client&& other) noexcept {
  if (this != &other) client::dispose(std::exchange(engine_, std::move(other.engine_)));
  return *this;
}
Client::~Client() {
  client::dispose(std::move(engine_));
}

Transfer Client::get(GetRequest request, Memory into, TransferOptions options) {
  return engine_->get(std::move(request), into, options);
}

Transfer Client::put(PutRequest request, Memory from, TransferOptions options) {
  return engine_->put(std::move(request), from, options);
}

Result<ObjectDetails> Client::head(const std::string& bucket, const std::string& key, CallOptions options) {
  return engine_->call<ObjectDetails>(
      "head", [&](auto engine) { return client::head_object(engine, bucket, key, options); });
}

Result<void> Client::remove(const std::string& bucket, const std::string& key, CallOptions options) {
  return engine_->call<void>(
      "remove", [&](auto engine) { return client::delete_object(engine, bucket, key, options); });
}

Result<ListPage> Client::list(const ListRequest& request, CallOptions options) {
  return engine_->call<ListPage>("list",
                                 [&](auto engine) { return client::list_objects(engine, request, options); });
}

Result<std::vector<BucketSummary>> Client::buckets(CallOptions options) {
  return engine_->call<std::vector<BucketSummary>>(
      "buckets", [&](auto engine) { return client::list_buckets(engine, options); });
}

Result<void> Client::create_bucket(const std::string& bucket, CallOptions options) {
  return engine_->call<void>("create_bucket",
                             [&](auto engine) { return client::create_bucket(engine, bucket, options); });
}

Result<void> Client::delete_bucket(const std::string& bucket, CallOptions options) {
  return engine_->call<void>("delete_bucket",
                             [&](auto engine) { return client::delete_bucket(engine, bucket, options); });
}

Result<void> Client::head_bucket(const std::string& bucket, CallOptions options) {
  return engine_->call<void>("head_bucket",
                             [&](auto engine) { return client::head_bucket(engine, bucket, options); });
}

Result<EndpointReport> Client::probe(CallOptions options) {
  return engine_->call<EndpointReport>("probe", [&](auto engine) { return client::probe(engine, options); });
}

std::size_t Client::close(std::chrono::milliseconds timeout) {
  return engine_->close(timeout);
}

}  // namespace sluice
