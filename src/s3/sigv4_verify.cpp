// Reading an Authorization header and checking what it claims.
#include <algorithm>
#include <array>
#include <chrono>

#include "base/encoding.h"
#include "base/limits.h"
#include "base/parse.h"
#include "base/try.h"
#include "checksum/digest.h"
#include "s3/errors.h"
#include "s3/headers.h"
#include "s3/keys.h"
#include "s3/sigv4.h"

namespace sluice::s3 {
namespace {

Error malformed(std::string_view why) {
  return make_error("AuthorizationHeaderMalformed",
                    "the authorization header is malformed: " + std::string(why));
}

bool is_digits(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

bool is_lower_hex(std::string_view text, std::size_t digits) {
  return text.size() == digits && std::all_of(text.begin(), text.end(), [](char c) {
           return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
         });
}

// "AKID/20260101/us-east-1/s3/aws4_request"; taken apart from the right, an access key may contain slashes.
Result<void> parse_credential(std::string_view text, ParsedAuthorization& out) {
  std::array<std::string_view, 4> fields;
  for (std::size_t i = fields.size(); i > 0; --i) {
    const auto slash = text.rfind('/');
    if (slash == std::string_view::npos) {
      return malformed("the Credential must be <access key>/<YYYYMMDD>/<region>/<service>/aws4_request");
    }
    fields[i - 1] = text.substr(slash + 1);
    text = text.substr(0, slash);
  }
  if (text.empty() || text.size() > 128) return malformed("the access key must have 1 to 128 characters");
  if (fields[0].size() != 8 || !is_digits(fields[0]))
    return malformed("the Credential's date must be YYYYMMDD");
  if (fields[1].empty()) return malformed("the Credential names no region");
  if (fields[2] != "s3") return malformed("the Credential's service must be 's3'");
  if (fields[3] != "aws4_request") return malformed("the Credential must end with 'aws4_request'");
  out.access_key = std::string(text);
  out.date8 = std::string(fields[0]);
  out.region = std::string(fields[1]);
  out.service = std::string(fields[2]);
  return {};
}

Result<void> parse_signed_headers(std::string_view text, ParsedAuthorization& out) {
  while (true) {
    const auto semicolon = text.find(';');
    const std::string_view name = text.substr(0, semicolon);
    if (!is_header_name(name) || ascii_lower(name) != name) {
      return malformed("SignedHeaders must be lower-case header names with ';' between them");
    }
    if (!out.signed_headers.empty() && out.signed_headers.back() >= name) {
      return malformed("SignedHeaders must be sorted and name each header once");
    }
    if (out.signed_headers.size() == limits::kSignedHeaders)
      return malformed("SignedHeaders names too many headers");
    out.signed_headers.emplace_back(name);
    if (semicolon == std::string_view::npos) return {};
    text.remove_prefix(semicolon + 1);
  }
}

// The error for credentials in the query; nothing if there are none.
Result<bool> has_presigned_query(const RequestView& request) {
  SLUICE_TRY(const RawTarget target, split_target(request.target));
  SLUICE_TRY(const Query query, parse_query(target.query));
  return query.has("X-Amz-Algorithm") || query.has("X-Amz-Signature") || query.has("X-Amz-Credential") ||
         (query.has("AWSAccessKeyId") && query.has("Signature"));
}

struct RequestDate {
  std::string amz_date;  // as the string to sign has it
  WallClock::time_point when;
};

Result<RequestDate> date_of(const HeaderList& headers, const ParsedAuthorization& authorization) {
  if (headers.count(header::kAmzDate) > 1)
    return make_error("AccessDenied", "there are several x-amz-date headers");
  if (const auto text = headers.find(header::kAmzDate)) {
    const std::string_view trimmed = trim_blanks(*text);
    const auto when = parse_amz_date(trimmed);
    if (!when) return make_error("AccessDenied", "x-amz-date must look like 20260101T000000Z");
    return RequestDate{std::string(trimmed), *when};
  }
  const auto text = headers.find(header::kDate);
  if (!text)
    return make_error("AccessDenied", "AWS authentication requires a valid Date or x-amz-date header");
  const auto when = parse_http_date(trim_blanks(*text));
  if (!when) return make_error("AccessDenied", "the Date header is not an HTTP date; send x-amz-date");
  const auto& names = authorization.signed_headers;
  if (!std::binary_search(names.begin(), names.end(), header::kDate)) {
    return make_error("AccessDenied", "without x-amz-date the Date header must be signed");
  }
  return RequestDate{format_amz_date(*when), *when};
}

Result<void> check_coverage(const HeaderList& headers, const std::vector<std::string>& names) {
  if (!std::binary_search(names.begin(), names.end(), header::kHost)) {
    return make_error("AccessDenied", "the host header is not signed");
  }
  for (const Header& field : headers) {
    if (field.name.starts_with(header::kAmzPrefix) &&
        !std::binary_search(names.begin(), names.end(), field.name)) {
      return make_error("AccessDenied",
                        "a header is present in the request which was not signed: " + field.name);
    }
  }
  return {};
}

Result<void> check_session_token(const HeaderList& headers, const Credentials& credentials) {
  if (headers.count(header::kSecurityToken) > 1) {
    return make_error("InvalidToken", "there are several x-amz-security-token headers");
  }
  const std::string_view given = trim_blanks(headers.get(header::kSecurityToken));
  if (!equal_constant_time(given, credentials.session_token)) {
    return make_error("InvalidToken", "the session token does not belong to the access key");
  }
  return {};
}

bool has_body(const HeaderList& headers) {
  if (headers.has(header::kTransferEncoding)) return true;
  const auto length = headers.find(header::kContentLength);
  return length && trim_blanks(*length) != "0";
}

// Fills in the payload fields; returns the text that stands in the canonical request.
Result<std::string> payload_of(const HeaderList& headers, Identity& identity) {
  if (headers.count(header::kContentSha256) > 1) {
    return make_error("InvalidArgument", "there are several x-amz-content-sha256 headers");
  }
  const auto value = headers.find(header::kContentSha256);
  if (!value) {
    if (has_body(headers)) {
      return make_error(
          "MissingSecurityHeader",
          "a request with a body needs the header x-amz-content-sha256; UNSIGNED-PAYLOAD will do");
    }
    identity.payload = PayloadMode::empty;
    identity.payload_sha256 = std::string(kEmptyPayloadSha256);
    return identity.payload_sha256;
  }
  std::string text(trim_blanks(*value));
  if (text == kUnsignedPayload) {
    identity.payload = PayloadMode::unsigned_payload;
    return text;
  }
  if (text.starts_with("STREAMING-")) {
    return make_error(
        "NotImplemented",
        "x-amz-content-sha256 '" + text.substr(0, 64) +
            "' (a chunked signed body) is not implemented; send UNSIGNED-PAYLOAD or the body's SHA-256");
  }
  if (!is_lower_hex(text, 64)) {
    return make_error(
        "InvalidArgument",
        "x-amz-content-sha256 must be UNSIGNED-PAYLOAD or the SHA-256 of the body in lower-case hex");
  }
  identity.payload = text == kEmptyPayloadSha256 ? PayloadMode::empty : PayloadMode::sha256;
  identity.payload_sha256 = text;
  return text;
}

}  // namespace

Result<ParsedAuthorization> parse_authorization(std::string_view value) {
  value = trim_blanks(value);
  if (value.size() > limits::kAuthorizationBytes) return malformed("it is too long");
  const auto blank = value.find_first_of(" \t");
  if (value.substr(0, blank) != kSigningAlgorithm) {
    return make_error("InvalidRequest", "the authorization mechanism is not supported; use AWS4-HMAC-SHA256");
  }
  if (blank == std::string_view::npos) return malformed("there is nothing after AWS4-HMAC-SHA256");
  std::string_view rest = value.substr(blank);
  std::string_view credential;
  std::string_view signed_headers;
  std::string_view signature;
  while (true) {
    const auto comma = rest.find(',');
    const std::string_view piece = trim_blanks(rest.substr(0, comma));
    const auto equals = piece.find('=');
    if (equals == std::string_view::npos)
      return malformed("expected Credential=…, SignedHeaders=…, Signature=…");
    const std::string_view name = piece.substr(0, equals);
    std::string_view* slot = nullptr;
    if (name == "Credential") slot = &credential;
    if (name == "SignedHeaders") slot = &signed_headers;
    if (name == "Signature") slot = &signature;
    if (slot == nullptr)
      return malformed("it has a field other than Credential, SignedHeaders and Signature");
    if (slot->data() != nullptr) return malformed("a field is there twice");
    *slot = piece.substr(equals + 1);
    if (comma == std::string_view::npos) break;
    rest.remove_prefix(comma + 1);
  }
  if (credential.data() == nullptr || signed_headers.data() == nullptr || signature.data() == nullptr) {
    return malformed("it must have Credential, SignedHeaders and Signature");
  }
  ParsedAuthorization out;
  SLUICE_CHECK(parse_credential(credential, out));
  SLUICE_CHECK(parse_signed_headers(signed_headers, out));
  // Lower case only: the signature identifies a request to the replay guard, so it must have one spelling.
  if (!is_lower_hex(signature, 64)) return malformed("the Signature must be 64 lower-case hex digits");
  out.signature = std::string(signature);
  return out;
}

bool is_signed(const Identity& identity, std::string_view header_name) {
  const std::string name = ascii_lower(header_name);
  return std::binary_search(identity.signed_headers.begin(), identity.signed_headers.end(), name);
}

bool is_anonymous(const RequestView& request) {
  if (request.headers.has(header::kAuthorization)) return false;
  const auto presigned = has_presigned_query(request);
  return presigned && !*presigned;
}

Result<Identity> verify_request(const RequestView& request, const SecretLookup& lookup,
                                const VerifyOptions& options) {
  SLUICE_TRY(const bool presigned, has_presigned_query(request));
  const std::size_t claims = request.headers.count(header::kAuthorization);
  if (presigned && claims > 0) {
    return make_error("InvalidArgument",
                      "only one authentication mechanism is allowed: the query and the "
                      "Authorization header both carry one");
  }
  if (presigned) {
    return make_error("NotImplemented",
                      "presigned URLs are not implemented; sign the request in its Authorization header");
  }
  if (claims == 0) return make_error("AccessDenied", "anonymous requests are not allowed; sign the request");
  if (claims > 1) return make_error("InvalidRequest", "there are several Authorization headers");

  SLUICE_TRY(ParsedAuthorization claim, parse_authorization(request.headers.get(header::kAuthorization)));
  if (!options.region.empty() && claim.region != options.region) {
    return malformed("the region '" + claim.region.substr(0, 64) + "' is wrong; expecting '" +
                     options.region + "'");
  }
  SLUICE_TRY(const RequestDate date, date_of(request.headers, claim));
  if (date.amz_date.substr(0, 8) != claim.date8)
    return malformed("the Credential's date is not that of x-amz-date");
  SLUICE_CHECK(check_coverage(request.headers, claim.signed_headers));

  Identity identity;
  SLUICE_TRY(const std::string payload, payload_of(request.headers, identity));
  const auto credentials = lookup(claim.access_key);
  if (!credentials || credentials->secret_key.empty()) return make_error("InvalidAccessKeyId");
  if (date.when > options.now + options.skew || date.when < options.now - options.skew) {
    return make_error("RequestTimeTooSkewed", "the request is dated " + date.amz_date +
                                                  ", the server's time is " + format_amz_date(options.now) +
                                                  "; set the clock");
  }
  SLUICE_TRY(const std::string canonical, canonical_request(request, claim.signed_headers, payload));
  const SigningScope scope{claim.region, claim.service};
  const std::string text = string_to_sign(date.amz_date, scope, sha256_hex(canonical));
  const std::string expected = signature_of(credentials->secret_key, claim.date8, scope, text);
  if (!equal_constant_time(expected, claim.signature)) return make_error("SignatureDoesNotMatch");
  SLUICE_CHECK(check_session_token(request.headers, *credentials));

  identity.access_key = std::move(claim.access_key);
  identity.region = std::move(claim.region);
  identity.signed_headers = std::move(claim.signed_headers);
  identity.signature = std::move(claim.signature);
  identity.date = date.when;
  return identity;
}

}  // namespace sluice::s3
