// sluice cp: both directions, every data path, what --json says, and what failures leave behind.
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

class CpTest : public CommandTest {
 protected:
  /// Up and down again; returns the two JSON objects.
  std::pair<Json, Json> both_ways(std::size_t bytes, const std::string& key, const Arguments& flags) {
    const std::string source = write_pattern(folder_, key + ".in", bytes, 5);
    const std::string object = "s3://bkt/" + key;
    const std::string target = file(key + ".out");
    const auto with_flags = [&](Arguments arguments) {
      arguments.insert(arguments.end(), flags.begin(), flags.end());
      return arguments;
    };
    const Ran up = sluice(with_flags({"cp", source, object, "--json"}));
    const Ran down = sluice(with_flags({"cp", object, target, "--json"}));
    EXPECT_THAT(up, ExitsWith(0));
    EXPECT_THAT(down, ExitsWith(0));
    EXPECT_THAT(up.err, IsEmpty());
    EXPECT_THAT(down.err, IsEmpty());
    EXPECT_TRUE(same_bytes(source, target));
    if (up.code != 0 || down.code != 0) throw std::runtime_error("cp failed");
    return {up.json(), down.json()};
  }
};

std::vector<std::string> fields_of(const Json& object) {
  std::vector<std::string> names;
  for (const auto& [name, value] : object.items()) names.push_back(name);
  return names;
}

TEST_F(CpTest, JsonSaysWhatMovedAndHow) {
  const auto [up, down] = both_ways(kMiB + 1, "fields", {});
  for (const Json& line : {up, down}) {
    EXPECT_THAT(fields_of(line), ElementsAre("source", "target", "bytes", "seconds", "data_path", "fabric",
                                             "etag", "checksum", "parts", "retries", "delivery"));
    EXPECT_EQ(line["bytes"], kMiB + 1);
    EXPECT_GT(line["seconds"].get<double>(), 0);
    EXPECT_EQ(line["data_path"], "rdma");
    EXPECT_THAT(line["fabric"].get<std::string>(), StartsWith("ofi:"));
    EXPECT_THAT(line["checksum"].get<std::string>(), StartsWith("crc64nvme:"));
    EXPECT_EQ(line["parts"], 1);
    EXPECT_EQ(line["retries"], 0);
    EXPECT_EQ(line["delivery"], "direct");
  }
  EXPECT_EQ(up["source"], file("fields.in"));
  EXPECT_EQ(up["target"], "s3://bkt/fields");
  EXPECT_EQ(down["target"], file("fields.out"));
  EXPECT_EQ(up["checksum"], down["checksum"]);
  EXPECT_EQ(up["etag"], down["etag"]);
  EXPECT_FALSE(up["etag"].get<std::string>().empty());
}

TEST_F(CpTest, OneByteMovesByRdmaWhereItIsRequired) {
  const auto [up, down] = both_ways(1, "one", {"--data-path", "require"});
  EXPECT_EQ(up["data_path"], "rdma");
  EXPECT_EQ(down["data_path"], "rdma");
}

TEST_F(CpTest, NoByteMovesByNoPath) {
  const auto [up, down] = both_ways(0, "empty", {"--data-path", "require"});
  for (const Json& line : {up, down}) {
    EXPECT_EQ(line["data_path"], "none");
    EXPECT_EQ(line["bytes"], 0);
    EXPECT_EQ(line["fabric"], "");
  }
  EXPECT_EQ(up["checksum"], down["checksum"]);
}

TEST_F(CpTest, ABigDownloadInPartsAddsUpToTheChecksumOfTheUpload) {
  const auto [up, down] = both_ways(201 * kMiB + 17, "big", {"--part-size", "8MiB"});
  EXPECT_EQ(up["parts"], 1);
  EXPECT_EQ(down["parts"], 26);
  EXPECT_EQ(down["bytes"], 201 * kMiB + 17);
  EXPECT_EQ(down["data_path"], "rdma");
  EXPECT_EQ(up["checksum"], down["checksum"]);
}

