// ObjectStore: where a gateway keeps objects. Written for those who implement one and for the gateway that
// calls it.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/task.h"
#include "base/time.h"
#include "s3/conditions.h"
#include "sluice/error.h"

namespace sluice::store {

/// What a store can and cannot do; the conformance suite (tests/conformance/) is parameterised by it.
struct StoreAbilities {
  bool atomic_conditional_writes = true;
  bool user_metadata = true;
  bool stored_checksums = true;  ///< keeps the crc64nvme given at commit and returns it
  bool any_key = true;           ///< false: some legal S3 keys are refused with `unsupported`
  bool read_only = false;
};

struct BucketInfo {
  std::string name;
  WallClock::time_point created;
};

/// What is stored beside the bytes.
struct ObjectMetadata {
  /// Content-Type, Content-Encoding, Content-Disposition, Content-Language, Cache-Control, Expires:
  /// lower-case names.
  std::vector<std::pair<std::string, std::string>> content_headers;
  /// x-amz-meta-*: lower-case names without the prefix.
  std::vector<std::pair<std::string, std::string>> user;
};

/// One version of an object, as of the moment it was opened or listed.
struct ObjectInfo {
  std::string key;
  std::uint64_t bytes = 0;
  std::string etag;  ///< without quotes; changes whenever the bytes may have changed
  WallClock::time_point modified;
  std::optional<std::uint64_t> crc64nvme;  ///< of the whole object, if known
  ObjectMetadata metadata;                 ///< empty in listings
};

/// One pinned version: every read comes from it, or fails with `io_error`/`size_mismatch`; never a mix.
/// One coroutine at a time; must not outlive its store.
class ObjectReader {
 public:
  virtual ~ObjectReader() = default;
  [[nodiscard]] virtual const ObjectInfo& info() const = 0;
  /// Bytes that can be had without blocking (page cache): how many were read into the front of `into`, 0 for
  /// none right now. Never past the end. Fast path of the data mover.
  virtual Result<std::size_t> try_read(std::uint64_t offset, std::span<std::byte> into) = 0;
  /// Fills `into` completely. Errors: size_mismatch when the object shrank under us, io_error.
  virtual Task<Result<void>> read(std::uint64_t offset, std::span<std::byte> into) = 0;
  /// Is the version that was opened still the one under that name, unchanged? Asked before the success reply.
  virtual Task<Result<void>> verify_unchanged() = 0;
};

/// What must hold at the moment an object becomes visible.
struct CommitOptions {
  s3::WriteConditions conditions;          ///< evaluated atomically with the rename
  std::optional<std::uint64_t> crc64nvme;  ///< stored with the object
};

/// A new object that nobody sees until `commit`. Destroying an uncommitted one removes every trace.
/// One coroutine at a time; must not outlive its store.
class ObjectWriter {
 public:
  virtual ~ObjectWriter() = default;
  /// Appends. `bytes` stay valid until the task ends.
  virtual Task<Result<void>> write(std::span<const std::byte> bytes) = 0;
  /// Makes everything durable per the store's fsync policy, then visible, atomically; then returns.
  /// After an error nothing is visible and nothing is left behind (outcome `refused`), except io_error from
  /// the last directory fsync (outcome `uncertain`).
  virtual Task<Result<ObjectInfo>> commit(CommitOptions options) = 0;
};

struct ListRequest {
  std::string prefix;
  std::string delimiter;    ///< empty or any text; "/" is the usual one
  std::string start_after;  ///< keys > this; a continuation token decodes to it
  std::size_t max_keys = 1000;
};

struct ListPage {
  std::vector<ObjectInfo> objects;  ///< byte order of whole keys, interleaved order with prefixes is by name
  std::vector<std::string> common_prefixes;  ///< byte order
  bool truncated = false;
  std::string next_start_after;  ///< for the next page; set when truncated
};

/// All calls: safe from any thread, resume on the caller's executor. Bucket and key were checked by
/// s3/keys.h. Errors: not_found with S3 code NoSuchBucket or NoSuchKey (S3Detail.code), permission_denied,
/// io_error, unsupported, precondition_failed, already_exists (BucketAlreadyOwnedByYou), and BucketNotEmpty
/// as already_exists.
class ObjectStore {
 public:
  virtual ~ObjectStore() = default;
  [[nodiscard]] virtual StoreAbilities abilities() const = 0;
  virtual Task<Result<std::vector<BucketInfo>>> list_buckets() = 0;
  virtual Task<Result<void>> head_bucket(std::string bucket) = 0;
  virtual Task<Result<void>> create_bucket(std::string bucket) = 0;
  virtual Task<Result<void>> delete_bucket(std::string bucket) = 0;
  virtual Task<Result<std::unique_ptr<ObjectReader>>> open(std::string bucket, std::string key) = 0;
  /// `expected_bytes` lets the store refuse early (disk full) and preallocate; the real count rules.
  virtual Task<Result<std::unique_ptr<ObjectWriter>>> create(std::string bucket, std::string key,
                                                             ObjectMetadata metadata,
                                                             std::optional<std::uint64_t> expected_bytes) = 0;
  /// Removing what is not there succeeds (S3).
  virtual Task<Result<void>> remove(std::string bucket, std::string key) = 0;
  virtual Task<Result<ListPage>> list(std::string bucket, ListRequest request) = 0;
};

}  // namespace sluice::store
