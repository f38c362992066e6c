#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "base/encoding.h"
#include "base/log.h"

namespace sluice::log {
namespace {

using testing::HasSubstr;
using testing::Not;

// protocol.md section 9.
const std::string kDescriptor =
    "00007f0000200000:00001000:0000beef:0000:0012ab:1:00000000000000000000ffff0a000102";
const std::string kExtended = kDescriptor + ":00007f0000200000:0000000000001000";
const std::string kOfi = "7f0000200000:1000:ofi1:tcp;ofi_rxm:0200abcd0a000102:beef00112233";
const std::string kSignature = "243aa9f01c17f45ddf4c2139fc97f600f8d7ead230f56aa4911b6b75817f1266";

std::string encode_colons(std::string text) {
  return percent_encode(text, EncodeSlash::yes);
}

TEST(RedactTest, BlanksTheAuthorizationHeaderAndLeavesWhatHelps) {
  EXPECT_EQ(
      redact("authorization: AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20260101/us-east-1/s3/aws4_request, "
             "SignedHeaders=host;x-amz-date, Signature=" +
             kSignature),
      "authorization: AWS4-HMAC-SHA256 Credential=AKID[redacted], SignedHeaders=host;x-amz-date, "
      "Signature=[redacted]");
}

TEST(RedactTest, BlanksPresignedQueries) {
  EXPECT_EQ(redact("GET "
                   "/b/"
                   "k?X-Amz-Credential=AKIDEXAMPLE%2F20260101%2Fus-east-1&X-Amz-Date=20260101T000000Z&X-Amz-"
                   "Signature=" +
                   kSignature + "&X-Amz-Security-Token=IQoJb3%2FJ+x%3D%3D HTTP/1.1"),
            "GET "
            "/b/"
            "k?X-Amz-Credential=AKID[redacted]&X-Amz-Date=20260101T000000Z&X-Amz-Signature=[redacted]&X-Amz-"
            "Security-Token="
            "[redacted] HTTP/1.1");
}

TEST(RedactTest, BlanksSecretsHoweverTheyAreSpelled) {
  for (const std::string& line : std::vector<std::string>{"x-amz-rdma-token: s3cr3t",
                                                          "X-AMZ-RDMA-TOKEN:s3cr3t",
                                                          "x-amz-rdma-token=s3cr3t",
                                                          "x-amz-rdma-token = s3cr3t",
                                                          R"({"x-amz-rdma-token":"s3cr3t"})",
                                                          R"({"x-amz-rdma-token" : "s3cr3t and s3cr3t"})",
                                                          R"({\"x-amz-rdma-token\":\"s3cr3t\"})",
                                                          "x-amz-rdma-token='s3cr3t s3cr3t'",
                                                          "x-amz-rdma-token%3Ds3cr3t",
                                                          "x-amz-rdma-token%3as3cr3t",
                                                          "x-rdma-info: s3cr3t",
                                                          "x-amz-security-token: s3cr3t",
                                                          "aws_session_token=s3cr3t",
                                                          "aws_secret_access_key=s3cr3t",
                                                          "AWS_SECRET_ACCESS_KEY: s3cr3t",
                                                          "secret-key=s3cr3t",
                                                          "secretAccessKey: s3cr3t",
                                                          "password=s3cr3t",
                                                          "signature=s3cr3t",
                                                          R"("signature":"a\"s3cr3t")",
                                                          "credential=s3cr3t/s3cr3t",
                                                          "authorization: Bearer s3cr3ts3cr3ts3cr3t",
                                                          "proxy-authorization: Basic s3cr3ts3cr3t=="}) {
    EXPECT_THAT(redact(line), Not(HasSubstr("cr3t"))) << line;
    EXPECT_THAT(redact(line), HasSubstr("[redacted]")) << line;
  }
}

TEST(RedactTest, BlanksTokensWhereverTheyStand) {
  for (const std::string& token :
       {kDescriptor, kExtended, kOfi, encode_colons(kDescriptor), encode_colons(kExtended),
        encode_colons(kOfi), std::string(88, 'a') + ":0", std::string(88, 'F')}) {
    for (const std::string before :
         {"", "token ", "token=", "(", "\"", "peer sent '", "x", "/path/", "{\"t\":\""}) {
      for (const std::string after : {"", " end", ")", "\"", "'", ",", "&x=1", "\"}"}) {
        const std::string line = before + token + after;
        const std::string blanked = redact(line);
        ASSERT_THAT(blanked, HasSubstr("[redacted]")) << line;
        ASSERT_THAT(blanked, Not(HasSubstr("beef"))) << line;
        ASSERT_THAT(blanked, Not(HasSubstr("7f00"))) << line;
        ASSERT_THAT(blanked, Not(HasSubstr("0a000102"))) << line;
        ASSERT_THAT(blanked, Not(HasSubstr("aaaaaa"))) << line;
        ASSERT_TRUE(blanked.starts_with(before)) << blanked;
        ASSERT_TRUE(blanked.ends_with(after)) << blanked;
      }
    }
  }
}

TEST(RedactTest, UpperCaseAndOddFieldWidthsAreStillDescriptors) {
  std::string upper = kDescriptor;
  for (char& c : upper) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  EXPECT_EQ(redact(upper), "[redacted]");
  EXPECT_EQ(redact(kDescriptor.substr(1)), "[redacted]");
  EXPECT_EQ(redact("0" + kDescriptor), "[redacted]");
}

TEST(RedactTest, LeavesOrdinaryLinesAlone) {
  for (const std::string& line : std::vector<std::string>{"",
                                                          "SignatureDoesNotMatch",
                                                          "the signature does not match",
                                                          "x-amz-rdma-token is missing",
                                                          "bad credential",
                                                          "a basic error",
                                                          "bearer of bad news",
                                                          "crc64nvme:ae8b14860a799888",
                                                          "sha256 " + kSignature,
                                                          "etag \"" + kSignature + "\"",
                                                          "[2001:0db8:85a3:0000:0000:8a2e:0370:7334]:9000",
                                                          "http://10.0.0.5:9000/b/k",
                                                          "2026-01-01T00:00:00.000Z",
                                                          "ofi1",
                                                          "fabric ofi1:tcp",
                                                          "signedheaders=host",
                                                          "X-Amz-Date=20260101T000000Z",
                                                          "token_refused",
                                                          "password",
                                                          "credential:",
                                                          "signature=",
                                                          "tokens=5"})
    EXPECT_EQ(redact(line), line);
}

TEST(RedactTest, DoingItTwiceChangesNothing) {
  std::mt19937_64 random(1);
  const std::vector<std::string> pieces = {"signature", "Credential", "x-amz-rdma-token",
                                           "=",         ":",          " ",
                                           "\"",        "\\\"",       "'",
                                           ",",         "&",          ";",
                                           "%3A",       "%3d",        "ab",
                                           kOfi,        kDescriptor,  "x",
                                           "\\",        "Bearer ",    "}",
                                           "/",         "ofi1",       "[redacted]",
                                           "12345678",  "{",          "password"};
  for (int round = 0; round < 20000; ++round) {
    std::string line;
    for (std::uint64_t i = random() % 12; i > 0; --i) line += pieces[random() % pieces.size()];
    const std::string once = redact(line);
    ASSERT_EQ(redact(once), once) << line;
  }
}

TEST(RedactTest, NamesOfSecretFieldsAreKnown) {
  EXPECT_TRUE(is_secret_name("x-amz-rdma-token"));
  EXPECT_TRUE(is_secret_name("X-Amz-Signature"));
  EXPECT_TRUE(is_secret_name("aws_secret_access_key"));
  EXPECT_FALSE(is_secret_name("token_count"));
  EXPECT_FALSE(is_secret_name("key"));
  EXPECT_FALSE(is_secret_name(""));
}

}  // namespace
}  // namespace sluice::log
