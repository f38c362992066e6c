#include "http/head.h"

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "fixtures/matchers.h"

namespace sluice::http {
namespace {

using sluice::test::Fails;
using sluice::test::IsOk;

constexpr std::string_view kGet =
    "GET /bucket/a%2Fb?list-type=2&x HTTP/1.1\r\nHost: localhost:9000\r\nX-Amz-Meta-Name: \xc3\xa4 "
    "b\r\nempty:\r\n\r\n";

/// Scans and parses as the server does. The status of the refusal, 0 for an accepted head, -1 for an
/// unfinished one.
int judge(std::string_view text, HeadLimits head_limits = {}) {
  HeadScanner scanner(head_limits);
  switch (scanner.scan(text)) {
    case HeadScanner::State::more:
      return -1;
    case HeadScanner::State::refused:
      return scanner.fault().status;
    case HeadScanner::State::complete:
      break;
  }
  const auto parsed =
      parse_request_head(text.substr(scanner.begin(), scanner.end() - scanner.begin()), head_limits);
  return parsed ? 0 : parsed.error().status;
}

std::string get(std::string_view fields) {
  return "GET /k HTTP/1.1\r\nHost: h\r\n" + std::string(fields) + "\r\n";
}
std::string line(std::string_view first) {
  return std::string(first) + "\r\nHost: h\r\n\r\n";
}

TEST(HeadScannerTest, FindsTheEndHoweverTheBytesTrickleIn) {
  const std::string wire = std::string(kGet) + "body";
  for (std::size_t step = 1; step <= wire.size(); ++step) {
    HeadScanner scanner;
    HeadScanner::State state = HeadScanner::State::more;
    std::size_t given = 0;
    while (state == HeadScanner::State::more && given < wire.size()) {
      given = std::min(given + step, wire.size());
      state = scanner.scan(std::string_view(wire).substr(0, given));
    }
    ASSERT_EQ(state, HeadScanner::State::complete) << step;
    ASSERT_EQ(scanner.end(), kGet.size());
  }
}

TEST(HeadScannerTest, OneEmptyLineBeforeARequestIsForgivenTwoAreNot) {
  EXPECT_EQ(judge("\r\n" + get("")), 0);
  EXPECT_EQ(judge("\r\n\r\n" + get("")), 400);
}

TEST(RequestHeadTest, KeepsTargetAndFieldsAsTheyCame) {
  const auto parsed = parse_request_head(kGet);
  ASSERT_TRUE(parsed.has_value());
  EXPECT_EQ(parsed->head.method, "GET");
  EXPECT_EQ(parsed->head.target, "/bucket/a%2Fb?list-type=2&x");
  EXPECT_EQ(parsed->head.headers.get("x-amz-meta-name"), "\xc3\xa4 b");
  EXPECT_TRUE(parsed->head.headers.has("empty"));
  EXPECT_EQ(parsed->head.headers.begin()->name, "host");
  EXPECT_TRUE(parsed->keep_alive);
  EXPECT_EQ(parsed->framing.kind, BodyFraming::Kind::none);
  EXPECT_FALSE(parsed->content_length.has_value());
}

TEST(RequestHeadTest, FramingFollowsLengthAndCoding) {
  const auto length = parse_request_head(get("Content-Length: 17\r\n"));
  ASSERT_TRUE(length.has_value());
  EXPECT_EQ(length->framing.kind, BodyFraming::Kind::length);
  EXPECT_EQ(length->framing.length, 17U);
  const auto zero = parse_request_head(get("Content-Length: 0\r\n"));
  ASSERT_TRUE(zero.has_value());
  EXPECT_EQ(zero->framing.kind, BodyFraming::Kind::none);
  EXPECT_EQ(zero->content_length, 0U);
  const auto chunked = parse_request_head(get("Transfer-Encoding: Chunked\r\n"));
  ASSERT_TRUE(chunked.has_value());
  EXPECT_EQ(chunked->framing.kind, BodyFraming::Kind::chunked);
}

TEST(RequestHeadTest, KeepAliveFollowsVersionAndConnection) {
  const auto keep = [](std::string text) { return parse_request_head(text)->keep_alive; };
  EXPECT_TRUE(keep(get("")));
  EXPECT_FALSE(keep(get("Connection: close\r\n")));
  EXPECT_FALSE(keep(get("Connection: x, Close\r\n")));
  EXPECT_FALSE(keep("GET / HTTP/1.0\r\n\r\n"));
  EXPECT_TRUE(keep("GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n"));
}

TEST(RequestHeadTest, SmugglingShapesAreRefused) {
  for (const std::string_view fields : {"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n",
                                        "Transfer-Encoding: chunked\r\nContent-Length: 5\r\n",
                                        "Content-Length: 5\r\nContent-Length: 6\r\n",
                                        "Content-Length: 5\r\nContent-Length: 5\r\n",
                                        "Content-Length: 5, 5\r\n",
                                        "Content-Length: +5\r\n",
                                        "Content-Length: -5\r\n",
                                        "Content-Length: 0x5\r\n",
                                        "Content-Length: 5 5\r\n",
                                        "Content-Length:\r\n",
                                        "Content-Length: 9223372036854775808\r\n",
                                        "Content-Length: 18446744073709551621\r\n",
                                        "Content-Length : 5\r\n",
                                        "Transfer-Encoding : chunked\r\n",
                                        "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n",
                                        "X: a\r\n folded\r\n",
                                        "X: a\r\n\tfolded\r\n",
                                        "X: a\nContent-Length: 5\r\n",
                                        "X: a\rContent-Length: 5\r\n",
                                        "X: a\x01\r\n",
                                        "X: a\x7f\r\n",
                                        ": no name\r\n",
                                        "no colon\r\n",
                                        "bad name: x\r\n",
                                        "Host: other\r\n",
                                        "b\xc3\xa4: x\r\n"}) {
    EXPECT_EQ(judge(get(fields)), 400) << fields;
  }
  EXPECT_EQ(judge(get(std::string_view("X: a\0b\r\n", 8))), 400);
}

TEST(RequestHeadTest, OtherCodingsAndExpectationsAreNotImplemented) {
  EXPECT_EQ(judge(get("Transfer-Encoding: gzip, chunked\r\n")), 501);
  EXPECT_EQ(judge(get("Transfer-Encoding: identity\r\n")), 501);
  EXPECT_EQ(judge(get("Transfer-Encoding: chunked, chunked\r\n")), 501);
  EXPECT_EQ(judge(get("Expect: a-miracle\r\n")), 417);
}

TEST(RequestHeadTest, OddRequestLinesAreRefused) {
  for (const std::string_view first : {"GET http://h/k HTTP/1.1",
                                       "GET h:80 HTTP/1.1",
                                       "CONNECT h:80 HTTP/1.1",
                                       "OPTIONS * HTTP/1.1",
                                       "GET k HTTP/1.1",
                                       "GET  /k HTTP/1.1",
                                       "GET /k  HTTP/1.1",
                                       "GET /k HTTP/1.1 ",
                                       "GET /a b HTTP/1.1",
                                       "GET /k",
                                       "GET",
                                       "GET /k HTTP",
                                       "GET /k\xc3\xa4 HTTP/1.1",
                                       "GET /k\x01 HTTP/1.1",
                                       "GET /k\x7f HTTP/1.1",
                                       "GET /k#f HTTP/1.1",
                                       " GET /k HTTP/1.1",
                                       "G(T /k HTTP/1.1",
                                       "GET /k http/1.1",
                                       "GET\t/k\tHTTP/1.1"}) {
    EXPECT_EQ(judge(line(first)), 400) << first;
  }
  EXPECT_EQ(judge("GET /k HTTP/1.1\nHost: h\n\n"), 400);
  EXPECT_EQ(judge("\x16\x03\x01\x02"), 400);
}

TEST(RequestHeadTest, OtherVersionsAreRefused) {
  EXPECT_EQ(judge("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"), 505);
  EXPECT_EQ(judge(line("GET /k HTTP/2")), 505);
  EXPECT_EQ(judge(line("GET /k HTTP/1.2")), 505);
  EXPECT_EQ(judge(line("GET /k HTTP/0.9")), 505);
}

TEST(RequestHeadTest, HostIsNeededOnce) {
  EXPECT_EQ(judge("GET / HTTP/1.1\r\n\r\n"), 400);
  EXPECT_EQ(judge("GET / HTTP/1.0\r\n\r\n"), 0);
  EXPECT_EQ(judge("GET / HTTP/1.1\r\nHost: a b\r\n\r\n"), 400);
  EXPECT_EQ(judge("GET / HTTP/1.1\r\nHost: user@h\r\n\r\n"), 400);
  EXPECT_EQ(judge("GET / HTTP/1.1\r\nHost: [::1]:9000\r\n\r\n"), 0);
}

TEST(RequestHeadTest, SizesAreLimited) {
  const HeadLimits small{.bytes = 1000, .target_bytes = 100, .fields = 3};
  EXPECT_EQ(judge("GET /" + std::string(300, 'a'), small), 414);
  EXPECT_EQ(judge(line("GET /" + std::string(120, 'a') + " HTTP/1.1"), small), 414);
  EXPECT_EQ(judge(get("X: " + std::string(1100, 'x') + "\r\n"), small), 431);
  EXPECT_EQ(judge("GET / HTTP/1.1\r\nX: " + std::string(1100, 'x'), small), 431);
  EXPECT_EQ(judge(get("a: 1\r\nb: 2\r\n"), small), 0);
  EXPECT_EQ(judge(get("a: 1\r\nb: 2\r\nc: 3\r\n"), small), 431);
  EXPECT_EQ(judge("GET /", small), -1);
}

TEST(RequestHeadTest, MutatedHeadsAreRefusedOrWellFramed) {
  std::mt19937 random(20261201);
  const std::string valid =
      "PUT /bucket/key HTTP/1.1\r\nHost: h\r\nContent-Length: 12\r\nExpect: 100-continue\r\n\r\n";
  int accepted = 0;
  for (int round = 0; round < 30000; ++round) {
    std::string text = valid;
    for (unsigned change = random() % 4; change > 0; --change) {
      const std::size_t at = random() % text.size();
      switch (random() % 3) {
        case 0:
          text[at] = static_cast<char>(random());
          break;
        case 1:
          text.erase(at, 1);
          break;
        default:
          text.insert(at, 1, "\r\n :/+,5"[random() % 8]);
      }
    }
    HeadScanner scanner;
    if (scanner.scan(text) != HeadScanner::State::complete) continue;
    const std::string_view head =
        std::string_view(text).substr(scanner.begin(), scanner.end() - scanner.begin());
    const auto parsed = parse_request_head(head);
    if (!parsed) continue;
    ++accepted;
    ASSERT_EQ(parsed->head.target.front(), '/');
    ASSERT_LE(parsed->head.headers.count("content-length"), 1U);
    ASSERT_EQ(parsed->head.headers.count("host") == 1 || parsed->http10, true);
    for (const auto& field : parsed->head.headers) {
      ASSERT_TRUE(is_header_name(field.name));
      ASSERT_TRUE(is_header_value(field.value));
    }
    // What was accepted can be written and means the same again.
    const auto again = write_request_head(parsed->head);
    ASSERT_THAT(again, IsOk());
    if (!parsed->http10) {
      ASSERT_EQ(parse_request_head(*again)->framing.length, parsed->framing.length);
    }
  }
  EXPECT_GT(accepted, 1000);
}

TEST(ResponseHeadTest, BodyFramingFollowsStatusMethodAndFields) {
  const auto kind = [](std::string_view text, std::string_view method) {
    auto parsed = parse_response_head(text, method);
    EXPECT_THAT(parsed, IsOk());
    return parsed->framing.kind;
  };
  using Kind = BodyFraming::Kind;
  EXPECT_EQ(kind("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n", "GET"), Kind::length);
  EXPECT_EQ(kind("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n", "HEAD"), Kind::none);
  EXPECT_EQ(kind("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", "GET"), Kind::none);
  EXPECT_EQ(kind("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", "GET"), Kind::chunked);
  EXPECT_EQ(kind("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", "HEAD"), Kind::none);
  EXPECT_EQ(kind("HTTP/1.1 200 OK\r\n\r\n", "GET"), Kind::until_close);
  EXPECT_EQ(kind("HTTP/1.1 204 No Content\r\n\r\n", "DELETE"), Kind::none);
  EXPECT_EQ(kind("HTTP/1.1 304 Not Modified\r\nContent-Length: 9\r\n\r\n", "GET"), Kind::none);
}

TEST(ResponseHeadTest, MalformedHeadsAreProtocolErrors) {
  for (const std::string_view text :
       {"HTTP/2 200 OK\r\n\r\n", "HTTP/1.1 2000 OK\r\n\r\n", "HTTP/1.1 099 Low\r\n\r\n",
        "HTTP/1.1 abc OK\r\n\r\n", "ICY 200 OK\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\n", "HTTP/1.1 200 OK\r\nX: a\rb\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n"}) {
    EXPECT_THAT(parse_response_head(text, "GET"), Fails(ErrorCode::protocol_error)) << text;
  }
}

TEST(WriteHeadTest, NothingCanEndALineEarly) {
  RequestHead head;
  head.method = "GET";
  head.target = "/k";
  head.headers.add("x", "a\r\nevil: 1");
  EXPECT_THAT(write_request_head(head), Fails(ErrorCode::invalid_argument));
  head.headers.clear();
  head.headers.add("bad name", "a");
  EXPECT_THAT(write_request_head(head), Fails(ErrorCode::invalid_argument));
  head.headers.clear();
  for (const char* target : {"", "k", "/a b", "/a\r\nb", "/\xc3\xa4"}) {
    head.target = target;
    EXPECT_THAT(write_request_head(head), Fails(ErrorCode::invalid_argument)) << target;
  }
  head.target = "/k";
  head.method = "G T";
  EXPECT_THAT(write_request_head(head), Fails(ErrorCode::invalid_argument));
  ResponseHead response;
  response.headers.add("x", "a\nb");
  EXPECT_THAT(write_response_head(response, ""), Fails(ErrorCode::internal));
}

}  // namespace
}  // namespace sluice::http
