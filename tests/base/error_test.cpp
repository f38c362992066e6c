#include "sluice/error.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <set>
#include <string>

#include "base/try.h"
#include "fixtures/matchers.h"

namespace sluice {
namespace {

using testing::HasSubstr;

TEST(ErrorTest, StartsRefusedAndWithoutRetry) {
  const Error error(ErrorCode::not_found, "no such bucket 'b'");
  EXPECT_EQ(error.code(), ErrorCode::not_found);
  EXPECT_EQ(error.outcome(), Outcome::refused);
  EXPECT_EQ(error.retry(), Retry::never);
  EXPECT_EQ(error.retry_after().count(), 0);
  EXPECT_EQ(error.message(), "no such bucket 'b'");
  EXPECT_EQ(error.describe(), "no such bucket 'b'");
  EXPECT_EQ(error.s3().http_status, 0);
  EXPECT_EQ(error.native().domain, "");
}

TEST(ErrorTest, BuildersChainOnATemporary) {
  const Error error = Error(ErrorCode::overloaded, "busy")
                          .with_outcome(Outcome::uncertain)
                          .with_retry(Retry::later, std::chrono::milliseconds(250))
                          .with_s3({"SlowDown", "id-1", 503})
                          .with_native("errno", EAGAIN)
                          .with_context("put s3://b/k");
  EXPECT_EQ(error.outcome(), Outcome::uncertain);
  EXPECT_EQ(error.retry(), Retry::later);
  EXPECT_EQ(error.retry_after(), std::chrono::milliseconds(250));
  EXPECT_EQ(error.s3().code, "SlowDown");
  EXPECT_EQ(error.s3().request_id, "id-1");
  EXPECT_EQ(error.s3().http_status, 503);
  EXPECT_EQ(error.native().domain, "errno");
  EXPECT_EQ(error.native().value, EAGAIN);
  EXPECT_EQ(error.describe(), "put s3://b/k: busy");
}

TEST(ErrorTest, DescribesContextsOutermostFirstAndSkipsRepetitions) {
  Error error(ErrorCode::peer_gone, "connection reset");
  error.add_context("sending the head");
  error.add_context("put s3://b/k").add_context("put s3://b/k").add_context("");
  EXPECT_EQ(error.describe(), "put s3://b/k: sending the head: connection reset");
  EXPECT_EQ(error.message(), "connection reset");
}

TEST(ErrorTest, CopiesAreIndependent) {
  const Error first = Error(ErrorCode::timeout, "late").with_context("a");
  Error second = first;
  second.set_outcome(Outcome::uncertain).add_context("b");
  EXPECT_EQ(first.outcome(), Outcome::refused);
  EXPECT_EQ(first.describe(), "a: late");
  EXPECT_EQ(second.describe(), "b: a: late");
  second = first;
  EXPECT_EQ(second.describe(), "a: late");
  const Error& alias = second;
  second = alias;
  EXPECT_EQ(second.describe(), "a: late");
}

TEST(ErrorTest, AMovedFromErrorMayBeAssigned) {
  Error first(ErrorCode::timeout, "late");
  const Error second = std::move(first);
  EXPECT_EQ(second.message(), "late");
  first = second;  // NOLINT(bugprone-use-after-move): that is the promise
  EXPECT_EQ(first.message(), "late");
}

TEST(ErrorTest, EveryCodeHasItsOwnName) {
  std::set<std::string_view> names;
  for (int code = 0; code <= static_cast<int>(ErrorCode::internal); ++code)
    names.insert(to_string(static_cast<ErrorCode>(code)));
  EXPECT_EQ(names.size(), static_cast<std::size_t>(ErrorCode::internal) + 1);
  EXPECT_EQ(to_string(ErrorCode::checksum_mismatch), "checksum_mismatch");
  EXPECT_EQ(to_string(Outcome::uncertain), "uncertain");
  EXPECT_EQ(to_string(Retry::fresh_token), "fresh_token");
}

TEST(ErrnoErrorTest, PicksTheCodeThatACallerCanReactTo) {
  const std::pair<int, ErrorCode> expected[] = {{ENOENT, ErrorCode::not_found},
                                                {EACCES, ErrorCode::permission_denied},
                                                {EPERM, ErrorCode::permission_denied},
                                                {EROFS, ErrorCode::permission_denied},
                                                {EEXIST, ErrorCode::already_exists},
                                                {ENOMEM, ErrorCode::out_of_memory},
                                                {ETIMEDOUT, ErrorCode::timeout},
                                                {ECONNREFUSED, ErrorCode::peer_gone},
                                                {ECONNRESET, ErrorCode::peer_gone},
                                                {EPIPE, ErrorCode::peer_gone},
                                                {EIO, ErrorCode::io_error},
                                                {ENOSPC, ErrorCode::io_error},
                                                {EDQUOT, ErrorCode::io_error},
                                                {EMFILE, ErrorCode::overloaded},
                                                {ENOSYS, ErrorCode::unsupported},
                                                {ECANCELED, ErrorCode::cancelled},
                                                {EINVAL, ErrorCode::invalid_argument}};
  for (const auto& [number, code] : expected) {
    const Error error = errno_error(number, "writing x");
    EXPECT_EQ(error.code(), code) << number;
    EXPECT_EQ(error.native().domain, "errno");
    EXPECT_EQ(error.native().value, number);
    EXPECT_TRUE(error.message().starts_with("writing x: ")) << error.message();
  }
}

TEST(ErrnoErrorTest, NamesTheFullDiskAndTheCure) {
  EXPECT_THAT(errno_error(ENOSPC, "writing /data/o").message(),
              testing::AllOf(HasSubstr("/data/o"), HasSubstr("free some space")));
  EXPECT_THAT(errno_error(EDQUOT, "writing /data/o").message(), HasSubstr("quota"));
  EXPECT_THAT(errno_error(EROFS, "writing /data/o").message(), HasSubstr("read-only"));
}

Result<int> half(int value) {
  if (value % 2 != 0) return Error(ErrorCode::invalid_argument, std::to_string(value) + " is odd");
  return value / 2;
}

Result<std::string> quarter(int value) {
  SLUICE_TRY(const int first, half(value));
  SLUICE_TRY(const int second, half(first));
  return std::to_string(second);
}

Result<void> both_even(int a, int b) {
  SLUICE_CHECK(half(a));
  SLUICE_CHECK(half(b));
  return {};
}

TEST(TryTest, GivesTheValueOrReturnsTheError) {
  EXPECT_THAT(quarter(12), test::IsOkAndHolds("3"));
  EXPECT_THAT(quarter(5), test::Fails(ErrorCode::invalid_argument, "5 is odd"));
  EXPECT_THAT(quarter(6), test::Fails(ErrorCode::invalid_argument, "3 is odd"));
  EXPECT_THAT(both_even(2, 4), test::IsOk());
  EXPECT_THAT(both_even(2, 3), test::Fails(ErrorCode::invalid_argument, "3 is odd"));
}

}  // namespace
}  // namespace sluice
