// The pool behind http/client.h: idle connections, the limit, and those who wait for a place.
#pragma once

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cstddef>
#include <deque>
#include <memory>
#include <vector>

#include "http/client.h"
#include "http/client_connection.h"

namespace sluice::http {

class ClientPoolImpl final : public ClientPool, public std::enable_shared_from_this<ClientPoolImpl> {
 public:
  ClientPoolImpl(Executor executor, EndpointUrl endpoint, ClientPoolOptions options,
                 std::shared_ptr<boost::asio::ssl::context> tls);
  ~ClientPoolImpl() override;

  [[nodiscard]] const EndpointUrl& endpoint() const override { return endpoint_; }
  Task<Result<std::unique_ptr<Connection>>> acquire(Deadline deadline, bool fresh) override;
  void close() override;

  /// A lent connection comes home; a closed stream only frees its place.
  void give_back(std::unique_ptr<KeptConnection> kept);

 private:
  using Waiter = OneShot<bool>;
  /// Counts one connection as lent until it is taken over by a Connection.
  class Place;
  Task<Result<void>> wait_for_place(Deadline deadline);
  Task<Result<std::unique_ptr<KeptConnection>>> open(Deadline deadline);
  Task<Result<std::vector<boost::asio::ip::tcp::endpoint>>> resolve(Deadline deadline);
  std::unique_ptr<KeptConnection> take_idle();
  void free_place();
  void close_old();
  void watch_idle();
  [[nodiscard]] Error closed_error() const;

  const Executor executor_;
  const EndpointUrl endpoint_;
  const ClientPoolOptions options_;
  const std::shared_ptr<boost::asio::ssl::context> tls_;
  std::vector<std::unique_ptr<KeptConnection>> idle_;  ///< oldest first
  std::deque<std::shared_ptr<Waiter>> waiters_;        ///< first come, first served
  std::size_t places_taken_ = 0;                       ///< lent, being opened, or promised to a waiter
  boost::asio::steady_timer idle_timer_;
  bool idle_timer_set_ = false;
  bool closed_ = false;
};

}  // namespace sluice::http
