#include "client/attempt.h"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/use_awaitable.hpp>

namespace sluice::client {

Task<void> AttemptControl::pause(Deadline until) {
  if (cancelled_) co_return;
  timer_.expires_at(until.when());
  (void)co_await timer_.async_wait(boost::asio::as_tuple(boost::asio::use_awaitable));
}

}  // namespace sluice::client
