// Conformance of fabrics: what a window, a token and a lease do not allow does not happen.
#pragma once

#include "conformance/fabric_fixture.h"

namespace sluice::test {

TEST_P(FabricSuite, OperationsOutsideTheWindowAreRefusedWithoutAPost) {
  const auto window = TestWindow::make(1000, Direction::get);
  fill_pattern(window.span(), 1);
  auto token = mint(window);
  auto target = open(token, Direction::get);
  const auto bytes = pattern(1001, 2);
  const auto refused = [&](std::uint64_t offset, std::size_t count) {
    CompletionBox box;
    target->write(offset, std::span(bytes).first(count), box.callback());
    EXPECT_EQ(server_->outstanding(), 0U) << "something was posted";
    const auto result = finish(box);
    EXPECT_THAT(result, Fails(ErrorCode::invalid_argument));
    EXPECT_THAT(result, HasOutcome(Outcome::refused));
  };
  refused(0, 1001);
  refused(1, 1000);
  refused(999, 2);
  refused(1000, 1);
  refused(UINT64_MAX, 2);
  refused(UINT64_MAX - 1, 1000);
  refused(0, 0);
  EXPECT_TRUE(holds_pattern(window.span(), 1));
  EXPECT_THAT(write(*target, 0, std::span(bytes).first(1000)), IsOkAndHolds(1000U))
      << "a refusal breaks nothing";
  close(std::move(target));
  revoke(std::move(token), RevokeReason::completed);
  EXPECT_TRUE(window.buffer.canaries_intact());
}

TEST_P(FabricSuite, AnOperationLargerThanTheLargestIsRefused) {
  const auto window = TestWindow::make(64, Direction::get);
  auto token = mint(window);
  // The server takes a size on trust that the client never gave; nothing is posted, so the pointer is never
  // followed.
  auto parsed = parse(token);
  parsed.bytes = std::uint64_t{1} << 31U;
  auto target = open(parsed, policy(Direction::get));
  const std::uint64_t largest = target->max_operation_bytes();
  ASSERT_GT(largest, 0U);
  ASSERT_LT(largest, parsed.bytes) << "one operation could keep a lane busy for seconds";
  std::byte local{};
  const auto result = write(*target, 0, {&local, static_cast<std::size_t>(largest + 1)});
  EXPECT_THAT(result, Fails(ErrorCode::invalid_argument));
  EXPECT_THAT(result, HasOutcome(Outcome::refused));
  close(std::move(target));
  revoke(std::move(token), RevokeReason::completed);
}

TEST_P(FabricSuite, ADirectionThatThePolicyDoesNotAllowIsRefusedWithoutAPost) {
  for (const Direction direction : {Direction::get, Direction::put}) {
    const auto window = TestWindow::make(1000, direction);
    fill_pattern(window.span(), 1);
    auto token = mint(window);
    auto target = open(token, direction);
    auto local = pattern(1000, 2);
    const auto result = direction == Direction::get ? read(*target, 0, local) : write(*target, 0, local);
    EXPECT_THAT(result, Fails(ErrorCode::invalid_argument));
    EXPECT_THAT(result, HasOutcome(Outcome::refused));
    EXPECT_TRUE(holds_pattern(window.span(), 1));
    EXPECT_TRUE(holds_pattern(local, 2));
    close(std::move(target));
    revoke(std::move(token), RevokeReason::completed);
  }
}

TEST_P(FabricSuite, TheFabricRefusesADirectionThatTheTokenDoesNotGrant) {
  for (const Direction direction : {Direction::get, Direction::put}) {
    const auto window = TestWindow::make(100000, direction);
    fill_pattern(window.span(), 1);
    auto token = mint(window);
    // A gateway that was told the wrong direction, or lies about it.
    const Direction wrong = direction == Direction::get ? Direction::put : Direction::get;
    auto target = open(token, wrong);
    auto local = pattern(100000, 2);
    const auto result = wrong == Direction::get ? write(*target, 0, local) : read(*target, 0, local);
    EXPECT_FALSE(result.has_value());
    EXPECT_TRUE(holds_pattern(window.span(), 1));
    EXPECT_TRUE(holds_pattern(local, 2));
    close(std::move(target));
    EXPECT_EQ(revoke(std::move(token), RevokeReason::doubtful), FenceOutcome::fenced);
    EXPECT_TRUE(holds_pattern(window.span(), 1));
  }
}

/// Opens a token that differs from the minted one and tries to move bytes with it: none may land anywhere.
template <class Forge>
void expect_forgery_moves_nothing(fabric::ServerFabric& server, const FabricUnderTest& under_test,
                                  const TestWindow& window, const fabric::ParsedToken& honest,
                                  std::uint64_t offset, Forge forge) {
  fill_pattern(window.span(), 1);
  const Direction direction = window.window.direction();
  fabric::ParsedToken forged = honest;
  forge(forged);
  auto target = server.open(forged, open_policy(under_test, direction));
  if (!target) {
    EXPECT_THAT(target.error().outcome(), Outcome::refused);
    return;
  }
  auto local = pattern(4096, 2);
  CompletionBox box;
  if (direction == Direction::get) {
    (*target)->write(offset, local, box.callback());
  } else {
    (*target)->read(offset, local, box.callback());
  }
  ASSERT_TRUE(run_until(
      server, [&] { return box.done(); }, patience()));
  EXPECT_FALSE(box.value().has_value()) << "the fabric took a forged token";
  CallbackBox<bool> closed;
  (*target)->close(as_close(closed));
  ASSERT_TRUE(run_until(
      server, [&] { return closed.done(); }, patience()));
  EXPECT_EQ(box.count(), 1);
  EXPECT_TRUE(holds_pattern(window.span(), 1));
  EXPECT_TRUE(window.buffer.canaries_intact());
  EXPECT_TRUE(holds_pattern(local, 2));
}

TEST_P(FabricSuite, ForgedTokensMoveNothing) {
  constexpr std::size_t kBytes = 8192;
  for (const Direction direction : {Direction::get, Direction::put}) {
    const auto window = TestWindow::make(kBytes, direction);
    const auto attempt = [&](const char* what, std::uint64_t offset, auto forge) {
      SCOPED_TRACE(testing::Message() << what << " " << to_string(direction));
      auto token = mint(window);
      expect_forgery_moves_nothing(*server_, GetParam(), window, parse(token), offset, forge);
      EXPECT_EQ(revoke(std::move(token), RevokeReason::doubtful), FenceOutcome::fenced);
    };
    attempt("longer: behind the end", kBytes, [](auto& token) { token.bytes += 4096; });
    attempt("longer: over the end", kBytes - 100, [](auto& token) { token.bytes += 4096; });
    attempt("moved: over the end", kBytes - 4096, [](auto& token) { token.base += 1; });
    attempt("moved far away", 0, [](auto& token) { token.base += std::uint64_t{1} << 40U; });
    attempt("another key", 0, [](auto& token) { token.key ^= 1U; });
    attempt("key zero", 0, [](auto& token) { token.key = 0; });
  }
}

TEST_P(FabricSuite, AKeyIsGoodForItsOwnLaneOnly) {
  if (!GetParam().one_window_per_lane) GTEST_SKIP() << "windows share lanes here";
  const auto mine = TestWindow::make(8192, Direction::get);
  const auto other = TestWindow::make(8192, Direction::get);
  fill_pattern(other.span(), 3);
  auto token = mint(mine);
  auto other_token = mint(other);
  const std::uint64_t other_key = parse(other_token).key;
  expect_forgery_moves_nothing(*server_, GetParam(), mine, parse(token), 0,
                               [&](auto& forged) { forged.key = other_key; });
  EXPECT_TRUE(holds_pattern(other.span(), 3));
  EXPECT_TRUE(other.buffer.canaries_intact());
  revoke(std::move(token), RevokeReason::doubtful);
  revoke(std::move(other_token), RevokeReason::doubtful);
}

TEST_P(FabricSuite, AForgeryHarmsNoOtherWindow) {
  const auto honest = TestWindow::make(100000, Direction::get);
  const auto attacked = TestWindow::make(8192, Direction::get);
  auto honest_token = mint(honest);
  auto target = open(honest_token, Direction::get);
  EXPECT_THAT(write(*target, 0, pattern(50000, 7)), IsOkAndHolds(50000U));
  auto token = mint(attacked);
  expect_forgery_moves_nothing(*server_, GetParam(), attacked, parse(token), 0,
                               [](auto& forged) { forged.key ^= 1U; });
  EXPECT_THAT(write(*target, 50000, pattern(50000, 7, 50000)), IsOkAndHolds(50000U));
  EXPECT_TRUE(holds_pattern(honest.span(), 7));
  close(std::move(target));
  revoke(std::move(token), RevokeReason::doubtful);
  revoke(std::move(honest_token), RevokeReason::completed);
}

TEST_P(FabricSuite, AnAddressThatThePolicyDoesNotAllowIsRefused) {
  if (GetParam().address.empty()) GTEST_SKIP() << "tokens carry no address here";
  const auto window = TestWindow::make(100, Direction::get);
  auto token = mint(window);
  auto how = policy(Direction::get);
  how.peer_address = "192.0.2.1";
  const auto refused = server_->open(parse(token), how);
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().code(), ErrorCode::token_refused);
  EXPECT_EQ(refused.error().outcome(), Outcome::refused);
  EXPECT_THAT(refused.error().describe(), testing::Not(testing::HasSubstr(token.text())));
  how.allowed_peers = {"192.0.2.7", GetParam().address};
  auto target = open(parse(token), how);
  EXPECT_THAT(write(*target, 0, pattern(100, 1)), IsOkAndHolds(100U));
  close(std::move(target));
  revoke(std::move(token), RevokeReason::completed);
}

