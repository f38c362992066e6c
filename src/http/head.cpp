#include "http/head.h"

#include <algorithm>
#include <boost/beast/http/empty_body.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/status.hpp>
#include <cstring>
#include <utility>

#include "base/parse.h"

namespace sluice::http {

namespace {

namespace beast_http = boost::beast::http;

constexpr std::uint64_t kBodyBytesMax = INT64_MAX;

bool visible_ascii(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return c > 0x20 && c < 0x7f; });
}

std::string_view view(boost::beast::string_view text) {
  return {text.data(), text.size()};
}

/// Lines end in CRLF here (the scanner saw to it); nothing else may control the terminal or the framing.
bool only_text(std::string_view head) {
  for (std::size_t i = 0; i < head.size(); ++i) {
    const char c = head[i];
    if (c == '\r') {
      if (i + 1 >= head.size() || head[i + 1] != '\n') return false;
      ++i;
    } else if (!is_header_value(head.substr(i, 1))) {
      return false;
    }
  }
  return true;
}

template <class Message>
HeaderList fields_of(Message& message) {
  HeaderList fields;
  for (const auto& field : message.base()) {
    fields.add(view(field.name_string()), std::string(view(field.value())));
  }
  return fields;
}

struct Framed {
  BodyFraming framing;
  std::optional<std::uint64_t> content_length;
};

/// Content-Length and Transfer-Encoding as both directions must carry them.
tl::expected<Framed, HeadFault> framing_of(const HeaderList& headers) {
  Framed framed;
  const std::size_t lengths = headers.count("content-length");
  const std::size_t codings = headers.count("transfer-encoding");
  if (lengths > 1) return tl::unexpected(HeadFault{400, "more than one Content-Length"});
  if (codings > 1) return tl::unexpected(HeadFault{400, "more than one Transfer-Encoding"});
  if (lengths == 1 && codings == 1) {
    return tl::unexpected(HeadFault{400, "Content-Length together with Transfer-Encoding"});
  }
  if (codings == 1) {
    if (!equal_ignore_case(headers.get("transfer-encoding"), "chunked")) {
      return tl::unexpected(HeadFault{501, "a transfer coding other than chunked"});
    }
    framed.framing.kind = BodyFraming::Kind::chunked;
  } else if (lengths == 1) {
    const auto length = parse_u64(headers.get("content-length"), kBodyBytesMax);
    if (!length) return tl::unexpected(HeadFault{400, "a Content-Length that is not a number"});
    framed.content_length = *length;
    framed.framing = BodyFraming::of_length(*length);
  }
  return framed;
}

bool plausible_host(std::string_view host) {
  return std::all_of(host.begin(), host.end(), [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           std::string_view("-._~:[]%").find(c) != std::string_view::npos;
  });
}

/// The request line, judged before Beast sees it: method SP origin-form SP HTTP/1.x.
std::optional<HeadFault> request_line_fault(std::string_view line, const HeadLimits& head_limits) {
  const auto first = line.find(' ');
  const auto last = line.rfind(' ');
  if (first == std::string_view::npos || first == last) return HeadFault{400, "not an HTTP/1.1 request line"};
  const std::string_view target = line.substr(first + 1, last - first - 1);
  const std::string_view version = line.substr(last + 1);
  if (version.substr(0, 5) != "HTTP/") return HeadFault{400, "not an HTTP/1.1 request line"};
  if (version != "HTTP/1.1" && version != "HTTP/1.0") {
    return HeadFault{505, "only HTTP/1.1 is spoken here"};
  }
  if (!is_header_name(line.substr(0, first))) return HeadFault{400, "a method that is not a token"};
  if (target.size() > head_limits.target_bytes) return HeadFault{414, "the request target is too long"};
  if (!visible_ascii(target)) return HeadFault{400, "a request target with blanks or bytes outside ASCII"};
  if (target.front() != '/') return HeadFault{400, "a request target that does not begin with a slash"};
  if (target.find('#') != std::string_view::npos) return HeadFault{400, "a fragment in the request target"};
  return std::nullopt;
}

}  // namespace

HeadScanner::State HeadScanner::refuse(int status, std::string_view reason) {
  fault_ = {status, reason};
  return State::refused;
}

HeadScanner::State HeadScanner::scan(std::string_view text) {
  while (searched_ < text.size()) {
    const void* found = std::memchr(text.data() + searched_, '\n', text.size() - searched_);
    if (found == nullptr) break;
    const auto at = static_cast<std::size_t>(static_cast<const char*>(found) - text.data());
    if (at == line_ || text[at - 1] != '\r') return refuse(400, "a line that ends without CR");
    const std::string_view line = text.substr(line_, at - 1 - line_);
    searched_ = at + 1;
    line_ = at + 1;
    if (line.empty()) {
      if (lines_ > 0)
        return line_ - begin_ > limits_.bytes ? refuse(431, "the head is too large") : State::complete;
      // RFC 9112 2.2: one empty line before a request is forgiven.
      if (begin_ > 0) return refuse(400, "empty lines before the request");
      begin_ = line_;
      continue;
    }
    if (lines_ > 0 && (line.front() == ' ' || line.front() == '\t'))
      return refuse(400, "a folded header line");
    if (lines_++ > limits_.fields) return refuse(431, "too many header fields");
  }
  searched_ = text.size();
  if (text.size() > begin_) {
    const char first = text[begin_];
    if (first == '\x16') return refuse(400, "TLS on a port that speaks plain HTTP");
    if (first != '\r' && !is_header_name({&first, 1})) return refuse(400, "not an HTTP/1.1 request line");
  }
  // Room for a method and the version besides the target.
  if (lines_ == 0 && text.size() - begin_ > limits_.target_bytes + 64) {
    return refuse(414, "the request target is too long");
  }
  if (text.size() - begin_ > limits_.bytes) return refuse(431, "the head is too large");
  return State::more;
}

