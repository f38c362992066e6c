#include "base/encoding.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <set>

#include "fixtures/matchers.h"

namespace sluice {
namespace {

std::string text_of(const std::vector<std::byte>& bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

std::string random_text(std::mt19937& random, std::size_t size) {
  std::string text(size, '\0');
  for (char& c : text) c = static_cast<char>(random());
  return text;
}

TEST(HexTest, EncodesInLowerCaseAndDecodesBothCases) {
  EXPECT_EQ(hex_encode(as_bytes(std::string_view("\x00\xff\x1a", 3))), "00ff1a");
  EXPECT_EQ(hex_encode({}), "");
  auto bytes = hex_decode("00fF1A");
  ASSERT_THAT(bytes, test::IsOk());
  EXPECT_EQ(text_of(*bytes), std::string("\x00\xff\x1a", 3));
  EXPECT_THAT(hex_decode(""), test::IsOk());
}

TEST(HexTest, RefusesOddLengthsAndOtherCharacters) {
  for (const auto* bad : {"0", "000", "0g", "g0", " 0", "0x", "-1", "+1"})
    EXPECT_THAT(hex_decode(bad), test::Fails(ErrorCode::invalid_argument)) << bad;
}

TEST(HexTest, NumbersArePaddedAndCutToTheirDigits) {
  EXPECT_EQ(hex_u64(0), "0000000000000000");
  EXPECT_EQ(hex_u64(0xae8b14860a799888), "ae8b14860a799888");
  EXPECT_EQ(hex_u64(0xbeef, 8), "0000beef");
  EXPECT_EQ(hex_u64(0x12345, 4), "2345");
}

// RFC 4648 section 10.
TEST(Base64Test, MatchesTheVectorsOfTheRfc) {
  const std::pair<const char*, const char*> vectors[] = {{"", ""},
                                                         {"f", "Zg=="},
                                                         {"fo", "Zm8="},
                                                         {"foo", "Zm9v"},
                                                         {"foob", "Zm9vYg=="},
                                                         {"fooba", "Zm9vYmE="},
                                                         {"foobar", "Zm9vYmFy"}};
  for (const auto& [plain, encoded] : vectors) {
    EXPECT_EQ(base64_encode(as_bytes(plain)), encoded);
    auto decoded = base64_decode(encoded);
    ASSERT_THAT(decoded, test::IsOk());
    EXPECT_EQ(text_of(*decoded), plain);
  }
}

TEST(Base64Test, RefusesEverythingButTheOneSpelling) {
  for (const auto* bad : {"Z", "Zg", "Zg=", "Zg==\n", " Zg==", "Zg= =", "====", "A===", "Zh==", "Zm9=",
                          "Zg==Zg==", "Zm-_", "Z=g=", "Zm8=Zm8=", "=Zg="})
    EXPECT_THAT(base64_decode(bad), test::Fails(ErrorCode::invalid_argument)) << bad;
}

TEST(Base64Test, RoundTripsRandomBytes) {
  std::mt19937 random(1);
  for (std::size_t size = 0; size < 200; ++size) {
    const std::string bytes = random_text(random, size);
    auto back = base64_decode(base64_encode(as_bytes(bytes)));
    ASSERT_THAT(back, test::IsOk());
    ASSERT_EQ(text_of(*back), bytes);
    auto hex = hex_decode(hex_encode(as_bytes(bytes)));
    ASSERT_THAT(hex, test::IsOk());
    ASSERT_EQ(text_of(*hex), bytes);
  }
}

// protocol.md section 9.
TEST(Base64Test, SpellsChecksumsBigEndian) {
  EXPECT_EQ(base64_u64_be(0xae8b14860a799888), "rosUhgp5mIg=");
  EXPECT_EQ(base64_u64_be(0), "AAAAAAAAAAA=");
}

TEST(PercentTest, KeepsUnreservedCharactersOnly) {
  EXPECT_EQ(percent_encode("AZaz09-_.~", EncodeSlash::yes), "AZaz09-_.~");
  EXPECT_EQ(percent_encode("a b+c=d@e:f&g?h#i*j'k\"l<m>{n}\\o%", EncodeSlash::yes),
            "a%20b%2Bc%3Dd%40e%3Af%26g%3Fh%23i%2Aj%27k%22l%3Cm%3E%7Bn%7D%5Co%25");
  EXPECT_EQ(percent_encode("a//b/", EncodeSlash::no), "a//b/");
  EXPECT_EQ(percent_encode("a//b/", EncodeSlash::yes), "a%2F%2Fb%2F");
  EXPECT_EQ(percent_encode("\xc3\xa9", EncodeSlash::no), "%C3%A9");
  EXPECT_EQ(percent_encode(std::string_view("\0\x7f", 2), EncodeSlash::no), "%00%7F");
}

TEST(PercentTest, DecodesStrictlyAndLeavesThePlus) {
  EXPECT_THAT(percent_decode("a%20b+c%2f%2F"), test::IsOkAndHolds("a b+c//"));
  EXPECT_THAT(percent_decode("%00"), test::IsOkAndHolds(std::string("\0", 1)));
  for (const auto* bad : {"%", "%1", "a%", "%g0", "%0g", "%%20", "% 1", "%-1"})
    EXPECT_THAT(percent_decode(bad), test::Fails(ErrorCode::invalid_argument)) << bad;
}

TEST(PercentTest, RoundTripsRandomBytes) {
  std::mt19937 random(2);
  for (std::size_t size = 0; size < 200; ++size) {
    const std::string bytes = random_text(random, size);
    ASSERT_THAT(percent_decode(percent_encode(bytes, EncodeSlash::yes)), test::IsOkAndHolds(bytes));
    ASSERT_THAT(percent_decode(percent_encode(bytes, EncodeSlash::no)), test::IsOkAndHolds(bytes));
  }
}

TEST(RandomTest, FillsAllBytesAndDoesNotRepeat) {
  std::set<std::uint64_t> values;
  for (int i = 0; i < 1000; ++i) values.insert(random_u64());
  EXPECT_EQ(values.size(), 1000U);
  std::vector<std::byte> bytes(4096);
  random_bytes(bytes);
  std::set<std::byte> seen(bytes.begin(), bytes.end());
  EXPECT_GT(seen.size(), 200U);
  random_bytes({});
}

TEST(ConstantTimeTest, ComparesWholeTexts) {
  EXPECT_TRUE(equal_constant_time("", ""));
  EXPECT_TRUE(equal_constant_time("abc", "abc"));
  EXPECT_FALSE(equal_constant_time("abc", "abd"));
  EXPECT_FALSE(equal_constant_time("abc", "Abc"));
  EXPECT_FALSE(equal_constant_time("abc", "abcd"));
  EXPECT_FALSE(equal_constant_time("abc", ""));
}

}  // namespace
}  // namespace sluice
