// Buckets as a whole, and the deletion of an object.
#include <utility>

#include "base/try.h"
#include "checksum/digest.h"
#include "gateway/context.h"
#include "gateway/operations.h"
#include "gateway/reply.h"
#include "s3/errors.h"
#include "s3/headers.h"
#include "s3/xml.h"

namespace sluice::gateway {
namespace {

constexpr std::size_t kConfigurationBytes = 64 * limits::kKiB;  // of CreateBucket's body; S3's has some 200

/// A small body as text, checked against the hash that was signed.
Task<Result<std::string>> read_small_body(Request& request) {
  http::Exchange& exchange = request.exchange;
  if (exchange.content_length().value_or(0) > kConfigurationBytes) {
    co_return s3::make_error("MaxMessageLengthExceeded");
  }
  std::string text;
  if (exchange.content_length().value_or(0) > 0 || exchange.chunked()) {
    text.resize(kConfigurationBytes + 1);
    std::size_t filled = 0;
    while (filled < text.size()) {
      const std::span<std::byte> into(reinterpret_cast<std::byte*>(text.data()) + filled,
                                      text.size() - filled);
      SLUICE_CO_TRY(const std::size_t got, co_await exchange.read_body(into));
      if (got == 0) break;
      filled += got;
    }
    if (filled > kConfigurationBytes) co_return s3::make_error("MaxMessageLengthExceeded");
    text.resize(filled);
  }
  if (request.identity.payload != s3::PayloadMode::unsigned_payload) {
    const std::string expected = request.identity.payload == s3::PayloadMode::empty
                                     ? std::string(s3::kEmptyPayloadSha256)
                                     : request.identity.payload_sha256;
    if (sha256_hex(text) != expected) co_return s3::make_error("XAmzContentSHA256Mismatch");
  }
  co_return text;
}

}  // namespace

Task<Result<void>> list_buckets(Request& request) {
  SLUICE_CO_TRY(const auto buckets, co_await request.context.store->list_buckets());
  s3::ListAllMyBucketsResult result;
  result.owner_id = request.identity.access_key;
  for (const store::BucketInfo& bucket : buckets) {
    s3::BucketEntry entry;
    entry.name = bucket.name;
    entry.created = bucket.created;
    result.buckets.push_back(std::move(entry));
  }
  http::ResponseHead head = make_head(request, 200);
  std::string xml = s3::to_xml(result);
  co_return co_await reply_xml(request, std::move(head), std::move(xml));
}

Task<Result<void>> create_bucket(Request& request) {
  SLUICE_CO_TRY(const std::string body, co_await read_small_body(request));
  SLUICE_CO_TRY(const std::string location, s3::parse_create_bucket_body(body));
  const std::string& region = request.context.options.region;
  if (!location.empty() && !region.empty() && location != region) {
    co_return s3::make_error("InvalidArgument", "The bucket cannot be created in the region '" +
                                                    location.substr(0, 64) + "'; this gateway's is '" +
                                                    region + "'.");
  }
  SLUICE_CO_CHECK(co_await request.context.store->create_bucket(request.target.bucket));
  http::ResponseHead head = make_head(request, 200);
  head.headers.add("location", "/" + request.target.bucket);
  co_return co_await reply(request, std::move(head));
}

Task<Result<void>> head_bucket(Request& request) {
  SLUICE_CO_CHECK(co_await request.context.store->head_bucket(request.target.bucket));
  http::ResponseHead head = make_head(request, 200);
  head.headers.add(s3::header::kBucketRegion, request.context.region());
  co_return co_await reply(request, std::move(head));
}

Task<Result<void>> delete_bucket(Request& request) {
  SLUICE_CO_CHECK(co_await request.context.store->delete_bucket(request.target.bucket));
  http::ResponseHead head = make_head(request, 204);
  co_return co_await reply(request, std::move(head));
}

Task<Result<void>> get_bucket_location(Request& request) {
  SLUICE_CO_CHECK(co_await request.context.store->head_bucket(request.target.bucket));
  const std::string region = request.context.region();
  // S3 spells its first region as nothing.
  std::string xml =
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<LocationConstraint "
      "xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\">";
  if (region != "us-east-1") xml += s3::xml_escape(region);
  xml += "</LocationConstraint>";
  http::ResponseHead head = make_head(request, 200);
  co_return co_await reply_xml(request, std::move(head), std::move(xml));
}

Task<Result<void>> delete_object(Request& request) {
  SLUICE_CO_CHECK(co_await request.context.store->remove(request.target.bucket, request.target.key));
  http::ResponseHead head = make_head(request, 204);
  co_return co_await reply(request, std::move(head));
}

}  // namespace sluice::gateway