TEST_P(FabricSuite, NothingIsPostedAfterTheLease) {
  const auto window = TestWindow::make(1000, Direction::get);
  fill_pattern(window.span(), 1);
  auto token = mint(window);
  auto how = policy(Direction::get);
  how.lease = Deadline::after(std::chrono::seconds(0));
  auto target = open(parse(token), how);
  const auto bytes = pattern(1000, 2);
  CompletionBox box;
  target->write(0, bytes, box.callback());
  EXPECT_EQ(server_->outstanding(), 0U) << "something was posted";
  const auto result = finish(box);
  EXPECT_THAT(result, Fails(ErrorCode::lease_expired));
  EXPECT_THAT(result, HasOutcome(Outcome::refused));
  EXPECT_TRUE(holds_pattern(window.span(), 1));
  close(std::move(target));
  revoke(std::move(token), RevokeReason::completed);
}

TEST_P(FabricSuite, ALeaseThatEndsBetweenOperationsEndsThem) {
  const auto window = TestWindow::make(1000, Direction::get);
  auto token = mint(window);
  auto how = policy(Direction::get);
  how.lease = Deadline::after(std::chrono::milliseconds(1500));
  auto target = open(parse(token), how);
  EXPECT_THAT(write(*target, 0, pattern(1000, 1)), IsOkAndHolds(1000U));
  run_until(
      *server_, [&] { return how.lease.expired(); }, patience());
  EXPECT_THAT(write(*target, 0, pattern(1000, 2)), Fails(ErrorCode::lease_expired));
  EXPECT_TRUE(holds_pattern(window.span(), 1));
  close(std::move(target));
  revoke(std::move(token), RevokeReason::completed);
}

TEST_P(FabricSuite, AWindowOfARegionThatIsLeavingStaysGood) {
  auto window = TestWindow::make(1000, Direction::get);
  window.region->retire();
  // The window was made before: it is still good, and so is its token.
  auto token = mint(window);
  auto target = open(token, Direction::get);
  EXPECT_THAT(write(*target, 0, pattern(1000, 1)), IsOkAndHolds(1000U));
  close(std::move(target));
  revoke(std::move(token), RevokeReason::completed);
  EXPECT_THAT(fabric::Window::make(window.region, 0, 1, Direction::get), Fails(ErrorCode::invalid_argument));
}

}  // namespace sluice::test
