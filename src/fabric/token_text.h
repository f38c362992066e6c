// The ofi1 token's text (protocol.md 3.6): <base hex>:<size hex>:ofi1:<provider>:<endpoint name hex>:<key
// hex>.
#pragma once

#include <string>
#include <string_view>

#include "fabric/fabric.h"

namespace sluice::fabric {

/// 16-digit base, size and key, lower case. `token` must satisfy what `parse_token_text` checks.
std::string format_token_text(const ParsedToken& token);
/// Strict on fields, lengths, hex, size > 0, base + size not wrapping, name 1..192 bytes, provider
/// [a-z0-9_;]{1,32}; lenient on blanks around, one trailing ';' and upper-case hex (protocol.md 7.3). Errors:
/// token_refused, without the token's text in the message.
Result<ParsedToken> parse_token_text(std::string_view text);

/// Checks a socket endpoint name before libfabric sees it (fabric.md section 8 rule 12): AF_INET 16 bytes or
/// AF_INET6 28 bytes, port not 0, not wildcard, multicast or broadcast; IPv4-mapped IPv6 is compared as IPv4.
/// `peer` and `allowed` are textual addresses. Errors: token_refused naming what is wrong.
Result<void> check_socket_endpoint(std::span<const std::byte> name, std::string_view peer,
                                   std::span<const std::string> allowed);

}  // namespace sluice::fabric
