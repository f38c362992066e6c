#include "s3/errors.h"

#include <gtest/gtest.h>

#include <chrono>
#include <set>
#include <string>

#include "base/limits.h"
#include "s3/support.h"
#include "s3/xml.h"

namespace sluice::s3 {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;
using testing::Not;

std::string body(std::string_view code, std::string_view message = "words") {
  return "<?xml version=\"1.0\"?><Error><Code>" + std::string(code) + "</Code><Message>" +
         std::string(message) + "</Message><RequestId>from-body</RequestId></Error>";
}

TEST(ErrorTableTest, HasEachCodeOnceWithASaneStatusAndAMessage) {
  std::set<std::string_view> seen;
  for (const ErrorRow& row : error_table()) {
    EXPECT_TRUE(seen.insert(row.s3_code).second) << row.s3_code;
    EXPECT_GE(row.http_status, 300) << row.s3_code;
    EXPECT_LE(row.http_status, 599) << row.s3_code;
    EXPECT_FALSE(row.message.empty()) << row.s3_code;
    EXPECT_EQ(find_error(row.s3_code), &row);
  }
  EXPECT_EQ(find_error("NoSuchThing"), nullptr);
}

TEST(ErrorTableTest, KnowsTheRdmaCodesAndTheirStatuses) {
  EXPECT_EQ(find_error("InvalidRDMAToken")->http_status, 400);
  EXPECT_EQ(find_error("RDMATransferFailed")->http_status, 500);
  EXPECT_EQ(find_error("RDMANotSupported")->http_status, 501);
  EXPECT_EQ(find_error("RDMATransferFailed")->outcome, Outcome::uncertain);
  EXPECT_EQ(find_error("RDMATransferFailed")->retry, Retry::fresh_token);
  EXPECT_EQ(find_error("RDMANotSupported")->code, ErrorCode::declined);
}

TEST(ErrorTableTest, EveryRowSurvivesTheWayThroughTheWire) {
  for (const ErrorRow& row : error_table()) {
    const Error sent = make_error(row.s3_code, "because");
    EXPECT_EQ(sent.code(), row.code);
    const S3Error wire = to_s3_error(sent, "/b/k", "id-1");
    EXPECT_EQ(wire.code, row.s3_code);
    EXPECT_EQ(wire.http_status, row.http_status);
    const Error received =
        error_from_response(wire.http_status, {{"x-amz-request-id", "id-1"}}, to_xml(wire), "get s3://b/k");
    EXPECT_EQ(received.code(), row.code) << row.s3_code;
    EXPECT_EQ(received.s3().http_status, row.http_status);
    EXPECT_EQ(received.s3().request_id, "id-1");
    if (row.http_status == 304) continue;  // has no body to tell the rest
    EXPECT_EQ(received.s3().code, row.s3_code);
    EXPECT_EQ(received.outcome(), row.outcome) << row.s3_code;
    EXPECT_EQ(received.retry(), row.retry) << row.s3_code;
    EXPECT_THAT(received.describe(), HasSubstr("get s3://b/k")) << row.s3_code;
    EXPECT_THAT(received.message(), HasSubstr("because")) << row.s3_code;
  }
}

TEST(MakeErrorTest, UnknownCodesBecomeInternalErrors) {
  EXPECT_EQ(make_error("NoSuchThing").s3().code, "InternalError");
  EXPECT_EQ(make_error("NoSuchKey").message(), find_error("NoSuchKey")->message);
}

TEST(ToS3ErrorTest, KeepsOurInsideToOurselves) {
  const S3Error error =
      to_s3_error(Error(ErrorCode::io_error, "open /srv/data/b/k: permission denied"), "/b/k", "id");
  EXPECT_EQ(error.code, "InternalError");
  EXPECT_EQ(error.http_status, 500);
  EXPECT_THAT(error.message, Not(HasSubstr("/srv")));
  EXPECT_EQ(to_s3_error(Error(ErrorCode::invalid_argument, "max-keys is no number"), "/b", "id").message,
            "max-keys is no number");
}

TEST(ToS3ErrorTest, GivesEveryErrorCodeAKnownS3Code) {
  for (int value = 0; value <= static_cast<int>(ErrorCode::internal); ++value) {
    const auto code = static_cast<ErrorCode>(value);
    const S3Error error = to_s3_error(Error(code, "m"), "/b/k", "id");
    EXPECT_NE(find_error(error.code), nullptr) << to_string(code);
  }
}

TEST(ToS3ErrorTest, SaysWhenToComeBack) {
  EXPECT_EQ(to_s3_error(Error(ErrorCode::overloaded, "busy").with_retry(Retry::later, 1200ms), "/", "id")
                .headers.get("retry-after"),
            "2");
  EXPECT_EQ(to_s3_error(make_error("SlowDown"), "/", "id").headers.get("retry-after"), "1");
  EXPECT_FALSE(to_s3_error(make_error("NoSuchKey"), "/", "id").headers.has("retry-after"));
}

TEST(ToS3ErrorTest, PassesAnotherStoresCodesOn) {
  S3Detail detail;
  detail.code = "XSomethingNew";
  detail.http_status = 507;
  const S3Error error = to_s3_error(Error(ErrorCode::io_error, "full").with_s3(detail), "/b/k", "id");
  EXPECT_EQ(error.code, "XSomethingNew");
  EXPECT_EQ(error.http_status, 507);
  EXPECT_EQ(error.message, "full");
}

TEST(ToS3ErrorTest, NotModifiedHasNoBody) {
  EXPECT_EQ(to_xml(to_s3_error(make_error("NotModified"), "/", "id")), "");
}

TEST(ErrorFromResponseTest, TheCodeDecidesWhereItIsKnown) {
  const Error error = error_from_response(404, {}, body("NoSuchBucket"), "list s3://b");
  EXPECT_EQ(error.code(), ErrorCode::not_found);
  EXPECT_EQ(error.s3().code, "NoSuchBucket");
  EXPECT_EQ(error.s3().request_id, "from-body");
  EXPECT_EQ(error.outcome(), Outcome::refused);
  EXPECT_THAT(error.describe(), HasSubstr("list s3://b"));
  EXPECT_THAT(error.describe(), HasSubstr("404 NoSuchBucket: words"));
}

TEST(ErrorFromResponseTest, OtherSpellingsOfTheRdmaCodesAreUnderstood) {  // protocol.md 2.7
  EXPECT_EQ(error_from_response(500, {}, body("RdmaTransferFailed"), "x").s3().code, "RDMATransferFailed");
  EXPECT_EQ(error_from_response(500, {}, body("S3RdmaIoError"), "x").s3().code, "RDMATransferFailed");
  EXPECT_EQ(error_from_response(400, {}, body("S3InvalidRdmaToken"), "x").code(), ErrorCode::token_refused);
}

TEST(ErrorFromResponseTest, WithoutABodyTheStatusDecides) {
  const auto code_of = [](int status) { return error_from_response(status, {}, "", "head").code(); };
  EXPECT_EQ(code_of(304), ErrorCode::not_modified);
  EXPECT_EQ(code_of(301), ErrorCode::config_error);
  EXPECT_EQ(code_of(400), ErrorCode::invalid_argument);
  EXPECT_EQ(code_of(401), ErrorCode::unauthenticated);
  EXPECT_EQ(code_of(403), ErrorCode::permission_denied);
  EXPECT_EQ(code_of(404), ErrorCode::not_found);
  EXPECT_EQ(code_of(408), ErrorCode::timeout);
  EXPECT_EQ(code_of(412), ErrorCode::precondition_failed);
  EXPECT_EQ(code_of(416), ErrorCode::range_not_satisfiable);
  EXPECT_EQ(code_of(429), ErrorCode::overloaded);
  EXPECT_EQ(code_of(500), ErrorCode::io_error);
  EXPECT_EQ(code_of(501), ErrorCode::unsupported);
  EXPECT_EQ(code_of(503), ErrorCode::overloaded);
  EXPECT_EQ(code_of(200), ErrorCode::protocol_error);
  EXPECT_EQ(error_from_response(404, {}, "", "head").s3().code, "");
}

TEST(ErrorFromResponseTest, WithoutABodyThereIsStillASentenceAndACure) {  // a HEAD never has a body
  const auto said = [](int status) {
    return error_from_response(status, {}, "", "head s3://b/k").describe();
  };
  EXPECT_THAT(said(404), HasSubstr("no such bucket or object"));
  EXPECT_THAT(said(403), HasSubstr("check the key pair"));
  EXPECT_THAT(said(400), HasSubstr("check the region"));
  EXPECT_THAT(said(301), HasSubstr("check the endpoint"));
}

TEST(ErrorFromResponseTest, OnlySayRefusedWhenNothingCanHaveHappened) {
  const auto outcome = [](int status, std::string_view xml) {
    return error_from_response(status, {}, xml, "put").outcome();
  };
  EXPECT_EQ(outcome(500, ""), Outcome::uncertain);
  EXPECT_EQ(outcome(502, "<html>bad gateway</html>"), Outcome::uncertain);
  EXPECT_EQ(outcome(503, ""), Outcome::uncertain);
  EXPECT_EQ(outcome(503, body("SlowDown")), Outcome::refused);
  EXPECT_EQ(outcome(400, ""), Outcome::refused);
  EXPECT_EQ(outcome(200, body("InternalError")), Outcome::uncertain);
  EXPECT_EQ(outcome(200, body("NoSuchKey")), Outcome::uncertain);
  EXPECT_EQ(outcome(200, body("RDMANotSupported")), Outcome::refused);
}

TEST(ErrorFromResponseTest, RetryAfterIsReadAndCapped) {
  const auto after = [](const char* value) {
    return error_from_response(503, {{"retry-after", value}}, body("SlowDown"), "get").retry_after();
  };
  EXPECT_EQ(after("3"), 3s);
  EXPECT_EQ(after("999999999999"), limits::kRetryAfterCap);
  EXPECT_EQ(after("-1"), 0s);
  EXPECT_EQ(after("Thu, 01 Jan 2026 00:00:00 GMT"), 0s);
}

TEST(ErrorFromResponseTest, HostileBodiesChangeNothing) {
  for (const std::string& xml :
       {std::string("<Error><Code></Code></Error>"), std::string("<Error"), std::string("{\"code\":1}"),
        std::string("<Error/>"), std::string("\0\xff", 2), "<Error>" + std::string(200000, 'x'),
        std::string(1000, '<')}) {
    const Error error = error_from_response(404, {}, xml, "get");
    EXPECT_EQ(error.code(), ErrorCode::not_found);
    EXPECT_EQ(error.s3().code, "");
  }
  const Error long_words =
      error_from_response(404, {}, body("NoSuchKey", std::string(20000, 'm') + "\n\x1b[31m"), "get");
  EXPECT_LT(long_words.message().size(), 1000U);
  const Error controls = error_from_response(404, {}, body("NoSuchKey", "a&#10;b&#27;c"), "get");
  EXPECT_THAT(controls.message(), HasSubstr("a b c"));
}

}  // namespace
}  // namespace sluice::s3
