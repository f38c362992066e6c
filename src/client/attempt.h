// What cancelling reaches into: the connection or timer that a transfer waits on at this moment.
#pragma once

#include <boost/asio/steady_timer.hpp>

#include "base/task.h"
#include "http/client.h"

namespace sluice::client {

/// Io thread only (made anywhere). Shared by a transfer's coroutine and its cancel callbacks.
class AttemptControl {
 public:
  explicit AttemptControl(const Executor& executor) : timer_(executor) {}
  [[nodiscard]] bool cancelled() const { return cancelled_; }
  void cancel() {
    cancelled_ = true;
    timer_.cancel();
    if (connection_ != nullptr) connection_->abort();
  }
  /// The connection to abort; null before it is given back or destroyed.
  void watch(http::Connection* connection) { connection_ = connection; }
  /// Waits until then, or until cancelled.
  Task<void> pause(Deadline until);

 private:
  bool cancelled_ = false;
  boost::asio::steady_timer timer_;
  http::Connection* connection_ = nullptr;
};

}  // namespace sluice::client
