// sluice cat, ls, stat, rm, mb and rb.
#include <nlohmann/json.hpp>

#include "cli/run_sluice.h"

namespace sluice::test {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::StartsWith;

class ObjectsTest : public CommandTest {
 protected:
  void put(const std::string& key, const std::string& content) {
    std::filesystem::create_directories((gateway().data() / key).parent_path());
    std::ofstream(gateway().data() / key, std::ios::binary) << content;
  }
};

TEST_F(ObjectsTest, CatWritesObjectsOneAfterTheOther) {
  put("bkt/one", "first\n");
  put("bkt/two", std::string("se\0cond", 7));
  const Ran both = sluice({"cat", "s3://bkt/one", "s3://bkt/two"});
  EXPECT_THAT(both, ExitsWith(0));
  EXPECT_EQ(both.out, std::string("first\nse\0cond", 13));
  EXPECT_THAT(both.err, IsEmpty());
}

TEST_F(ObjectsTest, CatInPartsGivesTheWholeObject) {
  const std::string source = write_pattern(folder_, "in", 3'000'001, 4);
  put("bkt/parts", read_text(source));
  for (const char* path : {"require", "off"}) {
    const Ran ran = sluice({"cat", "s3://bkt/parts", "--part-size", "1MiB", "--data-path", path});
    EXPECT_THAT(ran, ExitsWith(0));
    EXPECT_TRUE(ran.out == read_text(source)) << path;
  }
}

TEST_F(ObjectsTest, CatWritesARange) {
  put("bkt/digits", "0123456789");
  const auto range = [](const char* text) { return sluice({"cat", "s3://bkt/digits", "--range", text}); };
  EXPECT_EQ(range("2-4").out, "234");
  EXPECT_EQ(range("7-").out, "789");
  EXPECT_EQ(range("0-0").out, "0");
  EXPECT_EQ(range("8-99").out, "89");
  EXPECT_EQ(sluice({"cat", "s3://bkt/digits", "--range", "2-4", "--data-path", "require"}).out, "234");
  EXPECT_THAT(range("10-"), FailsSaying(1, HasSubstr("only 10 bytes")));
  for (const char* bad : {"4-2", "5", "-3", "a-b", "1-2-3"})
    EXPECT_THAT(range(bad), FailsSaying(2, HasSubstr("FIRST-LAST"))) << bad;
}

TEST_F(ObjectsTest, CatStopsAtTheFirstFailure) {
  put("bkt/after", "after");
  const Ran ran = sluice({"cat", "s3://bkt/absent", "s3://bkt/after"});
  EXPECT_THAT(ran, FailsSaying(1, HasSubstr("s3://bkt/absent")));
  EXPECT_THAT(ran.out, IsEmpty());
}

TEST_F(ObjectsTest, OutputThatNobodyGetsIsAFailure) {
  put("bkt/full", "some bytes");
  for (const char* command : {"cat s3://bkt/full", "ls s3://bkt/", "stat s3://bkt/full --json", "help"}) {
    ProcessOptions options;
    options.executable = "/bin/sh";
    options.arguments = {"-c", sluice_binary() + " " + command + " > /dev/full"};
    options.environment = environment();
    EXPECT_THAT(finish(*spawn(std::move(options))), FailsSaying(1, HasSubstr("standard output"))) << command;
  }
}

TEST_F(ObjectsTest, LsShowsOneLevelOrAll) {
  for (const char* key : {"lst/a/1", "lst/a/b/2", "lst/c", "lst/d e"}) put(key, "xyz");
  const Ran level = sluice({"ls", "s3://lst"});
  EXPECT_THAT(level, ExitsWith(0));
  EXPECT_THAT(level.out, AllOf(HasSubstr("PRE a/\n"), HasSubstr(" 3  c\n"), HasSubstr(" 3  d e\n"),
                               Not(HasSubstr("a/1"))));
  const Ran below = sluice({"ls", "s3://lst/a/", "--json"});
  ASSERT_EQ(below.json_lines().size(), 2U) << below.out;
  EXPECT_EQ(below.json_lines()[0]["prefix"], "a/b/");
  EXPECT_EQ(below.json_lines()[1]["key"], "a/1");
  std::vector<std::string> keys;
  for (const Json& line : sluice({"ls", "s3://lst", "--recursive", "--json"}).json_lines()) {
    keys.push_back(line["key"]);
    EXPECT_EQ(line["bucket"], "lst");
    EXPECT_EQ(line["bytes"], 3);
    EXPECT_FALSE(line["etag"].get<std::string>().empty());
    EXPECT_THAT(line["modified"].get<std::string>(), StartsWith("20"));
  }
  EXPECT_THAT(keys, ElementsAre("a/1", "a/b/2", "c", "d e"));
  EXPECT_EQ(sluice({"ls", "s3://lst", "-r"}).out.find("PRE"), std::string::npos);
}

TEST_F(ObjectsTest, LsGoesOnOverPages) {
  for (int i = 0; i < 1234; ++i) put("pages/k" + std::to_string(10000 + i), "");
  const auto lines = sluice({"ls", "s3://pages", "--json"}).json_lines();
  ASSERT_EQ(lines.size(), 1234U);
  EXPECT_EQ(lines.back()["key"], "k11233");
}

TEST_F(ObjectsTest, LsNamesBuckets) {
  put("another/x", "");
  const Ran text = sluice({"ls"});
  EXPECT_THAT(text.out, AllOf(HasSubstr("s3://bkt\n"), HasSubstr("s3://another\n")));
  std::vector<std::string> names;
  for (const Json& line : sluice({"ls", "s3://", "--json"}).json_lines()) names.push_back(line["bucket"]);
  EXPECT_THAT(names, testing::IsSupersetOf({"another", "bkt"}));
}

TEST_F(ObjectsTest, ANameCannotDriveTheTerminal) {
  put("evil/\033[2Jname", "");
  const Ran ran = sluice({"ls", "s3://evil"});
  EXPECT_THAT(ran, ExitsWith(0));
  EXPECT_THAT(ran.out, AllOf(HasSubstr("\\x1b[2Jname"), Not(HasSubstr("\033"))));
}

TEST_F(ObjectsTest, AMissingBucketFailsWithTheCodeOfS3) {
  const Ran ran = sluice({"ls", "s3://nowhere", "--json"});
  EXPECT_THAT(ran, ExitsWith(1));
  EXPECT_EQ(ran.json()["code"], "not_found");
  EXPECT_EQ(ran.json()["s3_code"], "NoSuchBucket");
  EXPECT_FALSE(ran.json()["request_id"].get<std::string>().empty());
  EXPECT_THAT(sluice({"ls", "s3://nowhere"}),
              FailsSaying(1, AllOf(HasSubstr("nowhere"), HasSubstr("request "))));
}

TEST_F(ObjectsTest, StatShowsAnObjectAndABucket) {
  put("bkt/stat.txt", "hello");
  const Ran text = sluice({"stat", "s3://bkt/stat.txt"});
  EXPECT_THAT(text, ExitsWith(0));
  EXPECT_THAT(text.out,
              AllOf(HasSubstr("s3://bkt/stat.txt"), HasSubstr("bytes     5"), HasSubstr("text/plain")));
  const Json json = sluice({"stat", "s3://bkt/stat.txt", "--json"}).json();
  EXPECT_EQ(json["bucket"], "bkt");
  EXPECT_EQ(json["key"], "stat.txt");
  EXPECT_EQ(json["bytes"], 5);
  EXPECT_EQ(sluice({"stat", "s3://bkt", "--json"}).json()["bucket"], "bkt");
  const Ran some = sluice({"stat", "s3://bkt/absent", "s3://bkt/stat.txt", "--json"});
  EXPECT_THAT(some, ExitsWith(1));
  ASSERT_EQ(some.json_lines().size(), 2U) << some.out;
  EXPECT_EQ(some.json_lines()[0]["code"], "not_found");
  EXPECT_EQ(some.json_lines()[0]["location"], "s3://bkt/absent");
  EXPECT_EQ(some.json_lines()[1]["key"], "stat.txt");
}

TEST_F(ObjectsTest, RmRemovesObjectsOnly) {
  put("bkt/rm1", "x");
  put("bkt/rm2", "x");
  const Ran removed = sluice({"rm", "s3://bkt/rm1", "s3://bkt/rm2", "--json"});
  EXPECT_THAT(removed, ExitsWith(0));
  ASSERT_EQ(removed.json_lines().size(), 2U);
  EXPECT_EQ(removed.json_lines()[0]["done"], "removed");
  EXPECT_FALSE(std::filesystem::exists(gateway().data() / "bkt" / "rm1"));
  EXPECT_FALSE(std::filesystem::exists(gateway().data() / "bkt" / "rm2"));
  EXPECT_THAT(sluice({"rm", "s3://bkt"}), FailsSaying(2, HasSubstr("sluice rb")));
  EXPECT_TRUE(std::filesystem::exists(gateway().data() / "bkt"));
}

TEST_F(ObjectsTest, MbAndRbMakeAndRemoveBuckets) {
  EXPECT_EQ(sluice({"mb", "s3://made"}).out, "made s3://made\n");
  EXPECT_TRUE(std::filesystem::is_directory(gateway().data() / "made"));
  EXPECT_THAT(sluice({"mb", "s3://Bad_Name"}), FailsSaying(1, HasSubstr("Bad_Name")));
  put("made/x", "x");
  const Ran full = sluice({"rb", "s3://made", "--json"});
  EXPECT_THAT(full, ExitsWith(1));
  EXPECT_EQ(full.json()["s3_code"], "BucketNotEmpty");
  EXPECT_THAT(sluice({"rm", "s3://made/x", "-q"}), ExitsWith(0));
  EXPECT_EQ(sluice({"rb", "s3://made"}).out, "removed s3://made\n");
  EXPECT_FALSE(std::filesystem::exists(gateway().data() / "made"));
  EXPECT_THAT(sluice({"rb", "s3://made"}), ExitsWith(1));
  EXPECT_THAT(sluice({"mb", "s3://made/key"}), FailsSaying(2, HasSubstr("s3://made")));
}

}  // namespace
}  // namespace sluice::test
