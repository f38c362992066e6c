// How a client judges the response to an RDMA request: the tables of protocol.md 2.3, 8.2 and 8.3 as code.
#include <algorithm>
#include <array>
#include <utility>

#include "base/limits.h"
#include "base/parse.h"
#include "s3/headers.h"
#include "s3/range.h"
#include "s3/rdma_headers.h"

namespace sluice::s3 {
namespace {

// What the response head says about its body and its place in the object.
struct Framing {
  std::optional<std::uint64_t> content_length;
  bool malformed_length = false;
  std::optional<ContentRange> content_range;
  bool malformed_range = false;
};

Framing framing_of(const HeaderList& response) {
  Framing framing;
  const auto lengths = response.find_all(header::kContentLength);
  if (!lengths.empty()) {
    const auto length = parse_u64(trim_blanks(lengths[0]));
    framing.malformed_length = lengths.size() > 1 || !length;
    if (length) framing.content_length = *length;
  }
  const auto ranges = response.find_all(header::kContentRange);
  if (!ranges.empty()) {
    const auto range = parse_content_range(ranges[0]);
    framing.malformed_range = ranges.size() > 1 || !range;
    if (range) framing.content_range = *range;
  }
  return framing;
}

RdmaClassification verdict(RdmaVerdict v, std::string why) {
  RdmaClassification out;
  out.verdict = v;
  out.why = std::move(why);
  return out;
}

RdmaClassification failed(std::string why) {
  return verdict(RdmaVerdict::failed, std::move(why));
}

// The pairs of HTTP status and reply that mean success (protocol.md 2.3).
bool is_success_pair(RdmaOperation operation, int status, int reply) {
  using Pair = std::pair<int, int>;
  constexpr std::array<Pair, 3> kGet = {{{200, 200}, {206, 206}, {206, 200}}};
  constexpr std::array<Pair, 3> kPut = {{{200, 200}, {200, 204}, {204, 204}}};
  for (const Pair& pair : operation == RdmaOperation::get ? kGet : kPut) {
    if (pair.first == status && pair.second == reply) return true;
  }
  return false;
}

// How many bytes of the asked range the object has, as far as the object's size is known.
std::uint64_t wanted(const RdmaExpectation& expected, std::optional<std::uint64_t> object_bytes) {
  if (!object_bytes) return expected.bytes;
  if (*object_bytes <= expected.first) return 0;
  return std::min(expected.bytes, *object_bytes - expected.first);
}

std::optional<std::uint64_t> object_size(const RdmaExpectation& expected, const Framing& framing) {
  if (framing.content_range && framing.content_range->object_bytes)
    return framing.content_range->object_bytes;
  return expected.object_bytes;
}

// Whether the answer to a GET is about the bytes that were asked for; says what is wrong otherwise.
std::string misplaced(int status, const RdmaExpectation& expected, const Framing& framing) {
  if (framing.malformed_range) return "its Content-Range is malformed";
  if (status == 200) {
    // The whole object from its first byte: right only for someone who wants it from there.
    if (expected.first != 0) return "the range was ignored (200 to a range that starts later)";
    return {};
  }
  if (!framing.content_range) return expected.ranged ? std::string{} : "206 to a request without a range";
  if (!framing.content_range->first) return "206 with an unsatisfied Content-Range";
  if (*framing.content_range->first != expected.first) return "its Content-Range starts elsewhere";
  return {};
}

RdmaClassification classify_get_success(int status, const HeaderList& response,
                                        const RdmaExpectation& expected, const RdmaDialect& dialect,
                                        const Framing& framing) {
  if (std::string why = misplaced(status, expected, framing); !why.empty()) return failed(std::move(why));
  const ByteCount count = parse_byte_count(response);
  if (count.state == ByteCountState::invalid) return failed("its byte count is malformed");
  if (count.state == ByteCountState::absent && dialect.byte_count_required_on_get) {
    return failed("it has no byte count");
  }
  const auto object_bytes = object_size(expected, framing);
  const std::uint64_t want = wanted(expected, object_bytes);
  std::uint64_t moved = want;
  if (count.state == ByteCountState::valid) {
    moved = count.moved;
  } else if (status == 206 && framing.content_range) {
    moved = framing.content_range->count;
  }
  if (moved != want) {
    return failed(std::to_string(moved) + " bytes moved where " + std::to_string(want) + " were to");
  }
  if (status == 206 && framing.content_range && framing.content_range->count != moved) {
    return failed("its byte count and its Content-Range differ");
  }
  RdmaClassification out = verdict(RdmaVerdict::delivered, "delivered");
  out.moved = moved;
  out.object_bytes = object_bytes;
  return out;
}

RdmaClassification classify_put_success(const HeaderList& response, const RdmaExpectation& expected,
                                        const RdmaDialect& dialect) {
  const ByteCount count = parse_byte_count(response);
  if (count.state == ByteCountState::invalid) return failed("its byte count is malformed");
  if (count.state == ByteCountState::absent && dialect.byte_count_required_on_put) {
    return failed("it has no byte count");
  }
  if (count.state == ByteCountState::valid && count.moved != expected.bytes) {
    return failed(std::to_string(count.moved) + " bytes moved where " + std::to_string(expected.bytes) +
                  " were to");
  }
  RdmaClassification out = verdict(RdmaVerdict::delivered, "delivered");
  out.moved = expected.bytes;
  return out;
}

// A GET that moved nothing by RDMA: is the body exactly the bytes that were asked for?
void judge_body(RdmaClassification& out, int status, const RdmaExpectation& expected,
                const Framing& framing) {
  if (status != 200 && status != 206) return;
  out.object_bytes = object_size(expected, framing);
  if (framing.malformed_length || !framing.content_length) return;
  if (!misplaced(status, expected, framing).empty()) return;
  const std::uint64_t want = wanted(expected, out.object_bytes);
  if (*framing.content_length != want) return;
  if (status == 206 && framing.content_range && framing.content_range->count != want) return;
  out.body_is_data = true;
  out.body_bytes = want;
}

}  // namespace

std::string_view to_string(RdmaVerdict verdict) {
  switch (verdict) {
    case RdmaVerdict::delivered:
      return "delivered";
    case RdmaVerdict::declined_with_body:
      return "declined_with_body";
    case RdmaVerdict::declined_no_body:
      return "declined_no_body";
    case RdmaVerdict::not_rdma:
      return "not_rdma";
    case RdmaVerdict::s3_error:
      return "s3_error";
    case RdmaVerdict::failed:
      return "failed";
  }
  return "failed";
}

RdmaClassification classify_rdma_response(int http_status, const HeaderList& response,
                                          const RdmaExpectation& expected, const RdmaDialect& dialect) {
  const RdmaReply reply = parse_rdma_reply(response);
  const bool http_success = http_status >= 200 && http_status <= 299;
  if (!http_success) {
    if (reply.kind == ReplyKind::success) {
      return failed("HTTP " + std::to_string(http_status) + " beside a reply of success");
    }
    if (reply.kind == ReplyKind::declined || http_status == 501) {
      return verdict(RdmaVerdict::declined_no_body,
                     "the server declined with HTTP " + std::to_string(http_status));
    }
    return verdict(RdmaVerdict::s3_error, "HTTP " + std::to_string(http_status));
  }

  const Framing framing = framing_of(response);
  const bool get = expected.operation == RdmaOperation::get;
  switch (reply.kind) {
    case ReplyKind::absent: {
      auto out = verdict(RdmaVerdict::not_rdma, "the server ignored the token");
      if (get) judge_body(out, http_status, expected, framing);
      return out;
    }
    case ReplyKind::declined: {
      auto out = verdict(RdmaVerdict::declined_no_body, "the server declined");
      if (get) judge_body(out, http_status, expected, framing);
      if (out.body_is_data) out.verdict = RdmaVerdict::declined_with_body;
      return out;
    }
    case ReplyKind::failure:
      return failed("reply " + (reply.code == 0 ? std::string("malformed") : std::to_string(reply.code)));
    case ReplyKind::success:
      break;
  }
  if (!is_success_pair(expected.operation, http_status, reply.code)) {
    return failed("HTTP " + std::to_string(http_status) + " with reply " + std::to_string(reply.code));
  }
  if (framing.malformed_length) return failed("its Content-Length is malformed");
  const bool bodiless = http_status == 204;
  if (!bodiless && framing.content_length.value_or(UINT64_MAX) > limits::kRdmaReplyBodyBytes) {
    return failed("a body beside a reply of success");
  }
  return get ? classify_get_success(http_status, response, expected, dialect, framing)
             : classify_put_success(response, expected, dialect);
}

}  // namespace sluice::s3