TEST_F(CpTest, ATailBelowTheThresholdMovesByHttpAndSaysSo) {
  const auto [up, down] = both_ways(2 * kMiB + 17, "tail", {"--part-size", "2MiB"});
  EXPECT_EQ(down["parts"], 2);
  EXPECT_EQ(down["data_path"], "mixed");
  EXPECT_FALSE(down["fallback_reason"].get<std::string>().empty());
  EXPECT_EQ(up["checksum"], down["checksum"]);
}

TEST_F(CpTest, OffMovesByHttp) {
  const auto [up, down] = both_ways(3 * kMiB, "off", {"--data-path", "off", "--part-size", "1MiB"});
  EXPECT_EQ(up["data_path"], "http");
  EXPECT_EQ(down["data_path"], "http");
  EXPECT_EQ(down["parts"], 3);
  EXPECT_EQ(down["fabric"], "");
  EXPECT_FALSE(down.contains("delivery"));
  EXPECT_EQ(up["checksum"], down["checksum"]);
}

TEST_F(CpTest, PreferTakesHttpForSmallObjectsAndSaysWhy) {
  const auto [up, down] = both_ways(4096, "small", {"--data-path", "prefer"});
  EXPECT_EQ(down["data_path"], "http");
  EXPECT_FALSE(down["fallback_reason"].get<std::string>().empty());
  const auto [up_low, down_low] = both_ways(4096, "low", {"--data-path", "prefer", "--rdma-threshold", "1k"});
  EXPECT_EQ(up_low["data_path"], "rdma");
  EXPECT_EQ(down_low["data_path"], "rdma");
}

TEST_F(CpTest, PreferWithoutAFabricFallsBackToHttpAndSaysWhy) {
  const auto [up, down] = both_ways(kMiB, "nofabric", {"--fabric", "none"});
  EXPECT_EQ(up["data_path"], "http");
  EXPECT_EQ(down["data_path"], "http");
  EXPECT_FALSE(up["fallback_reason"].get<std::string>().empty());
}

TEST_F(CpTest, WithoutChecksumNothingIsVerified) {
  const auto [up, down] = both_ways(kMiB, "unverified", {"--checksum", "none"});
  EXPECT_THAT(down["checksum"].get<std::string>(), Not(StartsWith("crc64nvme:")));
}

TEST_F(CpTest, RequireWithoutAFabricIsDeclinedAndNothingMoves) {
  const std::string source = write_pattern(folder_, "in", kMiB, 1);
  ASSERT_THAT(sluice({"cp", source, "s3://bkt/require"}), ExitsWith(0));
  const Ran up =
      sluice({"cp", source, "s3://bkt/declined", "--data-path", "require", "--fabric", "none", "--json"});
  const Ran down =
      sluice({"cp", "s3://bkt/require", file("out"), "--data-path", "require", "--fabric", "none", "--json"});
  for (const Ran& ran : {up, down}) {
    EXPECT_THAT(ran, ExitsWith(1));
    EXPECT_EQ(ran.json()["code"], "declined") << ran.out;
    EXPECT_EQ(ran.json()["outcome"], "refused") << ran.out;
    EXPECT_FALSE(ran.json()["error"].get<std::string>().empty());
  }
  EXPECT_THAT(sluice({"stat", "s3://bkt/declined"}), ExitsWith(1));
  EXPECT_THAT(names_in(folder_.path()), ElementsAre("in"));
}

TEST_F(CpTest, RequireAtAGatewayWithoutAFabricIsDeclined) {
  GatewayProcess plain({"--fabric", "none"});
  const std::string source = write_pattern(folder_, "in", kMiB, 1);
  const auto at_plain = [&](Arguments arguments) {
    arguments.insert(arguments.end(), {"--endpoint", plain.endpoint(), "--json"});
    return sluice(std::move(arguments));
  };
  const Ran prefer = at_plain({"cp", source, "s3://bkt/o"});
  ASSERT_THAT(prefer, ExitsWith(0));
  EXPECT_EQ(prefer.json()["data_path"], "http");
  EXPECT_FALSE(prefer.json()["fallback_reason"].get<std::string>().empty());
  for (const Ran& ran : {at_plain({"cp", source, "s3://bkt/p", "--data-path", "require"}),
                         at_plain({"cp", "s3://bkt/o", file("out"), "--data-path", "require"})}) {
    EXPECT_THAT(ran, ExitsWith(1));
    EXPECT_EQ(ran.json()["code"], "declined") << ran.out;
    EXPECT_EQ(ran.json()["outcome"], "refused") << ran.out;
  }
  EXPECT_FALSE(std::filesystem::exists(plain.data() / "bkt" / "p"));
  EXPECT_THAT(names_in(folder_.path()), ElementsAre("in"));
}

