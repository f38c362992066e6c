// The pure parts of the directory store: records, versions, key rules, errors.
#include <gtest/gtest.h>

#include <cerrno>
#include <limits>
#include <random>
#include <string>

#include "base/limits.h"
#include "fixtures/matchers.h"
#include "store/directory/directory_store.h"
#include "store/directory/errors.h"
#include "store/directory/key_path.h"
#include "store/directory/record.h"
#include "store/directory/version.h"

namespace sluice::test {
namespace {

using namespace store::directory;

FileVersion some_version() {
  FileVersion version;
  version.inode = 12;
  version.bytes = 345;
  version.mtime_ns = std::numeric_limits<std::uint64_t>::max();
  version.ctime_ns = 1;
  version.links = 1;
  return version;
}

Record some_record() {
  Record record;
  record.metadata.content_headers = {{"content-type", "a/b"}, {"expires", ""}};
  record.metadata.user = {
      {"k", "v"}, {"k2", std::string("\xe9\x80\xff", 3)}, {"k3", "\xc3\xa9"}, {"tab", "a\tb"}};
  record.crc64nvme = 0x0123456789abcdefU;
  return record;
}

TEST(RecordTest, ComesBackAsItWas) {
  const auto text = encode_record(some_record(), some_version());
  ASSERT_THAT(text, IsOk());
  const auto back = decode_record(*text, some_version());
  ASSERT_TRUE(back.has_value());
  EXPECT_EQ(back->metadata.content_headers, some_record().metadata.content_headers);
  EXPECT_EQ(back->metadata.user, some_record().metadata.user);
  EXPECT_EQ(back->crc64nvme, some_record().crc64nvme);
}

TEST(RecordTest, IsIgnoredForAnotherVersionOfTheFile) {
  const auto text = encode_record(some_record(), some_version());
  ASSERT_THAT(text, IsOk());
  for (std::uint64_t FileVersion::*member :
       {&FileVersion::inode, &FileVersion::bytes, &FileVersion::mtime_ns}) {
    FileVersion other = some_version();
    other.*member += 1;
    EXPECT_FALSE(decode_record(*text, other).has_value());
  }
  FileVersion renamed = some_version();
  renamed.ctime_ns += 1;
  renamed.links += 1;
  EXPECT_TRUE(decode_record(*text, renamed).has_value()) << "writing the record itself moves the ctime";
}

TEST(RecordTest, DamagedTextsAreIgnored) {
  const auto text = encode_record(some_record(), some_version());
  ASSERT_THAT(text, IsOk());
  std::mt19937 random(1);
  for (int i = 0; i < 3'000; ++i) {
    std::string damaged = *text;
    for (int changes = 1 + static_cast<int>(random() % 3); changes > 0; --changes) {
      damaged[random() % damaged.size()] = static_cast<char>(random());
    }
    if (random() % 4 == 0) damaged.resize(random() % damaged.size());
    const auto record = decode_record(damaged, some_version());
    if (!record) continue;
    for (const auto& [name, value] : record->metadata.user) {
      EXPECT_EQ((name + value).find_first_of(std::string("\r\n\0", 3)), std::string::npos);
    }
  }
}

TEST(RecordTest, NothingInItCanEndAHeaderLine) {
  const std::string head = R"({"v":1,"ino":12,"size":345,"mtime":18446744073709551615,)";
  EXPECT_TRUE(decode_record(head + R"("user":[["k","v"]]})", some_version()).has_value());
  EXPECT_FALSE(decode_record(head + R"("user":[["k","v\r\nx-evil: 1"]]})", some_version()).has_value());
  EXPECT_FALSE(decode_record(head + R"("user":[["k\n","v"]]})", some_version()).has_value());
  EXPECT_FALSE(decode_record(head + R"("headers":[["k",{"b64":"DQo="}]]})", some_version()).has_value());
}

TEST(RecordTest, ASizeBeyondTheLimitIsMetadataTooLarge) {
  Record record;
  record.metadata.user = {{"k", std::string(limits::kMetadataRecordBytes, 'x')}};
  const auto text = encode_record(record, some_version());
  ASSERT_FALSE(text.has_value());
  EXPECT_EQ(text.error().s3().code, "MetadataTooLarge");
  record.metadata.user = {{"k", std::string(limits::kUserMetadataBytes, 'x')}};
  EXPECT_THAT(encode_record(record, some_version()), IsOk());
}

TEST(VersionTest, EveryPartOfTheVersionChangesTheEtag) {
  const std::string etag = etag_of(some_version());
  EXPECT_NE(etag.find('-'), std::string::npos);
  for (std::uint64_t FileVersion::*member :
       {&FileVersion::inode, &FileVersion::bytes, &FileVersion::mtime_ns, &FileVersion::ctime_ns}) {
    FileVersion other = some_version();
    other.*member += 16;
    EXPECT_NE(etag_of(other), etag);
  }
  FileVersion a;
  a.inode = 0x1;
  a.bytes = 0x23;
  FileVersion b;
  b.inode = 0x12;
  b.bytes = 0x3;
  EXPECT_NE(etag_of(a), etag_of(b));
}

TEST(VersionTest, ANewNameOrALostOneIsNoChangeOfTheBytes) {
  const FileVersion opened = some_version();
  FileVersion now = opened;
  EXPECT_TRUE(same_bytes(opened, now));
  now.ctime_ns += 5;
  EXPECT_FALSE(same_bytes(opened, now)) << "a change whose mtime was put back";
  now.links = 0;
  EXPECT_TRUE(same_bytes(opened, now)) << "replaced or removed";
  now.mtime_ns -= 5;
  EXPECT_FALSE(same_bytes(opened, now));
}

TEST(KeyPathTest, OnlyRelativePathsWithoutTricksArePaths) {
  const std::string longest(255, 'x');
  for (const std::string& key :
       std::vector<std::string>{"a", "a/b", "...", "..a/b..", "a b", "\n", ".sluice", longest}) {
    EXPECT_THAT(check_path_key(key), IsOk()) << key;
  }
  for (const std::string key : {"", "/", "/a", "a/", "a//b", ".", "..", "a/.", "a/./b", "../b", "a/../b"}) {
    EXPECT_THAT(check_path_key(key), Fails(ErrorCode::unsupported)) << key;
  }
  EXPECT_THAT(check_path_key(std::string(256, 'x')), Fails(ErrorCode::unsupported, "255"));
  EXPECT_THAT(check_path_key(std::string("a\0b", 3)), Fails(ErrorCode::unsupported, "NUL"));
  EXPECT_EQ(parent_path("a/b/c"), "a/b");
  EXPECT_EQ(parent_path("c"), "");
  EXPECT_EQ(last_segment("a/b/c"), "c");
}

TEST(FileErrorTest, EachErrnoSaysWhatToDoAndIsKnownToHaveDoneNothing) {
  const auto code = [](int number) { return file_error(number, "it").s3().code; };
  EXPECT_EQ(code(ENOSPC), "InsufficientStorage");
  EXPECT_EQ(code(EDQUOT), "InsufficientStorage");
  EXPECT_EQ(code(EROFS), "AccessDenied");
  EXPECT_EQ(code(EACCES), "AccessDenied");
  EXPECT_EQ(code(EMFILE), "SlowDown");
  EXPECT_EQ(code(ENAMETOOLONG), "NotImplemented");
  EXPECT_EQ(code(EFBIG), "EntityTooLarge");
  EXPECT_EQ(file_error(ESTALE, "it").code(), ErrorCode::io_error);
  EXPECT_EQ(file_error(ESTALE, "it").retry(), Retry::later);
  EXPECT_EQ(file_error(EMFILE, "it").retry(), Retry::later);
  EXPECT_EQ(file_error(EIO, "it").code(), ErrorCode::io_error);
  for (const int number : {ENOSPC, EROFS, EACCES, EMFILE, ESTALE, EIO, ENOMEM, EXDEV}) {
    const Error error = file_error(number, "s3://bucket/key");
    EXPECT_EQ(error.outcome(), Outcome::refused) << number;
    EXPECT_EQ(error.native().value, number);
    EXPECT_THAT(error.message(), testing::StartsWith("s3://bucket/key: "));
  }
}

TEST(FsyncPolicyTest, ItsNamesAreReadAndOthersNamed) {
  EXPECT_THAT(store::parse_fsync_policy("always"), IsOkAndHolds(store::FsyncPolicy::always));
  EXPECT_THAT(store::parse_fsync_policy("data"), IsOkAndHolds(store::FsyncPolicy::data));
  EXPECT_THAT(store::parse_fsync_policy("none"), IsOkAndHolds(store::FsyncPolicy::none));
  EXPECT_THAT(store::parse_fsync_policy("Always"), Fails(ErrorCode::invalid_argument, "\"Always\""));
}

}  // namespace
}  // namespace sluice::test
