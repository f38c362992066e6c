#include "fabric/token_text.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>

#include <cstring>
#include <string>
#include <vector>

#include "fixtures/canary.h"
#include "fixtures/matchers.h"

namespace sluice::fabric {
namespace {

using test::Fails;
using test::IsOk;

ParsedToken example() {
  ParsedToken token;
  token.base = 0x1000;
  token.bytes = 0x200;
  token.provider = "tcp;ofi_rxm";
  token.endpoint_name = test::pattern(16, 1);
  token.key = 0xfedcba9876543210;
  return token;
}

std::vector<std::byte> ipv4(const char* address, std::uint16_t port) {
  sockaddr_in name{};
  name.sin_family = AF_INET;
  name.sin_port = htons(port);
  EXPECT_EQ(::inet_pton(AF_INET, address, &name.sin_addr), 1);
  std::vector<std::byte> bytes(sizeof name);
  std::memcpy(bytes.data(), &name, sizeof name);
  return bytes;
}

std::vector<std::byte> ipv6(const char* address, std::uint16_t port) {
  sockaddr_in6 name{};
  name.sin6_family = AF_INET6;
  name.sin6_port = htons(port);
  EXPECT_EQ(::inet_pton(AF_INET6, address, &name.sin6_addr), 1);
  std::vector<std::byte> bytes(sizeof name);
  std::memcpy(bytes.data(), &name, sizeof name);
  return bytes;
}

TEST(TokenTextTest, IsWrittenInTheDocumentedShape) {
  ParsedToken token = example();
  token.endpoint_name = {std::byte{0x02}, std::byte{0xaf}};
  EXPECT_EQ(format_token_text(token),
            "0000000000001000:0000000000000200:ofi1:tcp;ofi_rxm:02af:fedcba9876543210");
}

TEST(TokenTextTest, ComesBackAsItWas) {
  for (const std::size_t name : {1U, 16U, 28U, 48U, 192U}) {
    ParsedToken token = example();
    token.endpoint_name = test::pattern(name, name);
    const auto back = parse_token_text(format_token_text(token));
    ASSERT_THAT(back, IsOk());
    EXPECT_EQ(back->base, token.base);
    EXPECT_EQ(back->bytes, token.bytes);
    EXPECT_EQ(back->provider, token.provider);
    EXPECT_EQ(back->endpoint_name, token.endpoint_name);
    EXPECT_EQ(back->key, token.key);
  }
}

TEST(TokenTextTest, BlanksATrailingSemicolonAndUpperCaseAreTolerated) {
  for (const char* text : {" 10:20:ofi1:net:02af:1f", "10:20:ofi1:net:02af:1f\t ", "10:20:ofi1:net:02af:1f;",
                           "10:20:ofi1:net:02AF:1F", "\t10:20:ofi1:net:02aF:1f; "}) {
    const auto token = parse_token_text(text);
    ASSERT_THAT(token, IsOk()) << text;
    EXPECT_EQ(token->base, 0x10U);
    EXPECT_EQ(token->bytes, 0x20U);
    EXPECT_EQ(token->key, 0x1fU);
    EXPECT_EQ(token->provider, "net");
  }
}

TEST(TokenTextTest, AnythingElseIsRefusedWithoutRepeatingIt) {
  const std::string secret = "5ec2e75ec2e75ec2";
  const std::string long_name(2 * 193, 'a');
  const std::vector<std::string> texts = {std::string(),
                                          std::string(":::::"),
                                          std::string("10:20:ofi1:net:02af"),
                                          "10:20:ofi1:net:02af:" + secret + ":0",
                                          "10:0:ofi1:net:02af:" + secret,
                                          "10:20:ofi2:net:02af:" + secret,
                                          "10:20:OFI1:net:02af:" + secret,
                                          "g0:20:ofi1:net:02af:" + secret,
                                          "+1:20:ofi1:net:02af:" + secret,
                                          "0x10:20:ofi1:net:02af:" + secret,
                                          "10:-1:ofi1:net:02af:" + secret,
                                          "10:20:ofi1::02af:" + secret,
                                          "10:20:ofi1:Net:02af:" + secret,
                                          "10:20:ofi1:net/:02af:" + secret,
                                          "10:20:ofi1:" + std::string(33, 'a') + ":02af:" + secret,
                                          "10:20:ofi1:net::" + secret,
                                          "10:20:ofi1:net:02a:" + secret,
                                          "10:20:ofi1:net:02ax:" + secret,
                                          "10:20:ofi1:net:" + long_name + ":" + secret,
                                          "10:20:ofi1:net:02af:",
                                          "10:20:ofi1:net:02af: " + secret,
                                          "10:20:ofi1:net:02af:" + secret + ";;",
                                          "00000000000000010:20:ofi1:net:02af:" + secret,
                                          "ffffffffffffffff:1:ofi1:net:02af:" + secret,
                                          "8000000000000000:8000000000000000:ofi1:net:02af:" + secret,
                                          "10:20:ofi1:net:02af:" + secret + std::string(1, '\0'),
                                          std::string(1025, ' ')};
  for (const std::string& text : texts) {
    const auto token = parse_token_text(text);
    ASSERT_FALSE(token.has_value()) << text;
    EXPECT_EQ(token.error().code(), ErrorCode::token_refused);
    EXPECT_EQ(token.error().describe().find(secret), std::string::npos) << text;
  }
}

TEST(TokenTextTest, EveryTruncationIsRefusedOrShorterInItsKeyOnly) {
  const std::string whole = format_token_text(example());
  const std::size_t key = whole.rfind(':') + 1;
  for (std::size_t length = 0; length < whole.size(); ++length)
    EXPECT_EQ(parse_token_text(whole.substr(0, length)).has_value(), length > key) << length;
}

TEST(SocketEndpointTest, ThePeersOwnAddressIsTaken) {
  EXPECT_THAT(check_socket_endpoint(ipv4("192.0.2.7", 1), "192.0.2.7", {}), IsOk());
  EXPECT_THAT(check_socket_endpoint(ipv4("127.0.0.1", 65535), "::ffff:127.0.0.1", {}), IsOk());
  EXPECT_THAT(check_socket_endpoint(ipv6("::1", 9), "::1", {}), IsOk());
  EXPECT_THAT(check_socket_endpoint(ipv6("2001:db8::1", 9), "[2001:db8:0::1]", {}), IsOk());
  EXPECT_THAT(check_socket_endpoint(ipv6("::ffff:192.0.2.7", 9), "192.0.2.7", {}), IsOk());
  EXPECT_THAT(check_socket_endpoint(ipv6("fe80::1", 9), "fe80::1%eth0", {}), IsOk());
}

TEST(SocketEndpointTest, AnotherAddressIsTakenOnlyWhereAllowed) {
  const auto name = ipv4("192.0.2.8", 5);
  EXPECT_THAT(check_socket_endpoint(name, "192.0.2.7", {}),
              Fails(ErrorCode::token_refused, "another address"));
  const std::vector<std::string> allowed = {"198.51.100.1", "192.0.2.8"};
  EXPECT_THAT(check_socket_endpoint(name, "192.0.2.7", allowed), IsOk());
  EXPECT_THAT(check_socket_endpoint(name, "", {}), Fails(ErrorCode::token_refused));
  EXPECT_THAT(check_socket_endpoint(name, "localhost", {}), Fails(ErrorCode::token_refused));
  EXPECT_THAT(check_socket_endpoint(ipv6("::1", 5), "127.0.0.1", {}), Fails(ErrorCode::token_refused));
}

TEST(SocketEndpointTest, AddressesThatNobodyHasAreRefusedEvenIfThePeerClaimsThem) {
  for (const char* address :
       {"0.0.0.0", "0.1.2.3", "224.0.0.1", "239.255.255.255", "240.0.0.1", "255.255.255.255"})
    EXPECT_THAT(check_socket_endpoint(ipv4(address, 5), address, {}), Fails(ErrorCode::token_refused))
        << address;
  for (const char* address : {"::", "ff02::1", "::ffff:0.0.0.0", "::ffff:224.0.0.1"})
    EXPECT_THAT(check_socket_endpoint(ipv6(address, 5), address, {}), Fails(ErrorCode::token_refused))
        << address;
}

TEST(SocketEndpointTest, PortZeroIsRefused) {
  EXPECT_THAT(check_socket_endpoint(ipv4("127.0.0.1", 0), "127.0.0.1", {}),
              Fails(ErrorCode::token_refused, "port"));
  EXPECT_THAT(check_socket_endpoint(ipv6("::1", 0), "::1", {}), Fails(ErrorCode::token_refused, "port"));
}

TEST(SocketEndpointTest, OnlyWholeSocketAddressesAreTaken) {
  for (const auto& whole : {ipv4("127.0.0.1", 5), ipv6("::1", 5)})
    for (std::size_t length = 0; length <= whole.size() + 1; ++length) {
      auto name = whole;
      name.resize(length);
      EXPECT_EQ(check_socket_endpoint(name, whole.size() == 16 ? "127.0.0.1" : "::1", {}).has_value(),
                length == whole.size())
          << length;
    }
  for (const int family : {0, 1, 3, 27, 0xffff}) {
    auto name = ipv4("127.0.0.1", 5);
    const auto wrong = static_cast<sa_family_t>(family);
    std::memcpy(name.data(), &wrong, sizeof wrong);
    EXPECT_THAT(check_socket_endpoint(name, "127.0.0.1", {}), Fails(ErrorCode::token_refused)) << family;
  }
}

}  // namespace
}  // namespace sluice::fabric
