// Conformance of fabrics: bytes arrive, all of them, and nowhere else.
#pragma once

#include "conformance/fabric_fixture.h"

namespace sluice::test {

struct Placement {
  std::size_t bytes;
  std::size_t offset;  ///< from a page boundary
  bool at_the_end;     ///< the last byte of the mapping instead
};
inline std::vector<Placement> placements() {
  const std::vector<std::size_t> sizes{1, 63, 4096, 65535, 65536, 65537, (1U << 20U) + 1};
  std::vector<Placement> all;
  for (const std::size_t bytes : sizes) {
    for (const std::size_t offset : {0U, 1U, 63U, 4095U}) all.push_back({bytes, offset, false});
    all.push_back({bytes, 0, true});
  }
  all.push_back({8U << 20U, 63, false});
  all.push_back({8U << 20U, 0, true});
  return all;
}
inline GuardedBuffer place(const Placement& where) {
  return where.at_the_end ? GuardedBuffer::ending_on_guard(where.bytes)
                          : GuardedBuffer::at_offset(where.bytes, where.offset);
}
inline std::uint64_t total(const std::vector<Result<std::uint64_t>>& results) {
  std::uint64_t sum = 0;
  for (const auto& result : results) {
    EXPECT_THAT(result, IsOk());
    sum += result.value_or(0);
  }
  return sum;
}

TEST_P(FabricSuite, WritesEveryByteOfTheWindowAndNoOther) {
  for (const Placement& where : placements()) {
    SCOPED_TRACE(testing::Message() << where.bytes << " bytes at " << where.offset
                                    << (where.at_the_end ? " end" : ""));
    const auto window = TestWindow::make(place(where), Direction::get);
    fill_pattern(window.span(), 1);
    auto object = pattern(where.bytes, 2);
    auto token = mint(window);
    auto target = open(token, Direction::get);
    EXPECT_EQ(target->window_bytes(), where.bytes);
    EXPECT_EQ(total(move_all(*target, Direction::get, object)), where.bytes);
    // Delivery complete: the bytes are there before the token is revoked.
    ASSERT_TRUE(holds_pattern(window.span(), 2));
    close(std::move(target));
    EXPECT_EQ(revoke(std::move(token), RevokeReason::completed), FenceOutcome::fenced);
    ASSERT_TRUE(holds_pattern(window.span(), 2));
    ASSERT_TRUE(window.buffer.canaries_intact());
  }
}

TEST_P(FabricSuite, ReadsEveryByteOfTheWindowAndChangesNone) {
  for (const Placement& where : placements()) {
    SCOPED_TRACE(testing::Message() << where.bytes << " bytes at " << where.offset
                                    << (where.at_the_end ? " end" : ""));
    const auto window = TestWindow::make(place(where), Direction::put);
    fill_pattern(window.span(), 3);
    const GuardedBuffer local = place(where);
    auto token = mint(window);
    auto target = open(token, Direction::put);
    EXPECT_EQ(total(move_all(*target, Direction::put, local.span())), where.bytes);
    ASSERT_TRUE(holds_pattern(local.span(), 3));
    ASSERT_TRUE(local.canaries_intact());
    close(std::move(target));
    EXPECT_EQ(revoke(std::move(token), RevokeReason::completed), FenceOutcome::fenced);
    ASSERT_TRUE(holds_pattern(window.span(), 3));
    ASSERT_TRUE(window.buffer.canaries_intact());
  }
}

TEST_P(FabricSuite, AnOperationInTheMiddleLeavesTheRestOfTheWindow) {
  const auto window = TestWindow::make(10000, Direction::get);
  fill_pattern(window.span(), 1);
  auto token = mint(window);
  auto target = open(token, Direction::get);
  EXPECT_THAT(write(*target, 4097, pattern(1001, 2, 4097)), IsOkAndHolds(1001U));
  EXPECT_TRUE(holds_pattern(window.span().first(4097), 1));
  EXPECT_TRUE(holds_pattern(window.span().subspan(4097, 1001), 2, 4097));
  EXPECT_TRUE(holds_pattern(window.span().subspan(5098), 1, 5098));
  close(std::move(target));
  EXPECT_EQ(revoke(std::move(token), RevokeReason::completed), FenceOutcome::fenced);
}

TEST_P(FabricSuite, ManyOperationsOfOneWindowAtOnceArriveInTheirPlaces) {
  constexpr std::size_t kPiece = 5003;
  constexpr std::size_t kPieces = 64;
  const auto window = TestWindow::make(kPiece * kPieces, Direction::get);
  const auto object = pattern(kPiece * kPieces, 5);
  auto token = mint(window);
  auto target = open(token, Direction::get);
  std::deque<CompletionBox> boxes;
  for (std::size_t i = 0; i < kPieces; ++i) {
    const std::size_t at = (i * 37 % kPieces) * kPiece;
    target->write(at, std::span(object).subspan(at, kPiece), boxes.emplace_back().callback());
  }
  EXPECT_TRUE(run_until(
      *server_, [&] { return std::ranges::all_of(boxes, [](const auto& box) { return box.done(); }); },
      patience()));
  for (const auto& box : boxes) {
    ASSERT_EQ(box.count(), 1);
    EXPECT_THAT(box.value(), IsOkAndHolds(kPiece));
  }
  EXPECT_TRUE(holds_pattern(window.span(), 5));
  EXPECT_EQ(server_->outstanding(), 0U);
  close(std::move(target));
  EXPECT_EQ(revoke(std::move(token), RevokeReason::completed), FenceOutcome::fenced);
}

TEST_P(FabricSuite, SeveralWindowsAtOnceDoNotMix) {
  constexpr std::size_t kBytes = 300001;
  struct Transfer {
    TestWindow window;
    fabric::Token token;
    std::unique_ptr<fabric::Target> target;
    std::vector<std::byte> local;
    CompletionBox box;
  };
  std::deque<Transfer> transfers;
  for (std::uint64_t i = 0; i < 8; ++i) {
    const Direction direction = i % 2 == 0 ? Direction::get : Direction::put;
    auto window = TestWindow::make(kBytes, direction);
    fill_pattern(window.span(), 100 + i);
    auto token = mint(window);
    auto target = open(token, direction);
    transfers.push_back(
        {std::move(window), std::move(token), std::move(target), pattern(kBytes, 200 + i), {}});
  }
  for (std::size_t i = 0; i < transfers.size(); ++i) {
    auto& one = transfers[i];
    if (i % 2 == 0) {
      one.target->write(0, one.local, one.box.callback());
    } else {
      one.target->read(0, one.local, one.box.callback());
    }
  }
  for (std::uint64_t i = 0; i < transfers.size(); ++i) {
    auto& one = transfers[i];
    ASSERT_TRUE(run_until(
        *server_, [&] { return one.box.done(); }, patience()));
    EXPECT_THAT(one.box.value(), IsOkAndHolds(kBytes));
    const std::uint64_t seed = i % 2 == 0 ? 200 + i : 100 + i;
    EXPECT_TRUE(holds_pattern(one.window.span(), seed)) << "window " << i;
    EXPECT_TRUE(holds_pattern(one.local, seed)) << "window " << i;
    EXPECT_TRUE(one.window.buffer.canaries_intact()) << "window " << i;
  }
  for (auto& one : transfers) {
    close(std::move(one.target));
    EXPECT_EQ(revoke(std::move(one.token), RevokeReason::completed), FenceOutcome::fenced);
    EXPECT_EQ(one.box.count(), 1);
  }
}

TEST_P(FabricSuite, TheSameMemoryInWindowAfterWindowWorks) {
  const auto window = TestWindow::make(70000, Direction::get);
  for (std::uint64_t round = 0; round < 50; ++round) {
    auto token = mint(window);
    auto target = open(token, Direction::get);
    EXPECT_THAT(write(*target, 0, pattern(70000, round)), IsOkAndHolds(70000U)) << "round " << round;
    EXPECT_TRUE(holds_pattern(window.span(), round));
    close(std::move(target));
    const auto reason = round % 5 == 4 ? RevokeReason::doubtful : RevokeReason::completed;
    ASSERT_EQ(revoke(std::move(token), reason), FenceOutcome::fenced);
  }
}

TEST_P(FabricSuite, EveryTokenIsAnother) {
  const auto window = TestWindow::make(100, Direction::get);
  auto first = mint(window);
  auto second = mint(window);
  EXPECT_NE(first.text(), second.text());
  const std::string text = first.text();
  EXPECT_LE(text.size(), limits::kTokenTextBytes);
  revoke(std::move(first), RevokeReason::completed);
  auto third = mint(window);
  EXPECT_NE(third.text(), text);
  revoke(std::move(second), RevokeReason::completed);
  revoke(std::move(third), RevokeReason::completed);
}

}  // namespace sluice::test
