#include "s3/keys.h"

#include <gtest/gtest.h>
// rapidcheck wants gtest first
#include <rapidcheck/gtest.h>

#include <string>
#include <vector>

#include "base/limits.h"
#include "s3/support.h"

namespace sluice::s3 {
namespace {

using testing::ElementsAre;

TEST(BucketNameTest, AcceptsWhatS3Accepts) {
  for (const std::string& name :
       {std::string("abc"), std::string("a.b"), std::string("my-bucket.1"), std::string("0a0"),
        std::string(63, 'a'), std::string("1.2.3"), std::string("1.2.3.4.5"), std::string("1234.1.1.1"),
        std::string("a--b"), std::string("a.-b")}) {
    EXPECT_THAT(check_bucket_name(name), test::IsOk()) << name;
  }
}

TEST(BucketNameTest, RefusesTheRest) {
  for (const std::string& name : {std::string(),
                                  std::string("ab"),
                                  std::string(64, 'a'),
                                  std::string("Abc"),
                                  std::string("a_b"),
                                  std::string("a b"),
                                  std::string("-ab"),
                                  std::string("ab-"),
                                  std::string(".ab"),
                                  std::string("ab."),
                                  std::string("a..b"),
                                  std::string("192.168.5.4"),
                                  std::string("1.1.1.1"),
                                  std::string("xn--abc"),
                                  std::string("sthree-x"),
                                  std::string("amzn-s3-demo-x"),
                                  std::string("x-s3alias"),
                                  std::string("x--ol-s3"),
                                  std::string("x.mrap"),
                                  std::string("x--x-s3"),
                                  std::string("x--table-s3"),
                                  std::string("a/b"),
                                  std::string("..."),
                                  std::string("b\xc3\xa9t"),
                                  std::string("a\0b", 3),
                                  std::string(".well-known")}) {
    EXPECT_THAT(check_bucket_name(name), FailsWith("InvalidBucketName")) << name;
  }
}

// The keys of the project's list of nasty inputs that are legal.
const std::vector<std::string>& legal_keys() {
  static const std::vector<std::string> keys = {"a+b",
                                                "a b",
                                                "a%2Bb",
                                                "a%20b",
                                                "a%b",
                                                "a=b",
                                                "a@b",
                                                "a:b",
                                                "a&b",
                                                "a?b",
                                                "a#b",
                                                "a*b",
                                                "a'b",
                                                "a\"b",
                                                "a<b>",
                                                "{a}",
                                                "a\\b",
                                                "a//b",
                                                "/a",
                                                "a/",
                                                "a/./b",
                                                ".",
                                                "x/.",
                                                "a/../b",
                                                "a\tb",
                                                "a\nb",
                                                "a\x01"
                                                "b",
                                                "a\x7f"
                                                "b",
                                                "\xc3\xa9",
                                                "e\xcc\x81",
                                                "\xf0\x9f\x98\x80",
                                                std::string(1024, 'k'),
                                                std::string(256, 's') + "/x",
                                                "0/",
                                                "1999#",
                                                "con",
                                                "%00",
                                                "?versionId=null",
                                                "..%2f..%2fetc",
                                                "//",
                                                "a/../b/../c",
                                                "...",
                                                "..a",
                                                "a..",
                                                "a/b/../..",
                                                "x/../y/.."};
  return keys;
}

TEST(KeyTest, AcceptsTheNastyButLegal) {
  for (const std::string& key : legal_keys()) EXPECT_THAT(check_key(key), test::IsOk()) << key;
}

TEST(KeyTest, MeasuresBytesNotCharacters) {
  std::string two_byte_characters;
  for (int i = 0; i < 512; ++i) two_byte_characters += "\xc3\xa9";
  EXPECT_THAT(check_key(two_byte_characters), test::IsOk());
  EXPECT_THAT(check_key(two_byte_characters + "\xc3\xa9"), FailsWith("KeyTooLongError", "1026 bytes"));
  EXPECT_THAT(check_key(std::string(1025, 'k')), FailsWith("KeyTooLongError"));
}

TEST(KeyTest, RefusesToRiseAboveItsStart) {
  for (const char* key :
       {"..", "../b", "a/../../b", "../", "./../b", "//../b", "/..", "a/../..", "a/./../../b"}) {
    EXPECT_THAT(check_key(key), FailsWith("InvalidURI", "..")) << key;
  }
}

TEST(KeyTest, RefusesWhatIsNoUtf8OrHasNul) {
  for (const std::string& key :
       {std::string("\xff"), std::string("a\x80"), std::string("\xc3"), std::string("\xc0\xaf"),
        std::string("\xe0\x80\xaf"), std::string("\xed\xa0\x80"), std::string("\xf4\x90\x80\x80"),
        std::string("\xf0\x80\x80\xaf"), std::string("a\0b", 3)}) {
    EXPECT_THAT(check_key(key), FailsWith("InvalidURI"));
  }
  EXPECT_THAT(check_key(""), FailsWith("InvalidArgument", "empty"));
}

TEST(TargetTest, SplitsBeforeItDecodes) {
  struct Case {
    const char* raw;
    const char* bucket;
    const char* key;
  };
  for (const Case& c : std::vector<Case>{{"/", "", ""},
                                         {"/bkt", "bkt", ""},
                                         {"/bkt/", "bkt", ""},
                                         {"/bkt/k", "bkt", "k"},
                                         {"/bkt//k", "bkt", "/k"},
                                         {"/bkt/a//b/", "bkt", "a//b/"},
                                         {"/bkt/a%2Fb", "bkt", "a/b"},
                                         {"/bkt/a%252Fb", "bkt", "a%2Fb"},
                                         {"/bkt/a+b", "bkt", "a+b"},
                                         {"/bkt/a%2Bb%20c", "bkt", "a+b c"},
                                         {"/bkt/a/../b", "bkt", "a/../b"},
                                         {"/bkt/%3FversionId=null", "bkt", "?versionId=null"},
                                         {"/b%2Fk/x", "b/k", "x"},
                                         {"//k", "", "k"},
                                         {"/.well-known/s3-rdma", ".well-known", "s3-rdma"},
                                         {"/bkt/k?", "bkt", "k"}}) {
    const auto target = parse_target(c.raw);
    ASSERT_THAT(target, test::IsOk()) << c.raw;
    EXPECT_EQ(target->bucket, c.bucket) << c.raw;
    EXPECT_EQ(target->key, c.key) << c.raw;
    EXPECT_TRUE(target->query.empty()) << c.raw;
  }
  EXPECT_EQ(parse_target("/bkt/a%00b")->key, std::string("a\0b", 3));
}

TEST(TargetTest, VirtualHostStyleTakesTheWholePathAsKey) {
  const auto target = parse_target_in_bucket("/a/b?uploads", "bkt");
  ASSERT_THAT(target, test::IsOk());
  EXPECT_EQ(target->bucket, "bkt");
  EXPECT_EQ(target->key, "a/b");
  EXPECT_TRUE(target->query.has("uploads"));
  EXPECT_EQ(parse_target_in_bucket("/", "bkt")->key, "");
}

TEST(TargetTest, RefusesWhatIsNoOriginForm) {
  for (const std::string& raw :
       {std::string(), std::string("*"), std::string("bkt/k"), std::string("http://h/bkt"),
        std::string("/bkt/a b"), std::string("/bkt/a\tb"), std::string("/bkt/a\x7f"), std::string("/bkt/a#b"),
        std::string("/bkt/%"), std::string("/bkt/%2"), std::string("/bkt/%2g"), std::string("/bkt?x=%"),
        std::string("/a\0b", 4), "/" + std::string(limits::kTargetBytes, 'x')}) {
    EXPECT_THAT(parse_target(raw), FailsWith("InvalidURI")) << raw.substr(0, 40);
  }
}

TEST(QueryTest, KeepsOrderFlagsAndEmptyValues) {
  const auto target = parse_target("/bkt?uploads&prefix=a%2Fb+c%2B&x=&x=2&&y=a=b");
  ASSERT_THAT(target, test::IsOk());
  EXPECT_THAT(target->query.all(),
              ElementsAre(QueryParameter{"uploads", "", false}, QueryParameter{"prefix", "a/b c+", true},
                          QueryParameter{"x", "", true}, QueryParameter{"x", "2", true},
                          QueryParameter{"y", "a=b", true}));
  EXPECT_EQ(target->query.find("x"), "");
  EXPECT_EQ(target->query.find("uploads"), "");
  EXPECT_FALSE(target->query.find("z").has_value());
}

TEST(QueryTest, BoundsTheNumberOfParameters) {
  std::string raw = "a";
  for (std::size_t i = 1; i < limits::kQueryParameters; ++i) raw += "&a";
  EXPECT_THAT(parse_query(raw), test::IsOk());
  EXPECT_THAT(parse_query(raw + "&a"), FailsWith("InvalidURI", "query parameters"));
}

TEST(MakeTargetTest, EncodesPerSegmentAndKeepsSlashes) {
  EXPECT_EQ(make_target("", ""), "/");
  EXPECT_EQ(make_target("bkt", ""), "/bkt");
  EXPECT_EQ(make_target("bkt", "a b/c+d//~e%"), "/bkt/a%20b/c%2Bd//~e%25");
  Query query{{"list-type", "2"}, {"prefix", "a/b +"}};
  query.add_flag("uploads");
  EXPECT_EQ(make_target("bkt", "", query), "/bkt?list-type=2&prefix=a%2Fb%20%2B&uploads");
}

TEST(MakeTargetTest, NastyKeysComeBackUnchanged) {
  for (const std::string& key : legal_keys()) {
    const auto target = parse_target(make_target("bkt", key));
    ASSERT_THAT(target, test::IsOk()) << key;
    EXPECT_EQ(target->bucket, "bkt");
    EXPECT_EQ(target->key, key);
  }
}

RC_GTEST_PROP(TargetPropertyTest, AnyBytesOfKeyAndQueryComeBackUnchanged,
              (const std::string& key, const std::string& name, const std::string& value)) {
  RC_PRE(key.size() <= 2048 && name.size() + value.size() <= 500);
  RC_PRE(!name.empty());
  Query query;
  query.add(name, value);
  query.add_flag("flag");
  const auto target = parse_target(make_target("bkt", key, query));
  RC_ASSERT(target.has_value());
  RC_ASSERT(target->bucket == "bkt");
  RC_ASSERT(target->key == key);
  RC_ASSERT(target->query == query);
}

}  // namespace
}  // namespace sluice::s3
