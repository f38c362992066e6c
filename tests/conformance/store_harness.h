// What the conformance suite of ObjectStore stands on: the store under test, short ways to use it, a model of
// listings.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "fixtures/matchers.h"
#include "fixtures/run_task.h"
#include "store/store.h"

namespace sluice::test {

using store::CommitOptions;
using store::ListPage;
using store::ListRequest;
using store::ObjectInfo;
using store::ObjectMetadata;
using store::ObjectStore;

/// One store, empty, with what it stands on.
class StoreHarness {
 public:
  virtual ~StoreHarness() = default;
  virtual ObjectStore& store() = 0;
  /// Names of what unfinished or failed writes have left behind.
  virtual std::vector<std::string> leftovers() = 0;
};

struct StoreUnderTest {
  std::string name;
  store::StoreAbilities abilities;
  std::function<std::unique_ptr<StoreHarness>()> make;
};
inline std::string store_test_name(const testing::TestParamInfo<StoreUnderTest>& info) {
  return info.param.name;
}
inline void PrintTo(const StoreUnderTest& store, std::ostream* out) {
  *out << store.name;
}

/// Bytes that differ from place to place and from seed to seed.
inline std::string pattern(std::size_t bytes, std::uint32_t seed) {
  std::string text(bytes, '\0');
  std::minstd_rand random(seed + 1);
  for (char& c : text) c = static_cast<char>(random() & 0xffU);
  return text;
}

inline std::string s3_code(const Error& error) {
  return error.s3().code;
}
template <class T>
std::string s3_code_of(const Result<T>& result) {
  return result ? "ok" : s3_code(result.error());
}

/// The whole way of an upload, in pieces of `piece` bytes.
inline Result<ObjectInfo> put(ObjectStore& store, const std::string& bucket, const std::string& key,
                              std::string_view bytes, CommitOptions options = {},
                              ObjectMetadata metadata = {}, std::size_t piece = std::size_t{1} << 20U) {
  auto writer = run_task(store.create(bucket, key, std::move(metadata), bytes.size()));
  if (!writer) return std::move(writer).error();
  for (std::size_t at = 0; at < bytes.size(); at += piece) {
    const auto part = std::as_bytes(std::span(bytes).subspan(at, std::min(piece, bytes.size() - at)));
    if (auto written = run_task((*writer)->write(part)); !written) return std::move(written).error();
  }
  return run_task((*writer)->commit(std::move(options)));
}

inline Result<std::string> read_range(store::ObjectReader& reader, std::uint64_t offset, std::size_t bytes) {
  std::string text(bytes, '\0');
  const auto into = std::as_writable_bytes(std::span(text));
  if (auto read = run_task(reader.read(offset, into)); !read) return std::move(read).error();
  return text;
}

inline Result<std::string> get(ObjectStore& store, const std::string& bucket, const std::string& key) {
  auto reader = run_task(store.open(bucket, key));
  if (!reader) return std::move(reader).error();
  auto text = read_range(**reader, 0, (*reader)->info().bytes);
  if (!text) return text;
  if (auto same = run_task((*reader)->verify_unchanged()); !same) return std::move(same).error();
  return text;
}

/// All pages, and the promises of each: size, order, no overlap, progress.
struct Listing {
  std::vector<std::string> keys;
  std::vector<std::string> prefixes;
  std::map<std::string, std::string> etags;
};
inline Result<Listing> list_all(ObjectStore& store, const std::string& bucket, ListRequest request) {
  Listing all;
  while (true) {
    auto page = run_task(store.list(bucket, request));
    if (!page) return std::move(page).error();
    const std::size_t count = page->objects.size() + page->common_prefixes.size();
    EXPECT_LE(count, request.max_keys);
    EXPECT_TRUE(!page->truncated || count == request.max_keys);
    for (const auto& object : page->objects) {
      all.keys.push_back(object.key);
      all.etags[object.key] = object.etag;
    }
    all.prefixes.insert(all.prefixes.end(), page->common_prefixes.begin(), page->common_prefixes.end());
    if (!page->truncated) return all;
    EXPECT_GT(page->next_start_after, request.start_after);
    if (page->next_start_after <= request.start_after) return all;
    request.start_after = page->next_start_after;
  }
}

/// What S3 would list of these keys.
inline Listing model_listing(const std::set<std::string>& keys, const ListRequest& request) {
  Listing listing;
  for (const std::string& key : keys) {
    if (!key.starts_with(request.prefix) || (!request.start_after.empty() && key <= request.start_after))
      continue;
    const auto at =
        request.delimiter.empty() ? std::string::npos : key.find(request.delimiter, request.prefix.size());
    if (at == std::string::npos) {
      listing.keys.push_back(key);
    } else {
      const std::string group = key.substr(0, at + request.delimiter.size());
      if (listing.prefixes.empty() || listing.prefixes.back() != group) listing.prefixes.push_back(group);
    }
  }
  return listing;
}

}  // namespace sluice::test
