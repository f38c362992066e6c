// The command line as people and scripts meet it: the real binary in child processes. Tests that look into
// JSON include nlohmann/json.hpp themselves.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <functional>
#include <initializer_list>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <sstream>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/deadline.h"
#include "fixtures/canary.h"
#include "fixtures/gateway_process.h"
#include "fixtures/matchers.h"
#include "fixtures/process.h"
#include "fixtures/temp_dir.h"

namespace sluice::test {

using Json = nlohmann::ordered_json;
using Arguments = std::vector<std::string>;
inline constexpr std::size_t kMiB = 1U << 20U;

/// How a command ended and what it said.
struct Ran {
  int code = -1;
  std::string out;
  std::string err;

  /// Standard output as one JSON object; throws if it is anything else.
  template <class Parsed = Json>
  [[nodiscard]] Parsed json() const {
    return Parsed::parse(out);
  }
  /// One JSON object per line.
  template <class Parsed = Json>
  [[nodiscard]] std::vector<Parsed> json_lines() const {
    std::vector<Parsed> lines;
    std::istringstream text(out);
    for (std::string line; std::getline(text, line);) lines.push_back(Parsed::parse(line));
    return lines;
  }
};

inline void PrintTo(const Ran& ran, std::ostream* out) {
  *out << "exit code " << ran.code << "\nstdout: " << ran.out << "\nstderr: " << ran.err;
}

MATCHER_P(ExitsWith, code, "") {
  return arg.code == code;
}
/// Fails with `code` and one line on stderr that `said` matches.
MATCHER_P2(FailsSaying, code, said, "") {
  return testing::Matches(code)(arg.code) && std::count(arg.err.begin(), arg.err.end(), '\n') == 1 &&
         testing::ExplainMatchResult(said, arg.err, result_listener);
}

/// No AWS configuration but `more`; "NAME" alone removes a variable.
inline std::vector<std::string> bare_environment(const std::vector<std::string>& more = {}) {
  std::vector<std::string> all = {"AWS_ACCESS_KEY_ID",
                                  "AWS_SECRET_ACCESS_KEY",
                                  "AWS_SESSION_TOKEN",
                                  "AWS_PROFILE",
                                  "AWS_REGION",
                                  "AWS_DEFAULT_REGION",
                                  "AWS_ENDPOINT_URL",
                                  "AWS_ENDPOINT_URL_S3",
                                  "AWS_CA_BUNDLE",
                                  "AWS_CONFIG_FILE=/dev/null",
                                  "AWS_SHARED_CREDENTIALS_FILE=/dev/null"};
  const auto name = [](const std::string& entry) { return entry.substr(0, entry.find('=')); };
  for (const auto& entry : more) {
    std::erase_if(all, [&](const std::string& old) { return name(old) == name(entry); });
    all.push_back(entry);
  }
  return all;
}

inline std::vector<std::string> key_pair() {
  return {std::string("AWS_ACCESS_KEY_ID=") + GatewayProcess::kAccessKey,
          std::string("AWS_SECRET_ACCESS_KEY=") + GatewayProcess::kSecretKey};
}

inline std::unique_ptr<Process> spawn(ProcessOptions options) {
  auto spawned = Process::spawn(std::move(options));
  if (!spawned) throw std::runtime_error(spawned.error().describe());
  return std::move(*spawned);
}

/// Starts `sluice arguments`.
inline std::unique_ptr<Process> start(Arguments arguments, std::vector<std::string> environment,
                                      std::string stdin_file = {}) {
  ProcessOptions options;
  options.executable = sluice_binary();
  options.arguments = std::move(arguments);
  options.environment = std::move(environment);
  options.stdin_file = std::move(stdin_file);
  return spawn(std::move(options));
}

/// Waits for the end; throws if it takes longer than a minute.
inline Ran finish(Process& process) {
  const auto status = process.wait(Deadline::after(std::chrono::seconds(60)));
  if (!status) throw std::runtime_error("the command does not end: " + process.err());
  return {status->code, process.out(), process.err()};
}

inline Ran run(Arguments arguments, std::vector<std::string> environment = bare_environment(),
               std::string stdin_file = {}) {
  return finish(*start(std::move(arguments), std::move(environment), std::move(stdin_file)));
}

/// Polls; false if it does not come true in `seconds`.
inline bool eventually(const std::function<bool()>& condition, int seconds = 30) {
  const Deadline deadline = Deadline::after(std::chrono::seconds(seconds));
  while (!condition()) {
    if (deadline.expired()) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return true;
}

/// `bytes` of the pattern `seed` in a file of `folder`.
inline std::string write_pattern(const TempDir& folder, std::string_view name, std::size_t bytes,
                                 std::uint64_t seed) {
  const auto content = pattern(bytes, seed);
  std::string text(content.size(), '\0');
  if (bytes > 0) std::memcpy(text.data(), content.data(), content.size());
  return folder.write(name, text);
}

inline bool same_bytes(const std::string& one, const std::string& other) {
  std::ifstream a(one, std::ios::binary);
  std::ifstream b(other, std::ios::binary);
  if (!a || !b) return false;
  std::vector<char> left(1U << 20U);
  std::vector<char> right(1U << 20U);
  for (;;) {
    a.read(left.data(), static_cast<std::streamsize>(left.size()));
    b.read(right.data(), static_cast<std::streamsize>(right.size()));
    if (a.gcount() != b.gcount()) return false;
    if (a.gcount() == 0) return true;
    if (std::memcmp(left.data(), right.data(), static_cast<std::size_t>(a.gcount())) != 0) return false;
  }
}

/// Names in a folder, sorted: for "nothing is left behind".
inline std::vector<std::string> names_in(const std::filesystem::path& folder) {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    names.push_back(entry.path().filename().string());
  std::sort(names.begin(), names.end());
  return names;
}

/// A download caught half way: the command stands still (SIGSTOP) with its first bytes in the temporary file
/// and its last ones missing. `source` is an object of the pattern (whose words are never 0).
inline std::unique_ptr<Process> download_stopped_half_way(const GatewayProcess& gateway,
                                                          const std::string& object,
                                                          const std::filesystem::path& folder,
                                                          const Arguments& flags) {
  for (int attempt = 0; attempt < 10; ++attempt) {
    Arguments arguments = {"cp", object, (folder / "target").string(), "--endpoint", gateway.endpoint()};
    arguments.insert(arguments.end(), flags.begin(), flags.end());
    auto process = start(std::move(arguments), bare_environment(key_pair()));
    const auto word_at = [&](bool last) -> std::uint64_t {
      for (const auto& name : names_in(folder)) {
        if (name.find(".sluice-") == std::string::npos) continue;
        std::ifstream file(folder / name, std::ios::binary);
        std::uint64_t word = 0;
        if (last) file.seekg(-8, std::ios::end);
        file.read(reinterpret_cast<char*>(&word), sizeof word);
        return file ? word : 0;
      }
      return 0;
    };
    if (!eventually([&] { return word_at(false) != 0 || !process->running(); })) continue;
    if (process->stop() && word_at(false) != 0 && word_at(true) == 0) return process;
    process->kill();  // it was faster than this test
    (void)process->wait(Deadline::after(std::chrono::seconds(30)));
    for (const auto& name : names_in(folder)) std::filesystem::remove(folder / name);
  }
  throw std::runtime_error("no download was caught half way");
}

/// One gateway for the tests of a suite; each test has a folder of its own.
class CommandTest : public testing::Test {
 protected:
  static void SetUpTestSuite() { gateway_ = std::make_unique<GatewayProcess>(); }
  static void TearDownTestSuite() { gateway_.reset(); }

  static GatewayProcess& gateway() { return *gateway_; }
  /// The environment of a user who has set up everything.
  static std::vector<std::string> environment() {
    auto environment = key_pair();
    environment.push_back("AWS_ENDPOINT_URL=" + gateway_->endpoint());
    return bare_environment(environment);
  }
  static Ran sluice(Arguments arguments, std::string stdin_file = {}) {
    return run(std::move(arguments), environment(), std::move(stdin_file));
  }
  [[nodiscard]] std::string file(std::string_view name) const { return folder_.file(name); }

  TempDir folder_;

 private:
  static inline std::unique_ptr<GatewayProcess> gateway_;
};

}  // namespace sluice::test
