// The conformance suite of ObjectStore: what every store must do, whatever it keeps its objects in.
//
// A test file of the store includes this and instantiates it:
//   INSTANTIATE_TEST_SUITE_P(Directory, StoreConformance, testing::Values(StoreUnderTest{...}),
//   store_test_name);
// What a store declares not to do (StoreAbilities) is checked to be refused, not skipped.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "conformance/store_harness.h"
#include "s3/keys.h"

namespace sluice::test {

class StoreConformance : public testing::TestWithParam<StoreUnderTest> {
 protected:
  void SetUp() override {
    harness_ = GetParam().make();
    ASSERT_NE(harness_, nullptr);
    ASSERT_THAT(run_task(store().create_bucket(kBucket)), IsOk());
  }
  void TearDown() override {
    ASSERT_NE(harness_, nullptr);
    EXPECT_THAT(harness_->leftovers(), testing::IsEmpty());
  }
  ObjectStore& store() { return harness_->store(); }
  [[nodiscard]] const store::StoreAbilities& abilities() const { return GetParam().abilities; }
  static ObjectMetadata some_metadata() {
    ObjectMetadata metadata;
    metadata.content_headers = {{"content-type", "text/plain; charset=utf-8"}, {"cache-control", "no-cache"}};
    metadata.user = {{"colour", "blau"}, {"author", "Jos\xc3\xa9"}, {"latin1", "caf\xe9"}, {"empty", ""}};
    return metadata;
  }
  std::vector<std::string> keys_of(ListRequest request = {}) {
    auto listing = list_all(store(), kBucket, std::move(request));
    EXPECT_THAT(listing, IsOk());
    return listing ? listing->keys : std::vector<std::string>();
  }

