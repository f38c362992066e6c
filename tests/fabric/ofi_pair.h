// A client half and a server half of one libfabric provider in one process, and what every test of them
// needs.
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <string>
#include <utility>

#include "base/limits.h"
#include "fabric/ofi/client.h"
#include "fabric/ofi/server.h"
#include "fabric/registry.h"
#include "fabric/token_text.h"
#include "fixtures/canary.h"
#include "fixtures/fabric_loop.h"
#include "fixtures/matchers.h"

namespace sluice::test {

using namespace std::chrono_literals;

inline Deadline soon() {
  return Deadline::after(10s);
}

/// A window over all of `memory`.
inline fabric::Window window_over(std::span<std::byte> memory, fabric::Direction direction) {
  auto region = fabric::Region::make(Memory::host(memory));
  return fabric::Window::make(*region, 0, memory.size(), direction).value();
}

/// Every byte of `memory` is `value`.
inline bool all_are(std::span<const std::byte> memory, std::byte value) {
  return memory.front() == value && std::memcmp(memory.data(), memory.data() + 1, memory.size() - 1) == 0;
}

class OfiPair : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    const auto* traits = fabric::ofi::find_traits(GetParam());
    ASSERT_NE(traits, nullptr);
    auto client = fabric::ofi::OfiClient::open(*traits, "ofi:" + GetParam());
    ASSERT_THAT(client, IsOk());
    client_ = std::move(*client);
    server_ = new_server();
    ASSERT_NE(server_, nullptr);
  }

  [[nodiscard]] std::unique_ptr<fabric::ofi::OfiServer> new_server() const {
    auto server = fabric::ofi::OfiServer::make(*fabric::ofi::find_traits(GetParam()), "ofi:" + GetParam());
    EXPECT_THAT(server, IsOk());
    return server ? std::move(*server) : nullptr;
  }
  [[nodiscard]] fabric::MintOptions from() const { return {address_, "server:9000"}; }
  [[nodiscard]] fabric::OpenPolicy policy(fabric::Direction direction) const {
    fabric::OpenPolicy policy;
    policy.direction = direction;
    policy.peer_address = address_;
    policy.local_address = address_;
    policy.lease = Deadline::after(20s);
    policy.drain = Deadline::after(23s);
    return policy;
  }
  /// The token as the server would understand it.
  static fabric::ParsedToken parsed(const fabric::Token& token) {
    return fabric::parse_token_text(token.text()).value();
  }
  /// Opens, moves everything in chunks of at most a megabyte one after the other, closes.
  Result<void> move_all(fabric::ServerFabric& server, const fabric::ParsedToken& token,
                        fabric::Direction direction, std::span<std::byte> local) {
    auto target = server.open(token, policy(direction));
    if (!target) return target.error();
    Result<void> outcome;
    for (std::size_t at = 0; at < local.size() && outcome;) {
      const auto piece =
          local.subspan(at, std::min<std::size_t>(local.size() - at, (*target)->max_operation_bytes()));
      CompletionBox box;
      if (direction == fabric::Direction::get) {
        (*target)->write(at, piece, box.callback());
      } else {
        (*target)->read(at, piece, box.callback());
      }
      EXPECT_FALSE(box.done());
      EXPECT_TRUE(run_until(
          server, [&] { return box.done(); }, soon()));
      if (!box.done()) return Error(ErrorCode::timeout, "the operation never completed");
      if (auto moved = box.value(); !moved) {
        outcome = moved.error();
      } else {
        EXPECT_EQ(*moved, piece.size());
      }
      at += piece.size();
    }
    close(server, **target);
    return outcome;
  }
  static void close(fabric::ServerFabric& server, fabric::Target& target) {
    CallbackBox<bool> closed;
    target.close(as_close(closed));
    EXPECT_FALSE(closed.done());
    EXPECT_TRUE(run_until(
        server, [&] { return closed.done(); }, soon()));
  }
  /// A failed operation, as one.
  static Result<std::uint64_t> run(fabric::ServerFabric& server, CompletionBox& box,
                                   Deadline deadline = soon()) {
    if (!run_until(
            server, [&] { return box.done(); }, deadline))
      return Error(ErrorCode::internal, "the operation never completed");
    return box.value();
  }

  std::string address_ = "127.0.0.1";
  std::shared_ptr<fabric::ofi::OfiClient> client_;
  std::unique_ptr<fabric::ofi::OfiServer> server_;
};

inline std::string provider_name(const testing::TestParamInfo<std::string>& info) {
  std::string name = info.param;
  for (char& c : name)
    if (std::isalnum(static_cast<unsigned char>(c)) == 0) c = '_';
  return name;
}

inline auto socket_providers() {
  return testing::Values("net", "tcp;ofi_rxm");
}

}  // namespace sluice::test
