#include "http/client_pool.h"

#include <algorithm>
#include <boost/asio/ip/address.hpp>
#include <boost/asio/ssl/context.hpp>
#include <string>
#include <utility>

#include "base/try.h"
#include "http/tls.h"

namespace sluice::http {

namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;

Error refused(Error error) {
  error.set_outcome(Outcome::refused);
  return error;
}

}  // namespace

class ClientPoolImpl::Place {
 public:
  explicit Place(ClientPoolImpl& pool) : pool_(&pool) {}
  Place(const Place&) = delete;
  Place& operator=(const Place&) = delete;
  ~Place() {
    if (pool_ != nullptr) pool_->free_place();
  }
  void hand_over() { pool_ = nullptr; }

 private:
  ClientPoolImpl* pool_;
};

ClientPoolImpl::ClientPoolImpl(Executor executor, EndpointUrl endpoint, ClientPoolOptions options,
                               std::shared_ptr<asio::ssl::context> tls)
    : executor_(std::move(executor)),
      endpoint_(std::move(endpoint)),
      options_(std::move(options)),
      tls_(std::move(tls)),
      idle_timer_(executor_) {}

ClientPoolImpl::~ClientPoolImpl() = default;

Error ClientPoolImpl::closed_error() const {
  return Error(ErrorCode::cancelled, "the connections to " + endpoint_.to_string() + " are being closed");
}

Task<Result<std::unique_ptr<Connection>>> ClientPoolImpl::acquire(Deadline deadline, bool fresh) {
  const auto self = shared_from_this();
  if (closed_) co_return closed_error();
  if (places_taken_ < options_.max_connections && waiters_.empty()) {
    ++places_taken_;
  } else {
    SLUICE_CO_CHECK(co_await wait_for_place(deadline));
  }
  Place place(*this);
  if (closed_) co_return closed_error();
  std::unique_ptr<KeptConnection> kept;
  if (!fresh) kept = take_idle();
  if (!kept) {
    // Idle ones count, too: the oldest makes room.
    if (places_taken_ + idle_.size() > options_.max_connections) idle_.erase(idle_.begin());
    auto opened = co_await open(earlier(deadline, Deadline::after(options_.connect_timeout)));
    if (!opened) co_return refused(std::move(opened).error());
    if (closed_) co_return closed_error();
    kept = std::move(*opened);
  }
  place.hand_over();
  co_return std::make_unique<ClientConnection>(self, std::move(kept));
}

/// Afterwards the caller has a place: whoever freed it left it counted.
Task<Result<void>> ClientPoolImpl::wait_for_place(Deadline deadline) {
  if (waiters_.size() >= limits::kConnectionWaiters) {
    co_return Error(ErrorCode::overloaded,
                    "too many requests wait for a connection to " + endpoint_.to_string())
        .with_retry(Retry::later);
  }
  const auto waiter = std::make_shared<Waiter>(executor_);
  waiters_.push_back(waiter);
  const auto got = co_await waiter->wait(deadline);
  if (!got) {
    std::erase(waiters_, waiter);
    co_return Error(ErrorCode::timeout, "all " + std::to_string(options_.max_connections) +
                                            " connections to " + endpoint_.to_string() + " stayed in use");
  }
  if (!*got) co_return closed_error();
  co_return Result<void>{};
}

void ClientPoolImpl::free_place() {
  if (waiters_.empty()) {
    --places_taken_;
    return;
  }
  waiters_.front()->set(true);
  waiters_.pop_front();
}

void ClientPoolImpl::give_back(std::unique_ptr<KeptConnection> kept) {
  if (!closed_ && kept->stream->is_open()) {  // take_idle() looks closer
    kept->idle_since = Deadline::Clock::now();
    idle_.push_back(std::move(kept));
    watch_idle();
  }
  free_place();
}

std::unique_ptr<KeptConnection> ClientPoolImpl::take_idle() {
  close_old();
  while (!idle_.empty()) {
    auto kept = std::move(idle_.back());
    idle_.pop_back();
    if (kept->stream->quiet()) return kept;
  }
  return nullptr;
}

void ClientPoolImpl::close_old() {
  const auto oldest = Deadline::Clock::now() - options_.idle_timeout;
  const auto young = std::find_if(idle_.begin(), idle_.end(),
                                  [oldest](const auto& kept) { return kept->idle_since >= oldest; });
  idle_.erase(idle_.begin(), young);
}

/// Closes idle connections in time even if nobody asks for one.
void ClientPoolImpl::watch_idle() {
  if (idle_timer_set_ || idle_.empty()) return;
  idle_timer_set_ = true;
  idle_timer_.expires_after(options_.idle_timeout);
  idle_timer_.async_wait([weak = weak_from_this()](const error_code& code) {
    const auto self = weak.lock();
    if (!self || code) return;
    self->idle_timer_set_ = false;
    self->close_old();
    std::erase_if(self->idle_, [](const auto& kept) { return !kept->stream->quiet(); });
    self->watch_idle();
  });
}

