// Conformance of fabrics: whatever the server half does, at whichever operation, the client's memory stays
// its own.
#pragma once

#include <cstring>
#include <optional>

#include "conformance/fabric_fixture.h"
#include "fabric/fault/fault_fabric.h"

namespace sluice::test {

using fabric::Fault;
using fabric::FaultKind;
using fabric::FaultPlan;

/// One transfer as a gateway and a client make it, with a fault in it.
class FaultRun {
 public:
  static constexpr std::size_t kPiece = 20011;
  static constexpr std::size_t kPieces = 4;
  static constexpr std::size_t kBytes = kPiece * kPieces;
  static constexpr std::uint64_t kObject = 0x0b1ec7;
  static constexpr std::uint64_t kOld = 0x01d;

  FaultRun(const FabricUnderTest& under_test, Direction direction, std::shared_ptr<FaultPlan> server_plan,
           std::shared_ptr<FaultPlan> client_plan, std::shared_ptr<fabric::ClientFabric> client,
           std::unique_ptr<fabric::ServerFabric> server)
      : under_test_(under_test),
        direction_(direction),
        server_plan_(std::move(server_plan)),
        client_(make_faulty(std::move(client), std::move(client_plan))),
        server_(make_faulty(std::move(server), server_plan_)),
        window_(TestWindow::make(GuardedBuffer::at_offset(kBytes, 63), direction)) {}

  struct Report {
    bool server_claims_success = false;
    bool bytes_are_right = false;
    std::optional<FenceOutcome> fence;  ///< nullopt: nothing was minted
  };

  Report run() {
    Report report;
    fill_pattern(window_.span(), direction_ == Direction::get ? kOld : kObject);
    local_ = direction_ == Direction::get ? pattern(kBytes, kObject) : pattern(kBytes, kOld);
    auto token =
        client_->mint(window_.window, {.local_address = under_test_.address, .peer = "server.test:9000"});
    if (!token) return report;
    auto parsed = under_test_.parse(token->text());
    EXPECT_THAT(parsed, IsOk());
    report.server_claims_success = serve(*parsed);
    report.bytes_are_right = !first_mismatch(
        direction_ == Direction::get ? std::span<const std::byte>(window_.span()) : local_, kObject);
    EXPECT_TRUE(window_.buffer.canaries_intact()) << "bytes moved outside the window";
    report.fence = end(std::move(*token), report);
    return report;
  }
  fabric::ClientFabric& client() { return *client_; }

 private:
  /// What a gateway does. True if every byte was reported as moved.
  bool serve(const fabric::ParsedToken& token) {
    auto target = server_->open(token, open_policy(under_test_, direction_));
    if (!target) return false;
    std::deque<CompletionBox> boxes;
    for (std::size_t at = 0; at < kBytes; at += kPiece) {
      auto& box = boxes.emplace_back();
      const auto piece = std::span(local_).subspan(at, kPiece);
      if (direction_ == Direction::get) {
        (*target)->write(at, piece, box.callback());
      } else {
        (*target)->read(at, piece, box.callback());
      }
      EXPECT_EQ(box.count(), 0) << "the completion ran before the call returned";
    }
    // A lost completion comes with close only: a gateway gives up on it when its own deadline passes.
    const std::size_t lost =
        server_plan_->plans(FaultKind::lost_completion) && server_plan_->all_hit() ? 1 : 0;
    const auto enough = [&] {
      return std::ranges::count_if(boxes, [](const auto& box) { return box.done(); }) >=
             static_cast<std::ptrdiff_t>(kPieces - lost);
    };
    EXPECT_TRUE(run_until(*server_, enough, patience())) << "a completion is missing";
    bool moved = std::ranges::all_of(boxes, [](const auto& box) { return box.done(); });
    CallbackBox<bool> closed;
    (*target)->close(as_close(closed));
    EXPECT_TRUE(run_until(
        *server_, [&] { return closed.done(); }, patience()))
        << "close never called back";
    for (const auto& box : boxes) {
      EXPECT_EQ(box.count(), 1) << "every operation is answered exactly once";
      if (!box.done()) continue;
      const auto result = box.value();
      moved = moved && result && *result == kPiece;
      if (!result) {
        EXPECT_NE(result.error().code(), ErrorCode::internal) << result.error().describe();
      }
    }
    return moved;
  }

