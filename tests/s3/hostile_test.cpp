// Every parser meets random bytes and damaged right inputs. What is checked: no crash, no sanitizer report,
// no broken promise.
#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "base/encoding.h"
#include "base/parse.h"
#include "s3/conditions.h"
#include "s3/content_type.h"
#include "s3/discovery.h"
#include "s3/errors.h"
#include "s3/keys.h"
#include "s3/range.h"
#include "s3/rdma_headers.h"
#include "s3/sigv4.h"
#include "s3/support.h"
#include "s3/token_shape.h"
#include "s3/xml.h"

namespace sluice::s3 {
namespace {

// SLUICE_HOSTILE_ROUNDS=100000 for a long look.
int rounds() {
  const char* text = std::getenv("SLUICE_HOSTILE_ROUNDS");  // NOLINT(concurrency-mt-unsafe)
  const auto wanted = text == nullptr ? Result<std::uint64_t>(3000) : parse_u64(text, 10'000'000);
  EXPECT_THAT(wanted, test::IsOk());
  return wanted ? static_cast<int>(*wanted) : 0;
}

class Damage {
 public:
  /// A fixed seed: a failure here is a failure everywhere.
  explicit Damage(std::vector<std::string> seeds) : seeds_(std::move(seeds)) {}

  std::string next() {
    if (pick(4) == 0) return random_text(pick(64));
    std::string text = seeds_[pick(seeds_.size())];
    for (std::size_t edits = 1 + pick(4); edits > 0; --edits) edit(text);
    return text;
  }
  std::size_t pick(std::size_t below) { return below == 0 ? 0 : static_cast<std::size_t>(random_() % below); }

