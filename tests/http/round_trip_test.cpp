// Client and server against each other over loopback: large bodies, many connections, TLS.
#include <gtest/gtest.h>

#include <cstdlib>
#include <thread>

#include "fixtures/canary.h"
#include "fixtures/temp_dir.h"
#include "http/harness.h"

namespace sluice::http::test {
namespace {

using sluice::test::Fails;
using sluice::test::fill_pattern;
using sluice::test::HasOutcome;
using sluice::test::holds_pattern;
using sluice::test::IsOk;
using sluice::test::run_task;
using sluice::test::TempDir;

constexpr std::uint64_t kSeed = 7;

Task<Result<Answer>> one_request(EndpointUrl url, RequestHead head, std::string body,
                                 ClientPoolOptions options = ClientPoolOptions()) {
  const Executor executor = co_await boost::asio::this_coro::executor;
  auto pool = ClientPool::make(executor, std::move(url), std::move(options));
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

TEST(RoundTripTest, OverIpv6) {
  ServerOptions options = any_port();
  options.listen.host = "::1";
  std::optional<RunningServer> server;
  try {
    server.emplace(echo, options);
  } catch (const std::runtime_error& error) {
    GTEST_SKIP() << "no IPv6 here: " << error.what();
  }
  auto answer = run_task(one_request(server->url(), request("GET", "/k"), {}));
  ASSERT_THAT(answer, IsOk());
  EXPECT_EQ(answer->body, "GET /k\n");
}

// --- large bodies
// ---------------------------------------------------------------------------------------------------

/// GET /<bytes> sends that many bytes of the pattern; PUT checks them and answers with what it found.
Task<void> pattern_store(Exchange& exchange) {
  std::vector<std::byte> piece(1 << 20);
  std::uint64_t at = 0;
  if (exchange.request().method == "GET") {
    const std::uint64_t bytes = std::stoull(exchange.request().target.substr(1));
    auto sent = co_await exchange.begin_response(ResponseHead(), bytes);
    while (sent && at < bytes) {
      const std::span<std::byte> part(piece.data(), std::min<std::uint64_t>(piece.size(), bytes - at));
      fill_pattern(part, kSeed, at);
      sent = co_await exchange.write_body(part);
      at += part.size();
    }
    co_return;
  }
  bool right = true;
  while (true) {
    auto got = co_await exchange.read_body(piece);
    if (!got || *got == 0) break;
    right = right && bool(holds_pattern(std::span<const std::byte>(piece.data(), *got), kSeed, at));
    at += *got;
  }
  (void)co_await exchange.respond(ResponseHead(), std::to_string(at) + (right ? " right" : " wrong"));
}

Task<Result<std::string>> put_and_get(EndpointUrl url, std::uint64_t bytes, ClientPoolOptions options) {
  const Executor executor = co_await boost::asio::this_coro::executor;
  auto pool = ClientPool::make(executor, std::move(url), std::move(options));
  if (!pool) co_return std::move(pool).error();
  std::vector<std::byte> piece(1 << 20);
  auto connection = co_await (*pool)->acquire(patient());
  if (!connection) co_return std::move(connection).error();
  auto sent = co_await (*connection)->send_head(request("PUT", "/k", bytes), patient());
  for (std::uint64_t at = 0; sent && at < bytes;) {
    const std::span<std::byte> part(piece.data(), std::min<std::uint64_t>(piece.size(), bytes - at));
    fill_pattern(part, kSeed, at);
    sent = co_await (*connection)->send_body(part, patient());
    at += part.size();
  }
  if (!sent) co_return std::move(sent).error();
  auto head = co_await (*connection)->read_head(patient());
  if (!head) co_return std::move(head).error();
  auto text = co_await ClientPool::read_text(**connection, 1000, patient());
  if (!text) co_return std::move(text).error();
  connection->reset();

  connection = co_await (*pool)->acquire(patient());
  if (!connection) co_return std::move(connection).error();
  EXPECT_TRUE((*connection)->reused());
  sent = co_await (*connection)->send_head(request("GET", "/" + std::to_string(bytes)), patient());
  if (!sent) co_return std::move(sent).error();
  head = co_await (*connection)->read_head(patient());
  if (!head) co_return std::move(head).error();
  std::uint64_t at = 0;
  bool right = true;
  while (!(*connection)->body_done()) {
    auto got = co_await (*connection)->read_body(piece, patient());
    if (!got) co_return std::move(got).error();
    right = right && bool(holds_pattern(std::span<const std::byte>(piece.data(), *got), kSeed, at));
    at += *got;
  }
  *text += ", " + std::to_string(at) + (right ? " right" : " wrong");
  co_return text;
}

TEST(RoundTripTest, LargeBodiesArriveIntactBothWays) {
  RunningServer server(pattern_store);
  constexpr std::uint64_t kBytes = (64ULL << 20) + 12345;
  const std::string n = std::to_string(kBytes);
  EXPECT_THAT(run_task(put_and_get(server.url(), kBytes, ClientPoolOptions())),
              sluice::test::IsOkAndHolds(n + " right, " + n + " right"));
}

TEST(RoundTripTest, ManyClientsOnManyExecutors) {
  RunningServer server(pattern_store, any_port(), 3);
  std::vector<std::thread> clients;
  for (int i = 0; i < 6; ++i) {
    clients.emplace_back([&server, i] {
      const std::uint64_t bytes = 300000 + static_cast<std::uint64_t>(i);
      const std::string n = std::to_string(bytes);
      for (int round = 0; round < 5; ++round) {
        EXPECT_THAT(run_task(put_and_get(server.url(), bytes, ClientPoolOptions())),
                    sluice::test::IsOkAndHolds(n + " right, " + n + " right"));
      }
    });
  }
  for (auto& client : clients) client.join();
  EXPECT_EQ(server.stop(patient()), 0U);
}

// --- TLS
// ------------------------------------------------------------------------------------------------------------

/// A self-signed CA that is the server's certificate, too: for localhost and 127.0.0.1.
class TlsTest : public testing::Test {
 protected:
  void SetUp() override {
    const std::string command =
        "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj "
        "/CN=sluice-test -keyout '" +
        key() + "' -out '" + certificate() +
        "' -addext 'subjectAltName=DNS:localhost,IP:127.0.0.1' 2>/dev/null";
    if (std::system(command.c_str()) != 0) GTEST_SKIP() << "the openssl command is not here";  // NOLINT
  }
  [[nodiscard]] std::string key() const { return directory_.file("key.pem"); }
  [[nodiscard]] std::string certificate() const { return directory_.file("certificate.pem"); }
  [[nodiscard]] ServerOptions serving() const {
    ServerOptions options = any_port();
    options.tls = TlsServerFiles{certificate(), key()};
    return options;
  }
  [[nodiscard]] ClientPoolOptions trusting() const {
    ClientPoolOptions options;
    options.tls.ca_file = certificate();
    return options;
  }
  TempDir directory_;
};

TEST_F(TlsTest, BodiesArriveIntactBothWays) {
  RunningServer server(pattern_store, serving());
  constexpr std::uint64_t kBytes = (8ULL << 20) + 54321;
  const std::string n = std::to_string(kBytes);
  for (const char* host : {"127.0.0.1", "localhost"}) {
    EndpointUrl url = server.url(true);
    url.host = host;
    EXPECT_THAT(run_task(put_and_get(url, kBytes, trusting())),
                sluice::test::IsOkAndHolds(n + " right, " + n + " right"));
  }
}

TEST_F(TlsTest, AnUntrustedCertificateAndAWrongNameAreRefused) {
  RunningServer server(echo, serving());
  TempDir other;
  const std::string unrelated = other.file("other.pem");
  const std::string command =
      "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=other "
      "-keyout /dev/null -out '" +
      unrelated + "' 2>/dev/null";
  ASSERT_EQ(std::system(command.c_str()), 0);  // NOLINT
  ClientPoolOptions options;
  options.tls.ca_file = unrelated;
  auto answer = run_task(one_request(server.url(true), request("GET", "/"), {}, options));
  EXPECT_THAT(answer, Fails(ErrorCode::protocol_error, "self-signed certificate"));
  EXPECT_THAT(answer, HasOutcome(Outcome::refused));

  options.tls.verify_peer = false;
  EXPECT_THAT(run_task(one_request(server.url(true), request("GET", "/"), {}, options)), IsOk());
}

TEST_F(TlsTest, ANameThatIsNotInTheCertificateIsRefused) {
  ServerOptions everywhere = serving();
  everywhere.listen.host = "0.0.0.0";
  RunningServer server(echo, everywhere);
  EndpointUrl url = server.url(true);
  url.host = "127.0.0.2";
  auto answer = run_task(one_request(url, request("GET", "/"), {}, trusting()));
  EXPECT_THAT(answer, Fails(ErrorCode::protocol_error));
  EXPECT_THAT(answer, HasOutcome(Outcome::refused));
  url.host = "127.0.0.1";
  EXPECT_THAT(run_task(one_request(url, request("GET", "/"), {}, trusting())), IsOk());
}

TEST_F(TlsTest, PlainHttpOnATlsPortAndTlsOnAPlainPortFailClearly) {
  RunningServer tls(echo, serving());
  const RawSocket socket(tls.port());
  socket.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n");
  EXPECT_EQ(socket.receive_all().find("HTTP"), std::string::npos);
  RunningServer plain(echo);
  EXPECT_THAT(run_task(one_request(plain.url(true), request("GET", "/"), {}, trusting())),
              Fails(ErrorCode::protocol_error, "cannot connect to https://"));
}

TEST_F(TlsTest, OldVersionsAreRefused) {
  RunningServer server(echo, serving());
  const std::string connect = "openssl s_client -connect 127.0.0.1:" + std::to_string(server.port());
  EXPECT_NE(std::system((connect + " -tls1_1 -cipher DEFAULT@SECLEVEL=0 </dev/null >/dev/null 2>&1").c_str()),
            0);                                                                          // NOLINT
  EXPECT_EQ(std::system((connect + " -tls1_2 </dev/null >/dev/null 2>&1").c_str()), 0);  // NOLINT
}

TEST_F(TlsTest, StoppingEndsIdleConnections) {
  RunningServer server(echo, serving());
  const RawSocket silent(server.port());  // in the middle of a handshake
  EXPECT_EQ(server.stop(patient()), 0U);
  EXPECT_TRUE(silent.at_end());
}

TEST_F(TlsTest, FileErrorsNameTheFile) {
  Loop loop;
  const auto start = [&](std::string chain, std::string key_file) {
    ServerOptions options = any_port();
    options.tls = TlsServerFiles{std::move(chain), std::move(key_file)};
    return Server::start(std::move(options), {loop.executor()}, {echo});
  };
  EXPECT_THAT(start(directory_.file("none.pem"), key()), Fails(ErrorCode::config_error, "none.pem"));
  EXPECT_THAT(start(certificate(), directory_.file("none.key")), Fails(ErrorCode::config_error, "none.key"));
  const std::string garbage = directory_.write("garbage.pem", "garbage");
  EXPECT_THAT(start(garbage, key()), Fails(ErrorCode::config_error, "garbage.pem"));
  EndpointUrl url;
  url.tls = true;
  url.host = "127.0.0.1";
  url.port = 1;
  ClientPoolOptions options;
  options.tls.ca_file = directory_.file("none.pem");
  EXPECT_THAT(ClientPool::make(loop.executor(), url, options), Fails(ErrorCode::config_error, "none.pem"));
}

}  // namespace
}  // namespace sluice::http::test
