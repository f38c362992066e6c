#include "http/chunked.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "base/encoding.h"
#include "base/limits.h"

namespace sluice::http {
namespace {

struct Decoded {
  std::string body;
  bool done = false;
  bool failed = false;
  std::size_t used = 0;
  friend bool operator==(const Decoded&, const Decoded&) = default;
};

/// Decodes `wire` handed over in pieces that end at `cuts` (ascending).
Decoded decode(std::string_view wire, const std::vector<std::size_t>& cuts) {
  ChunkDecoder decoder;
  Decoded out;
  std::size_t begin = 0;
  std::vector<std::size_t> ends = cuts;
  ends.push_back(wire.size());
  for (const std::size_t end : ends) {
    std::string_view piece = wire.substr(begin, end - begin);
    begin = end;
    while (!piece.empty() && !decoder.done()) {
      if (decoder.data_left() > 0) {
        const auto count = std::min<std::uint64_t>(decoder.data_left(), piece.size());
        out.body += piece.substr(0, count);
        piece.remove_prefix(count);
        out.used += count;
        decoder.took(count);
        continue;
      }
      const auto used = decoder.feed(as_bytes(piece));
      if (!used) {
        out.failed = true;
        return out;
      }
      EXPECT_LE(*used, piece.size());
      if (*used == 0) {
        ADD_FAILURE() << "no progress";
        return out;
      }
      out.used += *used;
      piece.remove_prefix(*used);
    }
  }
  out.done = decoder.done();
  return out;
}

constexpr std::string_view kWire =
    "5\r\nhello\r\n006;name=\"va lue\"\r\n world\r\nA\r\n0123456789\r\n0\r\nx-trailer: yes\r\n\r\nNEXT";
constexpr std::string_view kBody = "hello world0123456789";

TEST(ChunkDecoderTest, DecodesAndStopsBehindTheBody) {
  const Decoded decoded = decode(kWire, {});
  EXPECT_TRUE(decoded.done);
  EXPECT_EQ(decoded.body, kBody);
  EXPECT_EQ(kWire.substr(decoded.used), "NEXT");
}

TEST(ChunkDecoderTest, EverySplitInTwoAndThreeGivesTheSame) {
  const Decoded whole = decode(kWire, {});
  for (std::size_t a = 0; a <= kWire.size(); ++a) {
    for (std::size_t b = a; b <= kWire.size(); ++b) ASSERT_EQ(decode(kWire, {a, b}), whole) << a << ' ' << b;
  }
}

TEST(ChunkDecoderTest, AnEmptyBodyIsOneZeroChunk) {
  const Decoded decoded = decode("0\r\n\r\n", {});
  EXPECT_TRUE(decoded.done);
  EXPECT_TRUE(decoded.body.empty());
}

TEST(ChunkDecoderTest, MalformedFramingIsRefused) {
  for (const std::string_view wire : {std::string_view("\r\n"),
                                      std::string_view("g\r\n"),
                                      std::string_view("-1\r\n"),
                                      std::string_view("+5\r\nhello"),
                                      std::string_view("0x5\r\nhello"),
                                      std::string_view(" 5\r\nhello"),
                                      std::string_view("5 \r\nhello"),
                                      std::string_view("5\nhello"),
                                      std::string_view("5\r\rhello"),
                                      std::string_view("5\r\nhelloX"),
                                      std::string_view("5\r\nhello\n"),
                                      std::string_view("5\r\nhello\rX"),
                                      std::string_view("ffffffffffffffff\r\n"),
                                      std::string_view("0000000000000001\r\n"),
                                      std::string_view("5;\x01\r\n"),
                                      std::string_view("5;a\n"),
                                      std::string_view("0\r\na: b\n"),
                                      std::string_view("0\r\na\0: b\r\n", 10),
                                      std::string_view("0\r\n folded\r\n"),
                                      std::string_view("0\r\na: b\r\n\tfolded\r\n"),
                                      std::string_view("0\r\n\rX"),
                                      std::string_view("0\r\na: b\rX")}) {
    EXPECT_TRUE(decode(wire, {}).failed) << wire;
  }
}

TEST(ChunkDecoderTest, ExtensionsAndTrailersAreBounded) {
  EXPECT_TRUE(decode("5;" + std::string(2 * limits::kChunkLineBytes, 'e'), {}).failed);
  EXPECT_FALSE(
      decode("5;" + std::string(limits::kChunkLineBytes / 2, 'e') + "\r\nhello\r\n0\r\n\r\n", {}).failed);
  std::string trailers = "0\r\n";
  while (trailers.size() < 2 * limits::kTrailerBytes) trailers += "some-field: some value\r\n";
  EXPECT_TRUE(decode(trailers, {}).failed);
}

TEST(ChunkDecoderTest, RandomBytesAndMutationsNeverDependOnTheSplit) {
  std::mt19937 random(20261201);
  const std::string_view alphabet = "0123456789abcdefF;\r\n \t:x";
  for (int round = 0; round < 20000; ++round) {
    std::string wire;
    if (round % 2 == 0) {
      wire = kWire;
      for (int change = 0; change < 2; ++change)
        wire[random() % wire.size()] = alphabet[random() % alphabet.size()];
    } else {
      for (std::size_t i = random() % 40; i > 0; --i) {
        wire += random() % 8 == 0 ? static_cast<char>(random()) : alphabet[random() % alphabet.size()];
      }
    }
    std::vector<std::size_t> cuts;
    for (int i = 0; i < 4; ++i) cuts.push_back(wire.empty() ? 0 : random() % wire.size());
    std::sort(cuts.begin(), cuts.end());
    const Decoded whole = decode(wire, {});
    const Decoded split = decode(wire, cuts);
    ASSERT_EQ(whole.failed, split.failed) << wire;
    ASSERT_EQ(whole.body, split.body) << wire;
    ASSERT_EQ(whole.done, split.done) << wire;
  }
}

}  // namespace
}  // namespace sluice::http
