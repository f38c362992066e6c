// Nothing outside a bucket's folder is reached, and nothing but regular files is opened.
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include "base/deadline.h"
#include "store/directory_harness.h"

namespace sluice::test {
namespace {

namespace fs = std::filesystem;

class DirectoryEscapeTest : public testing::Test {
 protected:
  DirectoryEscapeTest() : harness_(options()) {
    secret_ = outside_.write("secret", "outside");
    EXPECT_THAT(run_task(store().create_bucket("bucket")), IsOk());
    bucket_ = harness_.path() / "bucket";
  }
  static store::DirectoryStoreOptions options() {
    store::DirectoryStoreOptions options;
    options.fsync = store::FsyncPolicy::none;
    return options;
  }
  ObjectStore& store() { return harness_.store(); }
  std::string code_of_get(const std::string& key) {
    return s3_code_of(run_task(store().open("bucket", key)));
  }
  std::string code_of_put(const std::string& key) {
    return s3_code_of(put(store(), "bucket", key, "written"));
  }
  void expect_secret_untouched() {
    EXPECT_EQ(read_text(secret_), "outside");
    EXPECT_EQ(std::distance(fs::directory_iterator(outside_.path()), fs::directory_iterator()), 1);
  }

  TempDir outside_;
  std::string secret_;
  DirectoryHarness harness_;
  fs::path bucket_;
};

TEST_F(DirectoryEscapeTest, LinksOutOfTheBucketAreRefusedByEveryCall) {
  fs::create_symlink(secret_, bucket_ / "absolute");
  fs::create_symlink(outside_.path(), bucket_ / "folder");
  fs::create_symlink("../../" + outside_.path().filename().string() + "/secret", bucket_ / "relative");
  fs::create_symlink("/proc/self/root" + secret_, bucket_ / "magic");
  fs::create_symlink("..", bucket_ / "up");
  for (const std::string key : {"absolute", "relative", "magic", "folder/secret", "up/.sluice/format"}) {
    EXPECT_EQ(code_of_get(key), "AccessDenied") << key;
    EXPECT_NE(code_of_put(key), "ok") << key;
    EXPECT_EQ(s3_code_of(run_task(store().remove("bucket", key))), "AccessDenied") << key;
  }
  EXPECT_NE(code_of_put("folder/new"), "ok");
  EXPECT_NE(code_of_put("up/new"), "ok");
  ListRequest everything;
  EXPECT_THAT(list_all(store(), "bucket", everything)->keys, testing::IsEmpty());
  for (const char* prefix : {"folder/", "up/", "up/.sluice/", "up/bucket/"}) {
    ListRequest request;
    request.prefix = prefix;
    EXPECT_THAT(list_all(store(), "bucket", request)->keys, testing::IsEmpty()) << prefix;
    request.prefix = "";
    request.delimiter = "/";
    EXPECT_THAT(list_all(store(), "bucket", request)->prefixes, testing::IsEmpty());
  }
  EXPECT_TRUE(fs::is_symlink(bucket_ / "absolute"));
  expect_secret_untouched();
  EXPECT_THAT(harness_.leftovers(), testing::IsEmpty());
}

TEST_F(DirectoryEscapeTest, BucketsAreRealFoldersOnly) {
  fs::create_directory_symlink(outside_.path(), harness_.path() / "linked");
  fs::create_directory_symlink(".sluice", harness_.path() / "hidden");
  fs::create_directory_symlink(".", harness_.path() / "self");
  std::ofstream(harness_.path() / "file") << "x";
  for (const std::string name : {"linked", "hidden", "self", "file"}) {
    EXPECT_EQ(s3_code_of(run_task(store().head_bucket(name))), "NoSuchBucket") << name;
    EXPECT_EQ(s3_code_of(run_task(store().create_bucket(name))), "BucketAlreadyExists") << name;
    EXPECT_EQ(s3_code_of(run_task(store().delete_bucket(name))), "NoSuchBucket") << name;
    EXPECT_EQ(s3_code_of(run_task(store().list(name, ListRequest()))), "NoSuchBucket") << name;
  }
  for (const std::string name : {".sluice", "..", ".", "", "bucket/..", "../bucket"}) {
    EXPECT_FALSE(run_task(store().head_bucket(name)).has_value()) << name;
    EXPECT_FALSE(run_task(store().open(name, "format")).has_value()) << name;
    EXPECT_FALSE(run_task(store().delete_bucket(name)).has_value()) << name;
  }
  const auto buckets = run_task(store().list_buckets());
  ASSERT_THAT(buckets, IsOk());
  ASSERT_EQ(buckets->size(), 1U);
  EXPECT_EQ(buckets->front().name, "bucket");
  expect_secret_untouched();
}

TEST_F(DirectoryEscapeTest, LinksWithinTheBucketAreFollowed) {
  ASSERT_THAT(put(store(), "bucket", "real/file", "content"), IsOk());
  fs::create_symlink("real/file", bucket_ / "link");
  fs::create_directory_symlink("real", bucket_ / "folder");
  fs::create_directory(bucket_ / "deep");
  fs::create_symlink("../real/file", bucket_ / "deep" / "up");
  for (const std::string key : {"link", "folder/file", "deep/up"}) {
    EXPECT_THAT(get(store(), "bucket", key), IsOkAndHolds("content")) << key;
  }
  const auto listing = list_all(store(), "bucket", ListRequest());
  ASSERT_THAT(listing, IsOk());
  EXPECT_THAT(listing->keys, testing::ElementsAre("deep/up", "folder/file", "link", "real/file"));
  for (const auto& [key, etag] : listing->etags) {
    auto reader = run_task(store().open("bucket", key));
    ASSERT_THAT(reader, IsOk());
    EXPECT_EQ((*reader)->info().etag, etag) << key;
  }
  // A write replaces the link and not what it leads to; a write below a linked folder lands in the folder.
  ASSERT_THAT(put(store(), "bucket", "link", "new"), IsOk());
  ASSERT_THAT(put(store(), "bucket", "folder/other", "other"), IsOk());
  EXPECT_THAT(get(store(), "bucket", "real/file"), IsOkAndHolds("content"));
  EXPECT_THAT(get(store(), "bucket", "link"), IsOkAndHolds("new"));
  EXPECT_THAT(get(store(), "bucket", "real/other"), IsOkAndHolds("other"));
}

TEST_F(DirectoryEscapeTest, LinkCirclesEndTheListing) {
  ASSERT_THAT(put(store(), "bucket", "a/file", "x"), IsOk());
  fs::create_directory_symlink(".", bucket_ / "self");
  fs::create_directory_symlink("..", bucket_ / "a" / "up");
  fs::create_symlink("ring2", bucket_ / "ring1");
  fs::create_symlink("ring1", bucket_ / "ring2");
  fs::create_symlink("nothing", bucket_ / "dangling");
  EXPECT_THAT(list_all(store(), "bucket", ListRequest())->keys, testing::ElementsAre("a/file"));
  ListRequest request;
  request.prefix = "self/";
  EXPECT_THAT(list_all(store(), "bucket", request)->keys, testing::IsEmpty());
  request.prefix = "";
  request.delimiter = "/";
  EXPECT_THAT(list_all(store(), "bucket", request)->prefixes, testing::ElementsAre("a/"));
  EXPECT_EQ(code_of_get("ring1"), "AccessDenied");
  EXPECT_EQ(code_of_get("dangling"), "NoSuchKey");
  EXPECT_EQ(code_of_put("dangling"), "ok");
  EXPECT_THAT(get(store(), "bucket", "dangling"), IsOkAndHolds("written"));
  EXPECT_FALSE(fs::exists(bucket_ / "nothing"));
}

TEST_F(DirectoryEscapeTest, FifosSocketsAndDevicesAreNeitherOpenedNorTouched) {
  ASSERT_EQ(::mkfifo((bucket_ / "fifo").c_str(), 0666), 0);
  const int sock = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::string socket_path = (bucket_ / "socket").string();
  ASSERT_LT(socket_path.size(), sizeof address.sun_path);
  socket_path.copy(address.sun_path, socket_path.size());
  ASSERT_EQ(::bind(sock, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  std::vector<std::string> keys = {"fifo", "socket"};
  if (::mknod((bucket_ / "device").c_str(), S_IFCHR | 0666, 0x501) == 0)
    keys.emplace_back("device");  // as root only

  // A writer that waits for a reader must go on waiting: nobody opened the FIFO, not even for a moment.
  std::atomic<bool> opened{false};
  std::thread writer([this, &opened] {
    const int fd = ::open((bucket_ / "fifo").c_str(), O_WRONLY | O_CLOEXEC);
    opened = true;
    ::close(fd);
  });
  for (const auto& key : keys) {
    EXPECT_EQ(code_of_get(key), "NoSuchKey") << key;
    EXPECT_EQ(code_of_put(key), "NotImplemented") << key;
    EXPECT_THAT(run_task(store().remove("bucket", key)), IsOk()) << key;
    EXPECT_TRUE(fs::exists(bucket_ / key)) << key;
  }
  EXPECT_THAT(list_all(store(), "bucket", ListRequest())->keys, testing::IsEmpty());
  EXPECT_EQ(s3_code_of(run_task(store().delete_bucket("bucket"))), "BucketNotEmpty");
  EXPECT_FALSE(opened);
  const int reader = ::open((bucket_ / "fifo").c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  writer.join();
  ::close(reader);
  ::close(sock);
}

// Another program swaps a folder for a link out of the root, over and over, while clients use keys below it.
TEST_F(DirectoryEscapeTest, SwappingAFolderForALinkNeverLeadsOutside) {
  fs::create_directory(bucket_ / "swap");
  std::ofstream(bucket_ / "swap" / "secret") << "inside!";
  fs::create_directory_symlink(outside_.path(), bucket_ / "link");
  std::atomic<bool> stop{false};
  std::atomic<std::uint64_t> swaps{0};
  std::thread attacker([&] {
    while (!stop) {
      ::renameat2(AT_FDCWD, (bucket_ / "swap").c_str(), AT_FDCWD, (bucket_ / "link").c_str(),
                  RENAME_EXCHANGE);
      ++swaps;
    }
  });
  int inside = 0;
  int refused = 0;
  for (int i = 0; i < 2000; ++i) {
    const auto content = get(store(), "bucket", "swap/secret");
    if (content) {
      ASSERT_EQ(*content, "inside!");
      ++inside;
    } else {
      ++refused;
    }
    if (i % 4 == 0) static_cast<void>(put(store(), "bucket", "swap/written", "by a client"));
    if (i % 4 == 1) static_cast<void>(run_task(store().remove("bucket", "swap/written")));
    if (i % 4 == 2) {
      const auto listing = list_all(store(), "bucket", ListRequest());
      ASSERT_THAT(listing, IsOk());
      for (const auto& key : listing->keys) {
        ASSERT_TRUE(key == "swap/secret" || key == "swap/written" || key == "link/secret" ||
                    key == "link/written");
      }
    }
    ListRequest request;
    request.prefix = "swap/";
    if (i % 4 == 3) static_cast<void>(run_task(store().list("bucket", request)));
  }
  stop = true;
  attacker.join();
  EXPECT_GT(swaps, 1000U);
  EXPECT_GT(inside, 0);
  EXPECT_GT(refused, 0);
  expect_secret_untouched();
  EXPECT_THAT(harness_.leftovers(), testing::IsEmpty());
}

// The same with the object itself: file, link to a file outside, FIFO.
TEST_F(DirectoryEscapeTest, SwappingAnObjectForALinkOrAFifoNeitherLeaksNorBlocks) {
  std::ofstream(bucket_ / "object") << "inside!";
  fs::create_symlink(secret_, bucket_ / "link");
  ASSERT_EQ(::mkfifo((bucket_ / "fifo").c_str(), 0666), 0);
  std::atomic<bool> stop{false};
  std::thread attacker([&] {
    while (!stop) {
      for (const char* other : {"link", "fifo"}) {
        ::renameat2(AT_FDCWD, (bucket_ / "object").c_str(), AT_FDCWD, (bucket_ / other).c_str(),
                    RENAME_EXCHANGE);
      }
    }
  });
  for (int i = 0; i < 2000; ++i) {
    const auto content = get(store(), "bucket", "object");
    ASSERT_TRUE(!content || *content == "inside!");
  }
  stop = true;
  attacker.join();
  expect_secret_untouched();
}

}  // namespace
}  // namespace sluice::test
