// The RDMA dialect's headers: what a client adds and how it judges the answer, what a server reads and how it
// answers. Tables: protocol.md 2.3, 7.6 to 7.12, 8.2 to 8.4 and the parser vectors of section 9.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/headers.h"
#include "sluice/error.h"

namespace sluice::s3 {

enum class RdmaOperation : std::uint8_t {
  get,  ///< the server writes into the client's window
  put,  ///< the server reads from it (also a multipart part)
};

// --- client
// ---------------------------------------------------------------------------------------------------

/// How an endpoint spells and keeps the dialect. The defaults are the standard dialect.
struct RdmaDialect {
  std::string token_header = "x-amz-rdma-token";
  bool byte_count_required_on_get = true;  ///< else Content-Range or the request prove the count
  bool byte_count_required_on_put = false;
};

/// Makes a request an RDMA request: sets the token, content-length 0 on a PUT, and takes away what must not
/// be there (protocol.md 2.1: content-md5, transfer-encoding, aws-chunked, x-amz-decoded-content-length,
/// trailers, STREAMING-*). Call before signing.
void add_rdma_request(HeaderList& headers, RdmaOperation operation, std::string_view token,
                      const RdmaDialect& dialect = {});

enum class ReplyKind : std::uint8_t {
  absent,    ///< no x-amz-rdma-reply, or an empty one: the server does not speak the dialect
  success,   ///< 200, 204, 206, ok…
  declined,  ///< 501
  failure,   ///< any other number, err…, anything malformed, the header twice
};
struct RdmaReply {
  ReplyKind kind = ReplyKind::absent;
  int code = 0;  ///< 100 to 599; 0 if there is none or it is malformed
  friend bool operator==(const RdmaReply&, const RdmaReply&) = default;
};
RdmaReply parse_rdma_reply(std::optional<std::string_view> value);
RdmaReply parse_rdma_reply(const HeaderList& response);

enum class ByteCountState : std::uint8_t { absent, valid, invalid };
struct ByteCount {
  ByteCountState state = ByteCountState::absent;
  std::uint64_t moved = 0;
  std::optional<std::uint64_t> total;  ///< of "moved/total"
};
ByteCount parse_byte_count(std::optional<std::string_view> value);
/// Reads x-amz-rdma-bytes-transferred, else x-amz-rdma-bytes. Twice with different values is invalid.
ByteCount parse_byte_count(const HeaderList& response);

/// What the client asked for.
struct RdmaExpectation {
  RdmaOperation operation = RdmaOperation::get;
  bool ranged = false;                        ///< the request had a Range header
  std::uint64_t first = 0;                    ///< where the range starts in the object
  std::uint64_t bytes = 0;                    ///< size of the window = length of the range, > 0
  std::optional<std::uint64_t> object_bytes;  ///< the object's size, where it is known
};

enum class RdmaVerdict : std::uint8_t {
  delivered,           ///< `moved` bytes are in place: all that was asked for, or up to the object's end
  declined_with_body,  ///< nothing moved; the response body is exactly the data
  declined_no_body,    ///< nothing moved and nothing was stored; repeat without a token
  not_rdma,  ///< the token was ignored. GET: the body is the data if `body_is_data`. PUT: an empty object may
             ///< now exist
  s3_error,  ///< an ordinary S3 error (or 304): see error_from_response
  failed,    ///< contradictory, short, over-long or malformed: outcome uncertain, the window is doubtful
};
std::string_view to_string(RdmaVerdict verdict);

struct RdmaClassification {
  RdmaVerdict verdict = RdmaVerdict::failed;
  std::uint64_t moved = 0;       ///< when delivered
  std::uint64_t body_bytes = 0;  ///< length of the body when `body_is_data`
  bool body_is_data = false;
  std::optional<std::uint64_t> object_bytes;  ///< if the response told
  std::string why;                            ///< for messages: what was wrong or said
};
/// Judges a response head. The body of a `delivered` response is at most kRdmaReplyBodyBytes long and must be
/// drained.
RdmaClassification classify_rdma_response(int http_status, const HeaderList& response,
                                          const RdmaExpectation& expected, const RdmaDialect& dialect = {});

// --- server
// ---------------------------------------------------------------------------------------------------

/// The token of a request, trimmed; nullopt if it carries none. Errors: InvalidRDMAToken (twice, empty, too
/// long).
Result<std::optional<std::string>> rdma_request_token(const HeaderList& request);
/// Reply and byte count of a success: 206 for HTTP 206, 200 otherwise.
void add_rdma_success(HeaderList& response, int http_status, std::uint64_t bytes_moved);
/// Reply 501: nothing moved. The body of a GET is the data, a PUT stored nothing.
void add_rdma_declined(HeaderList& response);

// --- checksums of the bytes that moved
// --------------------------------------------------------------------------

enum class RdmaChecksumAlgorithm : std::uint8_t { crc64nvme, crc32c };
std::string_view to_string(RdmaChecksumAlgorithm algorithm);  ///< "CRC64NVME", "CRC32C"
/// What x-amz-rdma-checksum-algorithm asks for; nullopt: nothing. Errors: InvalidArgument (unknown, twice).
Result<std::optional<RdmaChecksumAlgorithm>> requested_rdma_checksum(const HeaderList& request);
void request_rdma_checksum(HeaderList& request, RdmaChecksumAlgorithm algorithm);
/// Sets x-amz-rdma-checksum-algorithm and x-amz-rdma-checksum (base64 of the big-endian value).
void add_rdma_checksum(HeaderList& response, RdmaChecksumAlgorithm algorithm, std::uint64_t value);
/// The value in a response to a request that asked for `algorithm`; nullopt if the server sent none.
/// Errors: protocol_error (malformed, another algorithm).
Result<std::optional<std::uint64_t>> rdma_checksum(const HeaderList& response,
                                                   RdmaChecksumAlgorithm algorithm);

/// x-amz-checksum-crc64nvme's value. Errors: InvalidRequest (not base64 of 8 bytes).
Result<std::uint64_t> parse_crc64nvme(std::string_view base64);
std::string format_crc64nvme(std::uint64_t value);

}  // namespace sluice::s3