tl::expected<ParsedRequest, HeadFault> parse_request_head(std::string_view text, HeadLimits head_limits) {
  const auto refuse = [](int status, std::string_view reason) {
    return tl::unexpected(HeadFault{status, reason});
  };
  const std::string_view line = text.substr(0, text.find("\r\n"));
  if (auto fault = request_line_fault(line, head_limits)) return tl::unexpected(*fault);
  if (!only_text(text)) return refuse(400, "control characters in the head");

  beast_http::request_parser<beast_http::empty_body> parser;
  parser.header_limit(static_cast<std::uint32_t>(std::min<std::size_t>(text.size() + 1, UINT32_MAX)));
  parser.body_limit(boost::none);
  boost::system::error_code error;
  const std::size_t used = parser.put(boost::asio::buffer(text.data(), text.size()), error);
  if (error || !parser.is_header_done() || used != text.size()) return refuse(400, "a malformed head");

  ParsedRequest parsed;
  const auto& message = parser.get();
  parsed.head.method = std::string(view(message.method_string()));
  parsed.head.target = std::string(view(message.target()));
  parsed.head.headers = fields_of(message);
  parsed.http10 = message.version() == 10;
  parsed.keep_alive = message.keep_alive();
  const HeaderList& headers = parsed.head.headers;

  const std::size_t hosts = headers.count("host");
  if (hosts > 1) return refuse(400, "more than one Host");
  if (hosts == 0 && !parsed.http10) return refuse(400, "no Host");
  if (!plausible_host(headers.get("host"))) return refuse(400, "a malformed Host");

  auto framed = framing_of(headers);
  if (!framed) return tl::unexpected(framed.error());
  if (parsed.http10 && framed->framing.kind == BodyFraming::Kind::chunked) {
    return refuse(400, "a chunked body in HTTP/1.0");
  }
  parsed.framing = framed->framing;
  parsed.content_length = framed->content_length;
  if (const auto expect = headers.find("expect")) {
    if (!equal_ignore_case(*expect, "100-continue"))
      return refuse(417, "an expectation other than 100-continue");
    parsed.expects_continue = !parsed.http10 && parsed.framing.kind != BodyFraming::Kind::none;
  }
  return parsed;
}

Result<ParsedResponse> parse_response_head(std::string_view text, std::string_view method) {
  const auto broken = [](std::string_view what) {
    return Error(ErrorCode::protocol_error, "the server's response head has " + std::string(what));
  };
  if (!only_text(text)) return broken("control characters");
  beast_http::response_parser<beast_http::empty_body> parser;
  parser.header_limit(static_cast<std::uint32_t>(std::min<std::size_t>(text.size() + 1, UINT32_MAX)));
  parser.body_limit(boost::none);
  parser.skip(true);  // the framing is judged below
  boost::system::error_code error;
  const std::size_t used = parser.put(boost::asio::buffer(text.data(), text.size()), error);
  if (error || !parser.is_header_done() || used != text.size())
    return broken("bad syntax: " + error.message());

  ParsedResponse parsed;
  const auto& message = parser.get();
  parsed.head.status = static_cast<int>(message.result_int());
  parsed.head.headers = fields_of(message);
  parsed.keep_alive = message.keep_alive();
  if (parsed.head.status < 100) return broken("an impossible status");
  auto framed = framing_of(parsed.head.headers);
  if (!framed) return broken(framed.error().reason);
  parsed.framing = framed->framing;
  const int status = parsed.head.status;
  if (method == "HEAD" || status < 200 || status == 204 || status == 304) {
    parsed.framing = BodyFraming{};
  } else if (parsed.framing.kind == BodyFraming::Kind::none && !framed->content_length) {
    parsed.framing.kind = BodyFraming::Kind::until_close;
  }
  return parsed;
}

namespace {

/// False if a field could end its line early.
bool append_fields(std::string& out, const HeaderList& headers) {
  for (const auto& field : headers) {
    if (!is_header_name(field.name) || !is_header_value(field.value)) return false;
    out.append(field.name).append(": ").append(field.value).append("\r\n");
  }
  return true;
}

}  // namespace

Result<std::string> write_request_head(const RequestHead& head) {
  if (!is_header_name(head.method))
    return Error(ErrorCode::invalid_argument, "the HTTP method is not a token");
  if (head.target.empty() || head.target.front() != '/' || !visible_ascii(head.target)) {
    return Error(ErrorCode::invalid_argument,
                 "the request target is not percent-encoded or does not begin with '/'");
  }
  std::string out;
  out.reserve(1024);
  out.append(head.method).append(" ").append(head.target).append(" HTTP/1.1\r\n");
  if (!append_fields(out, head.headers)) {
    return Error(ErrorCode::invalid_argument, "a request header has characters that HTTP does not allow");
  }
  out.append("\r\n");
  return out;
}

Result<std::string> write_response_head(const ResponseHead& head, std::string_view extra) {
  std::string out;
  out.reserve(512);
  out.append("HTTP/1.1 ").append(std::to_string(head.status)).append(" ");
  out.append(reason_phrase(head.status)).append("\r\n");
  if (head.status < 200 || head.status > 999 || !append_fields(out, head.headers)) {
    return Error(ErrorCode::internal, "a response head that HTTP does not allow was refused");
  }
  out.append(extra).append("\r\n");
  return out;
}

std::string_view reason_phrase(int status) {
  const auto known = beast_http::int_to_status(static_cast<unsigned>(std::max(status, 0)));
  if (known == beast_http::status::unknown) return "Status";
  return view(beast_http::obsolete_reason(known));
}

}  // namespace sluice::http
