// sluice serve: how it starts, refuses to start, logs, and stops.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <nlohmann/json.hpp>

#include "cli/run_sluice.h"

namespace sluice::test {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

/// `sluice serve` with flags and environment of the test's choice.
class ServeTest : public testing::Test {
 protected:
  ServeTest() { std::filesystem::create_directories(data() + "/bkt"); }

  [[nodiscard]] std::string data() const { return folder_.file("data"); }
  [[nodiscard]] std::string ready_path() const { return folder_.file("ready"); }
  /// Generated credentials land in the test's folder.
  [[nodiscard]] std::vector<std::string> environment(std::vector<std::string> more = {}) const {
    more.push_back("XDG_RUNTIME_DIR=" + folder_.path().string());
    return bare_environment(more);
  }
  Arguments with_defaults(const Arguments& flags) {
    Arguments arguments = {"serve", data(), "--ready-file", ready_path()};
    arguments.insert(arguments.end(), flags.begin(), flags.end());
    return arguments;
  }
  /// For a gateway that must not start.
  Ran refused(const Arguments& flags, const std::vector<std::string>& more = key_pair()) {
    const Ran ran = run(with_defaults(flags), environment(more));
    EXPECT_FALSE(std::filesystem::exists(ready_path()));
    return ran;
  }
  /// Starts one and waits until it is ready; `ready_` is what the ready file says.
  std::unique_ptr<Process> serve(const Arguments& flags, const std::vector<std::string>& more = key_pair()) {
    auto process = start(with_defaults(flags), environment(more));
    const bool up = eventually([&] { return std::filesystem::exists(ready_path()) || !process->running(); });
    if (!up || !std::filesystem::exists(ready_path()))
      throw std::runtime_error("the gateway does not start: " + process->err());
    ready_ = Json::parse(read_text(ready_path()));
    return process;
  }
  [[nodiscard]] std::string endpoint() const { return ready_["endpoint"]; }
  [[nodiscard]] Ran client(Arguments arguments) const {
    auto environment = key_pair();
    environment.push_back("AWS_ENDPOINT_URL=" + endpoint());
    return run(std::move(arguments), bare_environment(environment));
  }
  static Ran stop(Process& process) {
    process.terminate();
    return finish(process);
  }

