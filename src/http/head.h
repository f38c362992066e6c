// Message heads: finding their end, parsing them strictly, writing them. Pure; no sockets.
//
// Two walls: `HeadScanner` and the checks in head.cpp refuse what Beast lets through (bare LF, folded lines,
// non-ASCII or non-origin-form targets, repeated Content-Length); Beast's parser does the grammar.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <tl/expected.hpp>

#include "base/limits.h"
#include "http/message.h"
#include "sluice/error.h"

namespace sluice::http {

/// How a message's body is delimited.
struct BodyFraming {
  enum class Kind : std::uint8_t { none, length, chunked, until_close };
  Kind kind = Kind::none;
  std::uint64_t length = 0;  ///< only for `length`

  static BodyFraming of_length(std::uint64_t bytes) {
    return {bytes == 0 ? Kind::none : Kind::length, bytes};
  }
};

/// Why a request head is refused, as the status to answer with. The reason is fixed text: nothing of the peer
/// is echoed.
struct HeadFault {
  int status = 400;
  std::string_view reason;
};

struct ParsedRequest {
  RequestHead head;
  BodyFraming framing;
  std::optional<std::uint64_t> content_length;  ///< as declared, zero included
  bool keep_alive = true;
  bool http10 = false;
  bool expects_continue = false;
};

struct ParsedResponse {
  ResponseHead head;
  BodyFraming framing;
  bool keep_alive = true;
};

struct HeadLimits {
  std::size_t bytes = limits::kHeaderBytes;
  std::size_t target_bytes = limits::kTargetBytes;
  std::size_t fields = limits::kHeaderCount;
};

/// Finds the empty line that ends a head, looking at every byte once however the head trickles in.
class HeadScanner {
 public:
  enum class State : std::uint8_t { more, complete, refused };

  explicit HeadScanner(HeadLimits head_limits = {}) : limits_(head_limits) {}
  /// `text` is everything received so far, from the head's first byte on; it only grows between calls.
  State scan(std::string_view text);
  [[nodiscard]] std::size_t begin() const { return begin_; }  ///< behind an empty line before the head
  [[nodiscard]] std::size_t end() const { return line_; }     ///< behind the empty line that ends it
  [[nodiscard]] const HeadFault& fault() const { return fault_; }

 private:
  State refuse(int status, std::string_view reason);
  HeadLimits limits_;
  std::size_t begin_ = 0;
  std::size_t line_ = 0;      ///< where the current line begins
  std::size_t searched_ = 0;  ///< no line end before this
  std::size_t lines_ = 0;
  HeadFault fault_;
};

/// `text` is exactly one head with its empty line, as the scanner found it.
tl::expected<ParsedRequest, HeadFault> parse_request_head(std::string_view text, HeadLimits head_limits = {});
/// `method` is the request's: HEAD has no body whatever the head says. Errors: protocol_error.
Result<ParsedResponse> parse_response_head(std::string_view text, std::string_view method);

/// Errors: invalid_argument if method, target or a field would break the framing.
Result<std::string> write_request_head(const RequestHead& head);
/// Status line, `head`'s fields, then `extra` (complete lines) and the empty line. Errors: internal for
/// fields that would break the framing.
Result<std::string> write_response_head(const ResponseHead& head, std::string_view extra);
/// "Not Found"; a general word for unknown ones.
std::string_view reason_phrase(int status);

}  // namespace sluice::http
