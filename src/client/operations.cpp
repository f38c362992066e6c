#include "client/operations.h"

#include <utility>

#include "base/limits.h"
#include "base/parse.h"
#include "base/try.h"
#include "client/data_path.h"
#include "client/request.h"
#include "s3/conditions.h"
#include "s3/headers.h"
#include "s3/rdma_headers.h"
#include "s3/xml.h"

namespace sluice::client {

namespace {

Deadline call_deadline(const Engine& engine, const CallOptions& options) {
  return Deadline::after(options.timeout.value_or(engine.options().request_timeout));
}

SmallRequest small_request(std::string_view verb, std::string method, std::string bucket, std::string key) {
  SmallRequest request;
  request.context = describe(verb, bucket, key);
  request.method = std::move(method);
  request.bucket = std::move(bucket);
  request.key = std::move(key);
  return request;
}

/// A request about a bucket or object whose reply says nothing but "done".
Task<Result<void>> plain(std::shared_ptr<Engine> engine, SmallRequest request, Deadline deadline) {
  SLUICE_CO_CHECK(s3::check_bucket_name(request.bucket));
  auto reply = co_await exchange(engine, std::move(request), limits::kErrorBodyBytes, deadline);
  if (!reply) co_return std::move(reply).error();
  co_return Result<void>{};
}

}  // namespace

Task<Result<ObjectDetails>> head_object(std::shared_ptr<Engine> engine, std::string bucket, std::string key,
                                        CallOptions options) {
  SLUICE_CO_CHECK(s3::check_bucket_name(bucket));
  SLUICE_CO_CHECK(s3::check_key(key));
  SmallRequest request = small_request("head", "HEAD", std::move(bucket), key);
  request.key = key;
  request.headers.add(s3::header::kChecksumMode, "ENABLED");
  SLUICE_CO_TRY(SmallReply reply, co_await exchange(engine, std::move(request), limits::kErrorBodyBytes,
                                                    call_deadline(*engine, options)));
  ObjectDetails details;
  details.summary.key = std::move(key);
  auto bytes = parse_u64(reply.headers.get(s3::header::kContentLength));
  if (!bytes) {
    co_return Error(ErrorCode::protocol_error, "head s3://…: the server gave no usable Content-Length");
  }
  details.summary.bytes = *bytes;
  details.summary.etag = s3::unquote_etag(reply.headers.get(s3::header::kEtag));
  if (auto modified = parse_http_date(reply.headers.get(s3::header::kLastModified)); modified)
    details.summary.modified = *modified;
  details.content_type = std::string(reply.headers.get(s3::header::kContentType));
  if (const auto sum = reply.headers.find(s3::header::kChecksumCrc64nvme); sum) {
    if (auto value = s3::parse_crc64nvme(*sum); value) details.checksum = checksum_text(*value);
  }
  for (const auto& field : reply.headers) {
    if (!field.name.starts_with(s3::header::kMetaPrefix)) continue;
    details.user_metadata.emplace_back(field.name.substr(s3::header::kMetaPrefix.size()), field.value);
  }
  co_return details;
}

Task<Result<void>> delete_object(std::shared_ptr<Engine> engine, std::string bucket, std::string key,
                                 CallOptions options) {
  SLUICE_CO_CHECK(s3::check_key(key));
  SmallRequest request = small_request("delete", "DELETE", std::move(bucket), std::move(key));
  co_return co_await plain(engine, std::move(request), call_deadline(*engine, options));
}

Task<Result<ListPage>> list_objects(std::shared_ptr<Engine> engine, ListRequest list, CallOptions options) {
  SLUICE_CO_CHECK(s3::check_bucket_name(list.bucket));
  if (list.max_keys < 1 || list.max_keys > static_cast<int>(limits::kListKeys)) {
    co_return Error(ErrorCode::invalid_argument,
                    "max_keys: " + std::to_string(list.max_keys) + " is not between 1 and 1000");
  }
  SmallRequest request = small_request("list", "GET", list.bucket, {});
  request.query.add("list-type", "2");
  request.query.add("encoding-type", "url");
  request.query.add("max-keys", std::to_string(list.max_keys));
  if (!list.prefix.empty()) request.query.add("prefix", list.prefix);
  if (!list.delimiter.empty()) request.query.add("delimiter", list.delimiter);
  if (!list.start_after.empty()) request.query.add("start-after", list.start_after);
  if (!list.continuation_token.empty()) request.query.add("continuation-token", list.continuation_token);
  SLUICE_CO_TRY(SmallReply reply, co_await exchange(engine, std::move(request), limits::kListBodyBytes,
                                                    call_deadline(*engine, options)));
  SLUICE_CO_TRY(auto parsed, s3::parse_list_objects(reply.body));
  ListPage page;
  for (auto& object : parsed.objects) {
    ObjectSummary summary;
    summary.key = std::move(object.key);
    summary.bytes = object.bytes;
    summary.etag = std::move(object.etag);
    summary.modified = object.modified;
    page.objects.push_back(std::move(summary));
  }
  page.common_prefixes = std::move(parsed.common_prefixes);
  if (parsed.truncated) {
    page.next_continuation_token = std::move(parsed.next_continuation_token);
    if (page.next_continuation_token.empty()) {
      co_return Error(ErrorCode::protocol_error,
                      describe("list", list.bucket, "") + ": a truncated page without a continuation token");
    }
  }
  co_return page;
}

Task<Result<std::vector<BucketSummary>>> list_buckets(std::shared_ptr<Engine> engine, CallOptions options) {
  SmallRequest request;
  request.method = "GET";
  request.context = "list buckets";
  SLUICE_CO_TRY(SmallReply reply, co_await exchange(engine, std::move(request), limits::kListBodyBytes,
                                                    call_deadline(*engine, options)));
  SLUICE_CO_TRY(auto parsed, s3::parse_list_buckets(reply.body));
  std::vector<BucketSummary> buckets;
  for (auto& entry : parsed.buckets) {
    BucketSummary summary;
    summary.name = std::move(entry.name);
    summary.created = entry.created;
    buckets.push_back(std::move(summary));
  }
  co_return buckets;
}

Task<Result<void>> create_bucket(std::shared_ptr<Engine> engine, std::string bucket, CallOptions options) {
  SmallRequest request = small_request("create bucket", "PUT", std::move(bucket), {});
  co_return co_await plain(engine, std::move(request), call_deadline(*engine, options));
}

Task<Result<void>> delete_bucket(std::shared_ptr<Engine> engine, std::string bucket, CallOptions options) {
  SmallRequest request = small_request("delete bucket", "DELETE", std::move(bucket), {});
  co_return co_await plain(engine, std::move(request), call_deadline(*engine, options));
}

Task<Result<void>> head_bucket(std::shared_ptr<Engine> engine, std::string bucket, CallOptions options) {
  SmallRequest request = small_request("head bucket", "HEAD", std::move(bucket), {});
  co_return co_await plain(engine, std::move(request), call_deadline(*engine, options));
}

Task<Result<EndpointReport>> probe(std::shared_ptr<Engine> engine, CallOptions options) {
  engine->endpoint().forget();
  SLUICE_CO_CHECK(co_await engine->endpoint().discover(engine, call_deadline(*engine, options)));
  co_return engine->endpoint().report();
}

}  // namespace sluice::client
