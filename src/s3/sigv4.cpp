// The texts that a signature is made of, and making one.
#include "s3/sigv4.h"

#include <algorithm>
#include <array>
#include <string>

#include "base/encoding.h"
#include "base/try.h"
#include "checksum/digest.h"
#include "s3/errors.h"
#include "s3/headers.h"
#include "s3/keys.h"

namespace sluice::s3 {
namespace {

std::string scope_text(std::string_view date8, const SigningScope& scope) {
  return std::string(date8) + "/" + scope.region + "/" + scope.service + "/aws4_request";
}

// Trimmed, and runs of blanks inside as one blank.
void append_folded(std::string& out, std::string_view value) {
  value = trim_blanks(value);
  bool in_blanks = false;
  for (const char c : value) {
    if (c == ' ' || c == '\t') {
      in_blanks = true;
      continue;
    }
    if (in_blanks) out += ' ';
    in_blanks = false;
    out += c;
  }
}

bool is_hex_sha256(std::string_view text) {
  return text.size() == 64 && std::all_of(text.begin(), text.end(), [](char c) {
           return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
         });
}

Error unusable(std::string message) {
  return Error(ErrorCode::invalid_argument, "signing: " + std::move(message));
}

}  // namespace

bool is_unsigned_header(std::string_view name) {
  // What proxies and HTTP libraries add, drop or rewrite between signing and verifying.
  constexpr std::array<std::string_view, 14> kUnsigned = {
      "accept-encoding", "authorization", "connection", "expect",  "forwarded",  "keep-alive",      "te",
      "trailer",         "traceparent",   "tracestate", "upgrade", "user-agent", "x-amzn-trace-id", "via"};
  return std::find(kUnsigned.begin(), kUnsigned.end(), name) != kUnsigned.end() ||
         name.starts_with("proxy-") || name.starts_with("x-forwarded-") || name == header::kTransferEncoding;
}

Result<std::string> canonical_query(std::string_view raw_query) {
  SLUICE_TRY(const Query query, parse_query(raw_query));
  std::vector<std::pair<std::string, std::string>> encoded;
  for (const QueryParameter& parameter : query.all()) {
    encoded.emplace_back(percent_encode(parameter.name, EncodeSlash::yes),
                         percent_encode(parameter.value, EncodeSlash::yes));
  }
  std::sort(encoded.begin(), encoded.end());
  std::string out;
  for (const auto& [name, value] : encoded) {
    if (!out.empty()) out += '&';
    out += name + "=" + value;
  }
  return out;
}

Result<std::string> canonical_request(const RequestView& request,
                                      const std::vector<std::string>& signed_headers,
                                      std::string_view payload_hash) {
  SLUICE_TRY(const RawTarget target, split_target(request.target));
  SLUICE_TRY(const std::string query, canonical_query(target.query));
  std::string out(request.method);
  out += '\n';
  out += target.path;
  out += '\n';
  out += query;
  out += '\n';
  std::string names;
  for (const std::string& name : signed_headers) {
    const auto values = request.headers.find_all(name);
    if (values.empty()) {
      return make_error("SignatureDoesNotMatch",
                        "the signature covers the header '" + name + "', which is absent");
    }
    out += name;
    out += ':';
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (i > 0) out += ',';
      append_folded(out, values[i]);
    }
    out += '\n';
    if (!names.empty()) names += ';';
    names += name;
  }
  out += '\n';
  out += names;
  out += '\n';
  out += payload_hash;
  return out;
}

std::string string_to_sign(std::string_view amz_date, const SigningScope& scope,
                           std::string_view canonical_sha256) {
  std::string out(kSigningAlgorithm);
  out += '\n';
  out += amz_date;
  out += '\n';
  out += scope_text(amz_date.substr(0, 8), scope);
  out += '\n';
  out += canonical_sha256;
  return out;
}

std::string signature_of(std::string_view secret_key, std::string_view date8, const SigningScope& scope,
                         std::string_view text) {
  const std::string seed = "AWS4" + std::string(secret_key);
  const auto date_key = hmac_sha256(as_bytes(seed), date8);
  const auto region_key = hmac_sha256(date_key, scope.region);
  const auto service_key = hmac_sha256(region_key, scope.service);
  const auto signing_key = hmac_sha256(service_key, "aws4_request");
  return hex_encode(hmac_sha256(signing_key, text));
}

Result<SigningArtifacts> sign_request(std::string_view method, std::string_view target, HeaderList& headers,
                                      const Credentials& credentials, const SigningScope& scope,
                                      WallClock::time_point now, std::string_view payload) {
  if (credentials.anonymous()) return unusable("there is no access key");
  if (credentials.secret_key.empty()) return unusable("the access key has no secret key");
  if (!headers.has(header::kHost)) return unusable("the request has no host header");
  if (payload.empty()) payload = headers.find(header::kContentSha256).value_or(kUnsignedPayload);
  if (payload != kUnsignedPayload && !is_hex_sha256(payload)) {
    return unusable("x-amz-content-sha256 must be UNSIGNED-PAYLOAD or 64 lower-case hex digits");
  }
  const std::string amz_date = format_amz_date(now);
  headers.set(header::kContentSha256, std::string(payload));
  headers.set(header::kAmzDate, amz_date);
  headers.remove(header::kSecurityToken);
  if (!credentials.session_token.empty()) headers.set(header::kSecurityToken, credentials.session_token);
  headers.remove(header::kAuthorization);

  std::vector<std::string> names;
  for (const Header& field : headers) {
    if (!is_header_name(field.name)) return unusable("a header has a name that HTTP does not allow");
    if (!is_header_value(field.value))
      return unusable("the header '" + field.name + "' contains control characters");
    if (!is_unsigned_header(field.name)) names.push_back(field.name);
  }
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());

  SigningArtifacts out;
  const std::string payload_text(headers.get(header::kContentSha256));
  SLUICE_TRY(out.canonical_request, canonical_request({method, target, headers}, names, payload_text));
  out.canonical_request_sha256 = sha256_hex(out.canonical_request);
  out.string_to_sign = string_to_sign(amz_date, scope, out.canonical_request_sha256);
  const std::string date8 = amz_date.substr(0, 8);
  out.signature = signature_of(credentials.secret_key, date8, scope, out.string_to_sign);
  for (const std::string& name : names) out.signed_headers += (out.signed_headers.empty() ? "" : ";") + name;
  out.authorization = std::string(kSigningAlgorithm) + " Credential=" + credentials.access_key + "/" +
                      scope_text(date8, scope) + ", SignedHeaders=" + out.signed_headers +
                      ", Signature=" + out.signature;
  headers.set(header::kAuthorization, out.authorization);
  return out;
}

}  // namespace sluice::s3