void ClientPoolImpl::close() {
  closed_ = true;
  idle_.clear();
  idle_timer_.cancel();
  for (const auto& waiter : std::exchange(waiters_, {})) waiter->set(false);
}

Task<Result<std::vector<tcp::endpoint>>> ClientPoolImpl::resolve(Deadline deadline) {
  error_code not_numeric;
  const auto numeric = asio::ip::make_address(endpoint_.host, not_numeric);
  std::vector<tcp::endpoint> endpoints;
  if (!not_numeric) {
    endpoints.emplace_back(numeric, endpoint_.port);
    co_return endpoints;
  }
  // A name lookup cannot be interrupted: after the deadline it is left to end by itself.
  using Found = std::pair<error_code, tcp::resolver::results_type>;
  const OneShot<Found> found(executor_);
  const auto resolver = std::make_shared<tcp::resolver>(executor_);
  auto on_found = [resolver, answer = found](const error_code& code,
                                             tcp::resolver::results_type results) mutable {
    answer.set({code, std::move(results)});
  };
  resolver->async_resolve(endpoint_.host, std::to_string(endpoint_.port), tcp::resolver::numeric_service,
                          std::move(on_found));
  OneShot<Found> waiting = found;
  const auto answer = co_await waiting.wait(deadline);
  if (!answer) {
    co_return Error(ErrorCode::timeout, "looking up the host '" + endpoint_.host + "' timed out");
  }
  if (answer->first || answer->second.empty()) {
    co_return Error(ErrorCode::peer_gone, "the host '" + endpoint_.host + "' of " + endpoint_.to_string() +
                                              " cannot be found: " + answer->first.message() +
                                              "; check the endpoint's name");
  }
  for (const auto& entry : answer->second) endpoints.push_back(entry.endpoint());
  co_return endpoints;
}

Task<Result<std::unique_ptr<KeptConnection>>> ClientPoolImpl::open(Deadline deadline) {
  SLUICE_CO_TRY(const auto endpoints, co_await resolve(deadline));
  std::optional<Error> last;
  for (std::size_t i = 0; i < endpoints.size(); ++i) {
    // An address that swallows packets leaves time for the ones behind it.
    const Deadline one = Deadline::after(deadline.remaining() / static_cast<int>(endpoints.size() - i));
    auto stream = Stream::make(tcp::socket(executor_));
    auto connected = co_await stream->connect(endpoints[i], one);
    if (connected && tls_)
      connected = co_await stream->handshake(*tls_, endpoint_.host, earlier(deadline, one));
    if (connected) co_return std::make_unique<KeptConnection>(std::move(stream));
    last = std::move(connected).error();
    if (last->code() == ErrorCode::protocol_error) break;  // another address has the same certificate
  }
  std::string cure;
  if (last->native().value == ECONNREFUSED) cure = "; is the server running, and is this its port?";
  if (last->code() == ErrorCode::protocol_error)
    cure = "; check the CA file, the name in the certificate, or http:// for https://";
  co_return Error(last->code(), "cannot connect to " + endpoint_.to_string() + ": " + last->message() + cure)
      .with_native(last->native().domain, last->native().value);
}

Result<std::shared_ptr<ClientPool>> ClientPool::make(Executor executor, EndpointUrl endpoint,
                                                     ClientPoolOptions options) {
  if (options.max_connections == 0) {
    return Error(ErrorCode::invalid_argument, "a connection pool needs room for at least one connection");
  }
  std::shared_ptr<asio::ssl::context> tls;
  if (endpoint.tls) {
    SLUICE_TRY(tls, make_client_tls(options.tls));
  }
  return std::shared_ptr<ClientPool>(std::make_shared<ClientPoolImpl>(
      std::move(executor), std::move(endpoint), std::move(options), std::move(tls)));
}

// NOLINTNEXTLINE(cppcoreguidelines-avoid-reference-coroutine-parameters): the caller holds it meanwhile
Task<Result<std::string>> ClientPool::read_text(Connection& connection, std::size_t limit,
                                                Deadline deadline) {
  std::string text;
  while (!connection.body_done()) {
    // One byte over the limit shows that there is more.
    constexpr std::size_t kStep = 16 * limits::kKiB;
    const std::size_t at = text.size();
    text.resize(std::min(at + kStep, limit + 1));
    const std::span<char> room(text.data() + at, text.size() - at);
    auto got = co_await connection.read_body(std::as_writable_bytes(room), deadline);
    if (!got) co_return std::move(got).error();
    text.resize(at + *got);
    if (text.size() > limit) {
      co_return Error(ErrorCode::protocol_error,
                      "a response body is larger than " + std::to_string(limit) + " bytes")
          .with_outcome(Outcome::uncertain);
    }
  }
  co_return text;
}

}  // namespace sluice::http
