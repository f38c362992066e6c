#include "base/uri.h"

#include <arpa/inet.h>

#include <algorithm>
#include <optional>

#include "base/parse.h"
#include "base/try.h"

namespace sluice {

namespace {

struct HostPort {
  std::string host;
  std::optional<std::uint16_t> port;
};

Result<std::uint16_t> parse_port(std::string_view text) {
  auto port = parse_u64(text, 65535);
  if (!port)
    return Error(ErrorCode::invalid_argument, "'" + std::string(text) + "' is not a port (0 to 65535)");
  return static_cast<std::uint16_t>(*port);
}

bool is_host_character(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '.' ||
         c == '_';
}

Result<HostPort> split_host_port(std::string_view text) {
  HostPort out;
  std::string_view rest;
  if (!text.empty() && text.front() == '[') {
    const auto end = text.find(']');
    if (end == std::string_view::npos)
      return Error(ErrorCode::invalid_argument, "an IPv6 address without its ']'");
    out.host = std::string(text.substr(1, end - 1));
    in6_addr address{};
    const bool spelled = out.host.find_first_not_of("0123456789abcdefABCDEF:.") == std::string::npos;
    if (!spelled || ::inet_pton(AF_INET6, out.host.c_str(), &address) != 1) {
      return Error(ErrorCode::invalid_argument, "'" + out.host + "' is no IPv6 address");
    }
    rest = text.substr(end + 1);
  } else {
    const auto colon = text.find(':');
    out.host = std::string(text.substr(0, colon));
    rest = colon == std::string_view::npos ? std::string_view() : text.substr(colon);
    if (rest.find(':', 1) != std::string_view::npos)
      return Error(ErrorCode::invalid_argument, "several colons; IPv6 addresses go into brackets");
    if (!std::all_of(out.host.begin(), out.host.end(), is_host_character)) {
      return Error(ErrorCode::invalid_argument,
                   "'" + out.host + "' is no host name; IPv6 addresses go into brackets");
    }
  }
  if (rest.empty()) return out;
  if (rest.front() != ':')
    return Error(ErrorCode::invalid_argument, "unexpected '" + std::string(rest) + "' behind the host");
  SLUICE_TRY(out.port, parse_port(rest.substr(1)));
  return out;
}

bool loopback_host(const std::string& host) {
  if (host == "localhost") return true;
  in_addr v4{};
  if (::inet_pton(AF_INET, host.c_str(), &v4) == 1) return (ntohl(v4.s_addr) >> 24U) == 127;
  in6_addr v6{};
  return ::inet_pton(AF_INET6, host.c_str(), &v6) == 1 && IN6_IS_ADDR_LOOPBACK(&v6);
}

std::string bracketed(const std::string& host) {
  return host.find(':') == std::string::npos ? host : "[" + host + "]";
}

}  // namespace

std::string EndpointUrl::host_header() const {
  const bool usual = port == (tls ? 443 : 80);
  return usual ? bracketed(host) : bracketed(host) + ":" + std::to_string(port);
}

std::string EndpointUrl::to_string() const {
  return (tls ? "https://" : "http://") + host_header();
}

bool EndpointUrl::is_loopback() const {
  return loopback_host(host);
}

Result<EndpointUrl> parse_endpoint_url(std::string_view text) {
  const auto bad = [&](const std::string& what) {
    return Error(ErrorCode::invalid_argument,
                 "'" + std::string(text.substr(0, 128)) + "': " + what +
                     "; an endpoint looks like http://127.0.0.1:9000 or https://s3.example.org");
  };
  // Without showing the text: a password may be in it.
  if (text.find('@') != std::string_view::npos) {
    return Error(ErrorCode::invalid_argument,
                 "credentials do not belong into an endpoint URL: take out what ends with '@' and pass the "
                 "keys by the "
                 "environment or a file");
  }
  EndpointUrl url;
  std::string_view rest = text;
  if (rest.starts_with("http://")) {
    rest.remove_prefix(7);
  } else if (rest.starts_with("https://")) {
    url.tls = true;
    rest.remove_prefix(8);
  } else {
    return bad("it starts neither with http:// nor with https://");
  }
  if (rest.ends_with('/')) rest.remove_suffix(1);
  if (rest.find_first_of("/?#") != std::string_view::npos) return bad("nothing may follow the host and port");
  auto parts = split_host_port(rest);
  if (!parts) return bad(parts.error().message());
  if (parts->host.empty()) return bad("there is no host");
  if (parts->port == 0) return bad("port 0 cannot be connected to");
  url.host = std::move(parts->host);
  url.port = parts->port.value_or(url.tls ? 443 : 80);
  return url;
}

bool is_s3_location(std::string_view text) {
  return text.starts_with("s3://");
}

Result<S3Location> parse_s3_location(std::string_view text) {
  if (!is_s3_location(text)) {
    return Error(ErrorCode::invalid_argument,
                 "'" + std::string(text.substr(0, 128)) + "' is not an S3 location: write s3://bucket/key");
  }
  const std::string_view rest = text.substr(5);
  const auto slash = rest.find('/');
  S3Location location;
  location.bucket = std::string(rest.substr(0, slash));
  if (slash != std::string_view::npos) location.key = std::string(rest.substr(slash + 1));
  if (location.bucket.empty())
    return Error(ErrorCode::invalid_argument,
                 "'" + std::string(text) + "' names no bucket: write s3://bucket/key");
  return location;
}

std::string ListenAddress::to_string() const {
  return bracketed(host) + ":" + std::to_string(port);
}

bool ListenAddress::is_loopback() const {
  return loopback_host(host);
}

Result<ListenAddress> parse_listen_address(std::string_view text) {
  const auto bad = [&](const std::string& what) {
    return Error(ErrorCode::invalid_argument,
                 "'" + std::string(text.substr(0, 128)) + "': " + what +
                     "; an address looks like 127.0.0.1:9000, [::1]:9000 or :9000");
  };
  ListenAddress address;
  if (!text.empty() && std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; })) {
    auto port = parse_port(text);
    if (!port) return bad(port.error().message());
    address.host = "127.0.0.1";
    address.port = *port;
    return address;
  }
  auto parts = split_host_port(text);
  if (!parts) return bad(parts.error().message());
  if (!parts->port) return bad("there is no port");
  address.host = parts->host.empty() ? "0.0.0.0" : std::move(parts->host);
  address.port = *parts->port;
  return address;
}

}  // namespace sluice