  TempDir folder_;
  Json ready_;
};

const Arguments kAnyPort = {"--listen", "127.0.0.1:0"};
Arguments any_port(const Arguments& more) {
  Arguments all = kAnyPort;
  all.insert(all.end(), more.begin(), more.end());
  return all;
}

TEST_F(ServeTest, TheReadyFileIsThereWhileItServes) {
  auto gateway = serve(kAnyPort);
  EXPECT_THAT(endpoint(), testing::StartsWith("http://127.0.0.1:"));
  EXPECT_EQ(ready_["pid"], gateway->pid());
  EXPECT_THAT(ready_["fabrics"].get<std::string>(), testing::StartsWith("ofi:"));
  EXPECT_THAT(client({"ls"}), ExitsWith(0));
  EXPECT_THAT(stop(*gateway), ExitsWith(0));
  EXPECT_FALSE(std::filesystem::exists(ready_path()));
  EXPECT_THAT(names_in(folder_.path()), ElementsAre("data"));
}

TEST_F(ServeTest, InterruptStopsItToo) {
  auto gateway = serve(kAnyPort);
  gateway->send(SIGINT);
  EXPECT_THAT(finish(*gateway), ExitsWith(0));
  EXPECT_FALSE(std::filesystem::exists(ready_path()));
}

TEST_F(ServeTest, GeneratedCredentialsArePrivateAndWorkWhenSourced) {
  for (const bool named : {false, true}) {
    const std::string wanted = folder_.file("credentials");
    auto gateway = serve(named ? any_port({"--credentials-file", wanted}) : kAnyPort, {});
    const std::string path = ready_["credentials_file"];
    if (named) {
      EXPECT_EQ(path, wanted);
    }
    struct stat info {};
    ASSERT_EQ(::stat(path.c_str(), &info), 0) << path;
    EXPECT_EQ(info.st_mode & 0777U, 0600U);
    ProcessOptions shell;
    shell.executable = "/bin/sh";
    shell.arguments = {"-c", ". \"$1\" && exec \"$0\" ls --endpoint \"$2\"", sluice_binary(), path,
                       endpoint()};
    shell.environment = bare_environment();
    const Ran sourced = finish(*spawn(std::move(shell)));
    EXPECT_THAT(sourced, ExitsWith(0));
    EXPECT_THAT(sourced.out, HasSubstr("s3://bkt"));
    const Ran anonymous = run({"ls", "--endpoint", endpoint()}, bare_environment());
    EXPECT_THAT(anonymous, ExitsWith(1));
    const std::string secret = read_text(path).substr(read_text(path).find("SECRET_ACCESS_KEY=") + 18, 40);
    const Ran stopped = stop(*gateway);
    EXPECT_THAT(stopped, ExitsWith(0));
    EXPECT_THAT(stopped.out + stopped.err, Not(HasSubstr(secret)));
    EXPECT_FALSE(std::filesystem::exists(path)) << "the pair is void once the gateway is gone";
  }
}

TEST_F(ServeTest, ACredentialsFileIsReadIfItIsPrivate) {
  const std::string path =
      folder_.write("pair", std::string("export AWS_ACCESS_KEY_ID=") + GatewayProcess::kAccessKey +
                                "\nAWS_SECRET_ACCESS_KEY=" + GatewayProcess::kSecretKey + "\n");
  ASSERT_EQ(::chmod(path.c_str(), 0644), 0);
  EXPECT_THAT(refused(any_port({"--credentials-file", path}), {}),
              FailsSaying(2, HasSubstr("chmod 600 " + path)));
  ASSERT_EQ(::chmod(path.c_str(), 0600), 0);
  auto gateway = serve(any_port({"--credentials-file", path}), {});
  EXPECT_THAT(client({"ls"}), ExitsWith(0));
  EXPECT_THAT(stop(*gateway), ExitsWith(0));
  EXPECT_TRUE(std::filesystem::exists(path)) << "a file of the user's stays";
  const std::string half = folder_.write("half", "AWS_ACCESS_KEY_ID=x\n");
  ASSERT_EQ(::chmod(half.c_str(), 0600), 0);
  EXPECT_THAT(refused(any_port({"--credentials-file", half}), {}),
              FailsSaying(2, HasSubstr("AWS_SECRET_ACCESS_KEY")));
}

TEST_F(ServeTest, OpenToTheNetworkOnlyWithCredentials) {
  EXPECT_THAT(refused({"--listen", "0.0.0.0:0"}, {}),
              FailsSaying(2, AllOf(HasSubstr("0.0.0.0"), HasSubstr("AWS_SECRET_ACCESS_KEY"))));
  EXPECT_THAT(refused({"--listen", ":0"}, {}), FailsSaying(2, HasSubstr("AWS_SECRET_ACCESS_KEY")));
  auto gateway = serve({"--listen", "0.0.0.0:0"});
  EXPECT_THAT(stop(*gateway), ExitsWith(0));
}

TEST_F(ServeTest, HalfAKeyPairIsRefused) {
  EXPECT_THAT(refused(kAnyPort, {"AWS_SECRET_ACCESS_KEY=alone"}),
              FailsSaying(2, AllOf(HasSubstr("AWS_ACCESS_KEY_ID"), Not(HasSubstr("alone")))));
}

TEST_F(ServeTest, ABusyPortIsNamedWithTheCure) {
  const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof address;
  ASSERT_EQ(::bind(socket, reinterpret_cast<sockaddr*>(&address), length), 0);
  ASSERT_EQ(::listen(socket, 1), 0);
  ASSERT_EQ(::getsockname(socket, reinterpret_cast<sockaddr*>(&address), &length), 0);
  const std::string port = std::to_string(ntohs(address.sin_port));
  for (const auto& pair : {key_pair(), std::vector<std::string>{}}) {
    EXPECT_THAT(refused({"--listen", "127.0.0.1:" + port, "--log-level", "warn"}, pair),
                FailsSaying(1, AllOf(HasSubstr(port), HasSubstr("--listen"))));
    EXPECT_THAT(names_in(folder_.path()), ElementsAre("data")) << "credentials are left behind";
  }
  ::close(socket);
}

TEST_F(ServeTest, WhatItCannotServeIsNamed) {
  EXPECT_THAT(run({"serve", folder_.file("missing"), "--listen", "127.0.0.1:0"}, environment(key_pair())),
              FailsSaying(testing::Gt(0), HasSubstr(folder_.file("missing"))));
  const std::string plain = folder_.write("plain", "x");
  EXPECT_THAT(run({"serve", plain, "--listen", "127.0.0.1:0"}, environment(key_pair())),
              FailsSaying(testing::Gt(0), HasSubstr(plain)));
}

TEST_F(ServeTest, FlagsThatMakeNoSenseExitWithTwoAndAreNamed) {
  struct Case {
    Arguments flags;
    const char* says;
  };
  for (const auto& [flags, says] : std::vector<Case>{{{"--fabric", "ofi:nope"}, "ofi:nope"},
                                                     {{"--fabric", "none,ofi:tcp"}, "none"},
                                                     {{"--listen", "nonsense"}, "--listen"},
                                                     {{"--listen", "127.0.0.1:70000"}, "--listen"},
                                                     {{"--lease", "5"}, "--lease"},
                                                     {{"--lease", "0s"}, "--lease"},
                                                     {{"--drain", "soon"}, "--drain"},
                                                     {{"--shutdown-timeout", "1 s"}, "--shutdown-timeout"},
                                                     {{"--staging", "1k"}, "--staging"},
                                                     {{"--staging", "lots"}, "--staging"},
                                                     {{"--lease-min-rate", "0"}, "--lease-min-rate"},
                                                     {{"--threads", "0"}, "--threads"},
                                                     {{"--max-connections", "-1"}, "--max-connections"},
                                                     {{"--fsync", "sometimes"}, "--fsync"},
                                                     {{"--log-level", "loud"}, "--log-level"},
                                                     {{"--log-format", "xml"}, "--log-format"},
                                                     {{"--tls-key", "key.pem"}, "--tls-certificate"}}) {
    EXPECT_THAT(refused(flags), FailsSaying(2, HasSubstr(says))) << testing::PrintToString(flags);
  }
  EXPECT_THAT(refused(any_port({"--tls-key", "no.pem", "--tls-certificate", "no-cert.pem"})),
              FailsSaying(testing::Gt(0), HasSubstr("no-cert.pem")));
}

TEST_F(ServeTest, AReadyFileThatCannotBeWrittenLeavesNoCredentials) {
  const Ran ran = run({"serve", data(), "--listen", "127.0.0.1:0", "--log-level", "warn", "--ready-file",
                       folder_.file("no/folder/ready"), "--credentials-file", folder_.file("pair")},
                      environment());
  EXPECT_THAT(ran,
              FailsSaying(1, AllOf(HasSubstr("--ready-file"), HasSubstr(folder_.file("no/folder/ready")))));
  EXPECT_THAT(names_in(folder_.path()), ElementsAre("data"));
}

TEST_F(ServeTest, ReadOnlyRefusesEveryWrite) {
  (void)folder_.write("data/bkt/o", "kept");
  auto gateway = serve(any_port({"--read-only"}));
  const std::string source = folder_.write("in", "new");
  EXPECT_EQ(client({"cat", "s3://bkt/o"}).out, "kept");
  EXPECT_EQ(client({"cat", "s3://bkt/o", "--data-path", "require"}).out, "kept");
  for (const Arguments& write :
       {Arguments{"cp", source, "s3://bkt/o"},
        Arguments{"cp", source, "s3://bkt/o", "--data-path", "require"}, Arguments{"rm", "s3://bkt/o"},
        Arguments{"mb", "s3://made"}, Arguments{"rb", "s3://bkt"}}) {
    const Ran ran = client(write);
    EXPECT_THAT(ran, FailsSaying(1, HasSubstr("--read-only"))) << write.front();
  }
  EXPECT_THAT(stop(*gateway), ExitsWith(0));
  EXPECT_EQ(read_text(data() + "/bkt/o"), "kept");
  EXPECT_THAT(names_in(data()), ElementsAre("bkt")) << "read-only writes nothing of its own either";
}

TEST_F(ServeTest, AConfigurationFileGivesWhatFlagsDoNot) {
  const std::string config = folder_.write("gateway.toml",
                                           "listen = \"0.0.0.0:1\"\n"
                                           "read-only = true\n"
                                           "fabric = \"none\"\n"
                                           "allow-peer = [\"127.0.0.1\", \"10.0.0.1\"]\n"
                                           "log-format = \"json\"\n");
  auto gateway = serve(any_port({"--config", config}));
  EXPECT_THAT(endpoint(), testing::StartsWith("http://127.0.0.1:")) << "the flag wins";
  EXPECT_EQ(ready_["fabrics"], "");
  EXPECT_THAT(client({"mb", "s3://made"}), FailsSaying(1, HasSubstr("--read-only")));
  const Ran stopped = stop(*gateway);
  EXPECT_THAT(stopped, ExitsWith(0));
  EXPECT_EQ(stopped.err.substr(0, 1), "{") << stopped.err;
}

TEST_F(ServeTest, AMistakeInTheConfigurationFileIsNamedWithItsLine) {
  const std::string config = folder_.write("gateway.toml", "# comment\nlistne = \"127.0.0.1:0\"\n");
  EXPECT_THAT(refused({"--config", config}),
              FailsSaying(2, AllOf(HasSubstr(config + ":2"), HasSubstr("'listne'"),
                                   HasSubstr("did you mean 'listen'"))));
  (void)folder_.write("gateway.toml", "read-only = \"perhaps\"\n");
  EXPECT_THAT(refused(any_port({"--config", config})),
              FailsSaying(2, AllOf(HasSubstr(config + ":1"), HasSubstr("read-only"))));
  (void)folder_.write("gateway.toml", "listen = \n");
  EXPECT_THAT(refused({"--config", config}), FailsSaying(2, HasSubstr(config + ":1")));
  EXPECT_THAT(refused({"--config", folder_.file("none.toml")}),
              FailsSaying(2, HasSubstr(folder_.file("none.toml"))));
}

TEST_F(ServeTest, JsonLogsAreJsonAndKeepSecrets) {
  auto gateway = serve(any_port({"--log-format", "json", "--log-level", "debug"}));
  const std::string source = write_pattern(folder_, "in", kMiB, 1);
  ASSERT_THAT(client({"cp", source, "s3://bkt/o", "--data-path", "require"}), ExitsWith(0));
  ASSERT_THAT(client({"cp", "s3://bkt/o", folder_.file("out"), "--data-path", "require"}), ExitsWith(0));
  ASSERT_THAT(client({"cp", "s3://bkt/absent", folder_.file("out2")}), ExitsWith(1));
  auto wrong = bare_environment({std::string("AWS_ACCESS_KEY_ID=") + GatewayProcess::kAccessKey,
                                 "AWS_SECRET_ACCESS_KEY=a-wrong-secret", "AWS_ENDPOINT_URL=" + endpoint()});
  ASSERT_THAT(run({"ls", "s3://bkt"}, wrong), ExitsWith(1));
  const Ran stopped = stop(*gateway);
  EXPECT_THAT(stopped, ExitsWith(0));
  EXPECT_THAT(stopped.out, IsEmpty());
  std::istringstream lines(stopped.err);
  std::size_t requests = 0;
  for (std::string line; std::getline(lines, line);) {
    const Json entry = Json::parse(line, nullptr, false);
    ASSERT_TRUE(entry.is_object()) << line;
    EXPECT_TRUE(entry.contains("level")) << line;
    requests += entry.value("key", "") == "o" ? 1U : 0U;
  }
  EXPECT_GE(requests, 2U) << stopped.err;
  EXPECT_THAT(stopped.err, AllOf(Not(HasSubstr(GatewayProcess::kSecretKey)), Not(HasSubstr("a-wrong-secret")),
                                 Not(HasSubstr("ofi1:")), Not(HasSubstr("Signature="))));
}

TEST_F(ServeTest, TerminateLetsARunningDownloadFinish) {
  GatewayProcess gateway({"--shutdown-timeout", "60s"});
  write_pattern(folder_, "big", 192 * kMiB, 1);
  std::filesystem::rename(folder_.file("big"), gateway.data() / "bkt" / "big");
  const TempDir target;
  auto download = download_stopped_half_way(gateway, "s3://bkt/big", target.path(),
                                            {"--data-path", "off", "--part-size", "1GiB"});
  gateway.process().terminate();
  // New connections are refused once it drains; the ready file of a gateway that drains is still there.
  ASSERT_TRUE(eventually([&] {
    const Ran probe =
        run({"ls", "--endpoint", gateway.endpoint(), "--attempts", "1"}, bare_environment(key_pair()));
    return probe.code == 1;
  }));
  EXPECT_TRUE(gateway.process().running()) << "it does not wait for the download";
  download->cont();
  EXPECT_THAT(finish(*download), ExitsWith(0));
  EXPECT_TRUE(same_bytes(target.file("target"), (gateway.data() / "bkt" / "big").string()));
  EXPECT_THAT(finish(gateway.process()), ExitsWith(0));
}

}  // namespace
}  // namespace sluice::test
