// The operations over HTTP bodies, as any S3 client uses them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fixtures/gateway_fixture.h"
#include "fixtures/matchers.h"
#include "s3/discovery.h"
#include "s3/keys.h"
#include "s3/rdma_headers.h"
#include "s3/xml.h"

namespace sluice::gateway {
namespace {

using test::crc_of;
using test::pattern;
using test::RunningGateway;
using test::WireConnection;
using test::WireReply;
using test::WireRequest;
using testing::ElementsAre;
using testing::HasSubstr;

/// One gateway for all tests of a process; each test has a bucket of its own.
class ObjectsTest : public testing::Test {
 protected:
  static RunningGateway& gateway() {
    static RunningGateway running;
    return running;
  }
  ObjectsTest() {
    static int count = 0;
    bucket_ = "/bucket-" + std::to_string(++count);
    EXPECT_EQ(gateway().send("PUT", bucket_).status, 200);
  }
  static void TearDownTestSuite() {
    EXPECT_EQ(gateway()->stop(Deadline::after(std::chrono::seconds(10))).requests_cut_off, 0U);
  }
  [[nodiscard]] std::string at(const std::string& key) const { return bucket_ + "/" + key; }
  WireReply put(const std::string& key, const std::string& body, HeaderList headers = {}) {
    return gateway().send("PUT", at(key), std::move(headers), body);
  }
  WireReply get(const std::string& key, HeaderList headers = {}) {
    return gateway().send("GET", at(key), std::move(headers));
  }
  std::string bucket_;
};

TEST_F(ObjectsTest, WhatWasPutComesBackWithItsMetadata) {
  const std::string body = pattern(3'000'001);
  const auto stored =
      put("a.bin", body,
          {{"content-type", "text/x-test"}, {"x-amz-meta-Owner", "someone"}, {"cache-control", "no-cache"}});
  ASSERT_EQ(stored.status, 200) << stored.body;
  EXPECT_FALSE(stored.header("etag").empty());
  EXPECT_EQ(stored.header("x-amz-checksum-crc64nvme"), crc_of(body));
  EXPECT_EQ(stored.header("x-amz-request-id").size(), 16U);
  const auto got = get("a.bin");
  EXPECT_EQ(got.status, 200);
  EXPECT_TRUE(got.body == body);
  EXPECT_EQ(got.header("etag"), stored.header("etag"));
  EXPECT_EQ(got.header("content-type"), "text/x-test");
  EXPECT_EQ(got.header("x-amz-meta-owner"), "someone");
  EXPECT_EQ(got.header("cache-control"), "no-cache");
  EXPECT_EQ(got.header("accept-ranges"), "bytes");
  EXPECT_EQ(got.header("x-amz-checksum-crc64nvme"), crc_of(body));
  EXPECT_FALSE(got.header("last-modified").empty());
  EXPECT_FALSE(got.headers.has("x-amz-rdma-reply"));

  WireRequest head;
  head.method = "HEAD";
  head.target = at("a.bin");
  const auto headed = gateway().send(head);
  EXPECT_EQ(headed.status, 200);
  EXPECT_EQ(headed.header("content-length"), std::to_string(body.size()));
  EXPECT_EQ(headed.header("x-amz-checksum-crc64nvme"), crc_of(body));
  EXPECT_EQ(headed.header("x-amz-meta-owner"), "someone");
}

TEST_F(ObjectsTest, SizesAtTheEdgesOfBuffersSurvive) {
  for (const std::size_t size :
       {0U, 1U, 8192U, 65535U, 65536U, 65537U, 1048575U, 1048576U, 1048577U, 2097153U}) {
    const std::string body = pattern(size, size);
    ASSERT_EQ(put("sized", body).status, 200) << size;
    const auto got = get("sized");
    EXPECT_EQ(got.status, 200) << size;
    EXPECT_TRUE(got.body == body) << size;
  }
}

TEST_F(ObjectsTest, FilesWithoutMetadataGetTheirTypeByName) {
  ASSERT_EQ(put("page.html", "<p>").status, 200);
  EXPECT_EQ(get("page.html").header("content-type"), "text/html");
  EXPECT_EQ(
      gateway().send("GET", at("page.html") + "?response-content-type=text%2Fplain").header("content-type"),
      "text/plain");
}

TEST_F(ObjectsTest, RangesAreAnsweredAsS3Does) {
  struct Case {
    const char* range;
    int status;
    const char* body;
    const char* content_range;
  };
  const Case cases[] = {
      {"bytes=0-0", 206, "a", "bytes 0-0/3"},
      {"bytes=0-", 206, "abc", "bytes 0-2/3"},
      {"bytes=-1", 206, "c", "bytes 2-2/3"},
      {"bytes=-0", 416, nullptr, "bytes */3"},
      {"bytes=2-2", 206, "c", "bytes 2-2/3"},
      {"bytes=2-99", 206, "c", "bytes 2-2/3"},
      {"bytes=3-", 416, nullptr, "bytes */3"},
      {"bytes=5-1", 200, "abc", ""},
      {"bytes=abc", 200, "abc", ""},
      {"bytes=0-1,2-2", 200, "abc", ""},
      {"bytes=-18446744073709551615", 206, "abc", "bytes 0-2/3"},
      {"bytes=+1-2", 200, "abc", ""},
      {"items=0-1", 200, "abc", ""},
  };
  ASSERT_EQ(put("three", "abc").status, 200);
  for (const Case& c : cases) {
    const auto got = get("three", {{"range", c.range}});
    EXPECT_EQ(got.status, c.status) << c.range;
    EXPECT_EQ(got.header("content-range"), c.content_range) << c.range;
    if (c.body != nullptr) {
      EXPECT_EQ(got.body, c.body) << c.range;
    } else {
      EXPECT_EQ(got.code(), "InvalidRange") << c.range;
    }
  }
  ASSERT_EQ(put("empty", "").status, 200);
  EXPECT_EQ(get("empty", {{"range", "bytes=0-0"}}).status, 416);
  EXPECT_EQ(get("empty").status, 200);
  // The stored checksum is about the whole object: no word of it beside a part.
  EXPECT_FALSE(get("three", {{"range", "bytes=0-0"}}).headers.has("x-amz-checksum-crc64nvme"));
}

TEST_F(ObjectsTest, IfRangeOfAnotherVersionMeansTheWholeObject) {
  const std::string etag = put("r", "abc").header("etag");
  EXPECT_EQ(get("r", {{"range", "bytes=1-1"}, {"if-range", etag}}).body, "b");
  EXPECT_EQ(get("r", {{"range", "bytes=1-1"}, {"if-range", "\"other\""}}).body, "abc");
  EXPECT_EQ(get("r", {{"range", "bytes=1-1"}, {"if-range", "Fri, 01 Jan 2100 00:00:00 GMT"}}).status, 200);
}

TEST_F(ObjectsTest, ConditionsOnReadsAreEvaluated) {
  const std::string etag = put("c", "x").header("etag");
  EXPECT_EQ(get("c", {{"if-match", etag}}).status, 200);
  EXPECT_EQ(get("c", {{"if-match", "\"other\""}}).status, 412);
  EXPECT_EQ(get("c", {{"if-match", "*"}}).status, 200);
  const auto same = get("c", {{"if-none-match", etag}});
  EXPECT_EQ(same.status, 304);
  EXPECT_EQ(same.header("etag"), etag);
  EXPECT_TRUE(same.body.empty());
  EXPECT_EQ(get("c", {{"if-none-match", "\"other\""}}).status, 200);
  EXPECT_EQ(get("c", {{"if-modified-since", "Fri, 01 Jan 2100 00:00:00 GMT"}}).status, 304);
  EXPECT_EQ(get("c", {{"if-unmodified-since", "Thu, 01 Jan 1970 00:00:00 GMT"}}).status, 412);
  EXPECT_EQ(get("c", {{"if-modified-since", "rubbish"}}).status, 200);
}

TEST_F(ObjectsTest, ConditionsOnWritesAreEvaluated) {
  EXPECT_EQ(put("w", "1", {{"if-match", "*"}}).code(), "NoSuchKey");
  const auto first = put("w", "1", {{"if-none-match", "*"}});
  ASSERT_EQ(first.status, 200) << first.body;
  EXPECT_EQ(put("w", "2", {{"if-none-match", "*"}}).status, 412);
  EXPECT_EQ(put("w", "3", {{"if-match", "\"other\""}}).status, 412);
  EXPECT_EQ(get("w").body, "1");
  EXPECT_EQ(put("w", "4", {{"if-match", first.header("etag")}}).status, 200);
  EXPECT_EQ(get("w").body, "4");
}

TEST_F(ObjectsTest, APutWithAWrongPromiseLeavesNothing) {
  const auto before = gateway().files();
  const std::string body = pattern(200'000);
  const auto wrong_crc = put("p", body, {{"x-amz-checksum-crc64nvme", crc_of("other")}});
  EXPECT_EQ(wrong_crc.status, 400);
  EXPECT_EQ(wrong_crc.code(), "BadDigest");
  EXPECT_EQ(put("p", body, {{"content-md5", "1B2M2Y8AsgTpgAmY7PhCfg=="}}).code(), "BadDigest");
  EXPECT_EQ(put("p", body, {{"content-md5", "abc"}}).code(), "InvalidDigest");
  EXPECT_EQ(put("p", body, {{"x-amz-checksum-crc64nvme", "abc"}}).status, 400);
  EXPECT_EQ(put("p", body, {{"x-amz-checksum-crc32", "AAAAAA=="}}).status, 501);
  EXPECT_THAT(put("p", body, {{"x-amz-checksum-sha256", "AAAAAA=="}}).message(),
              HasSubstr("x-amz-checksum-sha256"));
  EXPECT_EQ(put("p", body, {{"content-encoding", "gzip, aws-chunked"}}).status, 501);
  EXPECT_EQ(put("p", body, {{"x-amz-decoded-content-length", "1"}}).status, 501);
  EXPECT_EQ(put("p", body, {{"x-amz-copy-source", "/b/k"}}).status, 501);
  EXPECT_EQ(put("p", body, {{"x-amz-meta-a", std::string(2049, 'm')}}).code(), "MetadataTooLarge");
  WireRequest hashed;
  hashed.method = "PUT";
  hashed.target = at("p");
  hashed.body = body;
  hashed.payload_hash = sha256_hex("something else");
  EXPECT_EQ(gateway().send(hashed).code(), "XAmzContentSHA256Mismatch");
  EXPECT_EQ(gateway().files(), before);

  hashed.payload_hash = sha256_hex(body);
  hashed.headers.add("content-md5", base64_encode([&] {
                       Digest md5 = Digest::md5();
                       md5.update(as_bytes(body));
                       return md5.finish();
                     }()));
  hashed.headers.add("x-amz-checksum-crc64nvme", crc_of(body));
  EXPECT_EQ(gateway().send(hashed).status, 200);
  EXPECT_EQ(gateway().files().size(), before.size() + 1);
}

TEST_F(ObjectsTest, ABodyWithoutALengthIsRefused) {
  WireRequest chunked;
  chunked.method = "PUT";
  chunked.target = at("p");
  chunked.headers.add("transfer-encoding", "chunked");
  chunked.body = "3\r\nabc\r\n0\r\n\r\n";
  const auto refused = gateway().send(chunked);
  EXPECT_EQ(refused.status, 411);
  EXPECT_EQ(refused.code(), "MissingContentLength");
}

TEST_F(ObjectsTest, AClientThatHangsUpInTheMiddleLeavesNothing) {
  const auto before = gateway().files();
  WireRequest request;
  request.method = "PUT";
  request.target = at("half");
  for (const std::size_t sent : {std::size_t{0}, std::size_t{1}, std::size_t{1'500'000}}) {
    request.body = pattern(sent);
    WireConnection connection(gateway().port());
    ASSERT_TRUE(connection.send(gateway().wire(request, 3'000'000)));
    connection.close();
  }
  // The gateway notices by itself; the temporary files go with that.
  const auto patience = Deadline::after(std::chrono::seconds(20));
  while (gateway().files() != before && !patience.expired())
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  EXPECT_EQ(gateway().files(), before);
  EXPECT_EQ(get("half").code(), "NoSuchKey");
}

TEST_F(ObjectsTest, ExpectContinueIsAnsweredBeforeTheBody) {
  WireRequest request;
  request.method = "PUT";
  request.target = at("patient");
  request.headers.add("expect", "100-continue");
  WireConnection connection(gateway().port());
  const std::string head = gateway().wire(request, 5);
  ASSERT_TRUE(connection.send(head));
  ASSERT_TRUE(connection.receive_continue());
  ASSERT_TRUE(connection.send("hello"));
  EXPECT_EQ(connection.receive().status, 200);
  EXPECT_EQ(get("patient").body, "hello");
}

TEST_F(ObjectsTest, KeysKeepTheirBytes) {
  for (const char* key : {"a+b",
                          "a%20b",
                          "a%2Bb",
                          "a%252Bb",
                          "a%25b",
                          "a=b",
                          "a@b",
                          "a:b",
                          "a&b",
                          "a%3Fb",
                          "a%23b",
                          "a*b",
                          "a'b",
                          "a%22b",
                          "a%3Cb%3E",
                          "%7Ba%7D",
                          "a%5Cb",
                          "e%CC%81",
                          "%C3%A9",
                          "%F0%9F%90%9F",
                          "con",
                          "%2500",
                          "%3FversionId=null"}) {
    ASSERT_EQ(put(key, key).status, 200) << key;
    EXPECT_EQ(get(key).body, key) << key;
  }
  EXPECT_EQ(get("../b").status, 400);
  EXPECT_EQ(get("..%2f..%2fetc").status, 400);
  EXPECT_EQ(get(std::string(1025, 'k')).code(), "KeyTooLongError");
  EXPECT_EQ(get("%ff").status, 400);
  EXPECT_EQ(get("a%00b").status, 400);
}

TEST_F(ObjectsTest, DeletingSucceedsAlsoTwice) {
  ASSERT_EQ(put("d", "x").status, 200);
  EXPECT_EQ(gateway().send("DELETE", at("d")).status, 204);
  EXPECT_EQ(gateway().send("DELETE", at("d")).status, 204);
  EXPECT_EQ(get("d").code(), "NoSuchKey");
  EXPECT_EQ(gateway().send("DELETE", "/no-such-bucket/d").code(), "NoSuchBucket");
}

TEST_F(ObjectsTest, ListsInPagesWithPrefixesAndDelimiters) {
  for (const char* key : {"a", "b/1", "b/2", "c", "d%20d"}) ASSERT_EQ(put(key, key).status, 200);
  std::vector<std::string> seen;
  std::string token;
  for (int page = 0; page < 10; ++page) {
    s3::Query query{{"list-type", "2"}, {"delimiter", "/"}, {"max-keys", "2"}};
    if (!token.empty()) query.add("continuation-token", token);
    const auto reply = gateway().send("GET", bucket_ + "?" + query.to_string());
    ASSERT_EQ(reply.status, 200) << reply.body;
    const auto listed = s3::parse_list_objects(reply.body);
    ASSERT_THAT(listed, test::IsOk());
    for (const auto& object : listed->objects) seen.push_back(object.key);
    for (const auto& prefix : listed->common_prefixes) seen.push_back(prefix);
    token = listed->next_continuation_token;
    if (!listed->truncated) break;
  }
  EXPECT_THAT(seen, testing::UnorderedElementsAre("a", "b/", "c", "d d"));

  const auto prefixed = s3::parse_list_objects(
      gateway().send("GET", bucket_ + "?list-type=2&prefix=b%2F&encoding-type=url&start-after=b%2F1").body);
  ASSERT_THAT(prefixed, test::IsOk());
  ASSERT_EQ(prefixed->objects.size(), 1U);
  EXPECT_EQ(prefixed->objects[0].key, "b/2");
  EXPECT_EQ(prefixed->objects[0].bytes, 3U);
  EXPECT_FALSE(prefixed->objects[0].etag.empty());

  EXPECT_EQ(gateway().send("GET", bucket_ + "?list-type=2&max-keys=-1").code(), "InvalidArgument");
  EXPECT_EQ(gateway().send("GET", bucket_ + "?list-type=2&continuation-token=%21").code(), "InvalidArgument");
  EXPECT_EQ(gateway().send("GET", bucket_ + "?list-type=2&max-keys=0").status, 200);
  EXPECT_EQ(gateway().send("GET", "/no-such-bucket?list-type=2").code(), "NoSuchBucket");
  EXPECT_EQ(gateway().send("GET", bucket_).code(), "NotImplemented");
}

TEST_F(ObjectsTest, BucketsAreMadeListedAndRemoved) {
  EXPECT_EQ(gateway().send("PUT", bucket_).code(), "BucketAlreadyOwnedByYou");
  EXPECT_EQ(gateway().send("PUT", "/UPPER").code(), "InvalidBucketName");
  EXPECT_EQ(gateway().send("PUT", "/other-bucket", {}, "<not xml").code(), "MalformedXML");
  const auto made = gateway().send("PUT", "/other-bucket", {},
                                   "<CreateBucketConfiguration><LocationConstraint>eu-west-1</"
                                   "LocationConstraint></CreateBucketConfiguration>");
  EXPECT_EQ(made.status, 200) << made.body;
  EXPECT_EQ(made.header("location"), "/other-bucket");
  EXPECT_THAT(gateway().send("GET", "/").body, HasSubstr("<Name>other-bucket</Name>"));
  EXPECT_EQ(gateway().send("HEAD", "/other-bucket").header("x-amz-bucket-region"), "us-east-1");
  EXPECT_THAT(gateway().send("GET", "/other-bucket?location").body, HasSubstr("LocationConstraint"));
  EXPECT_EQ(gateway().send("DELETE", "/other-bucket").status, 204);
  EXPECT_EQ(gateway().send("DELETE", "/other-bucket").code(), "NoSuchBucket");
  EXPECT_EQ(gateway().send("GET", "/other-bucket?location").code(), "NoSuchBucket");
  ASSERT_EQ(put("x", "x").status, 200);
  EXPECT_EQ(gateway().send("DELETE", bucket_).code(), "BucketNotEmpty");
  WireRequest head;
  head.method = "HEAD";
  head.target = "/no-such-bucket";
  EXPECT_EQ(gateway().send(head).status, 404);
}

TEST_F(ObjectsTest, OnlyTheKeyPairHolderIsServed) {
  WireRequest request;
  request.target = at("secret");
  ASSERT_EQ(put("secret", "x").status, 200);
  request.sign = false;
  EXPECT_EQ(gateway().send(request).code(), "AccessDenied");
  request.sign = true;
  request.credentials = s3::Credentials{"NOBODY", "a secret of the tests", {}};
  EXPECT_EQ(gateway().send(request).code(), "InvalidAccessKeyId");
  request.credentials = s3::Credentials{"TESTACCESSKEY", "another secret", {}};
  const auto wrong = gateway().send(request);
  EXPECT_EQ(wrong.status, 403);
  EXPECT_EQ(wrong.code(), "SignatureDoesNotMatch");
  request.credentials.reset();
  request.date = WallClock::now() - std::chrono::hours(1);
  EXPECT_EQ(gateway().send(request).code(), "RequestTimeTooSkewed");
  request.date.reset();

  // Changed after signing.
  std::string text = gateway().wire(request);
  const auto where = text.find("/secret ");
  text.replace(where, 8, "/secres ");
  WireConnection connection(gateway().port());
  connection.send(text);
  EXPECT_EQ(connection.receive().code(), "SignatureDoesNotMatch");
  // Added after signing.
  text = gateway().wire(request);
  text.insert(text.size() - 2, "x-amz-meta-more: 1\r\n");
  connection.send(text);
  EXPECT_EQ(connection.receive().code(), "AccessDenied");
}

TEST_F(ObjectsTest, ErrorsNameTheRequestAndTheResource) {
  const auto missing = get("no%20where");
  EXPECT_EQ(missing.status, 404);
  const auto document = s3::parse_error_document(missing.body);
  ASSERT_THAT(document, test::IsOk());
  EXPECT_EQ(document->code, "NoSuchKey");
  EXPECT_EQ(document->resource, at("no%20where"));
  EXPECT_EQ(document->request_id, missing.header("x-amz-request-id"));
  EXPECT_FALSE(missing.header("date").empty());
  EXPECT_EQ(missing.header("server"), "sluice");
  WireRequest head;
  head.method = "HEAD";
  head.target = at("nowhere");
  const auto bodiless = gateway().send(head);
  EXPECT_EQ(bodiless.status, 404);
  EXPECT_TRUE(bodiless.body.empty());
  EXPECT_EQ(get("x?acl").code(), "NotImplemented");
  EXPECT_EQ(gateway().send("PATCH", at("x")).code(), "MethodNotAllowed");
}

TEST_F(ObjectsTest, ManyRequestsShareOneConnection) {
  ASSERT_EQ(put("k", "kept alive").status, 200);
  WireConnection connection(gateway().port());
  WireRequest request;
  request.target = at("k");
  for (int i = 0; i < 50; ++i) {
    request.target = at(i % 3 == 0 ? "missing" : "k");
    EXPECT_EQ(gateway().send_on(connection, request).status, i % 3 == 0 ? 404 : 200) << i;
  }
}

TEST_F(ObjectsTest, TheDiscoveryDocumentNeedsNoSignature) {
  WireRequest request;
  request.target = "/.well-known/s3-rdma";
  request.sign = false;
  const auto reply = gateway().send(request);
  EXPECT_EQ(reply.status, 200);
  EXPECT_EQ(reply.header("content-type"), "application/json");
  const auto document = s3::parse_discovery(reply.body);
  ASSERT_THAT(document, test::IsOk());
  EXPECT_EQ(document->instance_id, gateway()->instance_id());
  EXPECT_THAT(document->dialects, ElementsAre("ofi1"));
  ASSERT_EQ(document->fabrics.size(), 1U);
  EXPECT_EQ(document->fabrics[0].name, gateway()->fabrics()[0].name);
  EXPECT_EQ(document->lease, fabric::LeaseTerms{}.lease);
  EXPECT_THAT(document->checksums, ElementsAre("crc64nvme"));
  request.method = "PUT";
  EXPECT_EQ(gateway().send(request).status, 405);
}

TEST(ReadOnlyGatewayTest, RefusesWritesAndNamesTheFlag) {
  test::GatewaySetup setup;
  setup.read_only = true;
  setup.fabrics = {};
  RunningGateway gateway(setup);
  std::filesystem::create_directory(gateway.root() / "bucket");
  const auto refused = gateway.send("PUT", "/bucket/key", {}, "x");
  EXPECT_EQ(refused.status, 403);
  EXPECT_EQ(refused.code(), "AccessDenied");
  EXPECT_THAT(refused.message(), HasSubstr("--read-only"));
  EXPECT_EQ(gateway.send("PUT", "/new-bucket").status, 403);
  EXPECT_EQ(gateway.send("DELETE", "/bucket").status, 403);
  EXPECT_EQ(gateway.send("DELETE", "/bucket/key").status, 403);
  EXPECT_EQ(gateway.send("GET", "/bucket?list-type=2").status, 200);
  EXPECT_TRUE(gateway.files().empty());
}

TEST(GatewayStartTest, RefusesWhatCannotWorkInOneLine) {
  test::GatewaySetup setup;
  setup.fabrics = {};
  RunningGateway gateway(setup);
  GatewayOptions options;
  options.http.listen = gateway->address();
  options.credentials = RunningGateway::credentials();
  EXPECT_THAT(Gateway::start(options, gateway.store()), test::Fails(ErrorCode::io_error, "in use"));
  options.credentials = {};
  EXPECT_THAT(Gateway::start(options, gateway.store()), test::Fails(ErrorCode::config_error, "access key"));
}

TEST(GatewayStopTest, FinishesRunningRequestsAndCutsOffWhatStays) {
  test::GatewaySetup setup;
  setup.fabrics = {};
  RunningGateway gateway(setup);
  ASSERT_EQ(gateway.send("PUT", "/bucket").status, 200);
  WireRequest request;
  request.method = "PUT";
  request.target = "/bucket/key";
  request.headers.add("expect", "100-continue");
  WireConnection unfinished(gateway.port());
  ASSERT_TRUE(unfinished.send(gateway.wire(request, 1000)));
  ASSERT_TRUE(unfinished.receive_continue());
  WireConnection idle(gateway.port());
  EXPECT_EQ(gateway.send_on(idle, WireRequest{}).status, 200);
  const auto report = gateway->stop(Deadline::after(std::chrono::milliseconds(200)));
  EXPECT_EQ(report.requests_cut_off, 1U);
  EXPECT_EQ(report.fabric_operations_left, 0U);
  EXPECT_FALSE(std::filesystem::exists(gateway.root() / "bucket" / "key"));
}

}  // namespace
}  // namespace sluice::gateway