  /// What a client does: revoke, take the memory back, and see that it is its own.
  FenceOutcome end(fabric::Token token, const Report& report) {
    constexpr std::byte kCanary{0xc5};
    // A client compares counts and checksums; what is wrong there is doubtful.
    const bool trusts = report.server_claims_success && report.bytes_are_right;
    FenceBox fence;
    std::move(token).revoke(trusts ? RevokeReason::completed : RevokeReason::doubtful,
                            Deadline::after(limits::kFenceTimeout), fence.callback());
    const auto outcome = fence.wait(patience());
    EXPECT_TRUE(outcome.has_value()) << "the fence never answered";
    if (outcome == FenceOutcome::fenced) {
      std::memset(window_.span().data(), std::to_integer<int>(kCanary), kBytes);
      server_plan_->release_late();
      run_for(*server_, std::chrono::milliseconds(10));
      EXPECT_EQ(first_other(window_.span(), kCanary), std::nullopt) << "a byte changed after the fence";
    }
    EXPECT_TRUE(window_.buffer.canaries_intact()) << "bytes moved outside the window";
    EXPECT_EQ(fence.count(), 1);
    return outcome.value_or(FenceOutcome::quarantined);
  }

  FabricUnderTest under_test_;
  Direction direction_;
  std::shared_ptr<FaultPlan> server_plan_;
  std::vector<std::byte> local_;
  std::shared_ptr<fabric::ClientFabric> client_;
  std::unique_ptr<fabric::ServerFabric> server_;
  TestWindow window_;
};

/// Faults after which the transfer is right all the same.
inline bool is_harmless(FaultKind kind) {
  return kind == FaultKind::none || kind == FaultKind::delay || kind == FaultKind::call ||
         kind == FaultKind::duplicate;
}

inline std::vector<FaultKind> all_faults() {
  return {FaultKind::fail_open,
          FaultKind::fail_before_post,
          FaultKind::fail_after_move,
          FaultKind::short_move,
          FaultKind::over_long,
          FaultKind::duplicate,
          FaultKind::late,
          FaultKind::lost_completion,
          FaultKind::wrong_key,
          FaultKind::delay,
          FaultKind::call,
          FaultKind::fail_fence};
}

TEST_P(FabricSuite, WhateverTheServerDoesAtWhicheverOperationTheWindowIsSafe) {
  for (const Direction direction : {Direction::get, Direction::put}) {
    for (const FaultKind kind : all_faults()) {
      bool clean = false;
      for (std::uint64_t n = 1; !clean; ++n) {
        ASSERT_LT(n, 20U) << "the loop must end with a run that meets no fault";
        SCOPED_TRACE(testing::Message() << to_string(direction) << " " << to_string(kind) << " at " << n);
        int hooks = 0;
        auto plan = std::make_shared<FaultPlan>(std::vector<Fault>{
            {.kind = kind, .at_operation = n, .delay = std::chrono::milliseconds(10), .hook = [&] {
               ++hooks;
             }}});
        auto server = GetParam().make_server();
        ASSERT_THAT(server, IsOk());
        FaultRun run(GetParam(), direction, plan, std::make_shared<FaultPlan>(), client_, std::move(*server));
        const auto report = run.run();
        clean = !plan->all_hit();
        EXPECT_EQ(report.fence, FenceOutcome::fenced);
        if (clean || is_harmless(kind)) {
          EXPECT_TRUE(report.server_claims_success);
          EXPECT_TRUE(report.bytes_are_right);
        }
        // Only a liar claims bytes that are not there.
        if (report.server_claims_success && kind != FaultKind::late) {
          EXPECT_TRUE(report.bytes_are_right);
        }
        EXPECT_EQ(hooks, kind == FaultKind::call && !clean ? 1 : 0);
        if (testing::Test::HasFailure()) return;
      }
    }
  }
}

TEST_P(FabricSuite, FaultsOfTheClientHalfAtWhicheverOperationAreSurvived) {
  for (const FaultKind kind : {FaultKind::fail_open, FaultKind::wrong_key, FaultKind::delay, FaultKind::call,
                               FaultKind::fail_fence}) {
    bool clean = false;
    for (std::uint64_t n = 1; !clean; ++n) {
      ASSERT_LT(n, 20U);
      SCOPED_TRACE(testing::Message() << to_string(kind) << " at " << n);
      auto plan = std::make_shared<FaultPlan>(std::vector<Fault>{
          {.kind = kind, .at_operation = n, .delay = std::chrono::milliseconds(5), .hook = [] {}}});
      auto server = GetParam().make_server();
      ASSERT_THAT(server, IsOk());
      FaultRun run(GetParam(), Direction::get, std::make_shared<FaultPlan>(), plan, client_,
                   std::move(*server));
      const auto report = run.run();
      clean = !plan->all_hit();
      const bool minted = !(kind == FaultKind::fail_open && n == 1);
      EXPECT_EQ(report.fence.has_value(), minted);
      if (!minted) continue;
      const bool quarantined = kind == FaultKind::fail_fence && n == 2;
      EXPECT_EQ(report.fence, quarantined ? FenceOutcome::quarantined : FenceOutcome::fenced);
      EXPECT_EQ(run.client().quarantined_bytes(),
                client_->quarantined_bytes() + (quarantined ? FaultRun::kBytes : 0));
      const bool forged = kind == FaultKind::wrong_key && n == 1;
      EXPECT_EQ(report.server_claims_success, !forged);
      EXPECT_EQ(report.bytes_are_right, !forged);
    }
  }
}

TEST_P(FabricSuite, LateBytesMoveWhileTheTokenIsStillOut) {
  // The counterpart of the tests above: without a fence the same late write does land, so that they prove
  // something.
  auto plan = std::make_shared<FaultPlan>(std::vector<Fault>{{.kind = FaultKind::late, .at_operation = 2}});
  auto server = GetParam().make_server();
  ASSERT_THAT(server, IsOk());
  server_ = make_faulty(std::move(*server), plan);
  const auto window = TestWindow::make(100000, Direction::get);
  fill_pattern(window.span(), 1);
  auto token = mint(window);
  auto target = open(token, Direction::get);
  EXPECT_THAT(write(*target, 0, pattern(100000, 2)), IsOkAndHolds(100000U));
  close(std::move(target));
  EXPECT_TRUE(holds_pattern(window.span(), 1)) << "late means not yet";
  plan->release_late();
  EXPECT_TRUE(run_until(
      *server_, [&] { return !first_mismatch(window.span(), 2); }, patience()))
      << "the held write never happened: the fence tests test nothing";
  EXPECT_EQ(revoke(std::move(token), RevokeReason::doubtful), FenceOutcome::fenced);
}

TEST_P(FabricSuite, AFenceBindsLateWritesThatStartWhileItIsMade) {
  constexpr std::byte kCanary{0xc5};
  constexpr std::size_t kBytes = 1U << 20U;
  const auto object = pattern(kBytes, 2);
  const auto window = TestWindow::make(kBytes, Direction::get);
  for (int round = 0; round < 12; ++round) {
    auto plan = std::make_shared<FaultPlan>(std::vector<Fault>{{.kind = FaultKind::late, .at_operation = 3}});
    ServerThread server([&]() -> Result<std::unique_ptr<fabric::ServerFabric>> {
      auto made = GetParam().make_server();
      if (!made) return made;
      return make_faulty(std::move(*made), plan);
    });
    auto token = mint(window);
    auto target = std::make_shared<std::unique_ptr<fabric::Target>>();
    CompletionBox honest;
    CompletionBox lie;
    server.call([&](fabric::ServerFabric& fabric) {
      *target = std::move(*fabric.open(parse(token), policy(Direction::get)));
      (*target)->write(0, object, honest.callback());
      (*target)->write(0, object, lie.callback());
    });
    ASSERT_TRUE(honest.wait(patience()).has_value());
    ASSERT_TRUE(lie.wait(patience()).has_value());
    plan->release_late();
    std::this_thread::sleep_for(std::chrono::microseconds(round * 100));
    ASSERT_EQ(revoke(std::move(token), RevokeReason::doubtful), FenceOutcome::fenced);
    std::memset(window.span().data(), std::to_integer<int>(kCanary), kBytes);
    std::this_thread::sleep_for(std::chrono::milliseconds(3));
    CallbackBox<bool> closed;
    server.call([&](fabric::ServerFabric&) { (*target)->close(as_close(closed)); });
    ASSERT_TRUE(closed.wait(patience()).has_value());
    server.call([&](fabric::ServerFabric&) { target->reset(); });
    ASSERT_EQ(first_other(window.span(), kCanary), std::nullopt)
        << "round " << round << ": changed after the fence";
  }
}

}  // namespace sluice::test
