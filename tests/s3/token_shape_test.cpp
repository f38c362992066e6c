#include "s3/token_shape.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/encoding.h"
#include "base/limits.h"
#include "s3/support.h"

namespace sluice::s3 {

inline void PrintTo(TokenShape shape, std::ostream* out) {
  *out << to_string(shape);
}

namespace {

const std::string kDc(kDescriptor);
const std::string kSuffix = ":00007f0000200000:0000000000001000";
const std::string kHip(88, 'a');

std::string replaced(std::string text, std::size_t position, std::string_view part) {
  return text.replace(position, part.size(), part);
}

TEST(TokenShapeTest, TellsTheDialectsApart) {
  EXPECT_EQ(detect_token_shape(kDc), TokenShape::dc_descriptor);
  EXPECT_EQ(detect_token_shape(kDc + kSuffix), TokenShape::dc_extended);
  EXPECT_EQ(detect_token_shape(kHip), TokenShape::hipobject);
  EXPECT_EQ(detect_token_shape(kHip + kSuffix), TokenShape::hipobject);
  EXPECT_EQ(detect_token_shape(kHip + ":0000000000000000:0000000000000000"), TokenShape::hipobject);
  EXPECT_EQ(detect_token_shape("00007f0000200000:0000000000001000:ofi1:net:0200abcd:00000000deadbeef"),
            TokenShape::ofi1);
  EXPECT_EQ(detect_token_shape("rc:1:2:3:4"), TokenShape::rc_shim);
  EXPECT_EQ(detect_token_shape("sluice-local:anything-goes"), TokenShape::sluice_own);
}

TEST(TokenShapeTest, DecodesBase64DescriptorsWithAndWithoutTheirNul) {  // protocol.md 3.3
  EXPECT_EQ(detect_token_shape(base64_encode(as_bytes(kDc))), TokenShape::base64_descriptor);
  EXPECT_EQ(detect_token_shape(base64_encode(as_bytes(kDc + std::string(1, '\0')))),
            TokenShape::base64_descriptor);
  EXPECT_EQ(detect_token_shape(base64_encode(as_bytes(kDc + "x"))), TokenShape::malformed);
  EXPECT_EQ(detect_token_shape(base64_encode(as_bytes(std::string(81, 'x')))), TokenShape::malformed);
}

TEST(TokenShapeTest, ToleratesBlanksASemicolonAndUpperCase) {
  EXPECT_EQ(detect_token_shape(" \t" + kDc + " "), TokenShape::dc_descriptor);
  EXPECT_EQ(detect_token_shape(kDc + kSuffix + ";"), TokenShape::dc_extended);
  EXPECT_EQ(detect_token_shape(replaced(kDc, 26, "0000BEEF")), TokenShape::dc_descriptor);
  EXPECT_EQ(trim_token(" " + kDc + " ; "), kDc);
  EXPECT_EQ(detect_token_shape(kDc + ";;"), TokenShape::malformed);
}

// "Must be rejected" of protocol.md section 9.
TEST(TokenShapeTest, RefusesTheProtocolPagesBadDescriptors) {
  const std::vector<std::string> bad = {kDc.substr(0, 80),                     // 80 characters
                                        kDc + "0",                             // 82
                                        kDc.substr(0, 48),                     // 6 fields
                                        kDc + ":0",                            // 8 fields
                                        replaced(kDc, 0, "g"),                 // no hex
                                        replaced(kDc, 47, "2"),                // has_gid
                                        replaced(kDc, 17, "00000000"),         // size
                                        replaced(kDc, 0, "ffffffffffffffff"),  // wrap
                                        replaced(kDc, 0, "0x"),                // leading 0x
                                        "0" + kDc,
                                        kDc.substr(1),                               // widths 17 and 15
                                        kDc.substr(0, 17) + "0" + kDc.substr(17),    // width 9
                                        kDc + ":00007f0000200000:0000000000000000",  // extended by nothing
                                        kDc + ":ffffffffffffffff:0000000000001000",  // extended, wrapping
                                        kDc + ":7f0000200000:1000",
                                        kHip.substr(1),
                                        kHip + ":1:2",
                                        kHip + ":0",
                                        "",
                                        " ",
                                        ";",
                                        "sluice-:x",
                                        "sluice-local:",
                                        "sluice-local",
                                        "sluice-A:x",
                                        "1:2:ofi1:net",
                                        "ofi1",
                                        "\xd9\xa1",
                                        kDc.substr(0, 40) + " " + kDc.substr(41)};
  for (const std::string& text : bad) EXPECT_EQ(detect_token_shape(text), TokenShape::malformed) << text;
}

TEST(TokenShapeTest, SaysWhenATokenIsTooLong) {
  EXPECT_EQ(detect_token_shape("rc:" + std::string(limits::kTokenTextBytes - 3, '1')), TokenShape::rc_shim);
  EXPECT_EQ(detect_token_shape("rc:" + std::string(limits::kTokenTextBytes - 2, '1')), TokenShape::too_long);
}

}  // namespace
}  // namespace sluice::s3
