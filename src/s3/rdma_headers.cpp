// Reading and writing the dialect's headers. How a client judges a response is in rdma_classify.cpp.
#include "s3/rdma_headers.h"

#include <algorithm>

#include "base/encoding.h"
#include "base/limits.h"
#include "base/parse.h"
#include "base/try.h"
#include "s3/errors.h"
#include "s3/headers.h"
#include "s3/token_shape.h"

namespace sluice::s3 {
namespace {

constexpr int kDeclined = 501;

// The codings but aws-chunked, which describes a framing that an RDMA payload has not.
std::string without_aws_chunked(std::string_view codings) {
  std::string kept;
  while (!codings.empty()) {
    const auto comma = codings.find(',');
    const std::string_view coding = trim_blanks(codings.substr(0, comma));
    codings = comma == std::string_view::npos ? std::string_view{} : codings.substr(comma + 1);
    if (coding.empty() || equal_ignore_case(coding, "aws-chunked")) continue;
    if (!kept.empty()) kept += ",";
    kept += coding;
  }
  return kept;
}

std::optional<int> parse_reply_code(std::string_view text) {
  if (text.size() != 3) return std::nullopt;
  const auto value = parse_u64(text);
  if (!value || *value < 100 || *value > 599) return std::nullopt;
  return static_cast<int>(*value);
}

Error bad_checksum(std::string_view what) {
  return Error(ErrorCode::protocol_error, "the server's RDMA checksum " + std::string(what))
      .with_outcome(Outcome::uncertain);
}

Result<std::uint64_t> decode_big_endian(std::string_view base64, std::size_t width) {
  SLUICE_TRY(const std::vector<std::byte> bytes, base64_decode(base64));
  if (bytes.size() != width) return Error(ErrorCode::invalid_argument, "the checksum has another width");
  std::uint64_t value = 0;
  for (const std::byte b : bytes) value = (value << 8U) | std::to_integer<std::uint64_t>(b);
  return value;
}

std::size_t width_of(RdmaChecksumAlgorithm algorithm) {
  return algorithm == RdmaChecksumAlgorithm::crc64nvme ? 8 : 4;
}

std::string encode_big_endian(std::uint64_t value, std::size_t width) {
  std::vector<std::byte> bytes(width);
  for (std::size_t i = 0; i < width; ++i) bytes[i] = static_cast<std::byte>(value >> (8 * (width - 1 - i)));
  return base64_encode(bytes);
}

}  // namespace

void add_rdma_request(HeaderList& headers, RdmaOperation operation, std::string_view token,
                      const RdmaDialect& dialect) {
  headers.remove(header::kContentMd5);
  headers.remove(header::kTransferEncoding);
  headers.remove(header::kDecodedContentLength);
  headers.remove(header::kTrailer);
  headers.remove("trailer");
  if (const auto codings = headers.find(header::kContentEncoding)) {
    std::string kept = without_aws_chunked(*codings);
    if (kept.empty()) {
      headers.remove(header::kContentEncoding);
    } else {
      headers.set(header::kContentEncoding, std::move(kept));
    }
  }
  // The payload travels outside, so its hash cannot stand in the signature (protocol.md 2.5).
  headers.set(header::kContentSha256, "UNSIGNED-PAYLOAD");
  if (operation == RdmaOperation::put) {
    headers.set(header::kContentLength, "0");
  } else {
    headers.remove(header::kContentLength);
  }
  headers.set(dialect.token_header, std::string(token));
}

RdmaReply parse_rdma_reply(std::optional<std::string_view> value) {
  if (!value) return {};
  const std::string_view text = trim_blanks(*value);
  if (text.empty()) return {};
  if (text.starts_with("ok")) return {ReplyKind::success, 200};
  const auto code = parse_reply_code(text.substr(0, text.find(':')));
  if (!code) return {ReplyKind::failure, 0};
  switch (*code) {
    case 200:
    case 204:
    case 206:
      return {ReplyKind::success, *code};
    case kDeclined:
      return {ReplyKind::declined, *code};
    default:
      return {ReplyKind::failure, *code};
  }
}

RdmaReply parse_rdma_reply(const HeaderList& response) {
  if (response.count(header::kRdmaReply) > 1) return {ReplyKind::failure, 0};
  return parse_rdma_reply(response.find(header::kRdmaReply));
}

ByteCount parse_byte_count(std::optional<std::string_view> value) {
  if (!value) return {};
  // 1 to 19 digits (protocol.md 2.2): every such number fits 64 bits.
  const auto number = [](std::string_view digits) -> std::optional<std::uint64_t> {
    if (digits.size() > 19) return std::nullopt;
    const auto parsed = parse_u64(digits);
    if (!parsed) return std::nullopt;
    return *parsed;
  };
  const std::string_view text = trim_blanks(*value);
  const auto slash = text.find('/');
  const auto moved = number(text.substr(0, slash));
  if (!moved) return {ByteCountState::invalid, 0, std::nullopt};
  ByteCount count{ByteCountState::valid, *moved, std::nullopt};
  if (slash != std::string_view::npos) {
    count.total = number(text.substr(slash + 1));
    if (!count.total) return {ByteCountState::invalid, 0, std::nullopt};
  }
  return count;
}

ByteCount parse_byte_count(const HeaderList& response) {
  std::optional<ByteCount> first;
  for (const std::string_view name : {header::kRdmaBytesTransferred, header::kRdmaBytes}) {
    for (const std::string_view value : response.find_all(name)) {
      const ByteCount count = parse_byte_count(std::optional(value));
      if (count.state != ByteCountState::valid) return count;
      if (first && first->moved != count.moved) return {ByteCountState::invalid, 0, std::nullopt};
      if (!first) first = count;
    }
  }
  return first.value_or(ByteCount{});
}

Result<std::optional<std::string>> rdma_request_token(const HeaderList& request) {
  const auto values = request.find_all(header::kRdmaToken);
  if (values.empty()) return std::optional<std::string>{};
  if (values.size() > 1) return make_error("InvalidRDMAToken", "there are several x-amz-rdma-token headers");
  const std::string_view token = trim_token(values[0]);
  if (token.empty()) return make_error("InvalidRDMAToken", "the RDMA token is empty");
  if (token.size() > limits::kTokenTextBytes) {
    return make_error("InvalidRDMAToken",
                      "the RDMA token is longer than " + std::to_string(limits::kTokenTextBytes) + " bytes");
  }
  return std::optional<std::string>(token);
}

void add_rdma_success(HeaderList& response, int http_status, std::uint64_t bytes_moved) {
  response.set(header::kRdmaReply, http_status == 206 ? "206" : "200");
  response.set(header::kRdmaBytesTransferred, std::to_string(bytes_moved));
}

void add_rdma_declined(HeaderList& response) {
  response.set(header::kRdmaReply, std::to_string(kDeclined));
  response.remove(header::kRdmaBytesTransferred);
}

std::string_view to_string(RdmaChecksumAlgorithm algorithm) {
  return algorithm == RdmaChecksumAlgorithm::crc64nvme ? "CRC64NVME" : "CRC32C";
}

Result<std::optional<RdmaChecksumAlgorithm>> requested_rdma_checksum(const HeaderList& request) {
  const auto values = request.find_all(header::kRdmaChecksumAlgorithm);
  if (values.empty()) return std::optional<RdmaChecksumAlgorithm>{};
  if (values.size() == 1) {
    for (const auto algorithm : {RdmaChecksumAlgorithm::crc64nvme, RdmaChecksumAlgorithm::crc32c}) {
      if (equal_ignore_case(trim_blanks(values[0]), to_string(algorithm))) {
        return std::optional<RdmaChecksumAlgorithm>(algorithm);
      }
    }
  }
  return make_error("InvalidArgument", "x-amz-rdma-checksum-algorithm must be CRC64NVME or CRC32C, once");
}

void request_rdma_checksum(HeaderList& request, RdmaChecksumAlgorithm algorithm) {
  request.set(header::kRdmaChecksumAlgorithm, std::string(to_string(algorithm)));
}

void add_rdma_checksum(HeaderList& response, RdmaChecksumAlgorithm algorithm, std::uint64_t value) {
  response.set(header::kRdmaChecksumAlgorithm, std::string(to_string(algorithm)));
  response.set(header::kRdmaChecksum, encode_big_endian(value, width_of(algorithm)));
}

Result<std::optional<std::uint64_t>> rdma_checksum(const HeaderList& response,
                                                   RdmaChecksumAlgorithm algorithm) {
  const auto values = response.find_all(header::kRdmaChecksum);
  if (values.empty()) return std::optional<std::uint64_t>{};
  if (values.size() > 1) return bad_checksum("is there twice");
  const auto named = response.find(header::kRdmaChecksumAlgorithm);
  if (named && !equal_ignore_case(trim_blanks(*named), to_string(algorithm))) {
    return bad_checksum("is of another algorithm than " + std::string(to_string(algorithm)));
  }
  const auto value = decode_big_endian(trim_blanks(values[0]), width_of(algorithm));
  if (!value) return bad_checksum("is not the base64 of a " + std::string(to_string(algorithm)));
  return std::optional<std::uint64_t>(*value);
}

Result<std::uint64_t> parse_crc64nvme(std::string_view base64) {
  const auto value = decode_big_endian(trim_blanks(base64), 8);
  if (!value)
    return make_error("InvalidRequest", "a CRC64NVME is the base64 of 8 bytes, such as rosUhgp5mIg=");
  return *value;
}

std::string format_crc64nvme(std::uint64_t value) {
  return base64_u64_be(value);
}

}  // namespace sluice::s3
