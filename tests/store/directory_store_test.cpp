// What the directory store promises beyond the conformance suite: other programs, folders, leftovers,
// failures.
#include "store/directory/directory_store.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <vector>

#include "store/directory/publish.h"
#include "store/directory_harness.h"
#include "store/fault_store.h"

namespace sluice::test {
namespace {

namespace fs = std::filesystem;
using store::DirectoryStoreOptions;
using store::FsyncPolicy;

DirectoryStoreOptions without_sync(const std::string& root = {}) {
  DirectoryStoreOptions options;
  options.root = root;
  options.fsync = FsyncPolicy::none;
  return options;
}

// Runs `body` in a child process of its own; what it returns is its exit code.
int in_child(const std::function<int()>& body) {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(body());
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}
constexpr int kSkip = 77;

class DirectoryStoreTest : public testing::Test {
 protected:
  DirectoryStoreTest() : harness_(without_sync()) {
    EXPECT_THAT(run_task(store().create_bucket("bucket")), IsOk());
    bucket_ = harness_.path() / "bucket";
  }
  ObjectStore& store() { return harness_.store(); }
  ObjectInfo info_of(const std::string& key) {
    auto reader = run_task(store().open("bucket", key));
    EXPECT_THAT(reader, IsOk());
    return reader ? (*reader)->info() : ObjectInfo();
  }
  void overwrite_in_place(const std::string& key, std::string_view bytes) {
    std::fstream file(bucket_ / key, std::ios::in | std::ios::out | std::ios::binary);
    file << bytes;
    ASSERT_TRUE(file.flush());
  }

