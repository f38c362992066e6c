// The client pool against raw listeners that answer as they like.
#include "http/client.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "http/harness.h"

namespace sluice::http::test {
namespace {

using sluice::test::Fails;
using sluice::test::HasOutcome;
using sluice::test::IsOk;
using sluice::test::run_task;

Result<std::shared_ptr<ClientPool>> pool_here(Executor executor, EndpointUrl url,
                                              ClientPoolOptions options = ClientPoolOptions()) {
  return ClientPool::make(std::move(executor), std::move(url), std::move(options));
}

/// One exchange on a pool of its own.
Task<Result<Answer>> ask(EndpointUrl url, RequestHead head) {
  const Executor executor = co_await boost::asio::this_coro::executor;
  auto pool = pool_here(executor, std::move(url));
  if (!pool) co_return std::move(pool).error();
  auto answer = co_await fetch(*pool, std::move(head), {});
  (*pool)->close();
  co_return answer;
}

/// What a client makes of `wire`, sent in pieces of `step` bytes, before the server closes.
Result<Answer> answer_to(std::string_view wire, std::string method = "GET", std::size_t step = SIZE_MAX) {
  const RawListener listener;
  std::thread server([&] {
    const RawSocket socket = listener.accept();
    socket.receive_until("\r\n\r\n");
    for (std::size_t at = 0; at < wire.size(); at += std::min(step, wire.size() - at))
      socket.send(wire.substr(at, step));
  });
  auto answer = run_task(ask(listener.url(), request(std::move(method), "/k")));
  server.join();
  return answer;
}

TEST(ClientTest, ReadsBodiesByLengthByChunksAndUntilTheEnd) {
  for (const std::size_t step : {std::size_t{1}, std::size_t{3}, std::size_t{7}, std::size_t{1000}}) {
    auto length = answer_to("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello", "GET", step);
    ASSERT_THAT(length, IsOk());
    EXPECT_EQ(length->body, "hello");
    auto chunked = answer_to(
        "HTTP/1.1 206 P\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nhel\r\n2;x\r\nlo\r\n0\r\nt: r\r\n\r\n",
        "GET", step);
    ASSERT_THAT(chunked, IsOk());
    EXPECT_EQ(chunked->head.status, 206);
    EXPECT_EQ(chunked->body, "hello");
    auto open = answer_to("HTTP/1.1 200 OK\r\n\r\nhello", "GET", step);
    ASSERT_THAT(open, IsOk());
    EXPECT_EQ(open->body, "hello");
  }
}

TEST(ClientTest, HeadAndBodilessStatusesHaveNoBody) {
  auto head = answer_to("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n", "HEAD");
  ASSERT_THAT(head, IsOk());
  EXPECT_EQ(head->head.headers.get("content-length"), "5");
  EXPECT_EQ(head->body, "");
  EXPECT_THAT(answer_to("HTTP/1.1 204 No Content\r\n\r\n", "DELETE"), IsOk());
  EXPECT_THAT(answer_to("HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\n"), IsOk());
}

TEST(ClientTest, InterimResponsesAreSkippedWithinReason) {
  auto answer = answer_to(
      "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\nHTTP/1.1 200 "
      "OK\r\nContent-Length: 2\r\n\r\nok");
  ASSERT_THAT(answer, IsOk());
  EXPECT_EQ(answer->body, "ok");
  std::string endless;
  for (int i = 0; i < 100; ++i) endless += "HTTP/1.1 100 Continue\r\n\r\n";
  EXPECT_THAT(answer_to(endless), Fails(ErrorCode::protocol_error));
  EXPECT_THAT(answer_to("HTTP/1.1 101 Switching Protocols\r\n\r\n"), Fails(ErrorCode::protocol_error));
}

TEST(ClientTest, BrokenResponsesAreErrorsOfUncertainOutcome) {
  const auto expect = [](std::string_view wire, ErrorCode code) {
    auto answer = answer_to(wire);
    EXPECT_THAT(answer, Fails(code)) << wire;
    EXPECT_THAT(answer, HasOutcome(Outcome::uncertain)) << wire;
  };
  expect("", ErrorCode::peer_gone);
  expect("HTTP/1.1 200 OK\r\nContent-Le", ErrorCode::peer_gone);
  expect("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhello", ErrorCode::peer_gone);
  expect("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhel", ErrorCode::peer_gone);
  expect("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nx\r\n", ErrorCode::protocol_error);
  expect("SSH-2.0-OpenSSH\r\n\r\n", ErrorCode::protocol_error);
  expect("HTTP/1.1 200 OK\nContent-Length: 2\n\nok", ErrorCode::protocol_error);
  expect("HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\nok", ErrorCode::protocol_error);
  expect("HTTP/1.1 200 OK\r\nX: " + std::string(2 * limits::kHeaderBytes, 'x'), ErrorCode::protocol_error);
}

TEST(ClientTest, AnUnreachableServerIsRefusedAndNamed) {
  EndpointUrl url;
  {
    const RawListener closed_again;
    url = closed_again.url();
  }
  auto answer = run_task(ask(url, request("GET", "/")));
  EXPECT_THAT(answer, Fails(ErrorCode::peer_gone, url.to_string()));
  EXPECT_THAT(answer, HasOutcome(Outcome::refused));
  url.host = "no-such-host.invalid";
  answer = run_task(ask(url, request("GET", "/")));
  EXPECT_THAT(answer, Fails(ErrorCode::peer_gone, "no-such-host.invalid"));
  EXPECT_THAT(answer, HasOutcome(Outcome::refused));
}

TEST(ClientTest, ANameIsResolvedAndAllItsAddressesAreTried) {
  const RawListener listener;  // IPv4 only: where localhost is ::1 first, that one refuses
  std::thread server([&] {
    const RawSocket socket = listener.accept();
    socket.receive_until("\r\n\r\n");
    socket.send("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
  });
  EndpointUrl url = listener.url();
  url.host = "localhost";
  EXPECT_THAT(run_task(ask(url, request("GET", "/"))), IsOk());
  server.join();
}

Task<Result<void>> send_only(EndpointUrl url, RequestHead head) {
  const Executor executor = co_await boost::asio::this_coro::executor;
  auto pool = pool_here(executor, std::move(url));
  auto connection = co_await (*pool)->acquire(patient());
  if (!connection) co_return std::move(connection).error();
  auto sent = co_await (*connection)->send_head(std::move(head), patient());
  co_return sent;
}

TEST(ClientTest, RequestsThatWouldBreakTheFramingAreRefusedUnsent) {
  const RawListener listener;
  const auto expect = [&](std::string_view name, std::string value) {
    RequestHead head = request("PUT", "/k", 3);
    head.headers.add(name, std::move(value));
    auto sent = run_task(send_only(listener.url(), std::move(head)));
    EXPECT_THAT(sent, Fails(ErrorCode::invalid_argument)) << name;
    EXPECT_THAT(sent, HasOutcome(Outcome::refused)) << name;
  };
  expect("x", "a\r\nb: c");
  expect("content-length", "3");
  expect("host", "other");
  expect("transfer-encoding", "chunked");
}

// --- deadlines and abort
// --------------------------------------------------------------------------------------------

Task<Result<ResponseHead>> wait_for_head(EndpointUrl url, std::chrono::milliseconds time,
                                         std::uint64_t body_bytes) {
  const Executor executor = co_await boost::asio::this_coro::executor;
  auto pool = pool_here(executor, std::move(url));
  auto connection = co_await (*pool)->acquire(patient());
  if (!connection) co_return std::move(connection).error();
  std::optional<std::uint64_t> length;
  if (body_bytes > 0) length = body_bytes;
  auto sent = co_await (*connection)->send_head(request("PUT", "/k", length), patient());
  if (!sent) co_return std::move(sent).error();
  const Deadline deadline = Deadline::after(time);
  const std::vector<std::byte> piece(1 << 20);
  for (std::uint64_t left = body_bytes; left > 0 && sent; left -= piece.size()) {
    sent = co_await (*connection)->send_body(piece, deadline);
  }
  if (!sent && sent.error().code() != ErrorCode::peer_gone) co_return std::move(sent).error();
  auto head = co_await (*connection)->read_head(deadline);
  co_return head;
}

TEST(ClientDeadlineTest, ASilentServerIsATimeoutOfUncertainOutcome) {
  const RawListener listener;  // the kernel accepts, nobody answers
  auto head = run_task(wait_for_head(listener.url(), 50ms, 0));
  EXPECT_THAT(head, Fails(ErrorCode::timeout, listener.url().to_string()));
  EXPECT_THAT(head, HasOutcome(Outcome::uncertain));
}

TEST(ClientDeadlineTest, AServerThatDoesNotReadIsATimeoutOfUncertainOutcome) {
  const RawListener listener;
  auto head = run_task(wait_for_head(listener.url(), 100ms, 256 << 20));
  EXPECT_THAT(head, Fails(ErrorCode::timeout));
  EXPECT_THAT(head, HasOutcome(Outcome::uncertain));
}

/// Reads a body after its deadline, though nothing has to be waited for; returns what came.
Task<Result<std::size_t>> read_too_late(EndpointUrl url) {
  const Executor executor = co_await boost::asio::this_coro::executor;
  auto pool = pool_here(executor, std::move(url));
  auto connection = co_await (*pool)->acquire(patient());
  if (!connection) co_return std::move(connection).error();
  auto sent = co_await (*connection)->send_head(request("GET", "/k"), patient());
  if (!sent) co_return std::move(sent).error();
  auto head = co_await (*connection)->read_head(patient());
  if (!head) co_return std::move(head).error();
  const Deadline passed = Deadline::after(0ms);
  std::vector<std::byte> piece(64 << 10);
  for (std::size_t total = 0;;) {
    auto got = co_await (*connection)->read_body(piece, passed);
    if (!got) co_return std::move(got).error();
    if (*got == 0) co_return total;
    total += *got;
  }
}

TEST(ClientDeadlineTest, APassedDeadlineEndsAReadThoughTheBytesAreThere) {
  const RawListener listener;
  std::thread server([&] {
    RawSocket socket = listener.accept();
    socket.send("HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n" + std::string(1000000, 'x'));
  });
  EXPECT_THAT(run_task(read_too_late(listener.url())), Fails(ErrorCode::timeout));
  server.join();
}

TEST(ClientTest, AnAnswerBeforeTheWholeBodyIsStillRead) {
  const RawListener listener;
  std::thread server([&] {
    const RawSocket socket = listener.accept();
    socket.receive_until("\r\n\r\n");
    socket.send("HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
    socket.shut_write();
    socket.receive([](const std::string& text) { return text.size() > (4 << 20); });
  });
  auto head = run_task(wait_for_head(listener.url(), 60s, 256 << 20));
  server.join();
  ASSERT_THAT(head, IsOk());
  EXPECT_EQ(head->status, 403);
}

Task<void> abort_soon(Connection* connection) {
  (void)co_await sleep_until(Deadline::after(20ms));
  connection->abort();
}

Task<Result<ResponseHead>> wait_until_aborted(EndpointUrl url) {
  const Executor executor = co_await boost::asio::this_coro::executor;
  auto pool = pool_here(executor, std::move(url));
  auto connection = co_await (*pool)->acquire(patient());
  if (!connection) co_return std::move(connection).error();
  auto sent = co_await (*connection)->send_head(request("GET", "/k"), patient());
  Gate gate("test");
  EXPECT_THAT(spawn(executor, gate, "abort", abort_soon(connection->get())), IsOk());
  auto head = co_await (*connection)->read_head(patient());
  connection->reset();
  auto next = co_await (*pool)->acquire(Deadline::after(5s));
  EXPECT_THAT(next, IsOk());
  EXPECT_FALSE(next.has_value() && (*next)->reused());
  co_return head;
}

TEST(ClientTest, AbortEndsAWaitWithCancelledAndTheConnectionWithIt) {
  const RawListener listener;
  auto head = run_task(wait_until_aborted(listener.url()));
  EXPECT_THAT(head, Fails(ErrorCode::cancelled));
  EXPECT_THAT(head, HasOutcome(Outcome::uncertain));
}

// --- the pool
// -------------------------------------------------------------------------------------------------------

Task<Result<std::string>> who(std::shared_ptr<ClientPool> pool, bool fresh) {
  auto connection = co_await pool->acquire(patient(), fresh);
  if (!connection) co_return std::move(connection).error();
  std::string text =
      std::to_string((*connection)->addresses().local_port) + ((*connection)->reused() ? " reused" : " new");
  auto sent = co_await (*connection)->send_head(request("GET", "/"), patient());
  if (!sent) co_return std::move(sent).error();
  auto head = co_await (*connection)->read_head(patient());
  if (!head) co_return std::move(head).error();
  auto body = co_await ClientPool::read_text(**connection, 1000, patient());
  if (!body) co_return std::move(body).error();
  co_return text;
}

Task<void> reuse_story(EndpointUrl url) {
  const Executor executor = co_await boost::asio::this_coro::executor;
  auto pool = pool_here(executor, std::move(url));
  auto first = co_await who(*pool, false);
  auto second = co_await who(*pool, false);
  auto forced = co_await who(*pool, true);
  auto newest = co_await who(*pool, false);
  EXPECT_THAT(first, IsOk());
  EXPECT_THAT(forced, IsOk());
  EXPECT_EQ(second.value(), first->substr(0, first->find(' ')) + " reused");
  EXPECT_NE(forced.value(), first.value());
  // The most recently used one comes first.
  EXPECT_EQ(newest.value(), forced->substr(0, forced->find(' ')) + " reused");
  (*pool)->close();
  auto after = co_await who(*pool, false);
  EXPECT_THAT(after, Fails(ErrorCode::cancelled));
}

TEST(ClientPoolTest, ConnectionsAreReusedMostRecentFirst) {
  RunningServer server(echo);
  run_task(reuse_story(server.url()));
}

Task<void> stale_story(EndpointUrl url, std::shared_ptr<std::promise<void>> answered,
                       std::shared_future<void> closed) {
  const Executor executor = co_await boost::asio::this_coro::executor;
  auto pool = pool_here(executor, std::move(url));
  auto first = co_await who(*pool, false);
  EXPECT_THAT(first, IsOk());
  answered->set_value();
  closed.wait();
  auto second = co_await who(*pool, false);
  EXPECT_THAT(second, sluice::test::IsOkAndHolds(testing::EndsWith("new")));
}

TEST(ClientPoolTest, AConnectionThatTheServerClosedMeanwhileIsNotLent) {
  const RawListener listener;
  const auto answered = std::make_shared<std::promise<void>>();
  std::promise<void> closed;
  std::thread server([&] {
    constexpr std::string_view kOk = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";
    RawSocket first = listener.accept();
    first.receive_until("\r\n\r\n");
    first.send(kOk);
    answered->get_future().wait();
    first.close();
    closed.set_value();
    const RawSocket second = listener.accept();
    second.receive_until("\r\n\r\n");
    second.send(kOk);
  });
  run_task(stale_story(listener.url(), answered, closed.get_future().share()));
  server.join();
}

Task<void> no_reuse_story(EndpointUrl url) {
  const Executor executor = co_await boost::asio::this_coro::executor;
  auto pool = pool_here(executor, std::move(url));
  for (int i = 0; i < 2; ++i) {
    auto answer = co_await who(*pool, false);
    EXPECT_THAT(answer, sluice::test::IsOkAndHolds(testing::EndsWith("new")));
  }
}

TEST(ClientPoolTest, ConnectionsThatWillCloseOrHoldUnaskedBytesAreNotReused) {
  for (const std::string_view wire :
       {"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n",
        "HTTP/1.0 200 OK\r\nContent-Length: 0\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\nHTTP/1.1 200 Smuggled\r\n\r\n"}) {
    const RawListener listener;
    std::thread server([&] {
      std::vector<RawSocket> sockets;
      for (int i = 0; i < 2; ++i) {
        sockets.push_back(listener.accept());
        sockets.back().receive_until("\r\n\r\n");
        sockets.back().send(wire);
      }
      for (const auto& socket : sockets) socket.receive_all();
    });
    run_task(no_reuse_story(listener.url()));
    server.join();
  }
}

Task<void> idle_story(EndpointUrl url, Server* server) {
  const Executor executor = co_await boost::asio::this_coro::executor;
  ClientPoolOptions options;
  options.idle_timeout = 20ms;
  auto pool = pool_here(executor, std::move(url), options);
  auto first = co_await who(*pool, false);
  EXPECT_THAT(first, IsOk());
  const Deadline deadline = patient();
  while (server->connections() > 0 && !deadline.expired()) (void)co_await sleep_until(Deadline::after(1ms));
  EXPECT_EQ(server->connections(), 0U);
}

TEST(ClientPoolTest, IdleConnectionsAreClosedInTimeWithoutAnybodyAsking) {
  RunningServer server(echo);
  run_task(idle_story(server.url(), &server.server()));
}

struct Crowd {
  std::atomic<int> inside{0};
  std::atomic<int> most{0};
};

Task<void> counted(Exchange& exchange, std::shared_ptr<Crowd> crowd) {
  const int now = ++crowd->inside;
  int most = crowd->most;
  while (now > most && !crowd->most.compare_exchange_weak(most, now)) {
  }
  (void)co_await sleep_until(Deadline::after(2ms));
  --crowd->inside;
  (void)co_await exchange.respond(ResponseHead(), "fine");
}

Task<void> one_of_many(std::shared_ptr<ClientPool> pool, int* served) {
  auto answer = co_await who(std::move(pool), false);
  if (answer) ++*served;
}

Task<void> crowd_story(EndpointUrl url, int count, int* served) {
  const Executor executor = co_await boost::asio::this_coro::executor;
  ClientPoolOptions options;
  options.max_connections = 3;
  auto pool = pool_here(executor, std::move(url), options);
  Gate gate("crowd");
  for (int i = 0; i < count; ++i)
    EXPECT_THAT(spawn(executor, gate, "one", one_of_many(*pool, served)), IsOk());
  const Deadline deadline = patient();
  while (gate.count() > 0 && !deadline.expired()) (void)co_await sleep_until(Deadline::after(1ms));
  // All places taken: the next one waits until its deadline.
  auto a = co_await (*pool)->acquire(patient());
  auto b = co_await (*pool)->acquire(patient());
  auto c = co_await (*pool)->acquire(patient());
  auto d = co_await (*pool)->acquire(Deadline::after(10ms));
  EXPECT_THAT(d, Fails(ErrorCode::timeout, "all 3 connections"));
  EXPECT_THAT(d, HasOutcome(Outcome::refused));
  a->reset();
  d = co_await (*pool)->acquire(patient());
  EXPECT_THAT(d, IsOk());
}

TEST(ClientPoolTest, NoMoreConnectionsThanTheLimitAndEverybodyIsServed) {
  const auto crowd = std::make_shared<Crowd>();
  RunningServer server([crowd](Exchange& exchange) { return counted(exchange, crowd); });
  int served = 0;
  run_task(crowd_story(server.url(), 40, &served));
  EXPECT_EQ(served, 40);
  EXPECT_EQ(crowd->most, 3);
}

Task<void> close_under_waiters(EndpointUrl url) {
  const Executor executor = co_await boost::asio::this_coro::executor;
  ClientPoolOptions options;
  options.max_connections = 1;
  auto pool = pool_here(executor, std::move(url), options);
  auto held = co_await (*pool)->acquire(patient());
  EXPECT_THAT(held, IsOk());
  Gate gate("waiters");
  int served = 0;
  for (int i = 0; i < 3; ++i) EXPECT_THAT(spawn(executor, gate, "one", one_of_many(*pool, &served)), IsOk());
  (void)co_await sleep_until(Deadline::after(5ms));
  EXPECT_EQ(gate.count(), 3U);
  (*pool)->close();
  const Deadline deadline = patient();
  while (gate.count() > 0 && !deadline.expired()) (void)co_await sleep_until(Deadline::after(1ms));
  EXPECT_EQ(gate.count(), 0U);
  EXPECT_EQ(served, 0);
}

TEST(ClientPoolTest, ClosingWakesThoseWhoWait) {
  RunningServer server(echo);
  run_task(close_under_waiters(server.url()));
}

TEST(ClientPoolTest, ReadTextStopsAtItsLimit) {
  const auto too_much = [](EndpointUrl url, std::size_t limit) -> Task<Result<std::string>> {
    const Executor executor = co_await boost::asio::this_coro::executor;
    auto pool = pool_here(executor, std::move(url));
    auto connection = co_await (*pool)->acquire(patient());
    (void)co_await (*connection)->send_head(request("GET", "/12345"), patient());
    (void)co_await (*connection)->read_head(patient());
    auto text = co_await ClientPool::read_text(**connection, limit, patient());
    co_return text;
  };
  RunningServer server(echo);
  const std::string body = "GET /12345\n";
  EXPECT_THAT(run_task(too_much(server.url(), body.size())), sluice::test::IsOkAndHolds(body));
  EXPECT_THAT(run_task(too_much(server.url(), body.size() - 1)), Fails(ErrorCode::protocol_error));
}

}  // namespace
}  // namespace sluice::http::test
