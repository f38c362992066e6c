#include "checksum/digest.h"

#include <gtest/gtest.h>

#include "base/encoding.h"

namespace sluice {
namespace {

// FIPS 180-4 example "abc"; RFC 1321 A.5 "abc"; RFC 4231 test case 2.
TEST(DigestTest, MatchesThePublishedVectors) {
  EXPECT_EQ(sha256_hex("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  Digest md5 = Digest::md5();
  md5.update(as_bytes("a"));
  md5.update(as_bytes("bc"));
  EXPECT_EQ(hex_encode(md5.finish()), "900150983cd24fb0d6963f7d28e17f72");
  EXPECT_EQ(hex_encode(hmac_sha256(as_bytes("Jefe"), "what do ya want for nothing?")),
            "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
}

TEST(DigestTest, StreamingGivesTheSameAsOneCall) {
  Digest digest = Digest::sha256();
  const std::string text(100'000, 'x');
  for (std::size_t i = 0; i < text.size(); i += 777)
    digest.update(as_bytes(std::string_view(text).substr(i, 777)));
  EXPECT_EQ(hex_encode(digest.finish()), sha256_hex(text));
}

}  // namespace
}  // namespace sluice
