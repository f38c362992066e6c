// Client and server against each other over loopback.
#include <gtest/gtest.h>

#include "fixtures/canary.h"
#include "http/harness.h"

namespace sluice::http::test {
namespace {

using sluice::test::holds_pattern;
using sluice::test::IsOk;
using sluice::test::pattern;
using sluice::test::run_task;

Task<Result<Answer>> one_request(EndpointUrl url, RequestHead head, std::string body) {
  const Executor executor = co_await boost::asio::this_coro::executor;
  auto pool = ClientPool::make(executor, std::move(url), ClientPoolOptions());
  if (!pool) co_return std::move(pool).error();
  auto answer = co_await fetch(*pool, std::move(head), std::move(body));
  (*pool)->close();
  co_return answer;
}

TEST(RoundTripTest, AGetBringsStatusFieldsAndBody) {
  RunningServer server(echo);
  auto answer = run_task(one_request(server.url(), request("GET", "/a%20b?c=d"), {}));
  ASSERT_THAT(answer, IsOk());
  EXPECT_EQ(answer->head.status, 200);
  EXPECT_EQ(answer->head.headers.get("x-chunked"), "no");
  EXPECT_EQ(answer->body, "GET /a%20b?c=d\n");
}

TEST(RoundTripTest, APutDeliversItsBody) {
  RunningServer server(echo);
  auto answer = run_task(one_request(server.url(), request("PUT", "/k", 5), "hello"));
  ASSERT_THAT(answer, IsOk());
  EXPECT_EQ(answer->body, "PUT /k\nhello");
}

}  // namespace
}  // namespace sluice::http::test