  inline static const std::string kBucket = "conformance";
  std::unique_ptr<StoreHarness> harness_;
};

TEST_P(StoreConformance, DeclaresTheAbilitiesThatItIsTestedFor) {
  const auto declared = store().abilities();
  EXPECT_EQ(declared.atomic_conditional_writes, abilities().atomic_conditional_writes);
  EXPECT_EQ(declared.user_metadata, abilities().user_metadata);
  EXPECT_EQ(declared.stored_checksums, abilities().stored_checksums);
  EXPECT_EQ(declared.any_key, abilities().any_key);
  EXPECT_EQ(declared.read_only, abilities().read_only);
}

TEST_P(StoreConformance, BucketsAreListedByNameWithTheirTime) {
  const auto before = WallClock::now() - std::chrono::seconds(2);
  for (const char* name : {"zebra", "apple", "0-first"})
    ASSERT_THAT(run_task(store().create_bucket(name)), IsOk());
  const auto buckets = run_task(store().list_buckets());
  ASSERT_THAT(buckets, IsOk());
  std::vector<std::string> names;
  for (const auto& bucket : *buckets) {
    names.push_back(bucket.name);
    EXPECT_GE(bucket.created, before);
    EXPECT_LE(bucket.created, WallClock::now() + std::chrono::seconds(2));
  }
  EXPECT_THAT(names, testing::ElementsAre("0-first", "apple", kBucket, "zebra"));
}

TEST_P(StoreConformance, ABucketCanBeMadeOnceAndRemovedWhenEmpty) {
  ASSERT_THAT(run_task(store().create_bucket("once")), IsOk());
  EXPECT_THAT(run_task(store().head_bucket("once")), IsOk());
  const auto again = run_task(store().create_bucket("once"));
  EXPECT_THAT(again, Fails(ErrorCode::already_exists));
  EXPECT_EQ(s3_code_of(again), "BucketAlreadyOwnedByYou");

  ASSERT_THAT(put(store(), "once", "deep/below/object", "x"), IsOk());
  const auto full = run_task(store().delete_bucket("once"));
  EXPECT_THAT(full, Fails(ErrorCode::already_exists));
  EXPECT_EQ(s3_code_of(full), "BucketNotEmpty");
  EXPECT_THAT(get(store(), "once", "deep/below/object"), IsOkAndHolds("x"));

  ASSERT_THAT(run_task(store().remove("once", "deep/below/object")), IsOk());
  EXPECT_THAT(run_task(store().delete_bucket("once")), IsOk());
  EXPECT_EQ(s3_code_of(run_task(store().head_bucket("once"))), "NoSuchBucket");
}

TEST_P(StoreConformance, EveryCallOnAMissingBucketSaysNoSuchBucket) {
  const std::string none = "no-such-bucket";
  EXPECT_EQ(s3_code_of(run_task(store().head_bucket(none))), "NoSuchBucket");
  EXPECT_EQ(s3_code_of(run_task(store().delete_bucket(none))), "NoSuchBucket");
  EXPECT_EQ(s3_code_of(run_task(store().open(none, "k"))), "NoSuchBucket");
  EXPECT_EQ(s3_code_of(run_task(store().remove(none, "k"))), "NoSuchBucket");
  EXPECT_EQ(s3_code_of(run_task(store().list(none, ListRequest()))), "NoSuchBucket");
  EXPECT_EQ(s3_code_of(run_task(store().create(none, "k", ObjectMetadata(), std::nullopt))), "NoSuchBucket");
  EXPECT_THAT(run_task(store().open(none, "k")), Fails(ErrorCode::not_found));
}

TEST_P(StoreConformance, ABucketThatGoesAwayDuringAnUploadFailsTheCommit) {
  ASSERT_THAT(run_task(store().create_bucket("going")), IsOk());
  auto writer = run_task(store().create("going", "k", ObjectMetadata(), 1));
  ASSERT_THAT(writer, IsOk());
  ASSERT_THAT(run_task((*writer)->write(std::as_bytes(std::span("x", 1)))), IsOk());
  ASSERT_THAT(run_task(store().delete_bucket("going")), IsOk());
  EXPECT_EQ(s3_code_of(run_task((*writer)->commit(CommitOptions()))), "NoSuchBucket");
}

TEST_P(StoreConformance, BytesOfEverySizeComeBackAsTheyWere) {
  constexpr std::size_t kMi = std::size_t{1} << 20U;
  std::uint32_t seed = 0;
  for (const std::size_t bytes :
       {std::size_t{0}, std::size_t{1}, std::size_t{8192}, std::size_t{65535}, std::size_t{65536},
        std::size_t{65537}, kMi - 1, kMi, kMi + 1, 5 * kMi + 3}) {
    for (const std::size_t piece : {kMi, std::size_t{40'000}}) {
      const std::string content = pattern(bytes, ++seed);
      const auto stored = put(store(), kBucket, "size", content, CommitOptions(), ObjectMetadata(), piece);
      ASSERT_THAT(stored, IsOk());
      EXPECT_EQ(stored->bytes, bytes);
      EXPECT_EQ(stored->key, "size");
      const auto back = get(store(), kBucket, "size");
      ASSERT_THAT(back, IsOk());
      EXPECT_TRUE(*back == content) << bytes << " bytes in pieces of " << piece;
    }
  }
}

TEST_P(StoreConformance, ThePromisedSizeIsOnlyAHint) {
  for (const std::uint64_t promised : {std::uint64_t{0}, std::uint64_t{3}, std::uint64_t{8} << 20U}) {
    auto writer = run_task(store().create(kBucket, "hint", ObjectMetadata(), promised));
    ASSERT_THAT(writer, IsOk());
    ASSERT_THAT(run_task((*writer)->write(std::as_bytes(std::span("12345", 5)))), IsOk());
    const auto info = run_task((*writer)->commit(CommitOptions()));
    ASSERT_THAT(info, IsOk());
    EXPECT_EQ(info->bytes, 5U);
    EXPECT_THAT(get(store(), kBucket, "hint"), IsOkAndHolds("12345"));
  }
}

TEST_P(StoreConformance, RangesAreReadExactlyAndNeverPastTheEnd) {
  const std::string content = pattern(300'000, 7);
  ASSERT_THAT(put(store(), kBucket, "ranges", content), IsOk());
  auto reader = run_task(store().open(kBucket, "ranges"));
  ASSERT_THAT(reader, IsOk());
  for (const auto& [offset, bytes] : std::vector<std::pair<std::size_t, std::size_t>>{{0, 0},
                                                                                      {0, 1},
                                                                                      {1, 4095},
                                                                                      {4095, 2},
                                                                                      {65'535, 65'537},
                                                                                      {299'999, 1},
                                                                                      {300'000, 0},
                                                                                      {0, 300'000}}) {
    EXPECT_THAT(read_range(**reader, offset, bytes), IsOkAndHolds(content.substr(offset, bytes)));
  }
  EXPECT_FALSE(read_range(**reader, 299'999, 2).has_value());
  EXPECT_FALSE(read_range(**reader, 300'001, 0).has_value());

  std::string into(1000, '#');
  const auto some = (*reader)->try_read(299'500, std::as_writable_bytes(std::span(into)));
  ASSERT_THAT(some, IsOk());
  EXPECT_LE(*some, 500U);
  EXPECT_EQ(into.substr(0, *some), content.substr(299'500, *some));
  EXPECT_EQ(into.substr(500), std::string(500, '#'));
  EXPECT_THAT((*reader)->try_read(300'000, std::as_writable_bytes(std::span(into))), IsOkAndHolds(0U));
}

TEST_P(StoreConformance, OpenAndListingAgreeWithWhatCommitSaid) {
  const auto stored = put(store(), kBucket, "agree/ment", "content");
  ASSERT_THAT(stored, IsOk());
  auto reader = run_task(store().open(kBucket, "agree/ment"));
  ASSERT_THAT(reader, IsOk());
  const auto page = run_task(store().list(kBucket, ListRequest()));
  ASSERT_THAT(page, IsOk());
  ASSERT_EQ(page->objects.size(), 1U);
  for (const ObjectInfo& info : {(*reader)->info(), page->objects.front()}) {
    EXPECT_EQ(info.key, "agree/ment");
    EXPECT_EQ(info.etag, stored->etag);
    EXPECT_EQ(info.bytes, stored->bytes);
    EXPECT_EQ(info.modified, stored->modified);
  }
}

TEST_P(StoreConformance, EveryWriteGetsANewEtagThatIsNoMd5) {
  std::set<std::string> seen;
  for (int i = 0; i < 200; ++i) {
    const auto stored = put(store(), kBucket, "same", "the same bytes");
    ASSERT_THAT(stored, IsOk());
    EXPECT_TRUE(seen.insert(stored->etag).second) << stored->etag << " came twice";
    EXPECT_EQ(stored->etag.find_first_of("\"\\ ,"), std::string::npos);
    const bool like_md5 =
        stored->etag.size() == 32 && stored->etag.find_first_not_of("0123456789abcdef") == std::string::npos;
    EXPECT_FALSE(like_md5);
  }
}

TEST_P(StoreConformance, MetadataComesBackByteForByteOrIsRefused) {
  const auto stored = put(store(), kBucket, "meta", "x", CommitOptions(), some_metadata());
  if (!abilities().user_metadata) {
    EXPECT_THAT(stored, Fails(ErrorCode::unsupported));
    EXPECT_EQ(s3_code_of(run_task(store().open(kBucket, "meta"))), "NoSuchKey");
    return;
  }
  ASSERT_THAT(stored, IsOk());
  auto reader = run_task(store().open(kBucket, "meta"));
  ASSERT_THAT(reader, IsOk());
  for (const ObjectInfo& info : {*stored, (*reader)->info()}) {
    EXPECT_EQ(info.metadata.content_headers, some_metadata().content_headers);
    EXPECT_EQ(info.metadata.user, some_metadata().user);
  }
  ASSERT_THAT(put(store(), kBucket, "meta", "x"), IsOk());
  auto bare = run_task(store().open(kBucket, "meta"));
  ASSERT_THAT(bare, IsOk());
  EXPECT_TRUE((*bare)->info().metadata.user.empty()) << "metadata of the replaced version";
}

TEST_P(StoreConformance, MetadataThatIsTooLargeIsRefusedBeforeAnyByteMoves) {
  ObjectMetadata metadata;
  metadata.user = {{"big", std::string(100'000, 'x')}};
  const auto writer = run_task(store().create(kBucket, "big-meta", metadata, 1));
  ASSERT_FALSE(writer.has_value());
  EXPECT_EQ(s3_code_of(writer), abilities().user_metadata ? "MetadataTooLarge" : "NotImplemented");
}

TEST_P(StoreConformance, TheChecksumIsKeptWithTheVersion) {
  CommitOptions options;
  options.crc64nvme = 0xfedcba9876543210U;
  ASSERT_THAT(put(store(), kBucket, "sum", "abc", options), IsOk());
  auto reader = run_task(store().open(kBucket, "sum"));
  ASSERT_THAT(reader, IsOk());
  if (abilities().stored_checksums) {
    EXPECT_EQ((*reader)->info().crc64nvme, options.crc64nvme);
  } else {
    EXPECT_EQ((*reader)->info().crc64nvme, std::nullopt);
  }
  ASSERT_THAT(put(store(), kBucket, "sum", "abd"), IsOk());
  auto later = run_task(store().open(kBucket, "sum"));
  ASSERT_THAT(later, IsOk());
  EXPECT_EQ((*later)->info().crc64nvme, std::nullopt);
}

TEST_P(StoreConformance, AnUnfinishedUploadIsInvisibleAndLeavesNoTrace) {
  ASSERT_THAT(put(store(), kBucket, "old", "old bytes"), IsOk());
  for (const char* key : {"old", "new", "fold/er/new"}) {
    auto writer = run_task(store().create(kBucket, key, ObjectMetadata(), std::nullopt));
    ASSERT_THAT(writer, IsOk());
    const std::string content = pattern(100'000, 1);
    ASSERT_THAT(run_task((*writer)->write(std::as_bytes(std::span(content)))), IsOk());
    EXPECT_THAT(keys_of(), testing::ElementsAre("old"));
    EXPECT_THAT(get(store(), kBucket, "old"), IsOkAndHolds("old bytes"));
  }
  EXPECT_THAT(harness_->leftovers(), testing::IsEmpty());
  EXPECT_THAT(keys_of(), testing::ElementsAre("old"));
}

TEST_P(StoreConformance, AWriterEndsWithItsCommit) {
  auto writer = run_task(store().create(kBucket, "ended", ObjectMetadata(), std::nullopt));
  ASSERT_THAT(writer, IsOk());
  ASSERT_THAT(run_task((*writer)->commit(CommitOptions())), IsOk());
  EXPECT_FALSE(run_task((*writer)->write(std::as_bytes(std::span("x", 1)))).has_value());
  EXPECT_FALSE(run_task((*writer)->commit(CommitOptions())).has_value());
  EXPECT_THAT(get(store(), kBucket, "ended"), IsOkAndHolds(""));
}

TEST_P(StoreConformance, IfNoneMatchStarCreatesAndNeverReplaces) {
  CommitOptions create_only;
  create_only.conditions.if_none_match = "*";
  ASSERT_THAT(put(store(), kBucket, "only/once", "first", create_only), IsOk());
  const auto second = put(store(), kBucket, "only/once", "second", create_only);
  EXPECT_THAT(second, Fails(ErrorCode::precondition_failed));
  EXPECT_EQ(s3_code_of(second), "PreconditionFailed");
  EXPECT_THAT(get(store(), kBucket, "only/once"), IsOkAndHolds("first"));
}

TEST_P(StoreConformance, IfMatchReplacesOnlyThatVersion) {
  CommitOptions options;
  options.conditions.if_match = "\"anything\"";
  const auto absent = put(store(), kBucket, "fold/er/absent", "x", options);
  EXPECT_THAT(absent, Fails(ErrorCode::not_found));
  EXPECT_EQ(s3_code_of(absent), "NoSuchKey");

  const auto first = put(store(), kBucket, "match", "first");
  ASSERT_THAT(first, IsOk());
  EXPECT_EQ(s3_code_of(put(store(), kBucket, "match", "x", options)), "PreconditionFailed");
  options.conditions.if_match = "\"" + first->etag + "\"";
  ASSERT_THAT(put(store(), kBucket, "match", "second", options), IsOk());
  EXPECT_EQ(s3_code_of(put(store(), kBucket, "match", "third", options)), "PreconditionFailed");
  EXPECT_THAT(get(store(), kBucket, "match"), IsOkAndHolds("second"));
  options.conditions.if_match = "*";
  ASSERT_THAT(put(store(), kBucket, "match", "fourth", options), IsOk());
  EXPECT_THAT(keys_of(), testing::ElementsAre("match"));
}

TEST_P(StoreConformance, OfManyThatCreateTheSameKeyExactlyOneWins) {
  constexpr int kThreads = 8;
  for (int round = 0; round < 20; ++round) {
    const std::string key = "race/" + std::to_string(round) + "/object";
    std::atomic<int> winner{-1};
    std::atomic<int> wins{0};
    std::atomic<int> refusals{0};
    std::vector<std::thread> threads;
    threads.reserve(kThreads);
    for (int i = 0; i < kThreads; ++i) {
      threads.emplace_back([&, i] {
        CommitOptions options;
        options.conditions.if_none_match = "*";
        const auto stored = put(store(), kBucket, key, "writer " + std::to_string(i), options);
        if (stored) {
          winner = i;
          ++wins;
        } else if (s3_code_of(stored) == "PreconditionFailed") {
          ++refusals;
        }
      });
    }
    for (auto& thread : threads) thread.join();
    EXPECT_EQ(wins, 1);
    EXPECT_EQ(refusals, kThreads - 1);
    EXPECT_THAT(get(store(), kBucket, key), IsOkAndHolds("writer " + std::to_string(winner)));
  }
}

TEST_P(StoreConformance, OfManyThatReplaceTheSameVersionExactlyOneWins) {
  constexpr int kThreads = 8;
  auto current = put(store(), kBucket, "replace", "start");
  ASSERT_THAT(current, IsOk());
  for (int round = 0; round < 20; ++round) {
    std::atomic<int> wins{0};
    std::vector<Result<ObjectInfo>> results(kThreads);
    std::vector<std::thread> threads;
    threads.reserve(kThreads);
    for (int i = 0; i < kThreads; ++i) {
      threads.emplace_back([&, i] {
        CommitOptions options;
        options.conditions.if_match = "\"" + current->etag + "\"";
        auto& result = results[static_cast<std::size_t>(i)];
        result = put(store(), kBucket, "replace", "writer " + std::to_string(i), options);
        if (result) ++wins;
      });
    }
    for (auto& thread : threads) thread.join();
    ASSERT_EQ(wins, 1);
    for (int i = 0; i < kThreads; ++i) {
      const auto& result = results[static_cast<std::size_t>(i)];
      if (result) {
        EXPECT_THAT(get(store(), kBucket, "replace"), IsOkAndHolds("writer " + std::to_string(i)));
        current->etag = result->etag;
      } else {
        EXPECT_EQ(s3_code_of(result), "PreconditionFailed");
      }
    }
  }
}

TEST_P(StoreConformance, AReaderKeepsItsVersionWhileOthersReplaceAndRemoveIt) {
  const std::string first = pattern(200'000, 1);
  ASSERT_THAT(put(store(), kBucket, "pinned", first), IsOk());
  auto reader = run_task(store().open(kBucket, "pinned"));
  ASSERT_THAT(reader, IsOk());
  EXPECT_THAT(read_range(**reader, 0, 1000), IsOkAndHolds(first.substr(0, 1000)));
  ASSERT_THAT(put(store(), kBucket, "pinned", pattern(200'000, 2)), IsOk());
  EXPECT_THAT(read_range(**reader, 1000, 199'000), IsOkAndHolds(first.substr(1000)));
  ASSERT_THAT(run_task(store().remove(kBucket, "pinned")), IsOk());
  EXPECT_THAT(read_range(**reader, 0, 200'000), IsOkAndHolds(first));
  EXPECT_THAT(run_task((*reader)->verify_unchanged()), IsOk());
}

TEST_P(StoreConformance, ReadersSeeWholeVersionsWhileWritersReplaceThem) {
  ASSERT_THAT(put(store(), kBucket, "busy", std::string(70'000, 'a')), IsOk());
  std::atomic<bool> stop{false};
  std::atomic<int> mixed{0};
  std::atomic<int> failed{0};
  std::thread writer([&] {
    for (int i = 0; i < 100; ++i) {
      const std::string content(static_cast<std::size_t>(70'000 + i), static_cast<char>('a' + i % 26));
      if (!put(store(), kBucket, "busy", content)) ++failed;
    }
    stop = true;
  });
  while (!stop) {
    const auto content = get(store(), kBucket, "busy");
    if (!content) {
      ++failed;
    } else if (content->size() < 70'000 ||
               content->find_first_not_of(content->front()) != std::string::npos) {
      ++mixed;
    }
  }
  writer.join();
  EXPECT_EQ(mixed, 0);
  EXPECT_EQ(failed, 0);
}

TEST_P(StoreConformance, RemovingSucceedsWhetherItIsThereOrNot) {
  ASSERT_THAT(put(store(), kBucket, "a/b/c", "x"), IsOk());
  EXPECT_THAT(run_task(store().remove(kBucket, "a/b")), IsOk());
  EXPECT_THAT(run_task(store().remove(kBucket, "a/b/c/d")), IsOk());
  EXPECT_THAT(run_task(store().remove(kBucket, "nothing")), IsOk());
  EXPECT_THAT(keys_of(), testing::ElementsAre("a/b/c"));
  EXPECT_THAT(run_task(store().remove(kBucket, "a/b/c")), IsOk());
  EXPECT_THAT(run_task(store().remove(kBucket, "a/b/c")), IsOk());
  EXPECT_EQ(s3_code_of(run_task(store().open(kBucket, "a/b/c"))), "NoSuchKey");
  const auto page = run_task(store().list(kBucket, ListRequest()));
  ASSERT_THAT(page, IsOk());
  EXPECT_TRUE(page->objects.empty() && page->common_prefixes.empty());
}

TEST_P(StoreConformance, UploadsAndRemovalsUnderOnePrefixDoNotDisturbEachOther) {
  constexpr int kThreads = 6;
  std::atomic<int> failures{0};
  std::vector<std::string> said(kThreads);
  std::vector<std::thread> threads;
  threads.reserve(kThreads);
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&, i] {
      const std::string key = "shared/path/" + std::to_string(i % 3) + "/object-" + std::to_string(i);
      for (int round = 0; round < 60; ++round) {
        const auto stored = put(store(), kBucket, key, "mine");
        const auto back = get(store(), kBucket, key);
        const auto removed = run_task(store().remove(kBucket, key));
        if (stored && back && *back == "mine" && removed) continue;
        ++failures;
        said[static_cast<std::size_t>(i)] = !stored    ? stored.error().describe()
                                            : !back    ? back.error().describe()
                                            : !removed ? removed.error().describe()
                                                       : "other bytes";
      }
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(failures, 0) << testing::PrintToString(said);
  EXPECT_THAT(keys_of(), testing::IsEmpty());
}

// The keys of inputs.md that are legal in S3.
inline std::vector<std::string> nasty_keys() {
  std::string of_two_bytes;
  for (int i = 0; i < 512; ++i) of_two_bytes += "\xc3\xa9";
  std::string long_segments;
  while (long_segments.size() < 1000) long_segments += std::string(199, 's') + "/";
  long_segments += std::string(1024 - long_segments.size(), 'e');
  return {"a+b",
          "a b",
          "a%2Bb",
          "a%20b",
          "a%b",
          "a=b",
          "a@b",
          "a:b",
          "a&b",
          "a?b",
          "a#b",
          "a*b",
          "a'b",
          "a\"b",
          "a<b>",
          "{a}",
          "a\\b",
          "a//b",
          "/a",
          "a/",
          "a/./b",
          ".",
          "x/.",
          "a/../b",
          "t\tb",
          "n\nl",
          "\x01",
          "\x7f",
          "\xc3\xa9",
          "e\xcc\x81",
          "\xf0\x9f\x98\x80",
          std::string(1024, 'k'),
          of_two_bytes,
          "s/" + std::string(255, 's'),
          std::string(256, 's'),
          long_segments,
          "0/",
          "1999#",
          "con",
          "%00",
          "?versionId=null",
          "..%2f..%2fetc",
          ".sluice",
          ".sluice/tmp/x",
          "...",
          "-rf",
          "~",
          " "};
}

TEST_P(StoreConformance, EveryLegalKeyRoundTripsOrIsRefusedAsDocumented) {
  std::set<std::string> held;
  for (const std::string& key : nasty_keys()) {
    ASSERT_THAT(s3::check_key(key), IsOk()) << key;
    const auto stored = put(store(), kBucket, key, "content of " + key);
    if (!stored) {
      EXPECT_FALSE(abilities().any_key) << key << ": " << stored.error().describe();
      EXPECT_THAT(stored, Fails(ErrorCode::unsupported));
      EXPECT_EQ(s3_code_of(stored), "NotImplemented");
      EXPECT_EQ(stored.error().outcome(), Outcome::refused);
      EXPECT_EQ(s3_code_of(run_task(store().open(kBucket, key))), "NoSuchKey");
      EXPECT_THAT(run_task(store().remove(kBucket, key)), IsOk());
      continue;
    }
    EXPECT_EQ(stored->key, key);
    held.insert(key);
  }
  EXPECT_GE(held.size(), 34U) << "most of these are ordinary names";
  for (const std::string& key : held)
    EXPECT_THAT(get(store(), kBucket, key), IsOkAndHolds("content of " + key));
  EXPECT_THAT(keys_of(), testing::ElementsAreArray(held));
  for (const std::string& key : held) EXPECT_THAT(run_task(store().remove(kBucket, key)), IsOk());
  EXPECT_THAT(keys_of(), testing::IsEmpty());
}

TEST_P(StoreConformance, ListingIsInTheByteOrderOfWholeKeys) {
  const std::vector<std::string> in_order = {"a!b", "a-b",   "a.b",   "a/b", "a/b!",
                                             "a0",  "b/c/d", "b/c-d", "b0",  "\xc3\xa9/x"};
  std::vector<std::string> sorted = in_order;
  std::sort(sorted.begin(), sorted.end());
  for (const auto& key : in_order) ASSERT_THAT(put(store(), kBucket, key, key), IsOk());
  for (const std::size_t max_keys : {1U, 2U, 3U, 1000U}) {
    ListRequest request;
    request.max_keys = max_keys;
    EXPECT_EQ(keys_of(request), sorted) << max_keys;
  }
}

TEST_P(StoreConformance, ADelimiterRollsUpAndCountsLikeAKey) {
  for (const char* key : {"a", "dir/1", "dir/2", "dir/sub/3", "dir.txt", "z"}) {
    ASSERT_THAT(put(store(), kBucket, key, "x"), IsOk());
  }
  ListRequest request;
  request.delimiter = "/";
  auto listing = list_all(store(), kBucket, request);
  ASSERT_THAT(listing, IsOk());
  EXPECT_THAT(listing->keys, testing::ElementsAre("a", "dir.txt", "z"));
  EXPECT_THAT(listing->prefixes, testing::ElementsAre("dir/"));
  for (std::size_t max_keys = 1; max_keys < 5; ++max_keys) {
    request.max_keys = max_keys;
    auto paged = list_all(store(), kBucket, request);
    ASSERT_THAT(paged, IsOk());
    EXPECT_EQ(paged->keys, listing->keys);
    EXPECT_EQ(paged->prefixes, listing->prefixes);
  }
  request.max_keys = 1000;
  request.prefix = "dir/";
  listing = list_all(store(), kBucket, request);
  ASSERT_THAT(listing, IsOk());
  EXPECT_THAT(listing->keys, testing::ElementsAre("dir/1", "dir/2"));
  EXPECT_THAT(listing->prefixes, testing::ElementsAre("dir/sub/"));
  request.prefix = "dir";
  listing = list_all(store(), kBucket, request);
  ASSERT_THAT(listing, IsOk());
  EXPECT_THAT(listing->keys, testing::ElementsAre("dir.txt"));
  EXPECT_THAT(listing->prefixes, testing::ElementsAre("dir/"));
}

TEST_P(StoreConformance, APageOfNoKeysIsEmptyAndNotTruncated) {
  ASSERT_THAT(put(store(), kBucket, "k", "x"), IsOk());
  ListRequest request;
  request.max_keys = 0;
  const auto page = run_task(store().list(kBucket, request));
  ASSERT_THAT(page, IsOk());
  EXPECT_TRUE(page->objects.empty());
  EXPECT_FALSE(page->truncated);
}

TEST_P(StoreConformance, ListingAgreesWithAModelForRandomKeysPrefixesDelimitersAndPages) {
  std::mt19937 random(20'260'101);
  const auto below = [&random](std::size_t n) {
    return std::uniform_int_distribution<std::size_t>(0, n - 1)(random);
  };
  const std::array<std::string, 9> letters = {"a", "b", "-", ".", "/", "0", "\xc3\xa9", "/a", "c/"};
  const auto text = [&](std::size_t longest) {
    std::string out;
    for (std::size_t i = below(longest + 1); i > 0; --i) out += letters[below(letters.size())];
    return out;
  };
  const std::array<std::string, 8> delimiters = {"", "/", "/", "a", "-", "/a", "b/", "\xc3"};
  for (int round = 0; round < 12; ++round) {
    const std::string bucket = "model-" + std::to_string(round);
    ASSERT_THAT(run_task(store().create_bucket(bucket)), IsOk());
    std::set<std::string> model;
    for (int i = 0; i < 70; ++i) {
      const std::string key = text(7);
      if (!s3::check_key(key)) continue;
      if (below(5) == 0) {
        ASSERT_THAT(run_task(store().remove(bucket, key)), IsOk());
        model.erase(key);
        continue;
      }
      const auto stored = put(store(), bucket, key, key);
      if (stored) {
        model.insert(key);
      } else {
        ASSERT_THAT(stored, Fails(ErrorCode::unsupported));
        ASSERT_FALSE(abilities().any_key);
      }
    }
    for (int i = 0; i < 60; ++i) {
      ListRequest request;
      request.prefix = text(3);
      request.delimiter = delimiters[below(delimiters.size())];
      request.max_keys = 1 + below(below(2) == 0 ? 3 : 50);
      if (below(3) == 0) request.start_after = text(4);
      const Listing expected = model_listing(model, request);
      const auto listing = list_all(store(), bucket, request);
      ASSERT_THAT(listing, IsOk());
      ASSERT_EQ(listing->keys, expected.keys) << "prefix " << request.prefix << " delimiter "
                                              << request.delimiter << " after " << request.start_after;
      ASSERT_EQ(listing->prefixes, expected.prefixes)
          << "prefix " << request.prefix << " delimiter " << request.delimiter << " after "
          << request.start_after;
    }
    for (const auto& key : model) ASSERT_THAT(get(store(), bucket, key), IsOkAndHolds(key));
  }
}

}  // namespace sluice::test
