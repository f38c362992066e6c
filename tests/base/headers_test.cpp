#include "base/headers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>

namespace sluice {
namespace {

using testing::ElementsAre;
using testing::Eq;
using testing::Optional;

TEST(HeaderListTest, KeepsOrderAndLowersNames) {
  HeaderList headers;
  headers.add("X-B", "1");
  headers.add("x-a", "2");
  headers.add("x-B", "3");
  std::string names;
  for (const Header& field : headers) names += field.name + "=" + field.value + " ";
  EXPECT_EQ(names, "x-b=1 x-a=2 x-b=3 ");
}

TEST(HeaderListTest, FindsTheFirstInAnyCase) {
  const HeaderList headers{{"X-B", "1"}, {"x-b", "2"}};
  EXPECT_THAT(headers.find("X-b"), Optional(Eq(std::string_view("1"))));
  EXPECT_THAT(headers.find_all("x-B"), ElementsAre("1", "2"));
  EXPECT_EQ(headers.count("x-b"), 2U);
  EXPECT_EQ(headers.get("x-c"), "");
  EXPECT_FALSE(headers.find("x-c").has_value());
}

TEST(HeaderListTest, SetReplacesAllOfThatNameInPlace) {
  HeaderList headers{{"a", "1"}, {"b", "2"}, {"A", "3"}};
  headers.set("a", "4");
  EXPECT_EQ(headers, (HeaderList{{"a", "4"}, {"b", "2"}}));
  headers.set("c", "5");
  EXPECT_EQ(headers, (HeaderList{{"a", "4"}, {"b", "2"}, {"c", "5"}}));
}

TEST(HeaderListTest, RemoveSaysHowManyThereWere) {
  HeaderList headers{{"a", "1"}, {"b", "2"}, {"A", "3"}};
  EXPECT_EQ(headers.remove("a"), 2U);
  EXPECT_EQ(headers.remove("a"), 0U);
  EXPECT_EQ(headers.size(), 1U);
}

TEST(HeaderTextTest, NamesAreTokensAndValuesHaveNoControls) {
  for (const char* good : {"x-amz-date", "A", "!#$%&'*+-.^_`|~09"}) EXPECT_TRUE(is_header_name(good)) << good;
  for (const char* bad : {"", "a b", "a:", "a\r", "\xc3\xa9", "a/b"})
    EXPECT_FALSE(is_header_name(bad)) << bad;
  EXPECT_TRUE(is_header_value("a\tb \xc3\xa9"));
  EXPECT_TRUE(is_header_value(""));
  for (const char* bad : {"a\rb", "a\nb", "\x7f", "\x01"}) EXPECT_FALSE(is_header_value(bad)) << bad;
  EXPECT_FALSE(is_header_value(std::string_view("a\0b", 3)));
  EXPECT_EQ(trim_blanks(" \ta b\t "), "a b");
  EXPECT_EQ(trim_blanks(" \t"), "");
}

}  // namespace
}  // namespace sluice
