#include "base/config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fixtures/matchers.h"
#include "fixtures/temp_dir.h"

namespace sluice {
namespace {

using testing::HasSubstr;

const std::vector<std::string> kKnown = {"listen", "data-path", "threads", "fsync", "fabric"};

Result<std::vector<ConfigEntry>> parse(std::string_view text) {
  return parse_config(text, "gateway.toml", kKnown);
}

std::vector<std::string> flat(const std::vector<ConfigEntry>& entries) {
  std::vector<std::string> out;
  for (const auto& entry : entries)
    out.push_back(std::to_string(entry.line) + ":" + entry.key + "=" + entry.value);
  return out;
}

TEST(ConfigTest, GivesEntriesInTheOrderOfTheFile) {
  auto entries = parse(
      "# a comment\nthreads = 4\nlisten = \"127.0.0.1:9000\"\n\nfsync = false\nfabric = [\"tcp\", "
      "\"verbs\"]\n");
  ASSERT_THAT(entries, test::IsOk());
  EXPECT_THAT(flat(*entries), testing::ElementsAre("2:threads=4", "3:listen=127.0.0.1:9000", "5:fsync=false",
                                                   "6:fabric=tcp,verbs"));
}

TEST(ConfigTest, AnEmptyFileHasNoEntries) {
  auto entries = parse("");
  ASSERT_THAT(entries, test::IsOk());
  EXPECT_TRUE(entries->empty());
}

TEST(ConfigTest, AnUnknownKeyNamesItsLineAndTheNearestKnownOne) {
  EXPECT_THAT(
      parse("threads = 4\n\nlistne = \"x\"\n"),
      test::Fails(ErrorCode::config_error, "gateway.toml:3: unknown key 'listne', did you mean 'listen'?"));
  auto far = parse("colour = \"blue\"\n");
  ASSERT_THAT(far, test::Fails(ErrorCode::config_error, "gateway.toml:1: unknown key 'colour'"));
  EXPECT_THAT(far.error().describe(), testing::Not(HasSubstr("did you mean")));
}

TEST(ConfigTest, RefusesWhatNoFlagCouldTake) {
  const std::pair<const char*, const char*> bad[] = {{"[listen]\nx = 1\n", "gateway.toml:1: "},
                                                     {"\n\n[gateway]\nlisten = \"x\"\n", "gateway.toml:3: "},
                                                     {"listen.x = 1\n", "table"},
                                                     {"listen = 2026-01-01\n", "gateway.toml:1: "},
                                                     {"threads = 1.5\n", "whole number"},
                                                     {"fabric = [[\"a\"]]\n", "list of texts"},
                                                     {"fabric = [{a = 1}]\n", "list of texts"},
                                                     {"fabric = [\"a,b\"]\n", "comma"},
                                                     {"fabric = [\"\", \"a\"]\n", "empty"},
                                                     {"threads = 1\nthreads = 2\n", "gateway.toml:2: "},
                                                     {"threads = \n", "gateway.toml:1: "},
                                                     {"listen = \"a\nb\"\n", "gateway.toml:1: "},
                                                     {"listen", "gateway.toml:1: "},
                                                     {"listen = \"\xff\"\n", "gateway.toml:1: "}};
  for (const auto& [text, part] : bad)
    EXPECT_THAT(parse(text), test::Fails(ErrorCode::config_error, part)) << text;
}

TEST(ConfigTest, ReadsAFileAndNamesItInErrors) {
  const test::TempDir dir;
  const std::string good = dir.write("good.toml", "threads = 2\n");
  auto entries = read_config(good, kKnown);
  ASSERT_THAT(entries, test::IsOk());
  EXPECT_THAT(flat(*entries), testing::ElementsAre("1:threads=2"));
  const std::string bad = dir.write("bad.toml", "thread = 2\n");
  EXPECT_THAT(
      read_config(bad, kKnown),
      test::Fails(ErrorCode::config_error, bad + ":1: unknown key 'thread', did you mean 'threads'?"));
}

TEST(ConfigTest, MissingFilesDirectoriesAndHugeFilesAreErrors) {
  const test::TempDir dir;
  EXPECT_THAT(read_config(dir.file("missing.toml"), kKnown),
              test::Fails(ErrorCode::config_error, "missing.toml"));
  EXPECT_THAT(read_config(dir.path().string(), kKnown),
              test::Fails(ErrorCode::config_error, dir.path().string()));
  const std::string huge = dir.write("huge.toml", std::string((1U << 20U) + 1, '#'));
  EXPECT_THAT(read_config(huge, kKnown), test::Fails(ErrorCode::config_error, "1 MiB"));
}

TEST(NearestTest, FindsTypingMistakesAndNothingFartherAway) {
  EXPECT_EQ(nearest("listne", kKnown), "listen");
  EXPECT_EQ(nearest("data_path", kKnown), "data-path");
  EXPECT_EQ(nearest("--listen", kKnown), "listen");
  EXPECT_EQ(nearest("fabrics", kKnown), "fabric");
  EXPECT_EQ(nearest("listen", kKnown), "listen");
  EXPECT_EQ(nearest("colour", kKnown), "");
  EXPECT_EQ(nearest("", kKnown), "");
  EXPECT_EQ(nearest("listen", {}), "");
}

}  // namespace
}  // namespace sluice