TEST_F(CpTest, StandardInputUploads) {
  const std::string source = write_pattern(folder_, "in", 3 * kMiB + 5, 9);
  const Ran up = sluice({"cp", "-", "s3://bkt/stdin", "--json"}, source);
  ASSERT_THAT(up, ExitsWith(0));
  EXPECT_EQ(up.json()["source"], "-");
  EXPECT_EQ(up.json()["bytes"], 3 * kMiB + 5);
  EXPECT_TRUE(same_bytes(source, (gateway().data() / "bkt" / "stdin").string()));
  EXPECT_THAT(sluice({"cp", "-", "s3://bkt/"}, source), FailsSaying(2, HasSubstr("s3://bkt/")));
}

TEST_F(CpTest, FoldersAndTrailingSlashesKeepTheName) {
  const std::string source = write_pattern(folder_, "name.bin", 10, 1);
  for (const char* target : {"s3://bkt", "s3://bkt/deep/er/"})
    ASSERT_THAT(sluice({"cp", source, target}), ExitsWith(0));
  EXPECT_TRUE(same_bytes(source, (gateway().data() / "bkt" / "name.bin").string()));
  EXPECT_TRUE(same_bytes(source, (gateway().data() / "bkt" / "deep" / "er" / "name.bin").string()));
  std::filesystem::create_directory(file("into"));
  const Ran down = sluice({"cp", "s3://bkt/deep/er/name.bin", file("into"), "--json"});
  ASSERT_THAT(down, ExitsWith(0));
  EXPECT_EQ(down.json()["target"], file("into/name.bin"));
  EXPECT_TRUE(same_bytes(source, file("into/name.bin")));
}

TEST_F(CpTest, TextSaysTheDataPathAndQuietSaysNothing) {
  const std::string source = write_pattern(folder_, "in", kMiB, 1);
  EXPECT_THAT(sluice({"cp", source, "s3://bkt/text"}).out,
              AllOf(HasSubstr("s3://bkt/text"), HasSubstr("1 MiB"), HasSubstr("by rdma"),
                    HasSubstr("verified crc64nvme:")));
  const Ran quiet = sluice({"cp", source, "s3://bkt/text", "-q"});
  EXPECT_THAT(quiet, ExitsWith(0));
  EXPECT_EQ(quiet.out + quiet.err, "");
}

TEST_F(CpTest, NoProgressWhenPiped) {
  const std::string source = write_pattern(folder_, "in", 64 * kMiB, 1);
  const Ran up = sluice({"cp", source, "s3://bkt/piped", "--data-path", "off"});
  const Ran down = sluice({"cp", "s3://bkt/piped", file("out"), "--data-path", "off"});
  EXPECT_THAT(up, ExitsWith(0));
  EXPECT_THAT(down, ExitsWith(0));
  EXPECT_EQ(up.err + down.err, "");
  EXPECT_THAT(up.out + down.out, AllOf(Not(HasSubstr("\033")), Not(HasSubstr("\r"))));
}

TEST_F(CpTest, NoClobberSparesAnObject) {
  const std::string first = folder_.write("first", "first");
  const std::string second = folder_.write("second", "second");
  ASSERT_THAT(sluice({"cp", "--no-clobber", first, "s3://bkt/kept"}), ExitsWith(0));
  const Ran again = sluice({"cp", "--no-clobber", second, "s3://bkt/kept", "--json"});
  EXPECT_THAT(again, ExitsWith(1));
  EXPECT_EQ(again.json()["code"], "precondition_failed");
  EXPECT_EQ(sluice({"cat", "s3://bkt/kept"}).out, "first");
  EXPECT_THAT(sluice({"cp", second, "s3://bkt/kept"}), ExitsWith(0));
  EXPECT_EQ(sluice({"cat", "s3://bkt/kept"}).out, "second");
}

