#include "http/stream.h"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/ssl/error.hpp>
#include <boost/asio/ssl/host_name_verification.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <tuple>
#include <utility>

#include "base/limits.h"
#include "base/try.h"

namespace sluice::http {

namespace asio = boost::asio;
using boost::system::error_code;

namespace {

constexpr auto kAwait = asio::as_tuple(asio::use_awaitable);

/// What a certificate check had to say, if that is why the handshake failed.
std::string handshake_reason(const error_code& code, SSL* ssl) {
  const long verdict = ::SSL_get_verify_result(ssl);
  if (verdict != X509_V_OK) return ::X509_verify_cert_error_string(verdict);
  return code.message();
}

}  // namespace

struct Stream::Tls {
  Tls(Socket& socket, asio::ssl::context& context) : stream(socket, context) {}
  asio::ssl::stream<Socket&> stream;
};

/// Marks an operation as running and gives the timer its deadline.
class Stream::Watch {
 public:
  Watch(Stream& stream, Deadline deadline) : stream_(stream) {
    stream_.active_ = true;
    stream_.timed_out_ = false;
    stream_.deadline_ = deadline;
    if (!stream_.armed_ || deadline.when() < stream_.armed_for_) stream_.arm(deadline.when());
  }
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;
  ~Watch() { stream_.active_ = false; }

