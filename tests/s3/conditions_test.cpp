#include "s3/conditions.h"

#include <gtest/gtest.h>

#include <chrono>
#include <string>

#include "s3/support.h"

namespace sluice::s3 {
namespace {

using namespace std::chrono_literals;

const std::string kEtag = "0123abc";

bool strong(std::string_view list) {
  return etag_list_matches(list, kEtag, EtagComparison::strong);
}
bool weak(std::string_view list) {
  return etag_list_matches(list, kEtag, EtagComparison::weak);
}

ReadDecision read(const HeaderList& headers) {
  return evaluate_read(read_conditions(headers), kEtag, amz_time("20260101T000000Z") + 300ms);
}

TEST(EtagListTest, MatchesQuotedUnquotedAnyAndMembersOfLists) {
  for (const char* list : {"\"0123abc\"", "0123abc", "*", " * ", "\"x\", \"0123abc\"", "x,0123abc",
                           "\"0123abc\",\"x\"", ", ,\"0123abc\"", "\"a,b\" , 0123abc", "\"0123abc"}) {
    EXPECT_TRUE(strong(list)) << list;
    EXPECT_TRUE(weak(list)) << list;
  }
}

TEST(EtagListTest, ComparesWeakTagsOnlyWeakly) {
  EXPECT_FALSE(strong("W/\"0123abc\""));
  EXPECT_TRUE(weak("W/\"0123abc\""));
  EXPECT_TRUE(strong("W/\"0123abc\", \"0123abc\""));
}

TEST(EtagListTest, MatchesNothingElse) {
  for (const char* list : {"", " ", ",", "\"\"", "\"0123ab\"", "\"0123abcd\"", "0123ABC", "\"*\"",
                           "\"x,0123abc\"", "x*", "w/\"0123abc\""}) {
    EXPECT_FALSE(strong(list)) << list;
  }
}

TEST(EtagTest, QuotesComeAndGo) {
  EXPECT_EQ(quote_etag("abc"), "\"abc\"");
  for (const char* value : {"abc", "\"abc\"", "W/\"abc\"", " \"abc\" "})
    EXPECT_EQ(unquote_etag(value), "abc") << value;
  EXPECT_EQ(unquote_etag("\""), "\"");
  EXPECT_EQ(unquote_etag(""), "");
}

TEST(ReadConditionsTest, WithoutConditionsTheReadProceeds) {
  EXPECT_EQ(read({}), ReadDecision::proceed);
}

TEST(ReadConditionsTest, IfMatchFailsWith412) {
  EXPECT_EQ(read({{"if-match", "\"0123abc\""}}), ReadDecision::proceed);
  EXPECT_EQ(read({{"if-match", "\"other\""}}), ReadDecision::precondition_failed);
  EXPECT_EQ(read({{"if-match", "W/\"0123abc\""}}), ReadDecision::precondition_failed);
  EXPECT_EQ(read({{"if-match", ""}}), ReadDecision::precondition_failed);
}

TEST(ReadConditionsTest, IfNoneMatchAnswers304) {
  EXPECT_EQ(read({{"if-none-match", "W/\"0123abc\""}}), ReadDecision::not_modified);
  EXPECT_EQ(read({{"if-none-match", "*"}}), ReadDecision::not_modified);
  EXPECT_EQ(read({{"if-none-match", "\"other\""}}), ReadDecision::proceed);
  EXPECT_EQ(read({{"if-none-match", ""}}), ReadDecision::proceed);
}

TEST(ReadConditionsTest, DatesAreComparedInWholeSecondsInAllThreeForms) {
  for (const char* same :
       {"Thu, 01 Jan 2026 00:00:00 GMT", "Thursday, 01-Jan-26 00:00:00 GMT", "Thu Jan  1 00:00:00 2026"}) {
    EXPECT_EQ(read({{"if-modified-since", same}}), ReadDecision::not_modified) << same;
    EXPECT_EQ(read({{"if-unmodified-since", same}}), ReadDecision::proceed) << same;
  }
  const char* earlier = "Wed, 31 Dec 2025 23:59:59 GMT";
  EXPECT_EQ(read({{"if-modified-since", earlier}}), ReadDecision::proceed);
  EXPECT_EQ(read({{"if-unmodified-since", earlier}}), ReadDecision::precondition_failed);
  const char* future = "Fri, 01 Jan 2100 00:00:00 GMT";
  EXPECT_EQ(read({{"if-modified-since", future}}), ReadDecision::not_modified);
  EXPECT_EQ(read({{"if-unmodified-since", future}}), ReadDecision::proceed);
}

TEST(ReadConditionsTest, UnreadableDatesAreIgnored) {
  for (const char* garbage : {"yesterday", "", "0", "2026-01-01T00:00:00Z"}) {
    EXPECT_EQ(read({{"if-modified-since", garbage}}), ReadDecision::proceed) << garbage;
    EXPECT_EQ(read({{"if-unmodified-since", garbage}}), ReadDecision::proceed) << garbage;
  }
}

TEST(ReadConditionsTest, EtagsOutrankDatesAsRfc9110Says) {
  const char* earlier = "Wed, 31 Dec 2025 23:59:59 GMT";
  const char* later = "Fri, 02 Jan 2026 00:00:00 GMT";
  EXPECT_EQ(read({{"if-match", "\"0123abc\""}, {"if-unmodified-since", earlier}}), ReadDecision::proceed);
  EXPECT_EQ(read({{"if-none-match", "\"other\""}, {"if-modified-since", later}}), ReadDecision::proceed);
  EXPECT_EQ(read({{"if-none-match", "\"0123abc\""}, {"if-modified-since", earlier}}),
            ReadDecision::not_modified);
  EXPECT_EQ(read({{"if-match", "\"other\""}, {"if-none-match", "\"0123abc\""}}),
            ReadDecision::precondition_failed);
  EXPECT_EQ(read({{"if-unmodified-since", earlier}, {"if-none-match", "\"0123abc\""}}),
            ReadDecision::precondition_failed);
}

TEST(ReadConditionsTest, RepeatedHeadersAreOneList) {
  HeaderList headers{{"if-match", "\"other\""}, {"if-match", "\"0123abc\""}};
  EXPECT_EQ(read(headers), ReadDecision::proceed);
}

TEST(WriteConditionsTest, CreateOnlyIfAbsent) {
  const auto conditions = write_conditions({{"if-none-match", "*"}});
  EXPECT_FALSE(conditions.empty());
  EXPECT_THAT(check_write(conditions, std::nullopt), test::IsOk());
  EXPECT_THAT(check_write(conditions, kEtag), FailsWith("PreconditionFailed"));
}

TEST(WriteConditionsTest, ReplaceOnlyThatVersion) {
  const auto conditions = write_conditions({{"if-match", "\"0123abc\""}});
  EXPECT_THAT(check_write(conditions, kEtag), test::IsOk());
  EXPECT_THAT(check_write(conditions, "other"), FailsWith("PreconditionFailed"));
  EXPECT_THAT(check_write(conditions, std::nullopt), FailsWith("NoSuchKey"));
}

TEST(WriteConditionsTest, NoConditionsHoldAlways) {
  EXPECT_TRUE(write_conditions({}).empty());
  EXPECT_THAT(check_write({}, std::nullopt), test::IsOk());
  EXPECT_THAT(check_write({}, kEtag), test::IsOk());
}

}  // namespace
}  // namespace sluice::s3