 private:
  char byte() {
    constexpr std::string_view kTelling =
        "%:;,/=\"'<>&{}[]-+* \t\r\n\0\xff\x7f"
        "0aZ";
    return pick(2) == 0 ? kTelling[pick(kTelling.size())] : static_cast<char>(pick(256));
  }
  std::string random_text(std::size_t size) {
    std::string text(size, '\0');
    for (char& c : text) c = byte();
    return text;
  }
  void edit(std::string& text) {
    const std::size_t at = pick(text.size() + 1);
    switch (pick(5)) {
      case 0:
        text.insert(at, 1, byte());
        break;
      case 1:
        text.erase(at, pick(8));
        break;
      case 2:
        if (at < text.size()) text[at] = byte();
        break;
      case 3:
        text.insert(at, text.substr(pick(text.size() + 1), pick(32)));
        break;
      default:
        text.resize(at);
    }
  }
  std::vector<std::string> seeds_;
  std::mt19937_64 random_{20260101};
};

TEST(HostileInputTest, TargetsAndKeys) {
  Damage damage(
      {"/bkt/a%20b//c?list-type=2&prefix=a%2Fb&x", "/.well-known/s3-rdma", "/bkt/%C3%A9/../b", "a/../b"});
  for (int i = rounds(); i > 0; --i) {
    const std::string text = damage.next();
    static_cast<void>(check_bucket_name(text));
    if (check_key(text)) {
      EXPECT_TRUE(is_utf8(text));
    }
    const auto target = parse_target(text);
    if (!target) {
      EXPECT_EQ(target.error().s3().code, "InvalidURI");
      continue;
    }
    // What was understood can be said again, and means the same.
    if (!target->bucket.empty()) {
      const auto again = parse_target(make_target(target->bucket, target->key, target->query));
      if (!again) continue;  // re-encoded it may be too long
      EXPECT_EQ(again->bucket, target->bucket);
      EXPECT_EQ(again->key, target->key);
      EXPECT_EQ(again->query, target->query);
    }
  }
}

TEST(HostileInputTest, Signatures) {
  HeaderList good{{"host", "10.0.0.5:9000"}, {"x-amz-rdma-token", kDescriptor}};
  const auto now = amz_time("20260101T000000Z");
  const Credentials credentials{"testaccess", "testsecret", {}};
  ASSERT_THAT(sign_request("GET", "/bkt/obj", good, credentials, {}, now), test::IsOk());
  const std::string authorization(good.get("authorization"));
  const auto lookup = [&](std::string_view) { return std::optional(credentials); };
  ASSERT_THAT(verify_request({"GET", "/bkt/obj", good}, lookup, {now}), test::IsOk());
  Damage damage({authorization});
  Damage values({"20260101T000000Z", "UNSIGNED-PAYLOAD", "STREAMING-AWS4-HMAC-SHA256-PAYLOAD", "/bkt/obj"});
  const auto intact = parse_authorization(authorization);
  for (int i = rounds(); i > 0; --i) {
    const std::string text = damage.next();
    HeaderList headers = good;
    headers.set("authorization", text);
    const auto verified = verify_request({"GET", "/bkt/obj", headers}, lookup, {now});
    if (verified) {  // only a harmless change, such as another blank, gets through
      EXPECT_EQ(verified->signature, intact->signature) << text;
      EXPECT_EQ(verified->signed_headers, intact->signed_headers) << text;
    }
    if (i % 10 != 0) continue;
    headers = good;
    const std::string_view name =
        std::vector<std::string_view>{"x-amz-date", "x-amz-content-sha256", "host"}[values.pick(3)];
    headers.set(name, values.next());
    static_cast<void>(verify_request({"GET", "/bkt/obj", headers}, lookup, {now}));
    const std::string target = values.next();
    if (verify_request({"GET", target, good}, lookup, {now})) {
      EXPECT_EQ(parse_target(target)->key, "obj") << target;
    }
  }
}

TEST(HostileInputTest, RangesAndConditions) {
  Damage damage({"bytes=0-99", "bytes=-18446744073709551615", "bytes 0-99/100", "bytes */5",
                 "\"abc\", W/\"def\", *", "*", "Thu, 01 Jan 2026 00:00:00 GMT",
                 "Thursday, 01-Jan-26 00:00:00 GMT"});
  for (int i = rounds(); i > 0; --i) {
    const std::string text = damage.next();
    const std::uint64_t size = damage.pick(200);
    const auto range = resolve_range(text, size);
    EXPECT_LE(range.first + range.count, size) << text;
    if (const auto content = parse_content_range(text); content && content->first && content->object_bytes) {
      EXPECT_LE(*content->first + content->count, *content->object_bytes) << text;
    }
    const HeaderList headers{{"if-match", text},
                             {"if-none-match", text},
                             {"if-modified-since", text},
                             {"if-unmodified-since", text}};
    static_cast<void>(evaluate_read(read_conditions(headers), "abc", amz_time("20260101T000000Z")));
    static_cast<void>(check_write(write_conditions(headers), "abc"));
    static_cast<void>(unquote_etag(text));
    static_cast<void>(content_type_of(text));
  }
}

TEST(HostileInputTest, RdmaHeadersAndTokens) {
  const std::string descriptor(kDescriptor);
  Damage replies({"200", "206", "501", "ok", "err-5", "200:" + std::string(88, 'a')});
  Damage counts({"4096", "4096/8192", "18446744073709551616"});
  Damage ranges({"bytes 0-4095/8192", "bytes */0"});
  Damage tokens({descriptor, descriptor + ":00007f0000200000:0000000000001000;", std::string(88, 'a'),
                 "rc:1:2:3:4", "00007f0000200000:0000000000001000:ofi1:net:0200abcd:00000000deadbeef",
                 base64_encode(as_bytes(descriptor)), "sluice-local:x"});
  const int statuses[] = {200, 204, 206, 400, 404, 500, 501};
  for (int i = rounds(); i > 0; --i) {
    const std::string token = tokens.next();
    static_cast<void>(detect_token_shape(token));
    static_cast<void>(rdma_request_token({{"x-amz-rdma-token", token}}));
    HeaderList response{{"x-amz-rdma-reply", replies.next()},
                        {"x-amz-rdma-bytes-transferred", counts.next()},
                        {"content-range", ranges.next()},
                        {"content-length", counts.pick(2) == 0 ? std::string("0") : counts.next()},
                        {"x-amz-rdma-checksum", tokens.next()}};
    const RdmaExpectation expected{
        counts.pick(2) == 0 ? RdmaOperation::get : RdmaOperation::put, true, 0, 4096, {}};
    const auto out = classify_rdma_response(statuses[replies.pick(7)], response, expected);
    if (out.verdict == RdmaVerdict::delivered) {
      EXPECT_LE(out.moved, 4096U);
    }
    static_cast<void>(rdma_checksum(response, RdmaChecksumAlgorithm::crc64nvme));
    static_cast<void>(parse_crc64nvme(token));
    static_cast<void>(requested_rdma_checksum({{"x-amz-rdma-checksum-algorithm", token}}));
  }
}

TEST(HostileInputTest, XmlAndJson) {
  ListBucketResult listing;
  listing.bucket = "bkt";
  listing.objects.push_back({"a b", 5, "e", amz_time("20260101T000000Z")});
  listing.common_prefixes = {"p/"};
  ListAllMyBucketsResult buckets;
  buckets.buckets = {{"bkt", amz_time("20260101T000000Z")}};
  DiscoveryDocument document;
  document.instance_id = "x";
  document.fabrics = {{"ofi:tcp", "net", "xnet", "10.0.0.5"}};
  document.dialects = {"ofi1"};
  Damage xml(
      {to_xml(listing), to_xml(buckets), to_xml(ErrorDocument{"NoSuchKey", "m", "/b/k", "id"}),
       "<CreateBucketConfiguration><LocationConstraint>eu</LocationConstraint></CreateBucketConfiguration>",
       "<!DOCTYPE a [<!ENTITY b \"c\">]><Error><Code>&b;<![CDATA[x]]></Code></Error>"});
  Damage json({to_json(document)});
  for (int i = rounds(); i > 0; --i) {
    const std::string text = xml.next();
    static_cast<void>(parse_list_objects(text));
    static_cast<void>(parse_list_buckets(text));
    static_cast<void>(parse_create_bucket_body(text));
    EXPECT_EQ(error_from_response(404, {{"retry-after", text}}, text, "get").s3().http_status, 404);
    static_cast<void>(parse_discovery(json.next()));
    EXPECT_TRUE(is_xml_text(xml_escape(text)));
  }
}

}  // namespace
}  // namespace sluice::s3
