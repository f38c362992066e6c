#include "gateway/auth.h"

#include <utility>

#include "base/encoding.h"
#include "base/try.h"
#include "gateway/context.h"
#include "s3/errors.h"
#include "s3/headers.h"
#include "s3/rdma_headers.h"

namespace sluice::gateway {

Result<void> authenticate(Request& request) {
  const http::RequestHead& head = request.exchange.request();
  const s3::Credentials& known = request.context.options.credentials;
  const s3::SecretLookup lookup = [&known](std::string_view access_key) -> std::optional<s3::Credentials> {
    if (known.anonymous() || !equal_constant_time(access_key, known.access_key)) return std::nullopt;
    return known;
  };
  s3::VerifyOptions options;
  options.now = WallClock::now();
  options.skew = limits::kClockSkew;
  options.region = request.context.options.region;
  const s3::RequestView view{head.method, head.target, head.headers};
  SLUICE_TRY(request.identity, s3::verify_request(view, lookup, options));
  return {};
}

Result<std::optional<std::string>> signed_token(const Request& request) {
  if (!request.headers().has(s3::header::kRdmaToken)) return std::optional<std::string>();
  if (!s3::is_signed(request.identity, s3::header::kRdmaToken)) {
    return s3::make_error("AccessDenied", "x-amz-rdma-token must be one of the SignedHeaders");
  }
  return s3::rdma_request_token(request.headers());
}

Result<void> admit_token_once(const Request& request) {
  return request.context.admit_once(request.identity);
}

}  // namespace sluice::gateway