TEST_F(CpTest, NoClobberSparesAFile) {
  ASSERT_THAT(sluice({"cp", folder_.write("in", "new"), "s3://bkt/clobber"}), ExitsWith(0));
  const std::string target = folder_.write("out", "old");
  const Ran kept = sluice({"cp", "-n", "s3://bkt/clobber", target, "--json"});
  EXPECT_THAT(kept, ExitsWith(1));
  EXPECT_EQ(kept.json()["code"], "already_exists");
  EXPECT_THAT(kept.json()["error"].get<std::string>(), HasSubstr(target));
  EXPECT_EQ(read_text(target), "old");
  EXPECT_THAT(sluice({"cp", "-n", "s3://bkt/clobber", file("fresh")}), ExitsWith(0));
  EXPECT_EQ(read_text(file("fresh")), "new");
  EXPECT_THAT(sluice({"cp", "s3://bkt/clobber", target}), ExitsWith(0));
  EXPECT_EQ(read_text(target), "new");
  EXPECT_THAT(names_in(folder_.path()), ElementsAre("fresh", "in", "out"));
}

TEST_F(CpTest, MetadataAndContentTypeAreKept) {
  const std::string source = folder_.write("in", "x");
  ASSERT_THAT(sluice({"cp", source, "s3://bkt/meta", "--metadata", "color=blue", "--metadata", "formula=a=b",
                      "--content-type", "text/x-special"}),
              ExitsWith(0));
  const Json stat = sluice({"stat", "s3://bkt/meta", "--json"}).json();
  EXPECT_EQ(stat["content_type"], "text/x-special");
  EXPECT_EQ(stat["metadata"]["color"], "blue");
  EXPECT_EQ(stat["metadata"]["formula"], "a=b");
  EXPECT_THAT(sluice({"cp", source, "s3://bkt/meta2", "--metadata", "nothing"}),
              FailsSaying(2, AllOf(HasSubstr("--metadata"), HasSubstr("NAME=VALUE"))));
}

TEST_F(CpTest, TheContentTypeFollowsTheName) {
  const std::string source = folder_.write("in", "{}");
  ASSERT_THAT(sluice({"cp", source, "s3://bkt/page.html"}), ExitsWith(0));
  ASSERT_THAT(sluice({"cp", source, "s3://bkt/data.json", "--data-path", "require"}), ExitsWith(0));
  ASSERT_THAT(sluice({"cp", source, "s3://bkt/no-extension"}), ExitsWith(0));
  const auto type = [](const char* object) {
    return sluice({"stat", object, "--json"}).json()["content_type"].get<std::string>();
  };
  EXPECT_EQ(type("s3://bkt/page.html"), "text/html");
  EXPECT_EQ(type("s3://bkt/data.json"), "application/json");
  EXPECT_EQ(type("s3://bkt/no-extension"), "application/octet-stream");
}

TEST_F(CpTest, ObjectToObjectKeepsBytesTypeAndMetadata) {
  const std::string source = write_pattern(folder_, "in", 2 * kMiB + 3, 3);
  ASSERT_THAT(sluice({"cp", source, "s3://bkt/from", "--metadata", "k=v", "--content-type", "text/plain"}),
              ExitsWith(0));
  const Ran copied = sluice({"cp", "s3://bkt/from", "s3://bkt/copies/", "--json"});
  ASSERT_THAT(copied, ExitsWith(0));
  EXPECT_EQ(copied.json()["target"], "s3://bkt/copies/from");
  EXPECT_EQ(copied.json()["bytes"], 2 * kMiB + 3);
  EXPECT_EQ(copied.json()["data_path"], "rdma");
  EXPECT_TRUE(same_bytes(source, (gateway().data() / "bkt" / "copies" / "from").string()));
  const Json stat = sluice({"stat", "s3://bkt/copies/from", "--json"}).json();
  EXPECT_EQ(stat["content_type"], "text/plain");
  EXPECT_EQ(stat["metadata"]["k"], "v");
  ASSERT_THAT(sluice({"cp", folder_.write("none", ""), "s3://bkt/none"}), ExitsWith(0));
  EXPECT_THAT(sluice({"cp", "s3://bkt/none", "s3://bkt/none2"}), ExitsWith(0));
}

