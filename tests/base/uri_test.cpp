#include "base/uri.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fixtures/matchers.h"

namespace sluice {
namespace {

using test::Fails;

TEST(EndpointUrlTest, KnowsTheDefaultPorts) {
  auto plain = parse_endpoint_url("http://s3.example.org");
  ASSERT_THAT(plain, test::IsOk());
  EXPECT_FALSE(plain->tls);
  EXPECT_EQ(plain->host, "s3.example.org");
  EXPECT_EQ(plain->port, 80);
  EXPECT_EQ(plain->host_header(), "s3.example.org");
  auto tls = parse_endpoint_url("https://s3.example.org/");
  ASSERT_THAT(tls, test::IsOk());
  EXPECT_TRUE(tls->tls);
  EXPECT_EQ(tls->port, 443);
  EXPECT_EQ(tls->host_header(), "s3.example.org");
  EXPECT_EQ(tls->to_string(), "https://s3.example.org");
}

TEST(EndpointUrlTest, ShowsAPortUnlessItIsTheDefaultOfTheScheme) {
  EXPECT_EQ(parse_endpoint_url("http://10.0.0.5:9000")->host_header(), "10.0.0.5:9000");
  EXPECT_EQ(parse_endpoint_url("http://10.0.0.5:80")->host_header(), "10.0.0.5");
  EXPECT_EQ(parse_endpoint_url("http://10.0.0.5:443")->host_header(), "10.0.0.5:443");
  EXPECT_EQ(parse_endpoint_url("https://10.0.0.5:80")->host_header(), "10.0.0.5:80");
  EXPECT_EQ(parse_endpoint_url("http://10.0.0.5:65535/")->to_string(), "http://10.0.0.5:65535");
}

TEST(EndpointUrlTest, TakesIpv6InBrackets) {
  auto url = parse_endpoint_url("https://[::1]:9000");
  ASSERT_THAT(url, test::IsOk());
  EXPECT_EQ(url->host, "::1");
  EXPECT_EQ(url->port, 9000);
  EXPECT_EQ(url->host_header(), "[::1]:9000");
  EXPECT_EQ(parse_endpoint_url(url->to_string()).value(), *url);
  EXPECT_EQ(parse_endpoint_url("http://[fe80::1]")->host_header(), "[fe80::1]");
}

TEST(EndpointUrlTest, RefusesEverythingButSchemeHostAndPort) {
  for (const auto* bad : {"",
                          "http://",
                          "https:///",
                          "s3.example.org",
                          "ftp://h",
                          "http:/h",
                          "//h",
                          "http://h/path",
                          "http://h//",
                          "http://h?x",
                          "http://h/?x",
                          "http://h#f",
                          "http://:9000",
                          "http://h:",
                          "http://h:0",
                          "http://h:65536",
                          "http://h:-1",
                          "http://h:+1",
                          "http://h:9000x",
                          "http://h: 1",
                          "http://h:1:2",
                          "http://::1:9000",
                          "http://[::1",
                          "http://[::1]9000",
                          "http://[::1]x",
                          "http://[]",
                          "http://[h]",
                          "http://[fe80::1%eth0]",
                          "http://a b",
                          "http://a\nb",
                          "http://a/b",
                          "http://a\\b",
                          "http://a%20b"})
    EXPECT_THAT(parse_endpoint_url(bad), Fails(ErrorCode::invalid_argument)) << bad;
  EXPECT_THAT(parse_endpoint_url(std::string_view("http://[::1\0]", 13)), Fails(ErrorCode::invalid_argument));
  EXPECT_THAT(parse_endpoint_url(std::string_view("http://h\0.org", 13)), Fails(ErrorCode::invalid_argument));
}

TEST(EndpointUrlTest, RefusesCredentialsWithoutShowingThem) {
  for (const auto* bad :
       {"http://user:hunter2@h:9000", "user:hunter2@h", "https://hunter2@h/", "http://h/hunter2@x"}) {
    auto url = parse_endpoint_url(bad);
    ASSERT_THAT(url, Fails(ErrorCode::invalid_argument, "credentials")) << bad;
    EXPECT_THAT(url.error().describe(), testing::Not(testing::HasSubstr("hunter2")));
  }
}

TEST(EndpointUrlTest, KnowsLoopbackAddressesAndNothingThatOnlyLooksLikeOne) {
  for (const auto* here : {"http://localhost", "http://127.0.0.1:1", "http://127.255.0.9", "https://[::1]",
                           "http://[0:0:0:0:0:0:0:1]"})
    EXPECT_TRUE(parse_endpoint_url(here)->is_loopback()) << here;
  for (const auto* away : {"http://127.0.0.1.example.org", "http://localhost.example.org", "http://10.0.0.1",
                           "http://128.0.0.1", "http://[::2]", "http://0.0.0.0", "http://127.1.example"})
    EXPECT_FALSE(parse_endpoint_url(away)->is_loopback()) << away;
}

TEST(S3LocationTest, TheKeyIsEverythingAfterTheFirstSlash) {
  const std::tuple<const char*, const char*, const char*> expected[] = {
      {"s3://bucket", "bucket", ""},
      {"s3://bucket/", "bucket", ""},
      {"s3://bucket/any/key?even=this", "bucket", "any/key?even=this"},
      {"s3://bucket//a", "bucket", "/a"},
      {"s3://bucket/a/", "bucket", "a/"},
      {"s3://bucket/a//b", "bucket", "a//b"},
      {"s3://bucket/a+b %20#c@d", "bucket", "a+b %20#c@d"}};
  for (const auto& [text, bucket, key] : expected) {
    auto location = parse_s3_location(text);
    ASSERT_THAT(location, test::IsOk()) << text;
    EXPECT_EQ(location->bucket, bucket);
    EXPECT_EQ(location->key, key);
  }
}

TEST(S3LocationTest, RefusesOtherSchemesAndAMissingBucket) {
  EXPECT_TRUE(is_s3_location("s3://b"));
  for (const auto* bad : {"", "s3:/b/k", "/b/k", "S3://b/k", "file", "s3:"}) {
    EXPECT_FALSE(is_s3_location(bad)) << bad;
    EXPECT_THAT(parse_s3_location(bad), Fails(ErrorCode::invalid_argument, "s3://bucket/key")) << bad;
  }
  EXPECT_THAT(parse_s3_location("s3://"), Fails(ErrorCode::invalid_argument, "bucket"));
  EXPECT_THAT(parse_s3_location("s3:///key"), Fails(ErrorCode::invalid_argument, "bucket"));
}

TEST(ListenAddressTest, TakesTheFourForms) {
  const std::tuple<const char*, const char*, int, bool> expected[] = {
      {"127.0.0.1:9000", "127.0.0.1:9000", 9000, true},
      {"[::1]:0", "[::1]:0", 0, true},
      {":9000", "0.0.0.0:9000", 9000, false},
      {"9000", "127.0.0.1:9000", 9000, true},
      {"localhost:1", "localhost:1", 1, true},
      {"[::]:9000", "[::]:9000", 9000, false},
      {"10.0.0.5:65535", "10.0.0.5:65535", 65535, false}};
  for (const auto& [text, shown, port, loopback] : expected) {
    auto address = parse_listen_address(text);
    ASSERT_THAT(address, test::IsOk()) << text;
    EXPECT_EQ(address->to_string(), shown);
    EXPECT_EQ(address->port, port);
    EXPECT_EQ(address->is_loopback(), loopback) << text;
  }
}

TEST(ListenAddressTest, RefusesWhatIsNoAddressAndPort) {
  for (const auto* bad : {"", ":", "host", "127.0.0.1", "[::1]", "::1:9000", "host:", "host:65536", "65536",
                          "-1", "host:9000/", "http://h:1", "a b:1", "host:1:2"})
    EXPECT_THAT(parse_listen_address(bad), Fails(ErrorCode::invalid_argument)) << bad;
}

}  // namespace
}  // namespace sluice
