// One established (or connecting) byte stream, plain or TLS: reads, gather writes, a deadline on each, and
// the signs that the peer has gone.
#pragma once

#include <array>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/deadline.h"
#include "base/task.h"
#include "http/message.h"
#include "sluice/error.h"

namespace sluice::http {

/// How long a write may take: until `last`, and never longer than `step` without a byte moving (0: no such
/// limit).
struct Patience {
  Deadline last = Deadline::never();
  std::chrono::milliseconds step{0};
  [[nodiscard]] Deadline next() const {
    return step.count() == 0 ? last : earlier(last, Deadline::after(step));
  }
};

/// Up to two pieces written with one system call where the stream allows.
using Pieces = std::array<std::span<const std::byte>, 2>;

/// Only on its socket's executor, one operation at a time (besides `abort`, `close` and the peer watch). Own
/// it by shared_ptr: timers refer to it weakly. Errors of all operations: `timeout`, `cancelled` (after
/// `abort`), `peer_gone`, `protocol_error` (TLS), without outcome or context: the caller knows those.
class Stream : public std::enable_shared_from_this<Stream> {
 public:
  using Socket = boost::asio::ip::tcp::socket;
  using Endpoint = boost::asio::ip::tcp::endpoint;

  static std::shared_ptr<Stream> make(Socket socket);
  ~Stream();
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  Task<Result<void>> connect(Endpoint endpoint, Deadline deadline);
  /// `context` outlives the stream. For a client, `server_name` is what the certificate must be for; empty
  /// for a server.
  Task<Result<void>> handshake(boost::asio::ssl::context& context, std::string server_name,
                               Deadline deadline);

  /// At least one byte into `into` (not empty); 0 once the peer has closed its side.
  Task<Result<std::size_t>> read_some(std::span<std::byte> into, Deadline deadline);
  Task<Result<void>> write_all(Pieces pieces, Patience patience);
  /// Whether write_all gave any byte to the socket since the last reset.
  [[nodiscard]] bool wrote() const { return wrote_; }
  void reset_wrote() { wrote_ = false; }
  /// Ends our side, reads and drops what still comes until the peer closes, at most until the deadline, then
  /// closes.
  Task<void> linger(Deadline deadline);

  [[nodiscard]] bool is_open() const { return socket_.is_open(); }
  /// No byte and no end waits to be read: fit for another request.
  [[nodiscard]] bool quiet() const;
  /// Bytes (or the end) wait to be read.
  [[nodiscard]] bool readable() const;

  /// Calls back once, on the executor, when the peer closes or resets the connection, or we `close` it. Bytes
  /// that wait to be read stay where they are.
  void watch_peer(std::function<void()> gone);
  void unwatch_peer();

  /// Ends the running operation and all later ones with `cancelled`.
  void abort();
  /// Closes the socket; a running operation ends with `peer_gone`.
  void close();

  [[nodiscard]] const ConnectionAddresses& addresses() const { return addresses_; }
  [[nodiscard]] Executor executor() { return socket_.get_executor(); }

 private:
  struct Tls;
  class Watch;
  explicit Stream(Socket socket);
  void prepare();
  void arm(Deadline::Clock::time_point when);
  void on_timer();
  void wait_for_peer();
  void on_peer_event();
  void peer_is_gone();
  [[nodiscard]] bool hung_up();
  /// Why an operation is not begun: aborted, or its deadline has passed. The timer alone would not do: it
  /// ends what waits, and reads that find their bytes at once never wait.
  [[nodiscard]] std::optional<Error> refusal(Deadline deadline, std::string_view what) const;
  [[nodiscard]] Error failure(const boost::system::error_code& code, std::string_view what) const;

  Socket socket_;
  std::unique_ptr<Tls> tls_;
  ConnectionAddresses addresses_;
  bool wrote_ = false;
  bool aborted_ = false;

  // The deadline of the running operation. The timer is only moved when a deadline comes nearer; when it
  // fires early it is set again. So an operation costs a clock reading, not a timer.
  boost::asio::steady_timer timer_;
  Deadline deadline_ = Deadline::never();
  Deadline::Clock::time_point armed_for_;
  bool armed_ = false;
  bool active_ = false;
  bool timed_out_ = false;

  std::function<void()> peer_gone_;
  bool peer_wait_pending_ = false;
  std::unique_ptr<boost::asio::steady_timer> peer_timer_;
};

}  // namespace sluice::http
