#include "gateway/replay.h"

#include "base/parse.h"
#include "s3/errors.h"

namespace sluice::gateway {
namespace {

constexpr std::size_t kSignatureDigits = 64;

std::int64_t minute_of(WallClock::time_point when) {
  return std::chrono::floor<std::chrono::minutes>(when).time_since_epoch().count();
}

}  // namespace

ReplayCache::ReplayCache(WallClock::time_point not_before, std::chrono::seconds skew, std::size_t capacity)
    : not_before_(not_before), skew_(skew), capacity_(capacity) {}

Result<void> ReplayCache::admit(std::string_view signature, WallClock::time_point date,
                                WallClock::time_point now) {
  const auto id = parse_hex_u64(signature.substr(0, 16));
  if (signature.size() != kSignatureDigits || !id) {
    return s3::make_error("AccessDenied", "the signature does not identify the request");
  }
  if (date < not_before_) {
    return s3::make_error("SlowDown", "the request was signed before this gateway started; sign again")
        .with_retry(Retry::later, std::chrono::seconds(1));
  }
  drop_expired(now);
  auto& used = by_minute_[minute_of(date)];
  if (used.contains(*id)) {
    return s3::make_error(
        "AccessDenied",
        "this signed request with an RDMA token was already used; mint a fresh token and sign again");
  }
  if (size_ >= capacity_) {
    return s3::make_error("SlowDown", "too many RDMA requests are remembered at once; try again later")
        .with_retry(Retry::later, std::chrono::seconds(1));
  }
  used.insert(*id);
  ++size_;
  return {};
}

void ReplayCache::drop_expired(WallClock::time_point now) {
  // Everything of a minute is refused by its date once the minute's end is further away than the skew; one
  // more minute against rounding.
  const std::int64_t oldest = minute_of(now - skew_) - 1;
  while (!by_minute_.empty() && by_minute_.begin()->first < oldest) {
    size_ -= by_minute_.begin()->second.size();
    by_minute_.erase(by_minute_.begin());
  }
}

}  // namespace sluice::gateway
