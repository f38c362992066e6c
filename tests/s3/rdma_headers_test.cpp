#include "s3/rdma_headers.h"

#include <gtest/gtest.h>
// rapidcheck wants gtest first
#include <rapidcheck/gtest.h>

#include <string>
#include <vector>

#include "base/limits.h"
#include "s3/support.h"

namespace sluice::s3 {

inline void PrintTo(const RdmaReply& reply, std::ostream* out) {
  *out << "kind " << static_cast<int>(reply.kind) << " code " << reply.code;
}

namespace {

using std::optional;
using std::string;
using std::string_view;

RdmaReply reply(string_view text) {
  return parse_rdma_reply(optional(text));
}
ByteCount count(string_view text) {
  return parse_byte_count(optional(text));
}

// --- parsers
// ----------------------------------------------------------------------------------------------------------

TEST(RdmaReplyTest, MatchesTheProtocolPagesVectors) {  // protocol.md section 9
  EXPECT_EQ(reply("200"), (RdmaReply{ReplyKind::success, 200}));
  EXPECT_EQ(reply(" 206 "), (RdmaReply{ReplyKind::success, 206}));
  EXPECT_EQ(reply("501"), (RdmaReply{ReplyKind::declined, 501}));
  EXPECT_EQ(reply("200:" + string(88, 'a')), (RdmaReply{ReplyKind::success, 200}));
  EXPECT_EQ(reply("ok"), (RdmaReply{ReplyKind::success, 200}));
  for (const char* failure : {"err-17", "200xyz", "-2", "0", "99", "600"}) {
    EXPECT_EQ(reply(failure).kind, ReplyKind::failure) << failure;
  }
  EXPECT_EQ(reply("").kind, ReplyKind::absent);
  EXPECT_EQ(parse_rdma_reply(optional<string_view>{}).kind, ReplyKind::absent);
}

TEST(RdmaReplyTest, ReadsTheNastyListStrictly) {
  EXPECT_EQ(reply("204"), (RdmaReply{ReplyKind::success, 204}));
  EXPECT_EQ(reply("200 ").kind, ReplyKind::success);
  EXPECT_EQ(reply("\t200").kind, ReplyKind::success);
  EXPECT_EQ(reply(" ").kind, ReplyKind::absent);
  for (const char* failure :
       {"+200", "0x200", "2OO", "20", "2000", "200 206", "200,200", "\xd9\xa2\xd9\xa0\xd9\xa0", ":200", "err",
        "OK", "201", "302", "400", "416", "500", "503"}) {
    EXPECT_EQ(reply(failure).kind, ReplyKind::failure) << failure;
  }
  EXPECT_EQ(reply("416").code, 416);
  EXPECT_EQ(reply("err").code, 0);
  EXPECT_EQ(reply("501:" + string(88, '0')).kind, ReplyKind::declined);
}

TEST(RdmaReplyTest, TwiceIsAFailureEvenIfEqual) {
  EXPECT_EQ(parse_rdma_reply(HeaderList{{"x-amz-rdma-reply", "200"}, {"X-Amz-Rdma-Reply", "200"}}).kind,
            ReplyKind::failure);
  EXPECT_EQ(parse_rdma_reply(HeaderList{}).kind, ReplyKind::absent);
}

TEST(ByteCountTest, MatchesTheProtocolPagesVectors) {  // protocol.md section 9
  EXPECT_EQ(count("4096").moved, 4096U);
  EXPECT_EQ(count("4096/8192").moved, 4096U);
  EXPECT_EQ(count("4096/8192").total, 8192U);
  for (const char* invalid : {"-1", "4096x", "12345678901234567890", "", "1e3", "18446744073709551616", "/5",
                              "5/", "5/x", "5/6/7", "+1", "0x10", "1 2"}) {
    EXPECT_EQ(count(invalid).state, ByteCountState::invalid) << invalid;
  }
  EXPECT_EQ(count(" 7 ").moved, 7U);
  EXPECT_EQ(count("9999999999999999999").state, ByteCountState::valid);
}

TEST(ByteCountTest, ReadsBothSpellingsAndRefusesContradictions) {
  EXPECT_EQ(parse_byte_count(HeaderList{}).state, ByteCountState::absent);
  EXPECT_EQ(parse_byte_count(HeaderList{{"x-amz-rdma-bytes", "5"}}).moved, 5U);
  EXPECT_EQ(
      parse_byte_count(HeaderList{{"x-amz-rdma-bytes", "5"}, {"x-amz-rdma-bytes-transferred", "5"}}).moved,
      5U);
  EXPECT_EQ(
      parse_byte_count(HeaderList{{"x-amz-rdma-bytes", "5"}, {"x-amz-rdma-bytes-transferred", "6"}}).state,
      ByteCountState::invalid);
  EXPECT_EQ(parse_byte_count(
                HeaderList{{"x-amz-rdma-bytes-transferred", "5"}, {"x-amz-rdma-bytes-transferred", "x"}})
                .state,
            ByteCountState::invalid);
}

// --- judging a response
// -----------------------------------------------------------------------------------------------

// What a client that asked for bytes [first, first + bytes) gets to see.
RdmaExpectation get_range(std::uint64_t first, std::uint64_t bytes, optional<std::uint64_t> object = {}) {
  return {RdmaOperation::get, true, first, bytes, object};
}
const RdmaExpectation kPut{RdmaOperation::put, false, 0, 4096, {}};

HeaderList success(const char* code, const char* bytes, const char* content_range = nullptr) {
  HeaderList headers{{"content-length", "0"}, {"x-amz-rdma-reply", code}};
  if (bytes != nullptr) headers.add("x-amz-rdma-bytes-transferred", bytes);
  if (content_range != nullptr) headers.add("content-range", content_range);
  return headers;
}

RdmaVerdict judge(int status, const HeaderList& headers, const RdmaExpectation& expected,
                  const RdmaDialect& dialect = {}) {
  return classify_rdma_response(status, headers, expected, dialect).verdict;
}

TEST(RdmaClassifyTest, GetSuccessNeedsOneOfTheAcceptedPairs) {  // protocol.md 2.3
  const auto expected = get_range(0, 4096);
  for (const int status : {200, 201, 202, 204, 206, 299}) {
    for (const char* code : {"200", "204", "206"}) {
      const bool right = (status == 200 && string_view(code) == "200") ||
                         (status == 206 && (string_view(code) == "206" || string_view(code) == "200"));
      EXPECT_EQ(judge(status, success(code, "4096"), expected),
                right ? RdmaVerdict::delivered : RdmaVerdict::failed)
          << status << " " << code;
    }
  }
}

TEST(RdmaClassifyTest, PutSuccessNeedsOneOfTheAcceptedPairs) {
  for (const int status : {200, 201, 204, 206}) {
    for (const char* code : {"200", "204", "206"}) {
      const bool right =
          (status == 200 && string_view(code) != "206") || (status == 204 && string_view(code) == "204");
      EXPECT_EQ(judge(status, success(code, "4096"), kPut),
                right ? RdmaVerdict::delivered : RdmaVerdict::failed)
          << status << " " << code;
    }
  }
}

TEST(RdmaClassifyTest, GetCountsMustBeRight) {
  const auto expected = get_range(100, 50);
  EXPECT_EQ(classify_rdma_response(206, success("206", "50", "bytes 100-149/1000"), expected).moved, 50U);
  EXPECT_EQ(classify_rdma_response(206, success("206", "50", "bytes 100-149/1000"), expected).object_bytes,
            1000U);
  EXPECT_EQ(judge(206, success("206", "50/50"), expected), RdmaVerdict::delivered);
  for (const char* wrong : {"0", "49", "51", "-1", "1e3", "18446744073709551616", ""}) {
    EXPECT_EQ(judge(206, success("206", wrong, "bytes 100-149/1000"), expected), RdmaVerdict::failed)
        << wrong;
  }
}

TEST(RdmaClassifyTest, TheTailOfAnObjectMayBeShort) {
  const auto expected = get_range(100, 50);
  EXPECT_EQ(classify_rdma_response(206, success("206", "20", "bytes 100-119/120"), expected).moved, 20U);
  EXPECT_EQ(judge(206, success("206", "20"), get_range(100, 50, 120)), RdmaVerdict::delivered);
  EXPECT_EQ(judge(206, success("206", "20"), expected), RdmaVerdict::failed)
      << "nothing proves that the object ends there";
  EXPECT_EQ(judge(206, success("206", "50", "bytes 100-119/120"), expected), RdmaVerdict::failed);
  EXPECT_EQ(judge(206, success("206", "20", "bytes 100-119/1000"), expected), RdmaVerdict::failed);
  EXPECT_EQ(judge(206, success("206", "19", "bytes 100-118/120"), expected), RdmaVerdict::failed);
}

TEST(RdmaClassifyTest, BytesFromElsewhereAreNotADelivery) {
  EXPECT_EQ(judge(206, success("206", "50", "bytes 0-49/1000"), get_range(100, 50)), RdmaVerdict::failed);
  EXPECT_EQ(judge(206, success("206", "50", "bytes 100-149"), get_range(100, 50)), RdmaVerdict::failed);
  EXPECT_EQ(judge(206, success("206", "50", "bytes */1000"), get_range(100, 50)), RdmaVerdict::failed);
  EXPECT_EQ(judge(200, success("200", "50"), get_range(100, 50)), RdmaVerdict::failed)
      << "the range was ignored";
  EXPECT_EQ(judge(200, success("200", "50"), get_range(0, 50)), RdmaVerdict::delivered);
  RdmaExpectation unranged = get_range(0, 50);
  unranged.ranged = false;
  EXPECT_EQ(judge(206, success("206", "50"), unranged), RdmaVerdict::failed);
  EXPECT_EQ(judge(206, success("206", "50", "bytes 0-49/50"), unranged), RdmaVerdict::delivered);
}

TEST(RdmaClassifyTest, AMissingCountIsForProfilesThatSaySo) {
  RdmaDialect lenient;
  lenient.byte_count_required_on_get = false;
  const auto expected = get_range(100, 50);
  EXPECT_EQ(judge(206, success("206", nullptr), expected), RdmaVerdict::failed);
  EXPECT_EQ(
      classify_rdma_response(206, success("206", nullptr, "bytes 100-149/1000"), expected, lenient).moved,
      50U);
  EXPECT_EQ(judge(206, success("206", nullptr, "bytes 100-120/1000"), expected, lenient),
            RdmaVerdict::failed);
  EXPECT_EQ(judge(200, success("200", nullptr), kPut), RdmaVerdict::delivered);
  RdmaDialect strict;
  strict.byte_count_required_on_put = true;
  EXPECT_EQ(judge(200, success("200", nullptr), kPut, strict), RdmaVerdict::failed);
}

TEST(RdmaClassifyTest, PutCountsMustBeRightWhereTheyAreGiven) {
  EXPECT_EQ(classify_rdma_response(200, success("200", "4096"), kPut).moved, 4096U);
  for (const char* wrong : {"0", "4095", "4097", "x"})
    EXPECT_EQ(judge(200, success("200", wrong), kPut), RdmaVerdict::failed) << wrong;
}

TEST(RdmaClassifyTest, ASuccessHasNoBodyToSpeakOf) {  // protocol.md 7.31
  const auto expected = get_range(0, 4096);
  HeaderList headers = success("200", "4096");
  headers.set("content-length", "3");
  EXPECT_EQ(judge(200, headers, expected), RdmaVerdict::delivered);
  headers.set("content-length", std::to_string(limits::kRdmaReplyBodyBytes + 1));
  EXPECT_EQ(judge(200, headers, expected), RdmaVerdict::failed);
  headers.remove("content-length");
  EXPECT_EQ(judge(200, headers, expected), RdmaVerdict::failed);
  headers.set("content-length", "x");
  EXPECT_EQ(judge(200, headers, expected), RdmaVerdict::failed);
}

TEST(RdmaClassifyTest, ADeclinedGetsBodyIsTheDataOnlyIfItsLengthIsRight) {  // protocol.md 7.12
  const HeaderList range{
      {"content-length", "50"}, {"x-amz-rdma-reply", "501"}, {"content-range", "bytes 100-149/1000"}};
  const auto taken = classify_rdma_response(206, range, get_range(100, 50));
  EXPECT_EQ(taken.verdict, RdmaVerdict::declined_with_body);
  EXPECT_TRUE(taken.body_is_data);
  EXPECT_EQ(taken.body_bytes, 50U);
  EXPECT_EQ(judge(206, range, get_range(100, 40)), RdmaVerdict::declined_no_body);
  EXPECT_EQ(judge(206, range, get_range(90, 50)), RdmaVerdict::declined_no_body);
  HeaderList tail = range;
  tail.set("content-range", "bytes 100-149/150");
  EXPECT_EQ(classify_rdma_response(206, tail, get_range(100, 80)).body_bytes, 50U);
  const HeaderList whole{{"content-length", "50"}, {"x-amz-rdma-reply", "501"}};
  EXPECT_EQ(judge(200, whole, get_range(0, 50)), RdmaVerdict::declined_with_body);
  EXPECT_EQ(judge(200, whole, get_range(1, 50)), RdmaVerdict::declined_no_body);
  EXPECT_EQ(judge(200, {{"content-length", "200"}, {"x-amz-rdma-reply", "501"}}, get_range(0, 50)),
            RdmaVerdict::declined_no_body);
  EXPECT_EQ(judge(200, {{"x-amz-rdma-reply", "501"}}, get_range(0, 50)), RdmaVerdict::declined_no_body);
}

TEST(RdmaClassifyTest, A501InAnyGuiseIsADeclineWithoutData) {
  for (const auto& expected : {get_range(0, 50), kPut}) {
    EXPECT_EQ(judge(501, {{"content-length", "50"}}, expected), RdmaVerdict::declined_no_body);
    EXPECT_EQ(judge(501, {{"x-amz-rdma-reply", "501"}}, expected), RdmaVerdict::declined_no_body);
    EXPECT_EQ(judge(503, {{"x-amz-rdma-reply", "501"}}, expected), RdmaVerdict::declined_no_body);
  }
  EXPECT_EQ(judge(200, {{"x-amz-rdma-reply", "501"}, {"content-length", "4096"}}, kPut),
            RdmaVerdict::declined_no_body);
}

TEST(RdmaClassifyTest, ATokenBlindServerIsNeverASuccess) {  // design rule 6
  const auto got =
      classify_rdma_response(200, {{"content-length", "50"}, {"etag", "\"x\""}}, get_range(0, 50));
  EXPECT_EQ(got.verdict, RdmaVerdict::not_rdma);
  EXPECT_TRUE(got.body_is_data);
  const auto put = classify_rdma_response(200, {{"content-length", "0"}, {"etag", "\"x\""}}, kPut);
  EXPECT_EQ(put.verdict, RdmaVerdict::not_rdma);
  EXPECT_FALSE(put.body_is_data);
  EXPECT_FALSE(classify_rdma_response(200, {{"content-length", "0"}}, get_range(0, 50)).body_is_data);
}

TEST(RdmaClassifyTest, OrdinaryErrorsAreS3sBusiness) {
  for (const int status : {301, 304, 400, 403, 404, 412, 416, 500, 503}) {
    EXPECT_EQ(judge(status, {}, get_range(0, 50)), RdmaVerdict::s3_error) << status;
    EXPECT_EQ(judge(status, {{"x-amz-rdma-reply", std::to_string(status)}}, kPut), RdmaVerdict::s3_error)
        << status;
  }
}

TEST(RdmaClassifyTest, ContradictionsAreFailures) {
  EXPECT_EQ(judge(500, success("200", "50"), get_range(0, 50)), RdmaVerdict::failed);
  EXPECT_EQ(judge(404, success("206", "50"), get_range(0, 50)), RdmaVerdict::failed);
  EXPECT_EQ(judge(200, success("500", "50"), get_range(0, 50)), RdmaVerdict::failed);
  EXPECT_EQ(judge(200, success("err-5", "50"), get_range(0, 50)), RdmaVerdict::failed);
  EXPECT_EQ(judge(200, success("416", "0"), kPut), RdmaVerdict::failed);
}

RC_GTEST_PROP(RdmaClassifyPropertyTest, DeliveredNeverMeansMoreThanTheWindow, ()) {
  const auto first = *rc::gen::inRange<std::uint64_t>(0, 200);
  const auto bytes = *rc::gen::inRange<std::uint64_t>(1, 200);
  RdmaExpectation expected = get_range(first, bytes);
  if (*rc::gen::arbitrary<bool>()) expected.object_bytes = *rc::gen::inRange<std::uint64_t>(0, 400);
  const auto status = *rc::gen::element(200, 204, 206, 404, 501);
  HeaderList headers{{"content-length", "0"}};
  headers.add("x-amz-rdma-reply", *rc::gen::element<string>("200", "204", "206", "501", "ok", "x"));
  headers.add("x-amz-rdma-bytes-transferred", std::to_string(*rc::gen::inRange<std::uint64_t>(0, 400)));
  if (*rc::gen::arbitrary<bool>()) {
    const auto from = *rc::gen::inRange(0, 200);
    headers.add("content-range", "bytes " + std::to_string(from) + "-" +
                                     std::to_string(from + *rc::gen::inRange(0, 200)) + "/" +
                                     std::to_string(*rc::gen::inRange(0, 600)));
  }
  const auto out = classify_rdma_response(status, headers, expected);
  if (out.verdict == RdmaVerdict::delivered) RC_ASSERT(out.moved <= bytes);
  if (out.body_is_data) RC_ASSERT(out.body_bytes <= bytes);
  RC_ASSERT((out.verdict == RdmaVerdict::declined_with_body) <= out.body_is_data);
}

// --- both ends
// --------------------------------------------------------------------------------------------------------

TEST(RdmaRequestTest, RemovesWhatMustNotTravelWithAToken) {  // protocol.md 2.1
  HeaderList headers{{"host", "h"},
                     {"content-md5", "x"},
                     {"transfer-encoding", "chunked"},
                     {"content-encoding", "gzip, aws-chunked"},
                     {"x-amz-decoded-content-length", "5"},
                     {"x-amz-trailer", "x-amz-checksum-crc32"},
                     {"x-amz-content-sha256", "STREAMING-UNSIGNED-PAYLOAD-TRAILER"},
                     {"content-length", "4096"}};
  add_rdma_request(headers, RdmaOperation::put, kDescriptor);
  const HeaderList want{{"host", "h"},
                        {"content-encoding", "gzip"},
                        {"x-amz-content-sha256", "UNSIGNED-PAYLOAD"},
                        {"content-length", "0"},
                        {"x-amz-rdma-token", kDescriptor}};
  EXPECT_EQ(headers, want);
}

TEST(RdmaRequestTest, AGetHasNoContentLengthAndAnotherDialectAnotherName) {
  HeaderList headers{{"content-length", "0"}, {"content-encoding", "aws-chunked"}};
  RdmaDialect dell;
  dell.token_header = "x-rdma-info";
  add_rdma_request(headers, RdmaOperation::get, kDescriptor, dell);
  EXPECT_FALSE(headers.has("content-length"));
  EXPECT_FALSE(headers.has("content-encoding"));
  EXPECT_EQ(headers.get("x-rdma-info"), kDescriptor);
}

TEST(RdmaServerTest, TakesTheTokenTrimmedAndOnce) {
  EXPECT_EQ(*rdma_request_token({}), std::nullopt);
  EXPECT_EQ(**rdma_request_token({{"x-amz-rdma-token", " " + string(kDescriptor) + "; "}}), kDescriptor);
  EXPECT_THAT(rdma_request_token({{"x-amz-rdma-token", "a"}, {"x-amz-rdma-token", "a"}}),
              FailsWith("InvalidRDMAToken"));
  EXPECT_THAT(rdma_request_token({{"x-amz-rdma-token", " ; "}}), FailsWith("InvalidRDMAToken"));
  EXPECT_THAT(rdma_request_token({{"x-amz-rdma-token", string(1024, 'a')}}), test::IsOk());
  const auto refused = rdma_request_token({{"x-amz-rdma-token", string(1025, 'a')}});
  EXPECT_THAT(refused, FailsWith("InvalidRDMAToken"));
  EXPECT_THAT(refused.error().describe(), testing::Not(testing::HasSubstr("aaaa")));
}

TEST(RdmaServerTest, WhatTheServerWritesTheClientAccepts) {
  HeaderList ranged{{"content-length", "0"}, {"content-range", "bytes 100-149/1000"}};
  add_rdma_success(ranged, 206, 50);
  EXPECT_EQ(ranged.get("x-amz-rdma-reply"), "206");
  EXPECT_EQ(judge(206, ranged, get_range(100, 50)), RdmaVerdict::delivered);
  HeaderList put{{"content-length", "0"}};
  add_rdma_success(put, 200, 4096);
  EXPECT_EQ(put.get("x-amz-rdma-reply"), "200");
  EXPECT_EQ(judge(200, put, kPut), RdmaVerdict::delivered);
  add_rdma_declined(put);
  EXPECT_FALSE(put.has("x-amz-rdma-bytes-transferred"));
  EXPECT_EQ(judge(200, put, kPut), RdmaVerdict::declined_no_body);
}

TEST(RdmaChecksumTest, AreAskedForAndAnswered) {
  HeaderList request;
  EXPECT_EQ(*requested_rdma_checksum(request), std::nullopt);
  request_rdma_checksum(request, RdmaChecksumAlgorithm::crc64nvme);
  EXPECT_EQ(request.get("x-amz-rdma-checksum-algorithm"), "CRC64NVME");
  EXPECT_EQ(*requested_rdma_checksum(request), RdmaChecksumAlgorithm::crc64nvme);
  EXPECT_EQ(*requested_rdma_checksum({{"x-amz-rdma-checksum-algorithm", "crc32c"}}),
            RdmaChecksumAlgorithm::crc32c);
  EXPECT_THAT(requested_rdma_checksum({{"x-amz-rdma-checksum-algorithm", "MD5"}}),
              FailsWith("InvalidArgument"));
  request.add("x-amz-rdma-checksum-algorithm", "CRC64NVME");
  EXPECT_THAT(requested_rdma_checksum(request), FailsWith("InvalidArgument"));

  HeaderList response;
  EXPECT_EQ(*rdma_checksum(response, RdmaChecksumAlgorithm::crc64nvme), std::nullopt);
  add_rdma_checksum(response, RdmaChecksumAlgorithm::crc64nvme, 0xae8b14860a799888);
  EXPECT_EQ(response.get("x-amz-rdma-checksum"), "rosUhgp5mIg=");
  EXPECT_EQ(*rdma_checksum(response, RdmaChecksumAlgorithm::crc64nvme), 0xae8b14860a799888);
  EXPECT_THAT(rdma_checksum(response, RdmaChecksumAlgorithm::crc32c),
              test::Fails(ErrorCode::protocol_error, "another algorithm"));
  response.set("x-amz-rdma-checksum", "AAAA");
  EXPECT_THAT(rdma_checksum(response, RdmaChecksumAlgorithm::crc64nvme),
              test::Fails(ErrorCode::protocol_error));
  response.add("x-amz-rdma-checksum", "AAAA");
  EXPECT_THAT(rdma_checksum(response, RdmaChecksumAlgorithm::crc64nvme),
              test::Fails(ErrorCode::protocol_error, "twice"));
}

TEST(RdmaChecksumTest, Crc64nvmeIsSpelledBigEndian) {  // protocol.md section 9
  EXPECT_EQ(format_crc64nvme(0xae8b14860a799888), "rosUhgp5mIg=");
  EXPECT_EQ(format_crc64nvme(0), "AAAAAAAAAAA=");
  EXPECT_THAT(parse_crc64nvme("7tlux5HxQMs="), test::IsOkAndHolds(0xeed96ec791f140cbULL));
  for (const char* bad :
       {"", "7tlux5HxQMs", "7tlux5HxQMs==", "AAAA", "AAAAAAAAAAAA", "!tlux5HxQMs=", "eed96ec791f140cb"}) {
    EXPECT_THAT(parse_crc64nvme(bad), FailsWith("InvalidRequest")) << bad;
  }
}

}  // namespace
}  // namespace sluice::s3