 private:
  Stream& stream_;
};

std::shared_ptr<Stream> Stream::make(Socket socket) {
  std::shared_ptr<Stream> stream(new Stream(std::move(socket)));
  if (stream->socket_.is_open()) stream->prepare();
  return stream;
}

Stream::Stream(Socket socket) : socket_(std::move(socket)), timer_(socket_.get_executor()) {}

Stream::~Stream() = default;

void Stream::prepare() {
  error_code ignored;
  socket_.set_option(asio::ip::tcp::no_delay(true), ignored);
  const auto text = [](const asio::ip::address& address) {
    const bool mapped = address.is_v6() && address.to_v6().is_v4_mapped();
    return mapped ? asio::ip::make_address_v4(asio::ip::v4_mapped, address.to_v6()).to_string()
                  : address.to_string();
  };
  const auto local = socket_.local_endpoint(ignored);
  const auto peer = socket_.remote_endpoint(ignored);
  addresses_.local = text(local.address());
  addresses_.local_port = local.port();
  addresses_.peer = text(peer.address());
  addresses_.peer_port = peer.port();
}

// --- deadlines
// --------------------------------------------------------------------------------------------------

void Stream::arm(Deadline::Clock::time_point when) {
  armed_for_ = when;
  armed_ = true;
  timer_.expires_at(when);
  timer_.async_wait([weak = weak_from_this()](const error_code& code) {
    if (code) return;
    if (auto self = weak.lock()) self->on_timer();
  });
}

void Stream::on_timer() {
  armed_ = false;
  if (!active_) return;
  if (Deadline::Clock::now() < deadline_.when()) {
    arm(deadline_.when());
    return;
  }
  timed_out_ = true;
  error_code ignored;
  socket_.cancel(ignored);
}

void Stream::abort() {
  aborted_ = true;
  error_code ignored;
  socket_.cancel(ignored);
}

void Stream::close() {
  error_code ignored;
  socket_.close(ignored);
  peer_is_gone();
}

Error Stream::failure(const error_code& code, std::string_view what) const {
  const std::string action(what);
  if (aborted_) return Error(ErrorCode::cancelled, action + " was cancelled");
  if (timed_out_ && code == asio::error::operation_aborted) {
    return Error(ErrorCode::timeout, action + " timed out");
  }
  if (code == asio::error::eof || code == asio::ssl::error::stream_truncated) {
    return Error(ErrorCode::peer_gone, action + ": the peer closed the connection");
  }
  if (code.category() == asio::error::get_ssl_category()) {
    return Error(ErrorCode::protocol_error, action + ": TLS: " + code.message());
  }
  return Error(ErrorCode::peer_gone, action + ": " + code.message()).with_native("errno", code.value());
}

std::optional<Error> Stream::refusal(Deadline deadline, std::string_view what) const {
  if (aborted_) return failure({}, what);
  if (deadline.expired()) return Error(ErrorCode::timeout, std::string(what) + " timed out");
  return std::nullopt;
}

// --- operations
// ---------------------------------------------------------------------------------------------------

Task<Result<void>> Stream::connect(Endpoint endpoint, Deadline deadline) {
  error_code code;
  socket_.close(code);
  socket_.open(endpoint.protocol(), code);
  if (code) co_return failure(code, "opening a socket");
  {
    const Watch watch(*this, deadline);
    const std::tuple<error_code> done = co_await socket_.async_connect(endpoint, kAwait);
    code = std::get<0>(done);
  }
  if (code) co_return failure(code, "connecting");
  prepare();
  co_return Result<void>{};
}

// NOLINTNEXTLINE(cppcoreguidelines-avoid-reference-coroutine-parameters): the caller's, until it has returned
Task<Result<void>> Stream::handshake(asio::ssl::context& context, std::string server_name,
                                     Deadline deadline) {
  if (auto no = refusal(deadline, "the TLS handshake")) co_return std::move(*no);
  auto tls = std::make_unique<Tls>(socket_, context);
  const bool client = !server_name.empty();
  if (client) {
    SSL* ssl = tls->stream.native_handle();
    error_code not_an_address;
    (void)asio::ip::make_address(server_name, not_an_address);
    if (not_an_address) {  // RFC 6066: names only. The macro for this casts in the old style.
      ::SSL_ctrl(ssl, SSL_CTRL_SET_TLSEXT_HOSTNAME, TLSEXT_NAMETYPE_host_name, server_name.data());
    }
    if (::SSL_get_verify_mode(ssl) != SSL_VERIFY_NONE) {
      error_code ignored;
      tls->stream.set_verify_callback(asio::ssl::host_name_verification(server_name), ignored);
    }
  }
  error_code code;
  {
    const Watch watch(*this, deadline);
    const auto side = client ? asio::ssl::stream_base::client : asio::ssl::stream_base::server;
    const std::tuple<error_code> done = co_await tls->stream.async_handshake(side, kAwait);
    code = std::get<0>(done);
  }
  if (code && client && code.category() == asio::error::get_ssl_category()) {
    co_return Error(ErrorCode::protocol_error,
                    "the TLS handshake failed: " + handshake_reason(code, tls->stream.native_handle()));
  }
  if (code) co_return failure(code, "the TLS handshake");
  tls_ = std::move(tls);
  addresses_.tls = true;
  co_return Result<void>{};
}

Task<Result<std::size_t>> Stream::read_some(std::span<std::byte> into, Deadline deadline) {
  if (auto no = refusal(deadline, "reading")) co_return std::move(*no);
  const auto buffer = asio::buffer(into.data(), into.size());
  const Watch watch(*this, deadline);
  std::tuple<error_code, std::size_t> done;
  if (tls_) {
    done = co_await tls_->stream.async_read_some(buffer, kAwait);
  } else {
    done = co_await socket_.async_read_some(buffer, kAwait);
  }
  if (std::get<1>(done) > 0) co_return std::get<1>(done);
  const error_code code = std::get<0>(done);
  if (code == asio::error::eof && !aborted_) co_return std::size_t{0};
  co_return failure(code, "reading");
}

Task<Result<void>> Stream::write_all(Pieces pieces, Patience patience) {
  while (!pieces[0].empty() || !pieces[1].empty()) {
    const Deadline deadline = patience.next();
    if (auto no = refusal(deadline, "writing")) co_return std::move(*no);
    const std::array<asio::const_buffer, 2> buffers{asio::buffer(pieces[0].data(), pieces[0].size()),
                                                    asio::buffer(pieces[1].data(), pieces[1].size())};
    std::tuple<error_code, std::size_t> done;
    {
      const Watch watch(*this, deadline);
      if (tls_) {
        // What the TLS engine has taken may be on the wire whatever the result says.
        wrote_ = true;
        done = co_await tls_->stream.async_write_some(pieces[0].empty() ? buffers[1] : buffers[0], kAwait);
      } else {
        done = co_await socket_.async_write_some(buffers, kAwait);
      }
    }
    const std::size_t moved = std::get<1>(done);
    if (moved > 0) wrote_ = true;
    if (std::get<0>(done)) co_return failure(std::get<0>(done), "writing");
    const std::size_t first = std::min(moved, pieces[0].size());
    pieces[0] = pieces[0].subspan(first);
    pieces[1] = pieces[1].subspan(moved - first);
  }
  co_return Result<void>{};
}

Task<void> Stream::linger(Deadline deadline) {
  error_code code;
  if (tls_ && socket_.is_open()) {
    // Sends close_notify; that the peer answers with more data instead is no matter.
    const Watch watch(*this, deadline);
    const std::tuple<error_code> done = co_await tls_->stream.async_shutdown(kAwait);
    (void)done;
  }
  socket_.shutdown(Socket::shutdown_send, code);
  std::array<std::byte, 4096> dropped;
  while (!code && !aborted_ && !deadline.expired()) {
    const Watch watch(*this, deadline);
    const std::tuple<error_code, std::size_t> done =
        co_await socket_.async_read_some(asio::buffer(dropped), kAwait);
    code = std::get<0>(done);
  }
  close();
}

bool Stream::readable() const {
  char byte = 0;
  auto& socket = const_cast<Socket&>(socket_);  // NOLINT: native_handle() is not const
  return socket.is_open() && ::recv(socket.native_handle(), &byte, 1, MSG_PEEK | MSG_DONTWAIT) >= 0;
}

bool Stream::quiet() const {
  char byte = 0;
  auto& socket = const_cast<Socket&>(socket_);  // NOLINT: native_handle() is not const
  return socket.is_open() && ::recv(socket.native_handle(), &byte, 1, MSG_PEEK | MSG_DONTWAIT) < 0 &&
         (errno == EAGAIN || errno == EWOULDBLOCK);
}

// --- the peer's end
// -------------------------------------------------------------------------------------------------

void Stream::watch_peer(std::function<void()> gone) {
  peer_gone_ = std::move(gone);
  wait_for_peer();
}

void Stream::unwatch_peer() {
  peer_gone_ = nullptr;
  if (peer_timer_) peer_timer_->cancel();
}

void Stream::wait_for_peer() {
  if (peer_wait_pending_ || !socket_.is_open()) return;
  peer_wait_pending_ = true;
  socket_.async_wait(Socket::wait_read, [weak = weak_from_this()](const error_code& code) {
    auto self = weak.lock();
    if (!self) return;
    self->peer_wait_pending_ = false;
    if (!code) self->on_peer_event();
  });
}

void Stream::on_peer_event() {
  if (!peer_gone_) return;
  if (hung_up()) {
    peer_is_gone();
    return;
  }
  // Bytes of a body or of the next request wait: as long as they do, readiness says nothing about the peer's
  // end.
  if (!peer_timer_) peer_timer_ = std::make_unique<asio::steady_timer>(socket_.get_executor());
  peer_timer_->expires_after(limits::kPeerCheck);
  peer_timer_->async_wait([weak = weak_from_this()](const error_code& code) {
    if (code) return;
    if (auto self = weak.lock()) self->on_peer_event();
  });
}

void Stream::peer_is_gone() {
  if (auto gone = std::exchange(peer_gone_, nullptr)) gone();
}

bool Stream::hung_up() {
  if (!socket_.is_open()) return true;
  pollfd look{socket_.native_handle(), POLLRDHUP, 0};
  return ::poll(&look, 1, 0) > 0;  // POLLERR and POLLHUP are always reported
}

}  // namespace sluice::http
