// Bytes through libfabric, in both directions, at the sizes and places where arithmetic breaks.
#include "fabric/ofi_pair.h"

namespace sluice::test {
namespace {

using fabric::Direction;
using fabric::RevokeReason;

class OfiMoveTest : public OfiPair {
 protected:
  void get(std::size_t bytes, std::size_t offset, bool at_end) {
    auto memory = at_end ? GuardedBuffer::ending_on_guard(bytes) : GuardedBuffer::at_offset(bytes, offset);
    auto source = pattern(bytes, bytes + offset);
    auto token = client_->mint(window_over(memory.span(), Direction::get), from());
    ASSERT_THAT(token, IsOk());
    EXPECT_THAT(move_all(*server_, parsed(*token), Direction::get, source), IsOk());
    EXPECT_EQ(std::move(*token).revoke_and_wait(RevokeReason::completed, soon()),
              fabric::FenceOutcome::fenced);
    EXPECT_TRUE(holds_pattern(memory.span(), bytes + offset)) << bytes << " bytes at " << offset;
    EXPECT_TRUE(memory.canaries_intact());
  }
  void put(std::size_t bytes, std::size_t offset, bool at_end) {
    auto memory = at_end ? GuardedBuffer::ending_on_guard(bytes) : GuardedBuffer::at_offset(bytes, offset);
    fill_pattern(memory.span(), bytes + offset);
    std::vector<std::byte> staging(bytes);
    auto token = client_->mint(window_over(memory.span(), Direction::put), from());
    ASSERT_THAT(token, IsOk());
    EXPECT_THAT(move_all(*server_, parsed(*token), Direction::put, staging), IsOk());
    EXPECT_EQ(std::move(*token).revoke_and_wait(RevokeReason::completed, soon()),
              fabric::FenceOutcome::fenced);
    EXPECT_TRUE(holds_pattern(staging, bytes + offset)) << bytes << " bytes at " << offset;
    EXPECT_TRUE(holds_pattern(memory.span(), bytes + offset));
  }
};

constexpr std::size_t kSizes[] = {
    1, 7, 127, 128, 129, 8192, 65535, 65536, 65537, (1U << 20U) - 1, 1U << 20U, (5U << 20U) + 1};

TEST_P(OfiMoveTest, AGetFillsExactlyTheWindow) {
  for (const std::size_t bytes : kSizes)
    for (const std::size_t offset : {0U, 1U, 63U, 4095U}) get(bytes, offset, false);
}

TEST_P(OfiMoveTest, AGetWindowMayEndOnTheLastByteOfAMapping) {
  for (const std::size_t bytes : kSizes) get(bytes, 0, true);
}

TEST_P(OfiMoveTest, APutReadsExactlyTheWindow) {
  for (const std::size_t bytes : kSizes)
    for (const std::size_t offset : {0U, 1U, 63U, 4095U}) put(bytes, offset, false);
}

TEST_P(OfiMoveTest, APutWindowMayEndOnTheLastByteOfAMapping) {
  for (const std::size_t bytes : kSizes) put(bytes, 0, true);
}

INSTANTIATE_TEST_SUITE_P(Providers, OfiMoveTest, socket_providers(), provider_name);

}  // namespace
}  // namespace sluice::test
