// Help, flags, exit codes: what the command line says before it does anything.
#include <map>
#include <nlohmann/json.hpp>

#include "cli/run_sluice.h"
#include "sluice/version.h"

namespace sluice::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;

/// An endpoint where nobody listens: a request fails at once.
std::vector<std::string> nobody() {
  auto environment = key_pair();
  environment.emplace_back("AWS_ENDPOINT_URL=http://127.0.0.1:1");
  return bare_environment(environment);
}

TEST(UsageTest, HelpOfEveryCommandNamesItsFlags) {
  const std::vector<std::string> client = {"--endpoint", "--region", "--ca-file", "--attempts"};
  const std::vector<std::string> moves = {"--data-path", "--fabric",         "--checksum",
                                          "--timeout",   "--rdma-threshold", "--fence-always"};
  std::map<std::string, std::vector<std::string>> flags = {
      {"serve",
       {"DIR",
        "--listen",
        "--fabric",
        "--config",
        "--ready-file",
        "--credentials-file",
        "--region",
        "--read-only",
        "--fsync",
        "--tls-certificate",
        "--tls-key",
        "--threads",
        "--max-connections",
        "--staging",
        "--lease",
        "--lease-min-rate",
        "--drain",
        "--allow-peer",
        "--shutdown-timeout",
        "--log-level",
        "--log-format"}},
      {"cp",
       {"SOURCE", "TARGET", "--part-size", "--content-type", "--metadata", "--no-clobber", "--json",
        "--quiet"}},
      {"cat", {"OBJECT", "--range", "--part-size", "--quiet"}},
      {"ls", {"LOCATION", "--recursive", "--json"}},
      {"stat", {"LOCATION", "--json"}},
      {"rm", {"LOCATION", "--json", "--quiet"}},
      {"mb", {"LOCATION", "--json", "--quiet"}},
      {"rb", {"LOCATION", "--json", "--quiet"}},
      {"doctor", {"--json"}}};
  for (const char* command : {"cp", "cat", "ls", "stat", "rm", "mb", "rb", "doctor"})
    flags[command].insert(flags[command].end(), client.begin(), client.end());
  for (const char* command : {"cp", "cat", "doctor"})
    flags[command].insert(flags[command].end(), moves.begin(), moves.end());
  const Ran top = run({"help"});
  EXPECT_THAT(top, ExitsWith(0));
  EXPECT_THAT(top.out, AllOf(HasSubstr("AWS_ENDPOINT_URL"), HasSubstr("Exit codes"), HasSubstr("s3://")));
  EXPECT_EQ(run({"--help"}).out, top.out);
  for (const auto& [command, names] : flags) {
    EXPECT_THAT(top.out, HasSubstr("\n  " + command + " ")) << "the list of commands";
    const Ran help = run({"help", command});
    EXPECT_THAT(help, ExitsWith(0));
    EXPECT_THAT(help.err, IsEmpty());
    EXPECT_EQ(run({command, "--help"}).out, help.out) << command;
    EXPECT_THAT(help.out, HasSubstr("sluice " + command)) << "the usage line";
    for (const auto& name : names) EXPECT_THAT(help.out, HasSubstr(name)) << command;
  }
}

TEST(UsageTest, TheVersionIsPrinted) {
  const Ran ran = run({"--version"});
  EXPECT_THAT(ran, ExitsWith(0));
  EXPECT_EQ(ran.out, "sluice " SLUICE_VERSION_STRING "\n");
}

TEST(UsageTest, WhatCannotBeParsedExitsWithTwoAndSaysWhereHelpIs) {
  struct Case {
    Arguments arguments;
    const char* says;
  };
  for (const auto& [arguments, says] :
       std::vector<Case>{{{}, "sluice help"},
                         {{"nope"}, "'nope'"},
                         {{"sevre", "."}, "did you mean 'serve'"},
                         {{"help", "nope"}, "nope"},
                         {{"cp"}, "SOURCE"},
                         {{"cp", "a"}, "TARGET"},
                         {{"cp", "a", "s3://b/k", "--nope"}, "sluice help cp"},
                         {{"ls", "--attempts", "many"}, "--attempts"},
                         {{"ls", "--endpoint"}, "--endpoint"},
                         {{"serve"}, "DIR"},
                         {{"rm"}, "LOCATION"}}) {
    const Ran ran = run(arguments, nobody());
    EXPECT_THAT(ran, FailsSaying(2, AllOf(HasSubstr("sluice: "), HasSubstr(says))))
        << testing::PrintToString(arguments);
    EXPECT_THAT(ran.out, IsEmpty());
  }
}

