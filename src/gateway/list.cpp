// ListObjectsV2.
#include <algorithm>
#include <utility>

#include "base/encoding.h"
#include "base/parse.h"
#include "base/try.h"
#include "gateway/context.h"
#include "gateway/operations.h"
#include "gateway/reply.h"
#include "s3/errors.h"
#include "s3/xml.h"

namespace sluice::gateway {
namespace {

/// Opaque to clients: base64 of the key after which the next page begins.
std::string make_continuation_token(std::string_view start_after) {
  return base64_encode(as_bytes(start_after));
}

Result<std::string> read_continuation_token(std::string_view token) {
  auto bytes = base64_decode(token);
  if (!bytes || bytes->empty() || bytes->size() > limits::kKeyBytes) {
    return s3::make_error("InvalidArgument", "The continuation token provided is incorrect");
  }
  return std::string(reinterpret_cast<const char*>(bytes->data()), bytes->size());
}

struct Listing {
  store::ListRequest ask;
  s3::ListBucketResult answer;  ///< what is known before the store was asked
};

Result<Listing> read_listing(const s3::Target& target) {
  const auto text = [&target](std::string_view name) {
    return std::string(target.query.find(name).value_or(""));
  };
  Listing listing;
  listing.answer.bucket = target.bucket;
  listing.answer.prefix = listing.ask.prefix = text("prefix");
  listing.answer.delimiter = listing.ask.delimiter = text("delimiter");
  listing.answer.start_after = listing.ask.start_after = text("start-after");
  for (const std::string* value : {&listing.ask.prefix, &listing.ask.delimiter, &listing.ask.start_after}) {
    if (value->size() > limits::kKeyBytes)
      return s3::make_error("InvalidArgument", "a query parameter is longer than a key");
  }
  if (const auto token = target.query.find("continuation-token")) {
    listing.answer.continuation_token = std::string(*token);
    SLUICE_TRY(listing.ask.start_after, read_continuation_token(*token));
  }
  if (const auto encoding = target.query.find("encoding-type"); encoding && !encoding->empty()) {
    if (*encoding != "url")
      return s3::make_error("InvalidArgument", "Invalid Encoding Method specified in Request");
    listing.answer.url_encoded = true;
  }
  if (const auto most = target.query.find("max-keys"); most && !most->empty()) {
    const auto keys = parse_u64(*most, INT32_MAX);
    if (!keys) return s3::make_error("InvalidArgument", "max-keys is not a number from 0 to 2147483647");
    listing.answer.max_keys = std::min<std::uint64_t>(*keys, limits::kListKeys);
  }
  listing.ask.max_keys = static_cast<std::size_t>(listing.answer.max_keys);
  return listing;
}

}  // namespace

Task<Result<void>> list_objects(Request& request) {
  SLUICE_CO_TRY(Listing listing, read_listing(request.target));
  if (listing.ask.max_keys == 0) {
    SLUICE_CO_CHECK(co_await request.context.store->head_bucket(request.target.bucket));
  } else {
    SLUICE_CO_TRY(store::ListPage page,
                  co_await request.context.store->list(request.target.bucket, listing.ask));
    for (store::ObjectInfo& object : page.objects) {
      s3::ListedObject listed;
      listed.key = std::move(object.key);
      listed.bytes = object.bytes;
      listed.etag = std::move(object.etag);
      listed.modified = object.modified;
      listing.answer.objects.push_back(std::move(listed));
    }
    listing.answer.common_prefixes = std::move(page.common_prefixes);
    listing.answer.truncated = page.truncated;
    if (page.truncated)
      listing.answer.next_continuation_token = make_continuation_token(page.next_start_after);
  }
  http::ResponseHead head = make_head(request, 200);
  std::string xml = s3::to_xml(listing.answer);
  co_return co_await reply_xml(request, std::move(head), std::move(xml));
}

}  // namespace sluice::gateway
