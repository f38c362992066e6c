// Client: S3 whose payload lands in, and comes from, the caller's memory.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "sluice/error.h"
#include "sluice/export.h"
#include "sluice/memory.h"
#include "sluice/options.h"
#include "sluice/transfer.h"

namespace sluice {

namespace client {
class Engine;
}

/// Bytes [first, first + bytes) of an object.
struct ByteRange {
  std::uint64_t first = 0;
  std::uint64_t bytes = 0;
};

struct GetRequest {
  std::string bucket;
  std::string key;
  /// Unset: the whole object. A range that reaches past the end delivers what there is; one that starts past
  /// it is `range_not_satisfiable`.
  std::optional<ByteRange> range;
  std::string if_match;       ///< ETag the object must have; empty: any
  std::string if_none_match;  ///< ETag the object must not have (`not_modified`); empty: any
  /// Size of the object if known: saves the HEAD request that a whole-object RDMA GET otherwise starts with.
  std::optional<std::uint64_t> object_bytes;
};

struct PutRequest {
  std::string bucket;
  std::string key;
  std::string content_type = "application/octet-stream";
  std::vector<std::pair<std::string, std::string>> user_metadata;  ///< names without "x-amz-meta-"
  std::string if_match;
  std::string if_none_match;  ///< "*": only if there is no such object
};

struct ObjectSummary {
  std::string key;
  std::uint64_t bytes = 0;
  std::string etag;
  std::chrono::system_clock::time_point modified;
};

struct ObjectDetails {
  ObjectSummary summary;
  std::string content_type;
  std::string checksum;  ///< "crc64nvme:<16 hex>" if the server stores it
  std::vector<std::pair<std::string, std::string>> user_metadata;
};

struct ListRequest {
  std::string bucket;
  std::string prefix;
  std::string delimiter;
  std::string start_after;
  std::string continuation_token;
  int max_keys = 1000;  ///< 1 to 1000
};

struct ListPage {
  std::vector<ObjectSummary> objects;
  std::vector<std::string> common_prefixes;
  std::string next_continuation_token;  ///< empty: that was the last page
};

struct BucketSummary {
  std::string name;
  std::chrono::system_clock::time_point created;
};

/// What was learnt about the endpoint; for `doctor` and for tests.
struct EndpointReport {
  bool discovered = false;  ///< it answered the discovery document
  std::string instance_id;
  std::vector<std::string> fabrics;  ///< names that both sides have, best first
  std::string rdma_unavailable;      ///< why RDMA cannot be used; empty if it can
  std::chrono::milliseconds lease{0};
  std::chrono::milliseconds drain{0};
  std::uint64_t max_window_bytes = 0;
};

/// Options for calls that move no payload.
struct CallOptions {
  std::optional<std::chrono::milliseconds> timeout;  ///< unset: ClientOptions::request_timeout
};

/// An S3 endpoint. Movable handle; safe from any thread. Owns one thread for HTTP; RDMA progress is one
/// thread per process.
///
/// After `fork` a child must not use a Client made before: every call answers `unsupported`.
class SLUICE_EXPORT Client {
 public:
  /// Checks the options; contacts nobody. Errors: config_error naming the field.
  static Result<Client> make(ClientOptions options);
  Client(Client&&) noexcept;
  Client& operator=(Client&&) noexcept;
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;
  /// Cancels what is under way and waits (bounded) for the fences.
  ~Client();

  /// Moves an object or range into `into` (at its front). `into` larger than the object is fine, smaller is
  /// `size_mismatch`. Host memory only; a device pointer is refused by name (`unsupported`).
  Transfer get(GetRequest request, Memory into, TransferOptions options = {});
  /// Stores `from` as an object. 0 bytes are stored over HTTP (data path `none`). At most 5 GiB.
  Transfer put(PutRequest request, Memory from, TransferOptions options = {});

  Result<ObjectDetails> head(const std::string& bucket, const std::string& key, CallOptions options = {});
  Result<void> remove(const std::string& bucket, const std::string& key, CallOptions options = {});
  Result<ListPage> list(const ListRequest& request, CallOptions options = {});
  Result<std::vector<BucketSummary>> buckets(CallOptions options = {});
  Result<void> create_bucket(const std::string& bucket, CallOptions options = {});
  Result<void> delete_bucket(const std::string& bucket, CallOptions options = {});
  Result<void> head_bucket(const std::string& bucket, CallOptions options = {});
  /// Asks the discovery document (again) and matches fabrics.
  Result<EndpointReport> probe(CallOptions options = {});

  /// Cancels everything, waits for the fences until `timeout`, returns how many transfers had to be left
  /// behind (their memory is quarantined). Further calls answer `cancelled`.
  std::size_t close(std::chrono::milliseconds timeout);

 private:
  friend class client::Engine;
  explicit Client(std::shared_ptr<client::Engine> engine);
  std::shared_ptr<client::Engine> engine_;
};

}  // namespace sluice
