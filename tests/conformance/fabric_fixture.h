// What every fabric provider is tested with: a client half, a server half, and windows between them.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <ostream>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/deadline.h"
#include "base/limits.h"
#include "fabric/fabric.h"
#include "fabric/window.h"
#include "fixtures/canary.h"
#include "fixtures/fabric_loop.h"
#include "fixtures/matchers.h"

namespace sluice::test {

using fabric::Direction;
using fabric::FenceOutcome;
using fabric::RevokeReason;

/// A provider under test. Functions may be called any number of times.
struct FabricUnderTest {
  std::string name;  ///< letters, digits and underscores: part of the test names
  std::function<Result<std::shared_ptr<fabric::ClientFabric>>()> make_client;
  std::function<Result<std::unique_ptr<fabric::ServerFabric>>()> make_server;
  std::function<Result<fabric::ParsedToken>(std::string_view)> parse;
  std::string address;  ///< of both halves; empty where tokens carry no network address
  /// A token like this one whose peer does not answer; null where a token cannot say so.
  std::function<fabric::ParsedToken(fabric::ParsedToken)> unreachable;
  bool one_window_per_lane = true;  ///< a key of another window's lane is unknown on this one
};
inline void PrintTo(const FabricUnderTest& fabric, std::ostream* out) {
  *out << fabric.name;
}

/// Memory with canaries, a region over it, and the window in the middle.
struct TestWindow {
  GuardedBuffer buffer;
  std::shared_ptr<fabric::Region> region;
  fabric::Window window;

  static TestWindow make(GuardedBuffer buffer, Direction direction) {
    // The region is the whole mapping, so that only the window's own bounds protect the canaries.
    auto region = fabric::Region::make(Memory::host(buffer.mapping()));
    if (!region) throw std::runtime_error(region.error().describe());
    auto window = fabric::Window::make(*region, buffer.offset_in_mapping(), buffer.size(), direction);
    if (!window) throw std::runtime_error(window.error().describe());
    return {std::move(buffer), std::move(*region), std::move(*window)};
  }
  static TestWindow make(std::size_t bytes, Direction direction) {
    return make(GuardedBuffer::at_offset(bytes, 0), direction);
  }
  [[nodiscard]] std::span<std::byte> span() const { return buffer.span(); }
};

inline fabric::OpenPolicy open_policy(const FabricUnderTest& fabric, Direction direction) {
  fabric::OpenPolicy policy;
  policy.direction = direction;
  policy.peer_address = fabric.address;
  policy.local_address = fabric.address;
  policy.lease = Deadline::after(std::chrono::seconds(20));
  policy.drain = Deadline::after(std::chrono::seconds(25));
  return policy;
}

/// Both halves in one process; the server half is driven by the test's own thread inside the calls below.
class FabricSuite : public testing::TestWithParam<FabricUnderTest> {
 protected:
  void SetUp() override {
    auto made_client = GetParam().make_client();
    ASSERT_THAT(made_client, IsOk());
    client_ = std::move(*made_client);
    auto made_server = GetParam().make_server();
    ASSERT_THAT(made_server, IsOk());
    server_ = std::move(*made_server);
  }

  [[nodiscard]] fabric::Token mint(const TestWindow& window) {
    auto token =
        client_->mint(window.window, {.local_address = GetParam().address, .peer = "server.test:9000"});
    if (!token) throw std::runtime_error("mint: " + token.error().describe());
    return std::move(*token);
  }
  [[nodiscard]] fabric::ParsedToken parse(const fabric::Token& token) const {
    auto parsed = GetParam().parse(token.text());
    if (!parsed) throw std::runtime_error("parse: " + parsed.error().describe());
    return *parsed;
  }
  [[nodiscard]] fabric::OpenPolicy policy(Direction direction) const {
    return open_policy(GetParam(), direction);
  }
  [[nodiscard]] std::unique_ptr<fabric::Target> open(const fabric::ParsedToken& token,
                                                     const fabric::OpenPolicy& how) {
    auto target = server_->open(token, how);
    if (!target) throw std::runtime_error("open: " + target.error().describe());
    return std::move(*target);
  }
  [[nodiscard]] std::unique_ptr<fabric::Target> open(const fabric::Token& token, Direction direction) {
    return open(parse(token), policy(direction));
  }

  /// One operation, driven to its completion, which must come once and not before the call returns.
  Result<std::uint64_t> finish(const CompletionBox& box) {
    EXPECT_EQ(box.count(), 0) << "the completion ran before the call returned";
    EXPECT_TRUE(run_until(
        *server_, [&] { return box.done(); }, patience()))
        << "no completion";
    if (!box.done()) return Error(ErrorCode::timeout, "no completion");
    EXPECT_EQ(box.count(), 1);
    return box.value();
  }
  Result<std::uint64_t> write(fabric::Target& target, std::uint64_t offset,
                              std::span<const std::byte> local) {
    CompletionBox box;
    target.write(offset, local, box.callback());
    return finish(box);
  }
  Result<std::uint64_t> read(fabric::Target& target, std::uint64_t offset, std::span<std::byte> local) {
    CompletionBox box;
    target.read(offset, local, box.callback());
    return finish(box);
  }
  /// The whole window in operations of the largest size, all asked for at once.
  std::vector<Result<std::uint64_t>> move_all(fabric::Target& target, Direction direction,
                                              std::span<std::byte> local) {
    const std::uint64_t step = target.max_operation_bytes();
    std::deque<CompletionBox> boxes;
    for (std::uint64_t at = 0; at < local.size(); at += step) {
      const auto piece = local.subspan(at, std::min<std::uint64_t>(step, local.size() - at));
      auto& box = boxes.emplace_back();
      if (direction == Direction::get) {
        target.write(at, piece, box.callback());
      } else {
        target.read(at, piece, box.callback());
      }
      EXPECT_EQ(box.count(), 0) << "the completion ran before the call returned";
    }
    const auto all = [&] { return std::ranges::all_of(boxes, [](const auto& box) { return box.done(); }); };
    EXPECT_TRUE(run_until(*server_, all, patience())) << "a completion is missing";
    std::vector<Result<std::uint64_t>> results;
    for (const auto& box : boxes) {
      EXPECT_EQ(box.count(), 1);
      results.push_back(box.done() ? box.value() : Error(ErrorCode::timeout, "no completion"));
    }
    return results;
  }
  void close(std::unique_ptr<fabric::Target> target) {
    CallbackBox<bool> closed;
    target->close(as_close(closed));
    EXPECT_EQ(closed.count(), 0) << "close called back before it returned";
    ASSERT_TRUE(run_until(
        *server_, [&] { return closed.done(); }, patience()))
        << "close never called back";
    EXPECT_EQ(closed.count(), 1);
  }
  static FenceOutcome revoke(fabric::Token token, RevokeReason reason) {
    return std::move(token).revoke_and_wait(reason, Deadline::after(limits::kFenceTimeout));
  }

  std::shared_ptr<fabric::ClientFabric> client_;
  std::unique_ptr<fabric::ServerFabric> server_;
};

GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(FabricSuite);

inline auto fabric_name(const testing::TestParamInfo<FabricUnderTest>& info) {
  return info.param.name;
}

}  // namespace sluice::test
