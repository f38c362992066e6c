// GetObject and HeadObject: conditions and range on the opened version, then the bytes by window or body.
#include <array>
#include <utility>

#include "base/limits.h"
#include "base/metrics.h"
#include "base/try.h"
#include "gateway/auth.h"
#include "gateway/context.h"
#include "gateway/operations.h"
#include "gateway/reply.h"
#include "gateway/window.h"
#include "s3/conditions.h"
#include "s3/content_type.h"
#include "s3/errors.h"
#include "s3/headers.h"
#include "s3/range.h"
#include "s3/rdma_headers.h"

namespace sluice::gateway {
namespace {

using s3::RangeKind;

/// A GET or HEAD whose object is open and whose range is known. Lives in get_object's frame.
struct Read {
  std::unique_ptr<store::ObjectReader> reader;
  s3::ResolvedRange range;
  bool sum_wanted = false;  ///< x-amz-rdma-checksum-algorithm
  bool declined = false;    ///< a token was there and is not used
};

Error unreadable(const Error& cause) {
  return s3::make_error("InternalError", "The object could not be read, or changed while it was.")
      .with_context(cause.describe());
}

void add_content_headers(HeaderList& headers, const Request& request, const store::ObjectInfo& info) {
  std::size_t missing = 0;
  for (const auto& [name, value] : info.metadata.content_headers) {
    if (is_header_value(value)) headers.set(name, value);
  }
  for (const auto& [name, value] : info.metadata.user) {
    if (is_header_name(name) && is_header_value(value)) {
      headers.add(std::string(s3::header::kMetaPrefix) + name, value);
    } else {
      ++missing;
    }
  }
  if (missing > 0) headers.set(s3::header::kMissingMeta, std::to_string(missing));
  if (!headers.has(s3::header::kContentType)) {
    headers.set(s3::header::kContentType, std::string(s3::content_type_of(info.key)));
  }
  constexpr std::array<std::string_view, 6> kOverridable = {
      s3::header::kContentType,  s3::header::kContentLanguage,    s3::header::kExpires,
      s3::header::kCacheControl, s3::header::kContentDisposition, s3::header::kContentEncoding};
  for (const std::string_view name : kOverridable) {
    const auto wanted = request.target.query.find("response-" + std::string(name));
    if (wanted && is_header_value(*wanted)) headers.set(name, std::string(*wanted));
  }
}

http::ResponseHead object_head(Request& request, const Read& read) {
  const store::ObjectInfo& info = read.reader->info();
  const bool partial = read.range.kind == RangeKind::partial;
  http::ResponseHead head = make_head(request, partial ? 206 : 200);
  head.headers.add(s3::header::kEtag, s3::quote_etag(info.etag));
  head.headers.add(s3::header::kLastModified, format_http_date(info.modified));
  head.headers.add(s3::header::kAcceptRanges, "bytes");
  if (partial) {
    head.headers.add(s3::header::kContentRange,
                     s3::format_content_range(read.range.first, read.range.count, info.bytes));
  } else if (info.crc64nvme) {
    head.headers.add(s3::header::kChecksumCrc64nvme, s3::format_crc64nvme(*info.crc64nvme));
    head.headers.add(s3::header::kChecksumType, "FULL_OBJECT");
  }
  add_content_headers(head.headers, request, info);
  return head;
}

Task<Result<void>> reply_not_modified(Request& request, const store::ObjectInfo& info) {
  http::ResponseHead head = make_head(request, 304);
  head.headers.add(s3::header::kEtag, s3::quote_etag(info.etag));
  head.headers.add(s3::header::kLastModified, format_http_date(info.modified));
  co_return co_await reply(request, std::move(head));
}

/// Small bodies: one piece with their head.
Task<Result<void>> send_small_body(Request& request, const Read& read, http::ResponseHead head) {
  std::string body(read.range.count, '\0');
  const std::span<std::byte> into(reinterpret_cast<std::byte*>(body.data()), body.size());
  auto filled = co_await read_fully(*read.reader, read.range.first, into);
  if (filled) filled = co_await read.reader->verify_unchanged();
  if (!filled) co_return unreadable(filled.error());
  co_return co_await request.exchange.respond(std::move(head), std::move(body));
}

Task<Result<void>> send_large_body(Request& request, const Read& read, http::ResponseHead head) {
  SLUICE_CO_TRY(
      const StagingLoan staging,
      co_await request.context.staging.take(request.client(), 1, Deadline::after(limits::kStagingWaitHttp)));
  const std::span<std::byte> buffer = staging.buffer(0);
  for (std::uint64_t done = 0; done < read.range.count;) {
    const auto bytes =
        static_cast<std::size_t>(std::min<std::uint64_t>(buffer.size(), read.range.count - done));
    const std::span<std::byte> chunk = buffer.first(bytes);
    auto filled = co_await read_fully(*read.reader, read.range.first + done, chunk);
    // Before the last bytes go out: a body of mixed versions is never completed.
    if (filled && done + bytes == read.range.count) filled = co_await read.reader->verify_unchanged();
    if (!filled) co_return unreadable(filled.error());
    if (done == 0)
      SLUICE_CO_CHECK(
          co_await request.exchange.begin_response(std::move(head), read.range.count));  // NOLINT: once
    SLUICE_CO_CHECK(co_await request.exchange.write_body(chunk));
    done += bytes;
  }
  co_return Result<void>{};
}

Task<Result<void>> send_body(Request& request, const Read& read) {
  static metrics::Counter& sent =
      metrics::counter("sluice_gateway_bytes_total{data_path=\"http\",direction=\"get\"}");
  http::ResponseHead head = object_head(request, read);
  if (read.declined) s3::add_rdma_declined(head.headers);
  if (request.operation == Operation::head_object) {
    co_return co_await request.exchange.respond(std::move(head), std::string(), read.range.count);
  }
  if (read.range.count <= limits::kSingleWriteBytes) {
    SLUICE_CO_CHECK(co_await send_small_body(request, read, std::move(head)));
  } else {
    SLUICE_CO_CHECK(co_await send_large_body(request, read, std::move(head)));
  }
  if (read.range.count > 0) request.data_path = "http";
  request.bytes = read.range.count;
  sent.add(read.range.count);
  co_return Result<void>{};
}

Task<Result<void>> reply_moved(Request& request, const Read& read, std::optional<std::uint64_t> sum) {
  http::ResponseHead head = object_head(request, read);
  s3::add_rdma_success(head.headers, head.status, read.range.count);
  if (sum) s3::add_rdma_checksum(head.headers, s3::RdmaChecksumAlgorithm::crc64nvme, *sum);
  co_return co_await reply(request, std::move(head));
}

/// Moves the range and answers. Returns false if nothing was moved and the body has to carry the bytes.
Task<Result<bool>> send_by_window(Request& request, const Read& read, std::unique_ptr<OperationRing> ring) {
  const std::optional<std::uint64_t> stored = read.reader->info().crc64nvme;
  const bool whole = read.range.count == read.reader->info().bytes;
  const bool hash = read.sum_wanted && !(whole && stored);
  Checksum sum(ChecksumAlgorithm::crc64nvme);
  MoveReport moved =
      co_await move_to_window(*ring, *read.reader, read.range.first, read.range.count, hash ? &sum : nullptr);
  const bool posted = co_await close_window(request, std::move(ring));
  switch (moved.end) {
    case MoveEnd::complete:
      break;
    case MoveEnd::store_failed:
      co_return unreadable(*moved.error);
    case MoveEnd::fabric_failed:
      if (posted) co_return transfer_failed(*moved.error);
      request.failure = moved.error->describe();
      note_declined(request, decline::kUnreachable);
      co_return false;
    case MoveEnd::interrupted:
      co_return s3::make_error("RDMATransferFailed", "The RDMA transfer was cut off.");
  }
  auto unchanged = co_await read.reader->verify_unchanged();
  if (!unchanged) co_return unreadable(unchanged.error());
  static metrics::Counter& sent =
      metrics::counter("sluice_gateway_bytes_total{data_path=\"rdma\",direction=\"get\"}");
  sent.add(read.range.count);
  request.data_path = "rdma";
  request.bytes = read.range.count;
  std::optional<std::uint64_t> value;
  if (read.sum_wanted) value = hash ? sum.value() : *stored;
  SLUICE_CO_CHECK(co_await reply_moved(request, read, value));
  co_return true;
}

/// Opens the window that the token names. Null: to be declined, and noted so.
Task<Result<std::unique_ptr<OperationRing>>> window_for(Request& request, std::string token,
                                                        std::uint64_t bytes) {
  SLUICE_CO_TRY(TokenChoice choice, judge_token(request, token));
  OpenedWindow window;
  if (!choice.token) {
    window.declined = choice.declined;
  } else if (choice.token->bytes < bytes) {
    co_return s3::make_error("InvalidRDMAToken", "The RDMA token's window has " +
                                                     std::to_string(choice.token->bytes) +
                                                     " bytes, the answer " + std::to_string(bytes) +
                                                     "; ask for a range that fits.");
  } else if (bytes > request.context.options.max_window_bytes) {
    window.declined = decline::kTooLarge;
  } else {
    SLUICE_CO_TRY(window, co_await open_window(request, std::move(choice), fabric::Direction::get, bytes));
  }
  if (!window.ring) note_declined(request, window.declined);
  co_return std::move(window.ring);
}

/// The Range header, unless If-Range names another version than the one that is open (or a date, which is not
/// proof enough): then the whole object is the answer (RFC 9110 13.1.5).
std::optional<std::string_view> range_header(const Request& request, const store::ObjectInfo& info) {
  const auto validator = request.headers().find("if-range");
  if (validator && !s3::etag_list_matches(*validator, info.etag, s3::EtagComparison::strong))
    return std::nullopt;
  return request.headers().find(s3::header::kRange);
}

Result<bool> checksum_wanted(const Request& request) {
  SLUICE_TRY(const auto algorithm, s3::requested_rdma_checksum(request.headers()));
  if (algorithm && *algorithm != s3::RdmaChecksumAlgorithm::crc64nvme) {
    return s3::make_error("InvalidRequest",
                          "the only x-amz-rdma-checksum-algorithm of this gateway is CRC64NVME");
  }
  return algorithm.has_value();
}

}  // namespace

Task<Result<void>> get_object(Request& request) {
  std::optional<std::string> token;
  Read read;
  if (request.operation == Operation::get_object) {
    SLUICE_CO_TRY(token, signed_token(request));
    if (token) {
      SLUICE_CO_TRY(read.sum_wanted, checksum_wanted(request));
    }
  }
  SLUICE_CO_TRY(read.reader, co_await request.context.store->open(request.target.bucket, request.target.key));
  const store::ObjectInfo& info = read.reader->info();

  switch (s3::evaluate_read(s3::read_conditions(request.headers()), info.etag, info.modified)) {
    case s3::ReadDecision::proceed:
      break;
    case s3::ReadDecision::not_modified:
      co_return co_await reply_not_modified(request, info);
    case s3::ReadDecision::precondition_failed:
      co_return s3::make_error("PreconditionFailed");
  }
  read.range = s3::resolve_range(range_header(request, info), info.bytes);
  if (read.range.kind == RangeKind::unsatisfiable) {
    HeaderList extra;
    extra.add(s3::header::kContentRange, s3::format_unsatisfied_range(info.bytes));
    Error error = s3::make_error("InvalidRange");
    co_return co_await reply_error(request, std::move(error), std::move(extra));
  }
  if (!token) co_return co_await send_body(request, read);
  if (read.range.count == 0) {  // nothing to move is a success (design rule 9)
    std::optional<std::uint64_t> sum;
    if (read.sum_wanted) sum = Checksum(ChecksumAlgorithm::crc64nvme).value();
    co_return co_await reply_moved(request, read, sum);
  }
  SLUICE_CO_TRY(auto ring, co_await window_for(request, std::move(*token), read.range.count));
  if (ring) {
    SLUICE_CO_TRY(const bool answered, co_await send_by_window(request, read, std::move(ring)));
    if (answered) co_return Result<void>{};
  }
  read.declined = true;
  co_return co_await send_body(request, read);
}

}  // namespace sluice::gateway
