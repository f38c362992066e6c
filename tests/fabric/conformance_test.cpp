// The conformance suite on libfabric's socket providers: the best one that is here, and the one that is
// everywhere.
#include <gtest/gtest.h>

#include <string>

#include "conformance/fabric_suite.h"
#include "fabric/registry.h"
#include "fabric/token_text.h"

namespace sluice::test {
namespace {

fabric::ParsedToken with_dead_port(fabric::ParsedToken token) {
  // A socket address: the port is in bytes 2 and 3. Port 1 (tcpmux) has no listener.
  token.endpoint_name.at(2) = std::byte{0};
  token.endpoint_name.at(3) = std::byte{1};
  return token;
}

FabricUnderTest ofi(std::string test_name, const std::string& fabric_name) {
  FabricUnderTest under_test;
  under_test.name = std::move(test_name);
  under_test.make_client = [fabric_name] { return fabric::client_fabric(fabric_name); };
  under_test.make_server = [fabric_name] { return fabric::make_server_fabric(fabric_name); };
  under_test.parse = fabric::parse_token_text;
  under_test.address = "127.0.0.1";
  under_test.unreachable = with_dead_port;
  return under_test;
}

INSTANTIATE_TEST_SUITE_P(Ofi, FabricSuite,
                         testing::Values(ofi("tcp", "ofi:tcp"), ofi("tcp_rxm", "ofi:tcp;ofi_rxm")),
                         fabric_name);

}  // namespace
}  // namespace sluice::test