  DirectoryHarness harness_;
  fs::path bucket_;
};

TEST_F(DirectoryStoreTest, ObjectsAreOrdinaryFiles) {
  ASSERT_THAT(put(store(), "bucket", "a/b c/d", "content"), IsOk());
  EXPECT_EQ(read_text(bucket_ / "a" / "b c" / "d"), "content");
  struct stat status {};
  ASSERT_EQ(::stat((bucket_ / "a/b c/d").c_str(), &status), 0);
  const mode_t mask = ::umask(0);
  ::umask(mask);
  EXPECT_EQ(status.st_mode & 07777U, 0666U & ~mask);
  EXPECT_EQ(status.st_nlink, 1U);
  fs::create_directory(bucket_ / "theirs");
  std::ofstream(bucket_ / "theirs" / "file") << "by another program";
  EXPECT_THAT(get(store(), "bucket", "theirs/file"), IsOkAndHolds("by another program"));
  EXPECT_THAT(list_all(store(), "bucket", ListRequest())->keys,
              testing::ElementsAre("a/b c/d", "theirs/file"));
}

TEST_F(DirectoryStoreTest, AChangeByAnotherProgramGivesANewEtagAndDropsWhatWasStoredWithTheOldBytes) {
  CommitOptions options;
  options.crc64nvme = 1;
  ObjectMetadata metadata;
  if (store().abilities().user_metadata) metadata.user = {{"k", "v"}};
  const auto stored = put(store(), "bucket", "object", "first bytes", options, metadata);
  ASSERT_THAT(stored, IsOk());
  overwrite_in_place("object", "other");  // the same size
  const ObjectInfo now = info_of("object");
  EXPECT_NE(now.etag, stored->etag);
  EXPECT_EQ(now.crc64nvme, std::nullopt);
  EXPECT_TRUE(now.metadata.user.empty());
  EXPECT_EQ(list_all(store(), "bucket", ListRequest())->etags.at("object"), now.etag);
  options.conditions.if_match = stored->etag;
  EXPECT_EQ(s3_code_of(put(store(), "bucket", "object", "x", options)), "PreconditionFailed");
}

TEST_F(DirectoryStoreTest, AChangeThatPutsTheTimeBackStillGivesANewEtag) {
  const auto stored = put(store(), "bucket", "object", "first bytes");
  ASSERT_THAT(stored, IsOk());
  struct stat before {};
  ASSERT_EQ(::stat((bucket_ / "object").c_str(), &before), 0);
  overwrite_in_place("object", "other");
  const timespec times[] = {before.st_atim, before.st_mtim};
  ASSERT_EQ(::utimensat(AT_FDCWD, (bucket_ / "object").c_str(), times, 0), 0);
  EXPECT_NE(info_of("object").etag, stored->etag);
}

TEST_F(DirectoryStoreTest, AReaderNoticesAChangeInPlaceAndAShorterFile) {
  ASSERT_THAT(put(store(), "bucket", "object", pattern(100'000, 1)), IsOk());
  auto reader = run_task(store().open("bucket", "object"));
  ASSERT_THAT(reader, IsOk());
  EXPECT_THAT(run_task((*reader)->verify_unchanged()), IsOk());
  overwrite_in_place("object", "changed");
  EXPECT_THAT(run_task((*reader)->verify_unchanged()), Fails(ErrorCode::io_error, "s3://bucket/object"));
  ASSERT_EQ(::truncate((bucket_ / "object").c_str(), 10), 0);
  EXPECT_THAT(read_range(**reader, 0, 100), Fails(ErrorCode::size_mismatch));
}

TEST_F(DirectoryStoreTest, TimesThatNoClockHoldsAreServed) {
  ASSERT_THAT(put(store(), "bucket", "object", "x"), IsOk());
  for (const time_t seconds : {time_t{-100'000'000}, time_t{15'000'000'000}}) {
    const timespec times[] = {{seconds, 1}, {seconds, 999'999'999}};
    ASSERT_EQ(::utimensat(AT_FDCWD, (bucket_ / "object").c_str(), times, 0), 0);
    EXPECT_THAT(get(store(), "bucket", "object"), IsOkAndHolds("x"));
    EXPECT_EQ(list_all(store(), "bucket", ListRequest())->etags.at("object"), info_of("object").etag);
  }
}

TEST_F(DirectoryStoreTest, AKeyAndAFolderOfTheSameNameExcludeEachOther) {
  ASSERT_THAT(put(store(), "bucket", "a", "file"), IsOk());
  const auto below = put(store(), "bucket", "a/b/c", "x");
  EXPECT_THAT(below, Fails(ErrorCode::unsupported, "in the way"));
  EXPECT_EQ(s3_code_of(below), "NotImplemented");
  EXPECT_EQ(s3_code_of(run_task(store().open("bucket", "a/b"))), "NoSuchKey");

  ASSERT_THAT(put(store(), "bucket", "d/e", "file"), IsOk());
  EXPECT_THAT(put(store(), "bucket", "d", "x"), Fails(ErrorCode::unsupported, "folder"));
  EXPECT_EQ(s3_code_of(run_task(store().open("bucket", "d"))), "NoSuchKey");
  EXPECT_THAT(get(store(), "bucket", "a"), IsOkAndHolds("file"));
  EXPECT_THAT(get(store(), "bucket", "d/e"), IsOkAndHolds("file"));

  fs::create_directory(bucket_ / "empty");
  EXPECT_THAT(put(store(), "bucket", "empty", "an empty folder is nothing in S3"), IsOk());
  EXPECT_THAT(harness_.leftovers(), testing::IsEmpty());
}

TEST_F(DirectoryStoreTest, FoldersComeAndGoWithTheirObjects) {
  ASSERT_THAT(put(store(), "bucket", "a/b/c/1", "x"), IsOk());
  ASSERT_THAT(put(store(), "bucket", "a/2", "x"), IsOk());
  ASSERT_THAT(run_task(store().remove("bucket", "a/b/c/1")), IsOk());
  EXPECT_FALSE(fs::exists(bucket_ / "a/b"));
  EXPECT_TRUE(fs::exists(bucket_ / "a/2"));
  ASSERT_THAT(run_task(store().remove("bucket", "a/2")), IsOk());
  EXPECT_TRUE(fs::is_empty(bucket_));
}

TEST_F(DirectoryStoreTest, AFailedCommitTakesTheFoldersThatItMadeAway) {
  fs::create_directories(bucket_ / "there/before");
  CommitOptions options;
  options.conditions.if_match = "nothing";
  EXPECT_EQ(s3_code_of(put(store(), "bucket", "there/before/new/deep/key", "x", options)), "NoSuchKey");
  EXPECT_FALSE(fs::exists(bucket_ / "there/before/new"));
  EXPECT_TRUE(fs::exists(bucket_ / "there/before"));
  EXPECT_THAT(harness_.leftovers(), testing::IsEmpty());
}

TEST_F(DirectoryStoreTest, EmptyFoldersAreNotListedAndDoNotKeepABucket) {
  fs::create_directories(bucket_ / "empty/in/empty");
  fs::create_directories(bucket_ / "more");
  ListRequest request;
  request.delimiter = "/";
  const auto listing = list_all(store(), "bucket", request);
  ASSERT_THAT(listing, IsOk());
  EXPECT_THAT(listing->prefixes, testing::IsEmpty());
  EXPECT_THAT(run_task(store().delete_bucket("bucket")), IsOk());
  EXPECT_FALSE(fs::exists(bucket_));
}

TEST_F(DirectoryStoreTest, NamesThatAreNoKeysAreNotListedAndKeepTheBucket) {
  std::ofstream(bucket_ / "latin1-\xe9") << "x";
  EXPECT_THAT(list_all(store(), "bucket", ListRequest())->keys, testing::IsEmpty());
  EXPECT_EQ(s3_code_of(run_task(store().delete_bucket("bucket"))), "BucketNotEmpty");
}

TEST_F(DirectoryStoreTest, AFolderOfManyFilesIsPagedCompletely) {
  std::vector<std::string> expected;
  fs::create_directory(bucket_ / "many");
  for (int i = 0; i < 5'000; ++i) {
    expected.push_back("many/" + std::to_string(i));
    const int fd = ::open((bucket_ / expected.back()).c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0644);
    ASSERT_GE(fd, 0);
    ::close(fd);
  }
  std::sort(expected.begin(), expected.end());
  const auto listing = list_all(store(), "bucket", ListRequest());
  ASSERT_THAT(listing, IsOk());
  EXPECT_TRUE(listing->keys == expected);
  ListRequest request;
  request.delimiter = "/";
  EXPECT_THAT(list_all(store(), "bucket", request)->prefixes, testing::ElementsAre("many/"));
}

TEST_F(DirectoryStoreTest, TheRecordIsBoundedAndItsLimitIsSaid) {
  if (!store().abilities().user_metadata) GTEST_SKIP() << "no extended attributes here";
  ObjectMetadata metadata;
  metadata.user = {{"k", std::string(2000, 'v')}};
  ASSERT_THAT(put(store(), "bucket", "k", "x", CommitOptions(), metadata), IsOk());
  EXPECT_EQ(info_of("k").metadata.user, metadata.user);
  metadata.user = {{"k", std::string(4000, 'v')}};
  EXPECT_EQ(s3_code_of(run_task(store().create("bucket", "k", metadata, 1))), "MetadataTooLarge");
}

TEST_F(DirectoryStoreTest, AttributesThatWeDidNotWriteAreIgnored) {
  if (!store().abilities().user_metadata) GTEST_SKIP() << "no extended attributes here";
  ASSERT_THAT(put(store(), "bucket", "k", "x"), IsOk());
  for (const std::string text :
       {"", "{}", "[]", "null", "{\"v\":1}", "\xff\xff", "{\"v\":1,\"ino\":\"x\"}"}) {
    ASSERT_EQ(::setxattr((bucket_ / "k").c_str(), "user.sluice.meta", text.data(), text.size(), 0), 0);
    EXPECT_TRUE(info_of("k").metadata.user.empty());
    EXPECT_EQ(info_of("k").crc64nvme, std::nullopt);
  }
}

TEST(DirectoryStoreOpenTest, WhatCannotBeServedIsNamedWithTheCure) {
  TempDir dir;
  BlockingPool pool(1, 16);
  EXPECT_THAT(store::open_directory_store(without_sync(dir.file("missing")), pool),
              Fails(ErrorCode::not_found, "mkdir"));
  EXPECT_THAT(store::open_directory_store(without_sync(dir.write("file", "x")), pool),
              Fails(ErrorCode::invalid_argument, "not a folder"));
  fs::create_directory(dir.path() / "root");
  std::ofstream(dir.path() / "root" / ".sluice") << "x";
  EXPECT_THAT(store::open_directory_store(without_sync(dir.file("root")), pool),
              Fails(ErrorCode::config_error, ".sluice"));
}

TEST(DirectoryStoreOpenTest, ANewerLayoutIsLeftAlone) {
  TempDir dir;
  BlockingPool pool(1, 16);
  { ASSERT_THAT(store::open_directory_store(without_sync(dir.path()), pool), IsOk()); }
  ASSERT_THAT(store::open_directory_store(without_sync(dir.path()), pool), IsOk());
  std::ofstream(dir.path() / ".sluice" / "format") << "sluice directory store 2\n";
  EXPECT_THAT(store::open_directory_store(without_sync(dir.path()), pool),
              Fails(ErrorCode::config_error, "format"));
}

TEST(DirectoryStoreOpenTest, ReadOnlyServesAndChangesNothing) {
  TempDir dir;
  BlockingPool pool(1, 16);
  fs::create_directory(dir.path() / "bucket");
  std::ofstream(dir.path() / "bucket" / "file") << "content";
  DirectoryStoreOptions options = without_sync(dir.path());
  options.read_only = true;
  auto opened = store::open_directory_store(options, pool);
  ASSERT_THAT(opened, IsOk());
  ObjectStore& store = **opened;
  EXPECT_TRUE(store.abilities().read_only);
  EXPECT_THAT(get(store, "bucket", "file"), IsOkAndHolds("content"));
  EXPECT_THAT(list_all(store, "bucket", ListRequest())->keys, testing::ElementsAre("file"));
  EXPECT_THAT(run_task(store.create("bucket", "new", ObjectMetadata(), 1)),
              Fails(ErrorCode::permission_denied, "--read-only"));
  EXPECT_EQ(s3_code_of(run_task(store.remove("bucket", "file"))), "AccessDenied");
  EXPECT_EQ(s3_code_of(run_task(store.create_bucket("other"))), "AccessDenied");
  EXPECT_EQ(s3_code_of(run_task(store.delete_bucket("bucket"))), "AccessDenied");
  EXPECT_FALSE(fs::exists(dir.path() / ".sluice"));
  EXPECT_TRUE(fs::exists(dir.path() / "bucket" / "file"));
}

TEST(DirectoryStoreOpenTest, LeftoversOfAKilledProcessAreRemovedAndThoseOfALivingOneAreNot) {
  TempDir dir;
  const int code = in_child([&dir] {
    auto* harness = new DirectoryHarness(without_sync(dir.path()));
    if (!run_task(harness->store().create_bucket("bucket"))) return 1;
    auto writer = run_task(harness->store().create("bucket", "lost", ObjectMetadata(), 8 << 20));
    if (!writer || !run_task((*writer)->write(std::as_bytes(std::span("half", 4))))) return 2;
    ::kill(::getpid(), SIGKILL);
    return 3;
  });
  ASSERT_EQ(code, -1) << "the child must die in the middle";
  ASSERT_EQ(temp_files(dir.path()).size(), 1U);
  std::ofstream(dir.path() / ".sluice/tmp" / "somebody-elses.tmp") << "x";
  std::ofstream(dir.path() / ".sluice/tmp" / "12-0123456789abcdef.7.tmp.bak") << "x";

  DirectoryHarness living(without_sync(dir.path()));
  EXPECT_THAT(temp_files(dir.path()),
              testing::UnorderedElementsAre("somebody-elses.tmp", "12-0123456789abcdef.7.tmp.bak"));
  auto writer = run_task(living.store().create("bucket", "alive", ObjectMetadata(), std::nullopt));
  ASSERT_THAT(writer, IsOk());
  ASSERT_THAT(run_task((*writer)->write(std::as_bytes(std::span("alive", 5)))), IsOk());
  DirectoryHarness second(without_sync(dir.path()));
  ASSERT_THAT(run_task((*writer)->commit(CommitOptions())), IsOk());
  EXPECT_THAT(get(second.store(), "bucket", "alive"), IsOkAndHolds("alive"));
  EXPECT_EQ(s3_code_of(run_task(second.store().open("bucket", "lost"))), "NoSuchKey");
}

TEST(DirectoryStoreOpenTest, AStoreThatEndsLeavesNoOwnerFile) {
  TempDir dir;
  { DirectoryHarness harness(without_sync(dir.path())); }
  EXPECT_TRUE(fs::is_empty(dir.path() / ".sluice/tmp"));
}

TEST(DirectoryStoreFailureTest, AVanishedFolderIsSaidAndIsNotAMissingBucket) {
  TempDir dir;
  fs::create_directory(dir.path() / "root");
  DirectoryHarness harness(without_sync(dir.file("root")));
  ASSERT_THAT(run_task(harness.store().create_bucket("bucket")), IsOk());
  auto writer = run_task(harness.store().create("bucket", "k", ObjectMetadata(), std::nullopt));
  ASSERT_THAT(writer, IsOk());
  fs::remove_all(dir.path() / "root");
  EXPECT_THAT(run_task(harness.store().list_buckets()), Fails(ErrorCode::io_error, "removed"));
  EXPECT_THAT(run_task(harness.store().head_bucket("bucket")), Fails(ErrorCode::io_error, "removed"));
  EXPECT_THAT(run_task(harness.store().create_bucket("other")), Fails(ErrorCode::io_error, "removed"));
  EXPECT_THAT(run_task((*writer)->commit(CommitOptions())), Fails(ErrorCode::io_error));
}

TEST(DirectoryStoreFailureTest, ATemporaryFileThatIsTakenAwayFailsTheCommit) {
  DirectoryHarness harness(without_sync());
  ASSERT_THAT(run_task(harness.store().create_bucket("bucket")), IsOk());
  auto writer = run_task(harness.store().create("bucket", "a/b/k", ObjectMetadata(), std::nullopt));
  ASSERT_THAT(writer, IsOk());
  for (const auto& name : harness.leftovers()) fs::remove(harness.path() / ".sluice/tmp" / name);
  EXPECT_THAT(run_task((*writer)->commit(CommitOptions())), Fails(ErrorCode::io_error, "temporary"));
  EXPECT_TRUE(fs::is_empty(harness.path() / "bucket"));
}

TEST(DirectoryStoreFailureTest, MissingRightsAreAccessDenied) {
  TempDir dir;
  ASSERT_EQ(::chmod(dir.path().c_str(), 0777), 0);
  const int code = in_child([&dir]() -> int {
    if (::getuid() == 0 && (::setgid(65534) != 0 || ::setuid(65534) != 0)) return kSkip;
    const DirectoryStoreOptions options = without_sync(dir.path());
    DirectoryHarness harness(options);
    ObjectStore& store = harness.store();
    if (!run_task(store.create_bucket("bucket"))) return 1;
    if (!put(store, "bucket", "open/k", "x") || !put(store, "bucket", "locked/k", "x")) return 2;
    if (::chmod((dir.path() / "bucket/open/k").c_str(), 0) != 0) return 3;
    if (s3_code_of(run_task(store.open("bucket", "open/k"))) != "AccessDenied") return 4;
    if (::chmod((dir.path() / "bucket/locked").c_str(), 0) != 0) return 5;
    if (s3_code_of(run_task(store.open("bucket", "locked/k"))) != "AccessDenied") return 6;
    if (s3_code_of(put(store, "bucket", "locked/new", "x")) != "AccessDenied") return 7;
    if (s3_code_of(run_task(store.list("bucket", ListRequest()))) != "AccessDenied") return 8;
    if (::chmod((dir.path() / "bucket/locked").c_str(), 0555) != 0) return 9;
    if (s3_code_of(put(store, "bucket", "locked/new/deep", "x")) != "AccessDenied") return 10;
    if (s3_code_of(run_task(store.remove("bucket", "locked/k"))) != "AccessDenied") return 11;
    if (!harness.leftovers().empty()) return 12;
    if (::chmod(dir.path().c_str(), 0555) != 0 && ::getuid() == 0) return 13;
    return 0;
  });
  if (code == kSkip) GTEST_SKIP() << "cannot become another user";
  EXPECT_EQ(code, 0);
}

// A file system of 4 MiB of our own, where the kernel lets us make one.
int on_small_disk(const TempDir& dir, const std::function<int()>& body) {
  return in_child([&]() -> int {
    if (::unshare(CLONE_NEWNS) != 0 && ::unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0) return kSkip;
    if (::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) return kSkip;
    if (::mount("tmpfs", dir.path().c_str(), "tmpfs", 0, "size=4m") != 0) return kSkip;
    return body();
  });
}

TEST(DirectoryStoreFailureTest, AFullDiskFailsThePutAndLosesNothing) {
  TempDir dir;
  const int code = on_small_disk(dir, [&dir]() -> int {
    DirectoryHarness harness(without_sync(dir.path()));
    ObjectStore& store = harness.store();
    if (!run_task(store.create_bucket("bucket"))) return 1;
    const std::string kept(std::size_t{1} << 20U, 'k');
    if (!put(store, "bucket", "kept", kept)) return 2;
    // Known from the promised size, before a byte is written.
    const auto promised =
        run_task(store.create("bucket", "kept", ObjectMetadata(), std::uint64_t{64} << 20U));
    if (promised || promised.error().code() != ErrorCode::io_error) return 3;
    if (s3_code_of(promised) != "InsufficientStorage") return 4;
    // And in the middle.
    auto writer = run_task(store.create("bucket", "kept", ObjectMetadata(), std::nullopt));
    if (!writer) return 5;
    Result<void> written;
    for (int i = 0; i < 8 && written; ++i)
      written = run_task((*writer)->write(std::as_bytes(std::span(kept))));
    if (written || s3_code_of(written) != "InsufficientStorage") return 6;
    if (run_task((*writer)->commit(CommitOptions()))) return 7;
    if (!harness.leftovers().empty()) return 8;
    const auto back = get(store, "bucket", "kept");
    if (!back || *back != kept) return 9;
    return put(store, "bucket", "again", kept) ? 0 : 10;
  });
  if (code == kSkip) GTEST_SKIP() << "cannot mount here";
  EXPECT_EQ(code, 0);
}

TEST(DirectoryStoreFailureTest, AReadOnlyFileSystemIsAccessDenied) {
  TempDir dir;
  const int code = on_small_disk(dir, [&dir]() -> int {
    BlockingPool pool(1, 16);
    {
      DirectoryHarness harness(without_sync(dir.path()));
      if (!run_task(harness.store().create_bucket("bucket"))) return 1;
      if (!put(harness.store(), "bucket", "k", "x")) return 2;
    }
    if (::mount(nullptr, dir.path().c_str(), nullptr, MS_REMOUNT | MS_RDONLY, nullptr) != 0) return kSkip;
    const auto refused = store::open_directory_store(without_sync(dir.path()), pool);
    if (refused || refused.error().code() != ErrorCode::permission_denied) return 3;
    DirectoryStoreOptions options = without_sync(dir.path());
    options.read_only = true;
    const auto opened = store::open_directory_store(options, pool);
    if (!opened) return 4;
    const auto content = get(**opened, "bucket", "k");
    return content && *content == "x" ? 0 : 5;
  });
  if (code == kSkip) GTEST_SKIP() << "cannot mount here";
  EXPECT_EQ(code, 0);
}

TEST(DirectoryStoreFailureTest, AMountInsideABucketIsReadAndNotWrittenAcross) {
  TempDir dir;
  DirectoryHarness* harness = nullptr;
  const int code = in_child([&]() -> int {
    harness = new DirectoryHarness(without_sync(dir.path()));
    if (!run_task(harness->store().create_bucket("bucket"))) return 1;
    fs::create_directory(dir.path() / "bucket/mount");
    if (::unshare(CLONE_NEWNS) != 0) return kSkip;
    if (::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) return kSkip;
    if (::mount("tmpfs", (dir.path() / "bucket/mount").c_str(), "tmpfs", 0, "size=1m") != 0) return kSkip;
    // A new pool whose threads live in the new mount namespace.
    DirectoryHarness inside(without_sync(dir.path()));
    std::ofstream(dir.path() / "bucket/mount/file") << "there";
    const auto content = get(inside.store(), "bucket", "mount/file");
    if (!content || *content != "there") return 2;
    const auto stored = put(inside.store(), "bucket", "mount/new", "x");
    if (stored || s3_code_of(stored) != "NotImplemented") return 3;
    return inside.leftovers().empty() ? 0 : 4;
  });
  if (code == kSkip) GTEST_SKIP() << "cannot mount here";
  EXPECT_EQ(code, 0);
}

TEST(PublishTest, RenamingWithoutReplacingWorksBothWays) {
  for (const bool use_flag : {true, false}) {
    TempDir dir;
    const int folder = ::open(dir.path().c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC);
    static_cast<void>(dir.write("from", "new"));
    static_cast<void>(dir.write("taken", "old"));
    EXPECT_FALSE(store::directory::rename_no_replace(folder, "from", folder, "taken", use_flag));
    EXPECT_EQ(errno, EEXIST);
    EXPECT_EQ(read_text(dir.path() / "taken"), "old");
    EXPECT_TRUE(store::directory::rename_no_replace(folder, "from", folder, "free", use_flag));
    EXPECT_EQ(read_text(dir.path() / "free"), "new");
    EXPECT_FALSE(fs::exists(dir.path() / "from"));
    ::close(folder);
  }
}

// Fails the N-th step of a whole life of an object, for every N, before and after it is done.
TEST(FaultStoreTest, EveryFailingStepLeavesTheOldOrTheNewObjectAndNoTrace) {
  using Moment = store::FaultPlan::Moment;
  for (const Moment moment : {Moment::before, Moment::after}) {
    for (std::uint64_t step = 1;; ++step) {
      ASSERT_LT(step, 100U) << "the plan never runs out";
      auto harness = std::make_shared<DirectoryHarness>(without_sync());
      const auto plan = std::make_shared<store::FaultPlan>();
      const auto faulty =
          store::make_fault_store(std::shared_ptr<ObjectStore>(harness, &harness->store()), plan);
      ASSERT_THAT(run_task(harness->store().create_bucket("bucket")), IsOk());
      ASSERT_THAT(put(harness->store(), "bucket", "k", "old"), IsOk());
      plan->arm(step, moment);
      bool failed = false;
      const auto note = [&failed](const auto& result) {
        if (!result) failed = true;
        return result.has_value();
      };
      const auto stored = put(*faulty, "bucket", "k", "new");
      if (!note(stored)) {
        EXPECT_THAT(stored, HasOutcome(moment == Moment::before ? Outcome::refused : Outcome::uncertain));
      }
      const auto now = get(harness->store(), "bucket", "k");
      ASSERT_THAT(now, IsOk());
      EXPECT_TRUE(*now == "new" || (!stored && *now == "old")) << "step " << step << ": " << *now;
      note(get(*faulty, "bucket", "k"));
      note(run_task(faulty->list("bucket", ListRequest())));
      note(run_task(faulty->list_buckets()));
      note(run_task(faulty->head_bucket("bucket")));
      note(run_task(faulty->create_bucket("other")));
      note(run_task(faulty->remove("bucket", "k")));
      note(run_task(faulty->delete_bucket("bucket")));
      EXPECT_EQ(failed, plan->fired()) << "step " << step;
      EXPECT_THAT(harness->leftovers(), testing::IsEmpty()) << "step " << step;
      if (!plan->fired()) {
        EXPECT_GT(step, 10U);
        break;
      }
    }
  }
}

}  // namespace
}  // namespace sluice::test
