// AWS Signature Version 4 in the Authorization header: signing and verifying, with every intermediate text in
// reach.
//
// S3's variant: the path is used exactly as it stands on the wire (no normalising, no second encoding), the
// query is decoded once and encoded again in canonical form ('+' in a query is a blank, as S3 reads it).
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/headers.h"
#include "base/time.h"
#include "sluice/error.h"

namespace sluice::s3 {

/// A key pair. The secret and the session token never go into messages or logs.
struct Credentials {
  std::string access_key;
  std::string secret_key;
  std::string session_token;  ///< empty: long-term keys
  [[nodiscard]] bool anonymous() const { return access_key.empty(); }
};

struct SigningScope {
  std::string region = "us-east-1";
  std::string service = "s3";
};

/// The one algorithm of the Authorization header and of the string to sign.
inline constexpr std::string_view kSigningAlgorithm = "AWS4-HMAC-SHA256";
inline constexpr std::string_view kUnsignedPayload = "UNSIGNED-PAYLOAD";
/// SHA-256 of no bytes.
inline constexpr std::string_view kEmptyPayloadSha256 =
    "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

/// What x-amz-content-sha256 says about the body.
enum class PayloadMode : std::uint8_t {
  unsigned_payload,  ///< UNSIGNED-PAYLOAD
  empty,             ///< the hash of no bytes (also when the header is absent and there is no body)
  sha256,  ///< another hash: the receiver must hash the body and compare (XAmzContentSHA256Mismatch)
};

/// The parts of a request that a signature covers, as they stand on the wire. Views: must outlive the call.
struct RequestView {
  std::string_view method;
  std::string_view target;  ///< path and query, percent-encoded
  const HeaderList& headers;
};

/// Every intermediate text of one signature. The canonical request contains the values of the signed headers,
/// so also an RDMA token: never log it.
struct SigningArtifacts {
  std::string canonical_request;
  std::string canonical_request_sha256;  ///< hex
  std::string string_to_sign;
  std::string signed_headers;  ///< "host;x-amz-date"
  std::string signature;       ///< 64 hex digits
  std::string authorization;   ///< the header's value
};

/// Signs a request in place: sets x-amz-date, x-amz-content-sha256 and (with a session token)
/// x-amz-security-token, then authorization. Signs every header that is present except `is_unsigned_header`.
/// `payload` is kUnsignedPayload, a hex SHA-256 of the body, or empty: then a value already in the list is
/// kept, else UNSIGNED-PAYLOAD. Errors: invalid_argument (no host header, malformed target, bad payload text,
/// anonymous credentials).
Result<SigningArtifacts> sign_request(std::string_view method, std::string_view target, HeaderList& headers,
                                      const Credentials& credentials, const SigningScope& scope,
                                      WallClock::time_point now, std::string_view payload = {});

/// Headers that intermediaries and HTTP libraries change or add: authorization, connection, user-agent,
/// expect, accept-encoding, transfer-encoding, keep-alive, te, trailer, upgrade, proxy-*, via,
/// x-amzn-trace-id, …
[[nodiscard]] bool is_unsigned_header(std::string_view lower_case_name);

/// The canonical request over `signed_headers` (lower case, sorted, as in the Authorization header).
/// Errors: InvalidURI (target), SignatureDoesNotMatch (a signed header is absent; names it).
Result<std::string> canonical_request(const RequestView& request,
                                      const std::vector<std::string>& signed_headers,
                                      std::string_view payload_hash);
/// Sorted, re-encoded query, with "=" also where there was no value. Errors: InvalidURI.
Result<std::string> canonical_query(std::string_view raw_query);
/// "AWS4-HMAC-SHA256\n<date>\n<date8>/<region>/<service>/aws4_request\n<hash>".
std::string string_to_sign(std::string_view amz_date, const SigningScope& scope,
                           std::string_view canonical_sha256);
/// 64 hex digits.
std::string signature_of(std::string_view secret_key, std::string_view date8, const SigningScope& scope,
                         std::string_view text);

/// An Authorization header taken apart.
struct ParsedAuthorization {
  std::string access_key;
  std::string date8;  ///< YYYYMMDD of the credential scope
  std::string region;
  std::string service;
  std::vector<std::string> signed_headers;  ///< lower case, strictly sorted
  std::string signature;                    ///< 64 lower-case hex digits
};
/// Errors (as S3 answers them): AuthorizationHeaderMalformed, InvalidRequest for another scheme.
Result<ParsedAuthorization> parse_authorization(std::string_view value);

/// Who signed a request, and what the signature covers.
struct Identity {
  std::string access_key;
  std::string region;
  std::vector<std::string> signed_headers;  ///< sorted
  std::string signature;       ///< identifies the request: the replay guard's key (design rule 4)
  WallClock::time_point date;  ///< x-amz-date
  PayloadMode payload = PayloadMode::unsigned_payload;
  std::string payload_sha256;  ///< hex; empty for unsigned_payload
};
[[nodiscard]] bool is_signed(const Identity& identity, std::string_view header_name);

/// The credentials of an access key, or nothing if there is no such key.
using SecretLookup = std::function<std::optional<Credentials>(std::string_view access_key)>;

struct VerifyOptions {
  WallClock::time_point now;
  std::chrono::seconds skew{900};  ///< how far x-amz-date may be from `now`, either way
  std::string region;              ///< the region a scope must name; empty: any
};

/// Checks a request's signature. Pure: what it answers depends on its arguments only.
///
/// Every x-amz-* header that is present must be signed, and host. Errors carry the S3 code: AccessDenied
/// (anonymous; an unsigned x-amz-* header; no date), InvalidAccessKeyId, SignatureDoesNotMatch,
/// RequestTimeTooSkewed, AuthorizationHeaderMalformed (also a wrong region), InvalidRequest (another scheme,
/// several Authorization headers), MissingSecurityHeader (a body but no x-amz-content-sha256),
/// InvalidArgument (a malformed one), InvalidToken (session token), NotImplemented (presigned URLs,
/// STREAMING-* payloads; the message names which), InvalidURI.
Result<Identity> verify_request(const RequestView& request, const SecretLookup& lookup,
                                const VerifyOptions& options);

/// Nothing in the request claims an identity: no Authorization header and no presigned query.
[[nodiscard]] bool is_anonymous(const RequestView& request);

}  // namespace sluice::s3
