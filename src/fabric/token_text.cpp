#include "fabric/token_text.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <optional>

#include "base/encoding.h"
#include "base/limits.h"
#include "base/try.h"

namespace sluice::fabric {
namespace {

constexpr std::size_t kFields = 6;
constexpr std::size_t kProviderNameBytes = 32;
constexpr std::size_t kMaxHexDigits = 16;

Error refused(std::string_view why) {
  return Error(ErrorCode::token_refused, "the token is malformed: " + std::string(why));
}

std::string_view trim(std::string_view text) {
  const auto blank = [](char c) { return c == ' ' || c == '\t'; };
  while (!text.empty() && blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && blank(text.back())) text.remove_suffix(1);
  return text;
}

std::optional<std::uint64_t> parse_hex(std::string_view text) {
  if (text.empty() || text.size() > kMaxHexDigits) return std::nullopt;
  std::uint64_t value = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value, 16);
  if (code != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

bool is_provider_name(std::string_view text) {
  const auto allowed = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_' || c == ';';
  };
  return !text.empty() && text.size() <= kProviderNameBytes && std::all_of(text.begin(), text.end(), allowed);
}

/// An address in the IPv6 form, IPv4 as mapped, so that both spellings of one host are equal.
using HostAddress = std::array<std::uint8_t, 16>;

HostAddress from_ipv4(const in_addr& address) {
  HostAddress host{};
  host[10] = host[11] = 0xff;
  std::memcpy(&host[12], &address, sizeof address);
  return host;
}

bool is_ipv4(const HostAddress& host) {
  static constexpr std::array<std::uint8_t, 12> kMapped = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
  return std::equal(kMapped.begin(), kMapped.end(), host.begin());
}

std::optional<HostAddress> parse_host(std::string_view text) {
  if (text.size() > 2 && text.front() == '[' && text.back() == ']') text = text.substr(1, text.size() - 2);
  const std::string plain(text.substr(0, text.find('%')));  // without the zone of a link-local address
  in_addr ipv4{};
  if (::inet_pton(AF_INET, plain.c_str(), &ipv4) == 1) return from_ipv4(ipv4);
  HostAddress host{};
  if (::inet_pton(AF_INET6, plain.c_str(), host.data()) == 1) return host;
  return std::nullopt;
}

/// Why nobody can be connected to at that address, or empty.
std::string_view unusable(const HostAddress& host) {
  if (is_ipv4(host)) {
    if (host[12] == 0) return "a wildcard address";
    if (host[12] >= 224 && host[12] < 240) return "a multicast address";
    if (host[12] >= 240) return "a broadcast or reserved address";
    return {};
  }
  if (std::all_of(host.begin(), host.end(), [](std::uint8_t byte) { return byte == 0; }))
    return "a wildcard address";
  if (host[0] == 0xff) return "a multicast address";
  return {};
}

}  // namespace

std::string format_token_text(const ParsedToken& token) {
  std::string text;
  text.reserve(limits::kTokenTextBytes / 4);
  text += hex_u64(token.base);
  text += ':';
  text += hex_u64(token.bytes);
  text += ":ofi1:";
  text += token.provider;
  text += ':';
  text += hex_encode(token.endpoint_name);
  text += ':';
  text += hex_u64(token.key);
  return text;
}

Result<ParsedToken> parse_token_text(std::string_view text) {
  if (text.size() > limits::kTokenTextBytes) return refused("it is too long");
  text = trim(text);
  if (!text.empty() && text.back() == ';') text.remove_suffix(1);
  std::array<std::string_view, kFields> fields;
  for (std::size_t i = 0; i < kFields; ++i) {
    const bool last = i + 1 == kFields;
    const std::size_t colon = text.find(':');
    if ((colon == std::string_view::npos) != last) return refused("it does not have six fields");
    fields[i] = text.substr(0, colon);
    if (!last) text.remove_prefix(colon + 1);
  }
  if (fields[2] != "ofi1") return refused("its third field is not ofi1");
  const auto base = parse_hex(fields[0]);
  const auto bytes = parse_hex(fields[1]);
  const auto key = parse_hex(fields[5]);
  if (!base) return refused("the base is not 1 to 16 hex digits");
  if (!bytes) return refused("the size is not 1 to 16 hex digits");
  if (!key) return refused("the key is not 1 to 16 hex digits");
  if (*bytes == 0) return refused("the size is zero");
  if (*base + *bytes < *base) return refused("base and size wrap around");
  if (!is_provider_name(fields[3]))
    return refused("the provider's name has other characters than a-z, 0-9, _ and ;");
  auto name = hex_decode(fields[4]);
  if (!name || name->empty() || name->size() > limits::kEndpointNameBytes)
    return refused("the endpoint name is not 1 to 192 bytes in hex");
  ParsedToken token;
  token.base = *base;
  token.bytes = *bytes;
  token.provider = fields[3];
  token.endpoint_name = std::move(*name);
  token.key = *key;
  return token;
}

Result<void> check_socket_endpoint(std::span<const std::byte> name, std::string_view peer,
                                   std::span<const std::string> allowed) {
  HostAddress host{};
  in_port_t port = 0;
  sa_family_t family = AF_UNSPEC;
  if (name.size() >= sizeof family) std::memcpy(&family, name.data(), sizeof family);
  if (family == AF_INET && name.size() == sizeof(sockaddr_in)) {
    sockaddr_in address{};
    std::memcpy(&address, name.data(), sizeof address);
    host = from_ipv4(address.sin_addr);
    port = address.sin_port;
  } else if (family == AF_INET6 && name.size() == sizeof(sockaddr_in6)) {
    sockaddr_in6 address{};
    std::memcpy(&address, name.data(), sizeof address);
    std::memcpy(host.data(), &address.sin6_addr, host.size());
    port = address.sin6_port;
  } else {
    return refused("the endpoint name is not an IPv4 or IPv6 socket address");
  }
  if (port == 0) return refused("the endpoint's port is 0");
  if (const std::string_view why = unusable(host); !why.empty())
    return refused("the endpoint is " + std::string(why));
  const auto is_host = [&host](std::string_view text) { return parse_host(text) == host; };
  if (is_host(peer) || std::any_of(allowed.begin(), allowed.end(), is_host)) return {};
  return Error(
      ErrorCode::token_refused,
      "the token's endpoint has another address than the HTTP connection it came through; connect to the "
      "server through the same interface, or allow the address in the server's configuration");
}

}  // namespace sluice::fabric