TEST_F(CpTest, AMissingObjectLeavesNoFile) {
  const Ran down = sluice({"cp", "s3://bkt/never-was", file("out"), "--json"});
  EXPECT_THAT(down, ExitsWith(1));
  const Json said = down.json();
  EXPECT_EQ(said["source"], "s3://bkt/never-was");
  EXPECT_EQ(said["target"], file("out"));
  EXPECT_EQ(said["code"], "not_found");
  EXPECT_EQ(said["outcome"], "refused");
  EXPECT_THAT(names_in(folder_.path()), IsEmpty());
}

TEST_F(CpTest, ATimeoutLeavesTheOldFileAlone) {
  ASSERT_THAT(sluice({"cp", write_pattern(folder_, "in", 64 * kMiB, 1), "s3://bkt/slow"}), ExitsWith(0));
  for (const char* path : {"off", "require"}) {
    const std::string target = folder_.write("out", "old");
    const Ran down =
        sluice({"cp", "s3://bkt/slow", target, "--timeout", "1ms", "--data-path", path, "--json"});
    EXPECT_THAT(down, ExitsWith(1));
    EXPECT_EQ(down.json()["code"], "timeout") << down.out;
    EXPECT_TRUE(read_text(target) == "old");  // not 64 MiB of a message
    EXPECT_THAT(names_in(folder_.path()), ElementsAre("in", "out"));
  }
}

TEST_F(CpTest, SourcesAndTargetsThatCannotWorkAreNamed) {
  EXPECT_THAT(sluice({"cp", file("missing"), "s3://bkt/x"}), FailsSaying(1, HasSubstr(file("missing"))));
  EXPECT_THAT(sluice({"cp", folder_.path().string(), "s3://bkt/x"}),
              FailsSaying(2, HasSubstr("is a directory")));
  EXPECT_THAT(sluice({"cp", "a", "b"}), FailsSaying(2, HasSubstr("s3://")));
  EXPECT_THAT(sluice({"cp", "s3://bkt", file("x")}), FailsSaying(2, HasSubstr("names a bucket")));
  EXPECT_THAT(sluice({"cp", "s3://bkt/x", "-"}), FailsSaying(2, HasSubstr("sluice cat")));
  ASSERT_THAT(sluice({"cp", folder_.write("in", "x"), "s3://bkt/there"}), ExitsWith(0));
  EXPECT_THAT(sluice({"cp", "s3://bkt/there", file("no/such/folder")}),
              FailsSaying(1, HasSubstr(file("no/such/folder"))));
  EXPECT_THAT(sluice({"cp", "s3://bkt/there", "/dev/null"}), FailsSaying(2, HasSubstr("/dev/null")));
  EXPECT_THAT(sluice({"cp", file("in"), "s3://no-such-bucket/x"}),
              FailsSaying(1, HasSubstr("no-such-bucket")));
}

TEST(CpLostGatewayTest, AGatewayKilledHalfWayLeavesNoFile) {
  for (const Arguments& flags : {Arguments{"--data-path", "require", "--part-size", "8MiB"},
                                 Arguments{"--data-path", "off", "--part-size", "1GiB"}}) {
    GatewayProcess gateway;
    TempDir folder;
    write_pattern(folder, "big", 192 * kMiB, 1);
    std::filesystem::rename(folder.file("big"), gateway.data() / "bkt" / "big");
    auto process = download_stopped_half_way(gateway, "s3://bkt/big", folder.path(), flags);
    gateway.process().kill();
    ASSERT_TRUE(gateway.process().wait(Deadline::after(std::chrono::seconds(30))));
    process->cont();
    const Ran ran = finish(*process);
    EXPECT_THAT(ran, FailsSaying(1, HasSubstr("s3://bkt/big")));
    EXPECT_THAT(names_in(folder.path()), IsEmpty());
  }
}

}  // namespace
}  // namespace sluice::test