TEST(UsageTest, ValuesThatMakeNoSenseExitWithTwoAndNameTheFlag) {
  TempDir folder;
  const std::string source = folder.write("in", "x");
  struct Case {
    Arguments arguments;
    const char* says;
  };
  for (const auto& [arguments, says] :
       std::vector<Case>{{{"cp", source, "s3://b/k", "--data-path", "maybe"}, "--data-path"},
                         {{"cp", source, "s3://b/k", "--checksum", "md5"}, "--checksum"},
                         {{"cp", source, "s3://b/k", "--timeout", "5"}, "--timeout"},
                         {{"cp", source, "s3://b/k", "--timeout", "-5s"}, "--timeout"},
                         {{"cp", source, "s3://b/k", "--rdma-threshold", "1.5GiB"}, "--rdma-threshold"},
                         {{"cp", "s3://b/k", folder.file("out"), "--part-size", "0"}, "--part-size"},
                         {{"cp", "s3://b/k", folder.file("out"), "--part-size", "12parsecs"}, "--part-size"},
                         {{"cat", "s3://b/k", "--part-size", "99999999999999999999"}, "--part-size"},
                         {{"cp", source, "s3://b/k", "--fabric", "ofi:nope"}, "ofi:nope"},
                         {{"cp", source, "s3://"}, "s3://"},
                         {{"ls", "bucket"}, "s3://"},
                         {{"stat", "/etc/passwd"}, "s3://"},
                         {{"ls", "--attempts", "0"}, "attempts"},
                         {{"ls", "--endpoint", "not-a-url"}, "not-a-url"},
                         {{"ls", "--endpoint", "ftp://host"}, "ftp://host"},
                         {{"ls", "--endpoint", "http://host/path"}, "http://host/path"},
                         {{"ls", "--endpoint", "http://host:99999"}, "99999"}}) {
    EXPECT_THAT(run(arguments, nobody()), FailsSaying(2, HasSubstr(says)))
        << testing::PrintToString(arguments);
  }
}

TEST(UsageTest, AnEnvironmentThatIsIncompleteExitsWithTwo) {
  EXPECT_THAT(run({"ls"}, bare_environment(key_pair())), FailsSaying(2, HasSubstr("AWS_ENDPOINT_URL")));
  EXPECT_THAT(run({"ls", "--endpoint", "http://127.0.0.1:1"}, bare_environment({"AWS_ACCESS_KEY_ID=half"})),
              FailsSaying(2, HasSubstr("AWS_SECRET_ACCESS_KEY")));
  EXPECT_THAT(run({"ls", "--endpoint", "http://127.0.0.1:1"}, bare_environment({"AWS_PROFILE=nobody"})),
              FailsSaying(2, HasSubstr("nobody")));
}

TEST(UsageTest, AUsageErrorInJsonIsAnObjectToo) {
  const Ran ran = run({"cp", "s3://b/k", "x", "--part-size", "0", "--json"}, nobody());
  EXPECT_THAT(ran, ExitsWith(2));
  EXPECT_EQ(ran.json()["code"], "invalid_argument");
  EXPECT_EQ(ran.json()["source"], "s3://b/k");
}

TEST(UsageTest, AnEndpointWhereNobodyListensExitsWithOneAndIsNamed) {
  EXPECT_THAT(run({"ls"}, nobody()), FailsSaying(1, HasSubstr("127.0.0.1:1")));
  const Ran json = run({"ls", "--json"}, nobody());
  EXPECT_THAT(json, ExitsWith(1));
  EXPECT_EQ(json.json()["code"], "peer_gone");
  EXPECT_EQ(json.json()["outcome"], "refused");
}

class DoctorTest : public CommandTest {};

TEST_F(DoctorTest, SaysWhatWorksAndWhatTheEndpointOffers) {
  const Ran json = sluice({"doctor", "--json"});
  EXPECT_THAT(json, ExitsWith(0));
  const Json said = json.json();
  EXPECT_EQ(said["healthy"], true);
  EXPECT_EQ(said["endpoint"]["url"], gateway().endpoint());
  EXPECT_EQ(said["endpoint"]["credentials"], "accepted");
  EXPECT_FALSE(said["fabrics"].empty());
  EXPECT_FALSE(said["crc64nvme"].empty());
  EXPECT_TRUE(said["limits"].contains("chunk_bytes"));
  const Ran text = sluice({"doctor"});
  EXPECT_THAT(text, ExitsWith(0));
  EXPECT_THAT(text.out, AllOf(HasSubstr("Fabrics"), HasSubstr("ofi:tcp"), HasSubstr(gateway().endpoint())));
}

TEST_F(DoctorTest, ComplainsAboutAnEndpointThatDoesNotAnswer) {
  const Ran ran = run({"doctor", "--json"}, nobody());
  EXPECT_THAT(ran, ExitsWith(1));
  EXPECT_EQ(ran.json()["healthy"], false);
  EXPECT_EQ(ran.json()["endpoint"]["usable"], false);
  EXPECT_THAT(run({"doctor"}, bare_environment()), ExitsWith(0));
}

}  // namespace
}  // namespace sluice::test
