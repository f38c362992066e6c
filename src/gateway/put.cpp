// PutObject: the bytes from the body or from the client's window, verified, then committed as one.
#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "base/encoding.h"
#include "base/limits.h"
#include "base/metrics.h"
#include "base/try.h"
#include "checksum/digest.h"
#include "gateway/auth.h"
#include "gateway/context.h"
#include "gateway/operations.h"
#include "gateway/reply.h"
#include "gateway/route.h"
#include "gateway/window.h"
#include "s3/conditions.h"
#include "s3/errors.h"
#include "s3/headers.h"
#include "s3/rdma_headers.h"

namespace sluice::gateway {
namespace {

constexpr std::size_t kMd5Bytes = 16;

/// What the request's head says about the new object. Lives in put_object's frame.
struct Write {
  store::ObjectMetadata metadata;
  s3::WriteConditions conditions;
  std::optional<std::uint64_t> crc64nvme;  ///< that the bytes must have
  std::vector<std::byte> md5;              ///< empty: not given
};

Result<void> check_framing(const Request& request) {
  const HeaderList& headers = request.headers();
  if (request.exchange.chunked()) return s3::make_error("MissingContentLength");
  for (const std::string_view name : {s3::header::kDecodedContentLength, s3::header::kTrailer}) {
    if (headers.has(name)) return not_implemented("a body with the header " + std::string(name));
  }
  for (const std::string_view coding : headers.find_all(s3::header::kContentEncoding)) {
    if (ascii_lower(coding).find("aws-chunked") != std::string::npos) {
      return not_implemented("Content-Encoding: aws-chunked");
    }
  }
  if (request.exchange.content_length().value_or(0) > limits::kObjectPutBytes) {
    return s3::make_error("EntityTooLarge");
  }
  return {};
}

Result<void> read_checksums(const HeaderList& headers, Write& write) {
  for (const Header& field : headers) {
    if (!field.name.starts_with(s3::header::kChecksumPrefix)) continue;
    if (field.name == s3::header::kChecksumCrc64nvme) {
      if (write.crc64nvme) return s3::make_error("InvalidRequest", "x-amz-checksum-crc64nvme is there twice");
      SLUICE_TRY(write.crc64nvme, s3::parse_crc64nvme(field.value));
    } else if (field.name == s3::header::kChecksumType) {
      if (field.value != "FULL_OBJECT")
        return not_implemented("x-amz-checksum-type " + field.value.substr(0, 32));
    } else if (field.name != s3::header::kChecksumAlgorithm && field.name != s3::header::kChecksumMode) {
      return not_implemented("the checksum " + field.name +
                             "; x-amz-checksum-crc64nvme is, and Content-MD5: it");
    }
  }
  if (const auto md5 = headers.find(s3::header::kContentMd5)) {
    auto bytes = base64_decode(trim_blanks(*md5));
    if (!bytes || bytes->size() != kMd5Bytes) return s3::make_error("InvalidDigest");
    write.md5 = std::move(*bytes);
  }
  return {};
}

Result<void> read_metadata(const HeaderList& headers, store::ObjectMetadata& metadata) {
  constexpr std::array<std::string_view, 6> kContentHeaders = {
      s3::header::kContentType,     s3::header::kContentEncoding, s3::header::kContentDisposition,
      s3::header::kContentLanguage, s3::header::kCacheControl,    s3::header::kExpires};
  for (const std::string_view name : kContentHeaders) {
    if (const auto value = headers.find(name); value && !value->empty()) {
      metadata.content_headers.emplace_back(name, *value);
    }
  }
  std::size_t bytes = 0;
  for (const Header& field : headers) {
    if (!field.name.starts_with(s3::header::kMetaPrefix)) continue;
    std::string name = field.name.substr(s3::header::kMetaPrefix.size());
    // An alias of the token's header at some peers; stored, it would hand the window to every reader.
    if (name == "rdma-token") continue;
    bytes += name.size() + field.value.size();
    metadata.user.emplace_back(std::move(name), field.value);
  }
  if (bytes > limits::kUserMetadataBytes) return s3::make_error("MetadataTooLarge");
  return {};
}

/// Refuses early what the commit would refuse: before bytes are moved for nothing.
Task<Result<void>> check_conditions(Request& request, const Write& write) {
  if (write.conditions.empty()) co_return Result<void>{};
  auto current = co_await request.context.store->open(request.target.bucket, request.target.key);
  std::optional<std::string_view> etag;
  if (current) {
    etag = (*current)->info().etag;
  } else if (current.error().s3().code != "NoSuchKey") {
    co_return std::move(current).error();
  }
  co_return s3::check_write(write.conditions, etag);
}

/// The object becomes visible, if its bytes are what was promised.
Task<Result<store::ObjectInfo>> commit(const Write& write, store::ObjectWriter& writer,
                                       std::optional<std::uint64_t> crc64nvme) {
  if (write.crc64nvme && crc64nvme != write.crc64nvme) {
    co_return s3::make_error("BadDigest",
                             "The CRC64NVME of the bytes is not the one in x-amz-checksum-crc64nvme.");
  }
  store::CommitOptions options;
  options.conditions = write.conditions;
  options.crc64nvme = crc64nvme;
  co_return co_await writer.commit(std::move(options));
}

http::ResponseHead stored_head(Request& request, const store::ObjectInfo& info) {
  http::ResponseHead head = make_head(request, 200);
  head.headers.add(s3::header::kEtag, s3::quote_etag(info.etag));
  if (info.crc64nvme) {
    head.headers.add(s3::header::kChecksumCrc64nvme, s3::format_crc64nvme(*info.crc64nvme));
    head.headers.add(s3::header::kChecksumType, "FULL_OBJECT");
  }
  return head;
}

/// Body -> store, a staging buffer at a time; every promised digest is checked before the commit.
Task<Result<void>> put_by_body(Request& request, const Write& write, std::uint64_t length) {
  static metrics::Counter& received =
      metrics::counter("sluice_gateway_bytes_total{data_path=\"http\",direction=\"put\"}");
  http::Exchange& exchange = request.exchange;
  SLUICE_CO_TRY(auto writer, co_await request.context.store->create(request.target.bucket, request.target.key,
                                                                    write.metadata, length));
  Checksum crc(ChecksumAlgorithm::crc64nvme);
  std::optional<Digest> sha256;
  std::optional<Digest> md5;
  if (request.identity.payload != s3::PayloadMode::unsigned_payload) sha256.emplace(Digest::sha256());
  if (!write.md5.empty()) md5.emplace(Digest::md5());

  std::uint64_t done = 0;
  if (length > 0) {
    SLUICE_CO_TRY(const StagingLoan staging,
                  co_await request.context.staging.take(request.client(), 1,
                                                        Deadline::after(limits::kStagingWaitHttp)));
    const std::span<std::byte> buffer = staging.buffer(0);
    while (done < length) {
      std::size_t filled = 0;
      const auto want = static_cast<std::size_t>(std::min<std::uint64_t>(buffer.size(), length - done));
      while (filled < want) {
        SLUICE_CO_TRY(const std::size_t got,
                      co_await exchange.read_body(buffer.subspan(filled, want - filled)));
        if (got == 0) co_return s3::make_error("IncompleteBody");
        filled += got;
      }
      const std::span<const std::byte> chunk = buffer.first(filled);
      crc.update(chunk);
      if (sha256) sha256->update(chunk);
      if (md5) md5->update(chunk);
      SLUICE_CO_CHECK(co_await writer->write(chunk));
      done += filled;
      if (request.over()) co_return s3::make_error("ServiceUnavailable");
    }
  }
  if (sha256) {
    const std::string expected = request.identity.payload == s3::PayloadMode::empty
                                     ? std::string(s3::kEmptyPayloadSha256)
                                     : request.identity.payload_sha256;
    if (hex_encode(sha256->finish()) != expected) co_return s3::make_error("XAmzContentSHA256Mismatch");
  }
  if (md5 && md5->finish() != write.md5) {
    co_return s3::make_error("BadDigest", "The MD5 of the bytes is not the one in Content-MD5.");
  }
  SLUICE_CO_TRY(const store::ObjectInfo info, co_await commit(write, *writer, crc.value()));
  received.add(done);
  if (done > 0) request.data_path = "http";
  request.bytes = done;
  http::ResponseHead head = stored_head(request, info);
  co_return co_await reply(request, std::move(head));
}

/// A token's request has no body, so nothing may promise anything about one.
Result<void> check_window_request(const Request& request, const Write& write) {
  if (request.identity.payload == s3::PayloadMode::sha256) {
    return s3::make_error("XAmzContentSHA256Mismatch",
                          "A PUT with an RDMA token has an empty body; sign it as UNSIGNED-PAYLOAD.");
  }
  if (!write.md5.empty()) {
    return s3::make_error(
        "InvalidRequest",
        "Content-MD5 does not go with an RDMA token; send x-amz-checksum-crc64nvme instead.");
  }
  return {};
}

/// After an operation was posted no answer may read as "nothing moved" (design rule 6).
Error after_post(Error error) {
  const s3::ErrorRow* row = s3::find_error(error.s3().code);
  const int status = row != nullptr ? row->http_status : error.s3().http_status;
  if (status == 501 || error.code() == ErrorCode::unsupported) {
    return s3::make_error("InternalError").with_context(error.describe());
  }
  return error;
}

Task<Result<void>> decline_put(Request& request, std::string_view reason) {
  note_declined(request, reason);
  co_return co_await reply_put_declined(request);
}

/// Window -> store.
Task<Result<void>> put_by_window(Request& request, const Write& write, std::string token) {
  static metrics::Counter& received =
      metrics::counter("sluice_gateway_bytes_total{data_path=\"rdma\",direction=\"put\"}");
  SLUICE_CO_CHECK(check_window_request(request, write));
  SLUICE_CO_TRY(TokenChoice choice, judge_token(request, token));
  if (!choice.token) co_return co_await decline_put(request, choice.declined);
  const std::uint64_t bytes = choice.token->bytes;
  if (bytes > limits::kObjectPutBytes) co_return s3::make_error("EntityTooLarge");
  if (bytes > request.context.options.max_window_bytes)
    co_return co_await decline_put(request, decline::kTooLarge);

  SLUICE_CO_TRY(auto writer, co_await request.context.store->create(request.target.bucket, request.target.key,
                                                                    write.metadata, bytes));
  SLUICE_CO_TRY(OpenedWindow window,
                co_await open_window(request, std::move(choice), fabric::Direction::put, bytes));
  if (!window.ring) {
    writer.reset();  // every trace is gone before the client reads that nothing is stored
    co_return co_await decline_put(request, window.declined);
  }

  Checksum crc(ChecksumAlgorithm::crc64nvme);
  // Only what the client asks for: a client that wants the last bit of speed leaves the checksum out.
  Checksum* const sum = write.crc64nvme ? &crc : nullptr;
  MoveReport moved = co_await move_from_window(*window.ring, *writer, bytes, sum);
  const bool posted = co_await close_window(request, std::move(window.ring));
  switch (moved.end) {
    case MoveEnd::complete:
      break;
    case MoveEnd::store_failed:
      co_return after_post(*std::move(moved.error));
    case MoveEnd::fabric_failed:
      if (posted) co_return transfer_failed(*moved.error);
      request.failure = moved.error->describe();
      writer.reset();
      co_return co_await decline_put(request, decline::kUnreachable);
    case MoveEnd::interrupted:
      co_return s3::make_error("RDMATransferFailed", "The RDMA transfer was cut off.");
  }
  // Nobody would learn of the object, and the client takes the request for failed.
  if (request.over()) co_return s3::make_error("RDMATransferFailed", "The RDMA transfer was cut off.");
  std::optional<std::uint64_t> value;
  if (sum != nullptr) value = crc.value();
  auto info = co_await commit(write, *writer, value);
  if (!info) co_return after_post(std::move(info).error());
  received.add(bytes);
  request.data_path = "rdma";
  request.bytes = bytes;
  http::ResponseHead head = stored_head(request, *info);
  s3::add_rdma_success(head.headers, head.status, bytes);
  co_return co_await reply(request, std::move(head));
}

}  // namespace

Task<Result<void>> put_object(Request& request) {
  Write write;
  SLUICE_CO_TRY(auto token, signed_token(request));
  SLUICE_CO_CHECK(check_framing(request));
  const auto length = request.exchange.content_length();
  if (!length && !token) co_return s3::make_error("MissingContentLength");
  SLUICE_CO_CHECK(read_checksums(request.headers(), write));
  SLUICE_CO_CHECK(read_metadata(request.headers(), write.metadata));
  write.conditions = s3::write_conditions(request.headers());
  SLUICE_CO_CHECK(co_await check_conditions(request, write));
  // A body wins over a token: never both (protocol.md 7.14).
  if (token && length.value_or(0) == 0) co_return co_await put_by_window(request, write, std::move(*token));
  co_return co_await put_by_body(request, write, length.value_or(0));
}

}  // namespace sluice::gateway
