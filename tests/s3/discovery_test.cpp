#include "s3/discovery.h"

#include <gtest/gtest.h>
// rapidcheck wants gtest first
#include <rapidcheck/gtest.h>

#include <chrono>
#include <string>
#include <utility>
#include <vector>

#include "base/limits.h"
#include "s3/support.h"

namespace sluice::s3 {
namespace {

using namespace std::chrono_literals;

DiscoveryDocument example() {
  DiscoveryDocument document;
  document.instance_id = "0123456789abcdef";
  document.dialects = {"ofi1"};
  document.fabrics = {{"ofi:tcp", "net", "xnet", "10.0.0.5"},
                      {"ofi:tcp;ofi_rxm", "tcp;ofi_rxm", "rxm-tcp", ""}};
  document.lease = 5000ms;
  document.lease_min_bytes_per_second = 33554432;
  document.drain = 3000ms;
  document.max_window_bytes = 5368709120;
  document.checksums = {"crc64nvme"};
  return document;
}

// `example()` as text, with one part replaced.
std::string with(const std::string& from, const std::string& to) {
  std::string json = to_json(example());
  const auto position = json.find(from);
  EXPECT_NE(position, std::string::npos) << from;
  return json.replace(position, from.size(), to);
}

TEST(DiscoveryTest, RoundTrips) {
  EXPECT_THAT(parse_discovery(to_json(example())), test::IsOkAndHolds(example()));
}

TEST(DiscoveryTest, HasTheDocumentedKeys) {
  const std::string json = to_json(example());
  for (const char* key :
       {"\"version\":1", "\"instance_id\":\"0123456789abcdef\"", "\"dialects\":[\"ofi1\"]",
        "\"lease_ms\":5000", "\"lease_min_bytes_per_second\":33554432", "\"drain_ms\":3000",
        "\"max_window_bytes\":5368709120", "\"checksums\":[\"crc64nvme\"]", "\"wire_protocol\":\"xnet\"",
        "\"provider\":\"net\"", "\"name\":\"ofi:tcp\"", "\"address\":\"10.0.0.5\""}) {
    EXPECT_THAT(json, testing::HasSubstr(key));
  }
}

TEST(DiscoveryTest, UnknownKeysAndHigherVersionsAreFine) {
  const auto read = parse_discovery(with("\"version\":1", "\"version\":7,\"future\":{\"a\":[1,2,{}]}"));
  ASSERT_THAT(read, test::IsOk());
  EXPECT_EQ(read->version, 7);
}

TEST(DiscoveryTest, ListsMayBeAbsent) {
  const auto read = parse_discovery(
      R"({"version":1,"instance_id":"x","lease_ms":1,"lease_min_bytes_per_second":0,"drain_ms":1,"max_window_bytes":0})");
  ASSERT_THAT(read, test::IsOk());
  EXPECT_TRUE(read->fabrics.empty());
  EXPECT_TRUE(read->dialects.empty());
  EXPECT_TRUE(read->checksums.empty());
}

TEST(DiscoveryTest, ErrorsNameTheKey) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {with("\"version\":1", "\"version\":\"1\""), "version"},
      {with("\"version\":1", "\"version\":0"), "version"},
      {with("\"version\":1", "\"version\":1.5"), "version"},
      {with("\"version\":1", "\"version\":4294967296"), "version"},
      {with(",\"version\":1", ""), "version"},
      {with("\"lease_ms\":5000", "\"lease_ms\":-1"), "lease_ms"},
      {with("\"lease_ms\":5000", "\"lease_ms\":99999999999"), "lease_ms"},
      {with("\"lease_ms\":5000", "\"lease_ms\":1e3"), "lease_ms"},
      {with("\"drain_ms\":3000", "\"drain_ms\":null"), "drain_ms"},
      {with("\"max_window_bytes\":5368709120", "\"max_window_bytes\":true"), "max_window_bytes"},
      {with("\"instance_id\":\"0123456789abcdef\"", "\"instance_id\":5"), "instance_id"},
      {with("\"instance_id\":\"0123456789abcdef\"", "\"instance_id\":\"a\\nb\""), "instance_id"},
      {with("\"instance_id\":\"0123456789abcdef\"", "\"instance_id\":\"" + std::string(257, 'x') + "\""),
       "instance_id"},
      {with("\"dialects\":[\"ofi1\"]", "\"dialects\":\"ofi1\""), "dialects"},
      {with("\"dialects\":[\"ofi1\"]", "\"dialects\":[1]"), "dialects"},
      {with("\"provider\":\"net\"", "\"provider\":{}"), "provider"},
      {with("\"provider\":\"net\",", ""), "provider"},
      {R"({"version":1,"instance_id":"x","fabrics":[1]})", "fabrics"},
  };
  for (const auto& [json, key] : cases) {
    EXPECT_THAT(parse_discovery(json), test::Fails(ErrorCode::protocol_error, key)) << json;
  }
}

TEST(DiscoveryTest, RefusesWhatIsNoDocument) {
  for (const char* json :
       {"", "null", "[]", "\"x\"", "{", "{}", "{\"version\":1}", "{\"version\":1} x", "\xff", "nan"}) {
    EXPECT_THAT(parse_discovery(json), test::Fails(ErrorCode::protocol_error, "discovery document")) << json;
  }
}

TEST(DiscoveryTest, SizeDepthAndListsAreBounded) {
  EXPECT_THAT(parse_discovery(std::string(limits::kDiscoveryBytes + 1, ' ')),
              test::Fails(ErrorCode::protocol_error, "larger"));
  const std::string deep(30000, '[');
  EXPECT_THAT(parse_discovery(deep + std::string(30000, ']')),
              test::Fails(ErrorCode::protocol_error, "too deeply"));
  std::string many = "\"dialects\":[\"ofi1\"";
  for (std::size_t i = 0; i < limits::kDiscoveryEntries; ++i) many += ",\"x\"";
  EXPECT_THAT(parse_discovery(with("\"dialects\":[\"ofi1\"", many)),
              test::Fails(ErrorCode::protocol_error, "dialects"));
}

RC_GTEST_PROP(DiscoveryPropertyTest, AnyPrintableTextsRoundTrip, ()) {
  const auto text = rc::gen::container<std::string>(rc::gen::inRange<char>(0x20, 0x7f));
  DiscoveryDocument document = example();
  document.instance_id = *text;
  document.fabrics[0].name = *text;
  document.fabrics[1].address = *text;
  document.max_window_bytes = *rc::gen::arbitrary<std::uint64_t>();
  RC_PRE(document.instance_id.size() <= 256);
  const auto read = parse_discovery(to_json(document));
  RC_ASSERT(read.has_value());
  RC_ASSERT(*read == document);
}

}  // namespace
}  // namespace sluice::s3
