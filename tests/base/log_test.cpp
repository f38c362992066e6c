#include "base/log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <thread>
#include <vector>

#include "fixtures/matchers.h"

namespace sluice::log {
namespace {

using testing::EndsWith;
using testing::HasSubstr;
using testing::MatchesRegex;
using testing::Not;

/// What `write` puts on standard error.
class LogTest : public testing::Test {
 protected:
  ~LogTest() override { configure(Level::off, false); }
  static std::string written(bool json, Level level, std::string_view event,
                             std::initializer_list<Field> fields) {
    configure(Level::debug, json);
    testing::internal::CaptureStderr();
    write(level, event, fields);
    return testing::internal::GetCapturedStderr();
  }
};

TEST_F(LogTest, TextLinesHaveATimeALevelAnEventAndFields) {
  const std::string line =
      written(false, Level::info, "gateway.ready", {{"address", "127.0.0.1:9000"}, {"threads", 4}});
  EXPECT_THAT(line, MatchesRegex("[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:]{8}\\.[0-9]{3}Z INFO gateway.ready "
                                 "address=127.0.0.1:9000 threads=4\n"));
}

TEST_F(LogTest, TextValuesWithBlanksAreQuoted) {
  EXPECT_THAT(
      written(false, Level::warn, "e", {{"a", "two words"}, {"b", ""}, {"c", "x=y"}, {"d", "say \"hi\""}}),
      EndsWith(" WARN e a=\"two words\" b=\"\" c=\"x=y\" d=\"say \\\"hi\\\"\"\n"));
}

TEST_F(LogTest, JsonLinesKeepNumbersAndEscapeTexts) {
  const std::string line = written(true, Level::error, "e\"1\"",
                                   {{"text", "a\\b\"c\n\t\x01"},
                                    {"big", std::uint64_t{18446744073709551615U}},
                                    {"small", std::int64_t{-5}}});
  EXPECT_THAT(line, MatchesRegex("\\{\"ts\":\"[0-9T:.Z-]{24}\",\"level\":\"error\",.*\\}\n"));
  EXPECT_THAT(
      line,
      HasSubstr(R"("event":"e\"1\"","text":"a\\b\"c\n\t\u0001","big":18446744073709551615,"small":-5})"));
}

TEST_F(LogTest, NothingThatAPeerSendsStartsALineOfItsOwn) {
  for (const bool json : {false, true}) {
    std::string nasty = "x\n2026-01-01T00:00:00.000Z INFO forged\r\x1b[31m\x7f\x80\xff";
    nasty += '\0';
    const std::string line = written(json, Level::info, nasty, {{nasty, nasty}});
    EXPECT_EQ(std::count(line.begin(), line.end(), '\n'), 1);
    for (std::size_t i = 0; i + 1 < line.size(); ++i) {
      const auto byte = static_cast<unsigned char>(line[i]);
      ASSERT_TRUE(byte >= 0x20 && byte < 0x7f) << "byte " << int{byte} << " at " << i;
    }
  }
}

TEST_F(LogTest, WritesFromItsLevelOnAndNothingWhenOff) {
  configure(Level::warn, false);
  EXPECT_FALSE(enabled(Level::info));
  EXPECT_TRUE(enabled(Level::warn));
  EXPECT_FALSE(enabled(Level::off));
  testing::internal::CaptureStderr();
  info("quiet");
  warn("loud");
  configure(Level::off, false);
  error("off");
  EXPECT_THAT(testing::internal::GetCapturedStderr(), EndsWith(" WARN loud\n"));
}

TEST_F(LogTest, SecretsAreBlankedInBothForms) {
  for (const bool json : {false, true}) {
    const std::string line = written(json, Level::info, "request",
                                     {{"x-amz-security-token", "quoted \" secret"},
                                      {"query", "X-Amz-Signature=00112233aabb&x=\"1\""},
                                      {"aws_secret_access_key", "hush"}});
    EXPECT_THAT(line, Not(HasSubstr("quoted")));
    EXPECT_THAT(line, Not(HasSubstr("00112233aabb")));
    EXPECT_THAT(line, Not(HasSubstr("hush")));
    EXPECT_THAT(line, HasSubstr(json ? R"(&x=\"1\"","aws_secret_access_key":"[redacted]"})"
                                     : R"(&x=\"1\"" aws_secret_access_key=)"));
  }
}

TEST_F(LogTest, LinesOfManyThreadsStayWhole) {
  configure(Level::info, false);
  testing::internal::CaptureStderr();
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([i] {
      for (int k = 0; k < 50; ++k) info("thread", {{"n", i}, {"text", std::string(100, 'x')}});
    });
  }
  for (auto& thread : threads) thread.join();
  const std::string all = testing::internal::GetCapturedStderr();
  EXPECT_EQ(std::count(all.begin(), all.end(), '\n'), 200);
  std::size_t begin = 0;
  for (std::size_t end = all.find('\n'); end != std::string::npos;
       begin = end + 1, end = all.find('\n', begin))
    ASSERT_THAT(all.substr(begin, end - begin), EndsWith(" text=" + std::string(100, 'x')));
}

TEST(LogLevelTest, KnowsItsNames) {
  EXPECT_THAT(parse_level("debug"), test::IsOkAndHolds(Level::debug));
  EXPECT_THAT(parse_level("off"), test::IsOkAndHolds(Level::off));
  EXPECT_THAT(parse_level("warning"),
              test::Fails(ErrorCode::invalid_argument, "debug, info, warn, error or off"));
  EXPECT_THAT(parse_level(""), test::Fails(ErrorCode::invalid_argument));
}

}  // namespace
}  // namespace sluice::log
