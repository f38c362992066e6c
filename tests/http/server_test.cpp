// The server against raw sockets: hostile shapes, framing, timeouts, limits and the ways in which it ends.
#include "http/server.h"

#include <gtest/gtest.h>

#include <atomic>
#include <mutex>
#include <set>
#include <thread>

#include "http/harness.h"

namespace sluice::http::test {
namespace {

using sluice::test::Fails;
using sluice::test::IsOk;
using testing::HasSubstr;
using testing::Not;

/// A value that a handler leaves for the test's thread.
template <class T>
class Box {
 public:
  void set(T value) { promise_.set_value(std::move(value)); }
  T get() {
    if (future_.wait_for(60s) != std::future_status::ready) throw std::runtime_error("Box: nothing came");
    return future_.get();
  }

 private:
  std::promise<T> promise_;
  std::future<T> future_ = promise_.get_future();
};

/// Waits (with a generous bound) until `done()`.
template <class Done>
bool eventually(Done done) {
  const Deadline deadline = patient();
  while (!done()) {
    if (deadline.expired()) return false;
    std::this_thread::sleep_for(1ms);
  }
  return true;
}

Task<void> answer_only(Exchange& exchange) {
  (void)co_await exchange.respond(ResponseHead(), "fine");
}

constexpr std::string_view kGet = "GET /k HTTP/1.1\r\nHost: h\r\n\r\n";
constexpr std::string_view kLastGet = "GET /last HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n";

TEST(ServerTest, HostileShapesGetOneRefusalAndTheConnectionEnds) {
  RunningServer server(echo);
  const std::pair<std::string_view, int> shapes[] = {
      {"POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400},
      {"POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello", 400},
      {"POST / HTTP/1.1\r\nHost: h\r\nContent-Length: +5\r\n\r\nhello", 400},
      {"POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: xchunked\r\n\r\n0\r\n\r\n", 501},
      {"GET / HTTP/1.1\r\nHost: h\r\nX: a\r\n b\r\n\r\n", 400},
      {"GET / HTTP/1.1\nHost: h\n\n", 400},
      {"GET http://h/ HTTP/1.1\r\nHost: h\r\n\r\n", 400},
      {"GET /\xc3\xa4 HTTP/1.1\r\nHost: h\r\n\r\n", 400},
      {"GET / HTTP/1.1\r\n\r\n", 400},
      {"GET / HTTP/1.1\r\nHost: h\r\nHost: i\r\n\r\n", 400},
      {"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 505},
      {"\x16\x03\x01", 400},
  };
  for (const auto& [wire, status] : shapes) {
    const RawSocket socket(server.port());
    // What follows must not be taken for a request.
    socket.send(std::string(wire) + std::string(kGet));
    const std::string text = socket.receive_all();
    EXPECT_EQ(status_of(text), status) << wire;
    EXPECT_THAT(text, HasSubstr("connection: close\r\n"));
    EXPECT_THAT(text, Not(HasSubstr("HTTP/1.1 200"))) << wire;
  }
}

TEST(ServerTest, LongTargetsAndLargeHeadsAreRefused) {
  RunningServer server(echo);
  const RawSocket target(server.port());
  target.send("GET /" + std::string(2 * limits::kTargetBytes, 'a'));
  EXPECT_EQ(status_of(target.receive_all()), 414);
  const RawSocket head(server.port());
  head.send("GET / HTTP/1.1\r\nHost: h\r\nX: " + std::string(2 * limits::kHeaderBytes, 'a'));
  EXPECT_EQ(status_of(head.receive_all()), 431);
  const RawSocket fields(server.port());
  std::string many = "GET / HTTP/1.1\r\nHost: h\r\n";
  for (std::size_t i = 0; i < limits::kHeaderCount; ++i) many += "x: y\r\n";
  fields.send(many + "\r\n");
  EXPECT_EQ(status_of(fields.receive_all()), 431);
}

TEST(ServerTest, KeepsTheConnectionAndAddsDateAndLength) {
  RunningServer server(answer_only);
  const RawSocket socket(server.port());
  for (int i = 0; i < 3; ++i) {
    socket.send(kGet);
    const std::string text = socket.receive_response();
    EXPECT_EQ(status_of(text), 200);
    EXPECT_THAT(text, HasSubstr("\r\ndate: "));
    EXPECT_THAT(text, HasSubstr("\r\ncontent-length: 4\r\n"));
    EXPECT_THAT(text, Not(HasSubstr("connection:")));
    EXPECT_THAT(text, testing::EndsWith("\r\n\r\nfine"));
  }
  EXPECT_EQ(server.server().connections(), 1U);
}

TEST(ServerTest, PipelinedRequestsAreAnsweredInOrder) {
  RunningServer server(echo);
  const RawSocket socket(server.port());
  std::string wire;
  for (int i = 0; i < 50; ++i) {
    const std::string n = std::to_string(i);
    wire += "GET /get" + n + " HTTP/1.1\r\nHost: h\r\n\r\n";
    wire += "PUT /put" + n + " HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\n\r\nbody" + std::to_string(i % 10);
    wire += "PUT /chunks" + n +
            " HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nbody\r\n1\r\n" +
            std::to_string(i % 10) + "\r\n0\r\n\r\n";
  }
  socket.send(wire + std::string(kLastGet));
  const std::string text = socket.receive_all();
  std::size_t at = 0;
  for (int i = 0; i < 50; ++i) {
    const std::string n = std::to_string(i);
    const std::string body = "body" + std::to_string(i % 10);
    for (const std::string& want :
         {"GET /get" + n + "\n", "PUT /put" + n + "\n" + body, "PUT /chunks" + n + "\n" + body}) {
      at = text.find(want, at);
      ASSERT_NE(at, std::string::npos) << want;
    }
  }
  EXPECT_NE(text.find("GET /last\n", at), std::string::npos);
}

TEST(ServerTest, ARequestMayArriveByteByByte) {
  RunningServer server(echo);
  const RawSocket socket(server.port());
  for (const char c : std::string_view(
           "PUT /k HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n")) {
    ASSERT_TRUE(socket.send({&c, 1}));
  }
  EXPECT_THAT(socket.receive_response(), testing::EndsWith("PUT /k\nabc"));
}

TEST(ServerTest, AnEarlierVersionIsServedAndClosedUnlessKeptAlive) {
  RunningServer server(answer_only);
  const RawSocket closing(server.port());
  closing.send("GET / HTTP/1.0\r\n\r\n");
  EXPECT_THAT(closing.receive_all(), HasSubstr("connection: close\r\n"));
  const RawSocket kept(server.port());
  for (int i = 0; i < 2; ++i) {
    kept.send("GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
    EXPECT_THAT(kept.receive_response(), HasSubstr("connection: keep-alive\r\n"));
  }
}

TEST(ServerTest, AHalfClosedClientStillGetsItsAnswer) {
  RunningServer server(answer_only);
  const RawSocket socket(server.port());
  socket.send(kGet);
  socket.shut_write();
  EXPECT_EQ(status_of(socket.receive_all()), 200);
}

TEST(ServerTest, ContinueIsSentOnlyWhenTheBodyIsWanted) {
  constexpr std::string_view kHead =
      "PUT /k HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\nExpect: 100-continue\r\n\r\n";
  RunningServer reading(echo);
  const RawSocket wanted(reading.port());
  wanted.send(kHead);
  EXPECT_EQ(wanted.receive_until("\r\n\r\n"), "HTTP/1.1 100 Continue\r\n\r\n");
  wanted.send("hello");
  EXPECT_THAT(wanted.receive_response(), testing::EndsWith("PUT /k\nhello"));

  const RawSocket impatient(reading.port());
  impatient.send(std::string(kHead) + "hello");
  EXPECT_EQ(status_of(impatient.receive_response()), 200);

  RunningServer refusing(answer_only);
  const RawSocket unwanted(refusing.port());
  unwanted.send(kHead);
  const std::string text = unwanted.receive_all();
  EXPECT_EQ(status_of(text), 200);
  EXPECT_THAT(text, HasSubstr("connection: close\r\n"));
}

TEST(ServerTest, AnUnreadBodyIsDrainedWhenSmall) {
  RunningServer server(answer_only);
  const RawSocket socket(server.port());
  for (int i = 0; i < 2; ++i) {
    socket.send("PUT /k HTTP/1.1\r\nHost: h\r\nContent-Length: 100000\r\n\r\n" + std::string(100000, 'b'));
    EXPECT_EQ(status_of(socket.receive_response()), 200);
  }
}

TEST(ServerTest, AnUnreadLargeBodyClosesTheConnectionButTheAnswerArrives) {
  RunningServer server(answer_only);
  for (const char* framing : {"Content-Length: 33554432", "Transfer-Encoding: chunked"}) {
    const RawSocket socket(server.port());
    socket.send("PUT /k HTTP/1.1\r\nHost: h\r\n" + std::string(framing) + "\r\n\r\n");
    if (framing[0] == 'T') socket.send("2000000\r\n");
    // A stubborn client: writes all of it before it reads, or until the server has had enough.
    const std::string piece(1 << 20, 'b');
    for (int i = 0; i < 32 && socket.send(piece); ++i) {
    }
    EXPECT_EQ(status_of(socket.receive_all()), 200) << framing;
  }
}

TEST(ServerTest, HeadAndBodilessStatusesSendNoBody) {
  RunningServer server([](Exchange& exchange) -> Task<void> {
    ResponseHead head;
    if (exchange.request().target == "/204") head.status = 204;
    if (exchange.request().target == "/304") head.status = 304;
    std::optional<std::uint64_t> declared;
    if (exchange.request().target == "/declared") declared = 12345;
    if (exchange.request().target == "/begin") {
      (void)co_await exchange.begin_response(std::move(head), 7);
      const std::string body = "ignored";
      EXPECT_THAT(co_await exchange.write_body(as_bytes(body)), IsOk());
      co_return;
    }
    (void)co_await exchange.respond(std::move(head), "body", declared);
  });
  const auto ask = [&](const std::string& line) {
    const RawSocket socket(server.port());
    socket.send(line + " HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n");
    return socket.receive_all();
  };
  EXPECT_THAT(ask("HEAD /declared"),
              testing::AllOf(HasSubstr("content-length: 12345\r\n"), testing::EndsWith("\r\n\r\n")));
  EXPECT_THAT(ask("HEAD /"),
              testing::AllOf(HasSubstr("content-length: 4\r\n"), testing::EndsWith("\r\n\r\n")));
  EXPECT_THAT(ask("HEAD /begin"),
              testing::AllOf(HasSubstr("content-length: 7\r\n"), testing::EndsWith("\r\n\r\n")));
  EXPECT_THAT(ask("GET /204"),
              testing::AllOf(Not(HasSubstr("content-length")), testing::EndsWith("\r\n\r\n")));
  EXPECT_THAT(ask("GET /304"),
              testing::AllOf(Not(HasSubstr("content-length")), testing::EndsWith("\r\n\r\n")));
}

TEST(ServerTest, AHandlerThatDoesNotAnswerOrThrowsBecomesA500) {
  RunningServer server([](Exchange& exchange) -> Task<void> {
    if (exchange.request().target == "/throws") throw std::runtime_error("a bug");
    co_return;
  });
  for (const char* target : {"/silent", "/throws"}) {
    const RawSocket socket(server.port());
    socket.send("GET " + std::string(target) + " HTTP/1.1\r\nHost: h\r\n\r\n");
    const std::string text = socket.receive_all();
    EXPECT_EQ(status_of(text), 500);
    EXPECT_THAT(text, HasSubstr("connection: close\r\n"));
  }
}

TEST(ServerTest, AResponseCutShortEndsTheConnection) {
  RunningServer server([](Exchange& exchange) -> Task<void> {
    (void)co_await exchange.begin_response(ResponseHead(), 10);
    const std::string half = "12345";
    EXPECT_THAT(co_await exchange.write_body(as_bytes(half)), IsOk());
    const std::string more = "much too long";
    EXPECT_THAT(co_await exchange.write_body(as_bytes(more)), Fails(ErrorCode::internal));
    EXPECT_THAT(co_await exchange.respond(ResponseHead(), "again"), Fails(ErrorCode::internal));
    EXPECT_TRUE(exchange.response_started());
  });
  const RawSocket socket(server.port());
  socket.send(std::string(kGet) + std::string(kGet));
  EXPECT_THAT(socket.receive_all(), testing::EndsWith("\r\n\r\n12345"));
}

TEST(ServerTest, HandlerHeadersCannotBreakTheFraming) {
  RunningServer server([](Exchange& exchange) -> Task<void> {
    ResponseHead head;
    head.headers.add("x", "a\r\nevil: yes");
    EXPECT_THAT(co_await exchange.respond(std::move(head), {}), Fails(ErrorCode::internal));
    ResponseHead own;
    own.headers.add("Content-Length", "999");
    own.headers.add("Connection", "keep-alive");
    exchange.close_after_response();
    EXPECT_THAT(co_await exchange.respond(std::move(own), "four"), IsOk());
  });
  const RawSocket socket(server.port());
  socket.send(kGet);
  EXPECT_THAT(socket.receive_all(), testing::AllOf(HasSubstr("content-length: 4\r\n"), Not(HasSubstr("999")),
                                                   Not(HasSubstr("evil"))));
}

TEST(ServerTest, TheExchangeKnowsItsPeerItsBodyAndItsArrival) {
  const auto before = Deadline::Clock::now();
  RunningServer server([](Exchange& exchange) -> Task<void> {
    std::string text = exchange.addresses().peer + " " + exchange.addresses().local + " " +
                       std::to_string(exchange.addresses().local_port) + " " +
                       std::to_string(exchange.content_length().value_or(77)) + " " +
                       (exchange.chunked() ? "c" : "-");
    const bool just_now =
        exchange.arrived() <= Deadline::Clock::now() && exchange.arrived() > Deadline::Clock::time_point();
    (void)co_await exchange.respond(ResponseHead(), std::move(text) + (just_now ? " now" : " never"));
  });
  EXPECT_LE(before, Deadline::Clock::now());
  const std::string here = "127.0.0.1 127.0.0.1 " + std::to_string(server.port());
  const RawSocket socket(server.port());
  socket.send("PUT / HTTP/1.1\r\nHost: h\r\nContent-Length: 0\r\n\r\n");
  EXPECT_THAT(socket.receive_response(), testing::EndsWith(here + " 0 - now"));
  socket.send("PUT / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n");
  EXPECT_THAT(socket.receive_response(), testing::EndsWith(here + " 77 c now"));
  socket.send(kGet);
  EXPECT_THAT(socket.receive_response(), testing::EndsWith(here + " 77 - now"));
}

// --- timeouts
// -------------------------------------------------------------------------------------------------------

TEST(ServerTimeoutTest, ASlowHeadGetsA408) {
  ServerOptions options = any_port();
  options.header_timeout = 50ms;
  RunningServer server(echo, options);
  const RawSocket socket(server.port());
  socket.send("GET / HTTP/1.1\r\nHo");
  EXPECT_EQ(status_of(socket.receive_all()), 408);
}

TEST(ServerTimeoutTest, TricklingDoesNotExtendTheHeadsTime) {
  ServerOptions options = any_port();
  options.header_timeout = 100ms;
  RunningServer server(echo, options);
  const RawSocket socket(server.port());
  socket.send("GET / HTTP/1.1\r\nX: ");
  while (socket.send("a")) {  // ends only because the server closes
    pollfd waiting{socket.descriptor(), POLLIN, 0};
    if (::poll(&waiting, 1, 5) > 0) break;
  }
  EXPECT_EQ(status_of(socket.receive_all()), 408);
}

TEST(ServerTimeoutTest, AnIdleConnectionIsClosedSilently) {
  ServerOptions options = any_port();
  options.idle_timeout = 50ms;
  RunningServer server(answer_only, options);
  const RawSocket fresh(server.port());
  EXPECT_TRUE(fresh.at_end());
  const RawSocket used(server.port());
  used.send(kGet);
  EXPECT_EQ(status_of(used.receive_response()), 200);
  EXPECT_TRUE(used.at_end());
}

TEST(ServerTimeoutTest, ABodyThatStopsIsATimeoutForTheHandler) {
  ServerOptions options = any_port();
  options.body_progress_timeout = 50ms;
  RunningServer server(echo, options);
  const RawSocket socket(server.port());
  socket.send("PUT / HTTP/1.1\r\nHost: h\r\nContent-Length: 100\r\n\r\nhalf");
  const std::string text = socket.receive_all();
  EXPECT_EQ(status_of(text), 408);
  EXPECT_THAT(text, HasSubstr("connection: close\r\n"));
}

Task<void> write_much(Exchange& exchange, std::shared_ptr<Box<ErrorCode>> outcome) {
  const std::vector<std::byte> piece(1 << 20);
  auto sent = co_await exchange.begin_response(ResponseHead(), 1ULL << 40);
  while (sent) sent = co_await exchange.write_body(piece);
  outcome->set(sent.error().code());
}

TEST(ServerTimeoutTest, AClientThatDoesNotReadIsATimeoutForTheHandler) {
  ServerOptions options = any_port();
  options.body_progress_timeout = 100ms;
  const auto outcome = std::make_shared<Box<ErrorCode>>();
  RunningServer server([outcome](Exchange& exchange) { return write_much(exchange, outcome); }, options);
  const RawSocket socket(server.port());
  socket.send(kGet);
  EXPECT_EQ(outcome->get(), ErrorCode::timeout);
}

TEST(ServerTimeoutTest, ABodyThatEndsEarlyIsPeerGone) {
  const auto outcome = std::make_shared<Box<ErrorCode>>();
  RunningServer server([outcome](Exchange& exchange) -> Task<void> {
    return [](Exchange& inner, std::shared_ptr<Box<ErrorCode>> out) -> Task<void> {
      auto body = co_await read_all(inner);
      out->set(body ? ErrorCode::internal : body.error().code());
    }(exchange, outcome);
  });
  RawSocket socket(server.port());
  socket.send("PUT / HTTP/1.1\r\nHost: h\r\nContent-Length: 100\r\n\r\nhalf");
  socket.close();
  EXPECT_EQ(outcome->get(), ErrorCode::peer_gone);
}

// --- limits
// ---------------------------------------------------------------------------------------------------------

TEST(ServerLimitTest, ConnectionsOverTheLimitGetA503AndPlacesComeBack) {
  for (const bool per_peer : {false, true}) {
    ServerOptions options = any_port();
    (per_peer ? options.max_connections_per_peer : options.max_connections) = 2;
    RunningServer server(answer_only, options);
    RawSocket first(server.port());
    const RawSocket second(server.port());
    first.send(kGet);
    second.send(kGet);
    EXPECT_EQ(status_of(first.receive_response()), 200);
    EXPECT_EQ(status_of(second.receive_response()), 200);
    const RawSocket third(server.port());
    third.send(kGet);
    EXPECT_EQ(status_of(third.receive_all()), 503);
    first.close();
    ASSERT_TRUE(eventually([&] { return server.server().connections() == 1; }));
    const RawSocket fourth(server.port());
    fourth.send(kGet);
    EXPECT_EQ(status_of(fourth.receive_response()), 200);
  }
}

TEST(ServerLimitTest, ABusyPortNamesTheAddressAndTheCure) {
  RunningServer server(answer_only);
  Loop loop;
  ServerOptions options = any_port();
  options.listen.port = server.port();
  EXPECT_THAT(Server::start(options, {loop.executor()}, {answer_only}),
              Fails(ErrorCode::io_error,
                    "127.0.0.1:" + std::to_string(server.port()) +
                        " is in use by another program; choose another with --listen or stop it"));
  options.listen.host = "192.0.2.1";
  EXPECT_THAT(Server::start(options, {loop.executor()}, {answer_only}),
              Fails(ErrorCode::io_error, "does not have that address"));
}

TEST(ServerLimitTest, ListensOnEveryInterfaceWhenNoneIsNamed) {
  ServerOptions options = any_port();
  options.listen.host = "";
  RunningServer server(answer_only, options);
  const RawSocket socket(server.port());
  socket.send(kGet);
  EXPECT_EQ(status_of(socket.receive_response()), 200);
}

// --- the peer's end
// -------------------------------------------------------------------------------------------------

struct Watched {
  Box<bool> started;
  Box<bool> gone;
  Box<bool> go_on;
  std::atomic<int> calls{0};
};

/// Waits in a handler that does not touch the connection until the peer has gone.
Task<void> wait_for_peer(Exchange& exchange, std::shared_ptr<Watched> watched) {
  const Executor executor = co_await boost::asio::this_coro::executor;
  const auto gone = std::make_shared<OneShot<bool>>(executor);
  exchange.on_peer_gone([gone, watched] {
    ++watched->calls;
    gone->set(true);
  });
  watched->started.set(true);
  const auto noticed = co_await gone->wait(patient());
  watched->gone.set(noticed.has_value());
  (void)co_await exchange.respond(ResponseHead(), {});
}

TEST(PeerGoneTest, ClosingResettingAndClosingBehindUnreadBytesAreNoticed) {
  for (const int how : {0, 1, 2, 3}) {
    const auto watched = std::make_shared<Watched>();
    RunningServer server([watched](Exchange& exchange) { return wait_for_peer(exchange, watched); });
    RawSocket socket(server.port());
    std::string wire(kGet);
    if (how == 2) wire += kGet;  // a pipelined request hides the end
    if (how == 3) wire = "PUT / HTTP/1.1\r\nHost: h\r\nContent-Length: 100\r\n\r\nhalf of the body";
    socket.send(wire);
    EXPECT_TRUE(watched->started.get());
    if (how == 1) {
      socket.reset();
    } else {
      socket.close();
    }
    EXPECT_TRUE(watched->gone.get()) << how;
    EXPECT_TRUE(eventually([&] { return server.server().connections() == 0; }));
    EXPECT_EQ(watched->calls, 1);
  }
}

/// Watches, waits until the test has sent the next request, and answers.
Task<void> watch_and_answer(Exchange& exchange, std::shared_ptr<Watched> watched) {
  exchange.on_peer_gone([watched] { ++watched->calls; });
  if (exchange.request().target == "/first") {
    const Executor executor = co_await boost::asio::this_coro::executor;
    const auto going_on = std::make_shared<OneShot<bool>>(executor);
    watched->started.set(true);
    std::thread([watched, going_on] { going_on->set(watched->go_on.get()); }).detach();
    (void)co_await going_on->wait(patient());
  }
  co_await echo(exchange);
}

TEST(PeerGoneTest, WatchingSwallowsNoPipelinedBytesAndDoesNotCallForThem) {
  const auto watched = std::make_shared<Watched>();
  RunningServer server([watched](Exchange& exchange) { return watch_and_answer(exchange, watched); });
  const RawSocket socket(server.port());
  socket.send("PUT /first HTTP/1.1\r\nHost: h\r\nContent-Length: 6\r\n\r\n");
  EXPECT_TRUE(watched->started.get());
  socket.send("abcdefPUT /second HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\n\r\nxyz" +
              std::string(kLastGet));
  watched->go_on.set(true);
  const std::string text = socket.receive_all();
  EXPECT_THAT(text, HasSubstr("PUT /first\nabcdefHTTP/1.1 200 OK"));
  EXPECT_THAT(text, HasSubstr("PUT /second\nxyzHTTP/1.1 200 OK"));
  EXPECT_THAT(text, testing::EndsWith("GET /last\n"));
  EXPECT_EQ(watched->calls, 0);
}

// --- the server's end
// -----------------------------------------------------------------------------------------------

TEST(ServerStopTest, IdleConnectionsEndAndRunningExchangesFinish) {
  const auto watched = std::make_shared<Watched>();
  RunningServer server([watched](Exchange& exchange) { return watch_and_answer(exchange, watched); });
  const RawSocket idle(server.port());
  const RawSocket used(server.port());
  used.send(kGet);
  EXPECT_EQ(status_of(used.receive_response()), 200);
  const RawSocket busy(server.port());
  busy.send("GET /first HTTP/1.1\r\nHost: h\r\n\r\n");
  EXPECT_TRUE(watched->started.get());
  auto cut = server.begin_stop(patient());
  EXPECT_TRUE(idle.at_end());
  EXPECT_TRUE(used.at_end());
  watched->go_on.set(true);
  const std::string text = busy.receive_all();
  EXPECT_EQ(status_of(text), 200);
  EXPECT_THAT(text, HasSubstr("connection: close\r\n"));
  EXPECT_EQ(cut.get(), 0U);
  EXPECT_EQ(server.server().connections(), 0U);
  EXPECT_THROW(RawSocket refused(server.port()), std::runtime_error);
}

TEST(ServerStopTest, ExchangesThatOutlastTheDeadlineAreCutOffAndTold) {
  const auto watched = std::make_shared<Watched>();
  RunningServer server([watched](Exchange& exchange) { return wait_for_peer(exchange, watched); }, any_port(),
                       2);
  const RawSocket socket(server.port());
  socket.send(kGet);
  EXPECT_TRUE(watched->started.get());
  EXPECT_EQ(server.stop(Deadline::after(20ms)), 1U);
  EXPECT_TRUE(watched->gone.get());
  EXPECT_TRUE(socket.at_end());
}

TEST(ServerStopTest, AServerWithoutConnectionsStopsAtOnceAndTwice) {
  RunningServer server(answer_only);
  auto first = server.begin_stop(patient());
  auto second = server.begin_stop(patient());
  EXPECT_EQ(first.get(), 0U);
  EXPECT_EQ(second.get(), 0U);
}

TEST(ServerStopTest, ALoopThatEndsFirstTakesItsConnectionsAlong) {
  boost::asio::io_context context(1);
  auto server = Server::start(any_port(), {context.get_executor()}, {answer_only});
  ASSERT_THAT(server, IsOk());
  const RawSocket socket((*server)->address().port);
  socket.send(kGet);
  while ((*server)->connections() == 0) context.run_one();
  // Neither the server nor its loop gets to finish anything: nothing may leak or be touched afterwards.
}

TEST(ServerThreadsTest, ConnectionsAreSpreadOverTheExecutorsAndStayThere) {
  RunningServer server(
      [](Exchange& exchange) -> Task<void> {
        const auto id = std::to_string(std::hash<std::thread::id>()(std::this_thread::get_id()));
        (void)co_await exchange.respond(ResponseHead(), id + "!");
      },
      any_port(), 3);
  std::vector<std::thread> clients;
  std::mutex mutex;
  std::set<std::string> seen;
  for (int i = 0; i < 6; ++i) {
    clients.emplace_back([&] {
      const RawSocket socket(server.port());
      std::string mine;
      for (int round = 0; round < 100; ++round) {
        socket.send(kGet);
        const std::string text = socket.receive_response();
        const std::string body = text.substr(text.find("\r\n\r\n") + 4);
        if (mine.empty()) mine = body;
        EXPECT_EQ(body, mine);
      }
      const std::lock_guard lock(mutex);
      seen.insert(mine);
    });
  }
  for (auto& client : clients) client.join();
  EXPECT_EQ(seen.size(), 3U);
}

}  // namespace
}  // namespace sluice::http::test
