#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/deadline.h"
#include "base/limits.h"
#include "fabric/fabric.h"
#include "fixtures/fabric_loop.h"

namespace sluice::fabric {
namespace {

/// What happened to a provider's half of a token, and the answer it still owes.
struct Journal {
  std::vector<std::string> events;
  std::optional<RevokeReason> reason;
  Deadline deadline = Deadline::never();
  std::function<void(FenceOutcome)> pending;
};

enum class Answer { at_once, from_another_thread, never };

class RecordingImpl final : public Token::Impl {
 public:
  RecordingImpl(std::shared_ptr<Journal> journal, Answer answer, std::string text = "text")
      : journal_(std::move(journal)), answer_(answer), text_(std::move(text)) {}
  ~RecordingImpl() override { journal_->events.push_back("destroyed " + text_); }
  const std::string& text() const override { return text_; }
  void revoke(RevokeReason reason, Deadline deadline, std::function<void(FenceOutcome)> done) override {
    journal_->events.push_back("revoked " + text_);
    journal_->reason = reason;
    journal_->deadline = deadline;
    if (answer_ == Answer::at_once) done(FenceOutcome::fenced);
    if (answer_ == Answer::from_another_thread) {
      std::thread([done = std::move(done)] {
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
        done(FenceOutcome::fenced);
      }).detach();
    }
    if (answer_ == Answer::never) journal_->pending = std::move(done);
  }

 private:
  std::shared_ptr<Journal> journal_;
  Answer answer_;
  std::string text_;
};

Token make_token(const std::shared_ptr<Journal>& journal, Answer answer, std::string text = "text") {
  return Token(std::make_unique<RecordingImpl>(journal, answer, std::move(text)));
}

using Events = std::vector<std::string>;

TEST(TokenTest, DestructionRevokesAsDoubtfulWithTheFenceTimeout) {
  auto journal = std::make_shared<Journal>();
  const Deadline before = Deadline::after(limits::kFenceTimeout);
  { const Token token = make_token(journal, Answer::from_another_thread); }
  EXPECT_EQ(journal->events, (Events{"revoked text", "destroyed text"}));
  EXPECT_EQ(journal->reason, RevokeReason::doubtful);
  EXPECT_GE(journal->deadline, before);
  EXPECT_LE(journal->deadline, Deadline::after(limits::kFenceTimeout));
}

TEST(TokenTest, DestructionWaitsForTheFence) {
  auto journal = std::make_shared<Journal>();
  auto fenced = std::make_shared<std::atomic<bool>>(false);
  class SlowImpl final : public Token::Impl {
   public:
    explicit SlowImpl(std::shared_ptr<std::atomic<bool>> fenced) : fenced_(std::move(fenced)) {}
    const std::string& text() const override { return text_; }
    void revoke(RevokeReason, Deadline, std::function<void(FenceOutcome)> done) override {
      std::thread([done = std::move(done), fenced = fenced_] {
        std::this_thread::sleep_for(std::chrono::milliseconds(30));
        *fenced = true;
        done(FenceOutcome::fenced);
      }).detach();
    }

   private:
    std::shared_ptr<std::atomic<bool>> fenced_;
    std::string text_;
  };
  { const Token token{std::make_unique<SlowImpl>(fenced)}; }
  EXPECT_TRUE(*fenced);
}

TEST(TokenTest, ARevokedOrMovedFromTokenIsNotRevokedAgain) {
  auto journal = std::make_shared<Journal>();
  {
    Token first = make_token(journal, Answer::at_once);
    Token second = std::move(first);
    EXPECT_FALSE(first.live());  // NOLINT(bugprone-use-after-move): what a moved-from token is
    EXPECT_TRUE(second.live());
    EXPECT_EQ(second.text(), "text");
    test::FenceBox box;
    std::move(second).revoke(RevokeReason::completed, Deadline::never(), box.callback());
    EXPECT_FALSE(second.live());  // NOLINT(bugprone-use-after-move)
    EXPECT_EQ(box.value(), FenceOutcome::fenced);
    EXPECT_EQ(box.count(), 1);
  }
  EXPECT_EQ(journal->events, (Events{"revoked text", "destroyed text"}));
  EXPECT_EQ(journal->reason, RevokeReason::completed);
}

TEST(TokenTest, AssigningOverALiveTokenRevokesIt) {
  auto journal = std::make_shared<Journal>();
  Token token = make_token(journal, Answer::from_another_thread, "old");
  token = make_token(journal, Answer::at_once, "new");
  EXPECT_EQ(journal->events, (Events{"revoked old", "destroyed old"}));
  EXPECT_EQ(token.text(), "new");
  Token& alias = token;
  token = std::move(alias);
  EXPECT_TRUE(token.live());
  std::move(token).revoke(RevokeReason::completed, Deadline::never(), [](FenceOutcome) {});
  token = make_token(journal, Answer::at_once, "third");
  EXPECT_EQ(token.text(), "third");
}

TEST(TokenTest, AProviderThatNeverAnswersCountsAsQuarantined) {
  auto journal = std::make_shared<Journal>();
  Token token = make_token(journal, Answer::never);
  EXPECT_EQ(
      std::move(token).revoke_and_wait(RevokeReason::doubtful, Deadline::after(std::chrono::milliseconds(1))),
      FenceOutcome::quarantined);
  journal->pending(FenceOutcome::fenced);  // too late, and harmless
}

}  // namespace
}  // namespace sluice::fabric
