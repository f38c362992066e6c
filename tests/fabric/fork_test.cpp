// A child of fork has the parent's lanes in memory and must keep its hands off them.
#include "fabric/fork.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>

#include "conformance/fabric_fixture.h"
#include "fabric/registry.h"
#include "fabric/token_text.h"

namespace sluice::fabric {
namespace {

using test::as_close;
using test::CallbackBox;
using test::CompletionBox;
using test::Fails;
using test::holds_pattern;
using test::IsOk;
using test::IsOkAndHolds;
using test::patience;
using test::pattern;
using test::run_until;
using test::TestWindow;

constexpr const char* kAddress = "127.0.0.1";

/// Runs `body` in a forked child and returns its exit code; nullopt if it hung or a signal ended it.
template <class Body>
std::optional<int> in_child(Body body) {
  const pid_t pid = ::fork();
  if (pid == 0) {
    ::alarm(20);  // whatever goes wrong in there, it ends
    std::exit(body());
  }
  const Deadline deadline = patience();
  int status = 0;
  while (::waitpid(pid, &status, WNOHANG) == 0) {
    if (deadline.expired()) {
      ::kill(pid, SIGKILL);
      ::waitpid(pid, &status, 0);
      return std::nullopt;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  if (!WIFEXITED(status)) return std::nullopt;
  return WEXITSTATUS(status);
}

class ForkTest : public testing::Test {
 protected:
  void SetUp() override {
    auto client = client_fabric("ofi:tcp");
    ASSERT_THAT(client, IsOk());
    client_ = std::move(*client);
    auto server = make_server_fabric("ofi:tcp");
    ASSERT_THAT(server, IsOk());
    server_ = std::move(*server);
  }
  Result<Token> mint(const TestWindow& window) {
    return client_->mint(window.window, {.local_address = kAddress, .peer = "server.test:9000"});
  }
  OpenPolicy policy() const {
    return {.peer_address = kAddress, .local_address = kAddress, .lease = patience(), .drain = patience()};
  }
  std::shared_ptr<ClientFabric> client_;
  std::unique_ptr<ServerFabric> server_;
};

TEST_F(ForkTest, OnlyTheChildIsForked) {
  EXPECT_FALSE(forked_after_open());
  EXPECT_EQ(in_child([] { return forked_after_open() ? 0 : 1; }), 0);
  EXPECT_FALSE(forked_after_open());
}

TEST_F(ForkTest, AChildOfTheChildIsForkedToo) {
  EXPECT_EQ(in_child([] { return in_child([] { return forked_after_open() ? 0 : 1; }).value_or(2); }), 0);
}

TEST_F(ForkTest, MintAndOpenFailInTheChildAndNameTheCure) {
  const auto window = TestWindow::make(1000, Direction::get);
  auto token = mint(window);
  ASSERT_THAT(token, IsOk());
  const auto parsed = parse_token_text(token->text());
  ASSERT_THAT(parsed, IsOk());
  const auto code = in_child([&] {
    const auto refused = [](const auto& result) {
      return !result && result.error().code() == ErrorCode::unsupported &&
             result.error().describe().find("exec") != std::string::npos;
    };
    if (!refused(mint(window))) return 1;
    if (!refused(server_->open(*parsed, policy()))) return 2;
    if (!refused(make_server_fabric("ofi:tcp")) && !forked_after_open()) return 3;
    return 0;
  });
  EXPECT_EQ(code, 0);
  EXPECT_EQ(std::move(*token).revoke_and_wait(RevokeReason::completed, patience()), FenceOutcome::fenced);
}

TEST_F(ForkTest, TheChildForgetsInheritedTokensWhileTheParentsTransferGoesOn) {
  constexpr std::size_t kBytes = 300000;
  const auto window = TestWindow::make(kBytes, Direction::get);
  const auto object = pattern(kBytes, 1);
  auto token = mint(window);
  ASSERT_THAT(token, IsOk());
  const auto parsed = parse_token_text(token->text());
  ASSERT_THAT(parsed, IsOk());
  auto target = server_->open(*parsed, policy());
  ASSERT_THAT(target, IsOk());
  const auto write = [&](std::size_t at) {
    CompletionBox box;
    (*target)->write(at, std::span(object).subspan(at, kBytes / 3), box.callback());
    EXPECT_TRUE(run_until(
        *server_, [&] { return box.done(); }, patience()));
    return box.value();
  };
  EXPECT_THAT(write(0), IsOkAndHolds(kBytes / 3));

  // By destruction, by revoke, and by exit with everything still alive.
  EXPECT_EQ(in_child([&] {
              { const Token inherited = std::move(*token); }
              return 0;
            }),
            0);
  EXPECT_THAT(write(kBytes / 3), IsOkAndHolds(kBytes / 3));
  EXPECT_EQ(in_child([&] {
              const auto outcome = std::move(*token).revoke_and_wait(RevokeReason::doubtful, patience());
              return outcome == FenceOutcome::quarantined ? 0 : 1;
            }),
            0);
  EXPECT_EQ(in_child([] { return 0; }), 0);
  EXPECT_EQ(in_child([&] {
              server_ = nullptr;
              client_ = nullptr;
              return 0;
            }),
            0);

  EXPECT_THAT(write(kBytes / 3 * 2), IsOkAndHolds(kBytes / 3));
  EXPECT_TRUE(holds_pattern(window.span(), 1));
  CallbackBox<bool> closed;
  (*target)->close(as_close(closed));
  ASSERT_TRUE(run_until(
      *server_, [&] { return closed.done(); }, patience()));
  *target = nullptr;
  EXPECT_EQ(std::move(*token).revoke_and_wait(RevokeReason::doubtful, patience()), FenceOutcome::fenced);
}

}  // namespace
}  // namespace sluice::fabric
