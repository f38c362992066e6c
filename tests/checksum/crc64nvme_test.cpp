#include "checksum/crc64nvme.h"

#include <gtest/gtest.h>

#include <cstring>
#include <random>

#include "base/encoding.h"
#include "checksum/checksum.h"

namespace sluice {
namespace {

/// The definition, bit by bit.
std::uint64_t reference(std::span<const std::byte> bytes) {
  std::uint64_t state = ~0ULL;
  for (const std::byte byte : bytes) {
    state ^= std::to_integer<std::uint64_t>(byte);
    for (int bit = 0; bit < 8; ++bit) state = (state >> 1U) ^ ((state & 1U) != 0 ? 0x9a6c9329ac4bc9b5ULL : 0);
  }
  return ~state;
}

std::vector<std::byte> random_vector(std::size_t count, unsigned seed) {
  std::mt19937_64 random(seed);
  std::vector<std::byte> bytes(count);
  for (auto& byte : bytes) byte = static_cast<std::byte>(random());
  return bytes;
}

// protocol.md section 9; the first is the check value of the catalogue of parametrised CRC algorithms.
TEST(Crc64NvmeTest, MatchesThePublishedVectors) {
  EXPECT_EQ(crc64nvme(as_bytes("123456789")), 0xae8b14860a799888ULL);
  EXPECT_EQ(crc64nvme({}), 0U);
  std::vector<std::byte> pattern(4096);
  for (std::size_t i = 0; i < pattern.size(); ++i) pattern[i] = static_cast<std::byte>((7 * i + 3) % 256);
  EXPECT_EQ(crc64nvme(pattern), 0xeed96ec791f140cbULL);
  EXPECT_EQ(base64_u64_be(crc64nvme(pattern)), "7tlux5HxQMs=");
  EXPECT_EQ(base64_u64_be(crc64nvme(as_bytes("123456789"))), "rosUhgp5mIg=");
}

TEST(Crc64NvmeTest, EveryImplementationMatchesTheDefinitionAtEveryLengthAndOffset) {
  const auto bytes = random_vector(1400, 1);
  for (const auto& implementation : crc64nvme_implementations()) {
    SCOPED_TRACE(std::string(implementation.name));
    for (std::size_t length = 0; length <= 1100; length += length < 300 ? 1 : 37) {
      for (const std::size_t offset : {0U, 1U, 3U, 8U, 15U, 31U, 63U}) {
        const auto part = std::span(bytes).subspan(offset, length);
        ASSERT_EQ(implementation.update(part, 0), reference(part)) << length << " bytes at " << offset;
      }
    }
  }
}

TEST(Crc64NvmeTest, ContinuesFromWhatWentBefore) {
  const auto bytes = random_vector(4000, 2);
  const std::uint64_t whole = reference(bytes);
  for (const auto& implementation : crc64nvme_implementations()) {
    for (std::size_t cut = 0; cut <= bytes.size(); cut += 61) {
      const std::uint64_t front = implementation.update(std::span(bytes).first(cut), 0);
      ASSERT_EQ(implementation.update(std::span(bytes).subspan(cut), front), whole)
          << implementation.name << " cut at " << cut;
    }
  }
}

TEST(Crc64NvmeTest, CombinesPartialSumsOfAnyLengths) {
  std::mt19937_64 random(3);
  for (int round = 0; round < 300; ++round) {
    const auto a = random_vector(random() % 3000, static_cast<unsigned>(random()));
    const auto b = random_vector(random() % 3000, static_cast<unsigned>(random()));
    auto both = a;
    both.insert(both.end(), b.begin(), b.end());
    ASSERT_EQ(crc64nvme_combine(crc64nvme(a), crc64nvme(b), b.size()), crc64nvme(both));
  }
}

TEST(Crc64NvmeTest, CombiningIsAssociativeForLengthsThatNobodyCanAllocate) {
  std::mt19937_64 random(4);
  for (int round = 0; round < 100; ++round) {
    const std::uint64_t a = random();
    const std::uint64_t b = random();
    const std::uint64_t c = random();
    const std::uint64_t bytes_b = random() >> 20U;
    const std::uint64_t bytes_c = random() >> 20U;
    const std::uint64_t left = crc64nvme_combine(crc64nvme_combine(a, b, bytes_b), c, bytes_c);
    const std::uint64_t right = crc64nvme_combine(a, crc64nvme_combine(b, c, bytes_c), bytes_b + bytes_c);
    ASSERT_EQ(left, right);
  }
}

TEST(Crc64NvmeTest, ParallelSumEqualsTheSerialOne) {
  for (const std::size_t count :
       {std::size_t{0}, std::size_t{1}, std::size_t{8} << 20U, (std::size_t{9} << 20U) + 13}) {
    const auto bytes = random_vector(count, 5);
    EXPECT_EQ(crc64nvme_parallel(bytes, 4), crc64nvme(bytes)) << count;
  }
}

TEST(ChecksumTest, StreamsAppendsAndResets) {
  const auto bytes = random_vector(5000, 6);
  Checksum whole(ChecksumAlgorithm::crc64nvme);
  whole.update(bytes);
  Checksum front(ChecksumAlgorithm::crc64nvme);
  front.update(std::span(bytes).first(1234));
  Checksum back(ChecksumAlgorithm::crc64nvme);
  back.update(std::span(bytes).subspan(1234));
  front.append(back);
  EXPECT_EQ(front.value(), whole.value());
  EXPECT_EQ(front.bytes(), bytes.size());
  EXPECT_EQ(whole.text(), "crc64nvme:" + hex_u64(crc64nvme(bytes)));
  whole.reset();
  EXPECT_EQ(whole.value(), 0U);
}

}  // namespace
}  // namespace sluice
