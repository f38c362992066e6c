// Which dialect an x-amz-rdma-token is written in, by its shape alone (protocol.md 3.9). What it says is the
// fabric's business.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace sluice::s3 {

enum class TokenShape : std::uint8_t {
  ofi1,               ///< libfabric: <base>:<size>:ofi1:…
  dc_descriptor,      ///< 7 fields, 81 characters
  dc_extended,        ///< 9 fields: descriptor plus address and size
  hipobject,          ///< 88 hex digits, optionally with address and size
  base64_descriptor,  ///< base64 of a descriptor of 81 or 82 bytes
  rc_shim,            ///< "rc:…"
  sluice_own,         ///< "sluice-<name>:…": the software fabrics' own
  malformed,          ///< 400 InvalidRDMAToken
  too_long,           ///< more than kTokenTextBytes: 400 InvalidRDMAToken
};
std::string_view to_string(TokenShape shape);

/// Blanks around the text and one trailing ';' are tolerated. Hex of either case.
TokenShape detect_token_shape(std::string_view text);
/// The text without the blanks and the ';'.
std::string_view trim_token(std::string_view text);

}  // namespace sluice::s3
