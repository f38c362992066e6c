#include "gateway/route.h"

#include <algorithm>
#include <array>
#include <initializer_list>

#include "s3/discovery.h"
#include "s3/errors.h"
#include "s3/headers.h"

namespace sluice::gateway {
namespace {

Error method_not_allowed(std::string_view method, std::string_view resource) {
  return s3::make_error("MethodNotAllowed",
                        std::string(method.substr(0, 16)) + " is not allowed on " + std::string(resource));
}

/// Sub-resources, and what S3 calls the operations on them, less the "Get" or "Put". Those of buckets and of
/// keys do not overlap in meaning, so one table serves both.
struct SubResource {
  std::string_view query;
  std::string_view name;
};
constexpr std::array kSubResources = {
    SubResource{"acl", "Acl"},
    SubResource{"accelerate", "BucketAccelerateConfiguration"},
    SubResource{"analytics", "BucketAnalyticsConfiguration"},
    SubResource{"attributes", "ObjectAttributes"},
    SubResource{"cors", "BucketCors"},
    SubResource{"encryption", "BucketEncryption"},
    SubResource{"intelligent-tiering", "BucketIntelligentTieringConfiguration"},
    SubResource{"inventory", "BucketInventoryConfiguration"},
    SubResource{"legal-hold", "ObjectLegalHold"},
    SubResource{"lifecycle", "BucketLifecycleConfiguration"},
    SubResource{"logging", "BucketLogging"},
    SubResource{"metrics", "BucketMetricsConfiguration"},
    SubResource{"notification", "BucketNotificationConfiguration"},
    SubResource{"object-lock", "ObjectLockConfiguration"},
    SubResource{"ownershipControls", "BucketOwnershipControls"},
    SubResource{"policy", "BucketPolicy"},
    SubResource{"policyStatus", "BucketPolicyStatus"},
    SubResource{"publicAccessBlock", "PublicAccessBlock"},
    SubResource{"replication", "BucketReplication"},
    SubResource{"requestPayment", "BucketRequestPayment"},
    SubResource{"restore", "RestoreObject"},
    SubResource{"retention", "ObjectRetention"},
    SubResource{"select", "SelectObjectContent"},
    SubResource{"tagging", "Tagging"},
    SubResource{"torrent", "ObjectTorrent"},
    SubResource{"versioning", "BucketVersioning"},
    SubResource{"versions", "ObjectVersions"},
    SubResource{"website", "BucketWebsite"},
};

/// Everything in the query that the operation does not know changes its meaning for all that we can tell.
Result<Operation> with_query(Operation operation, const s3::Query& query,
                             std::initializer_list<std::string_view> known) {
  for (const s3::QueryParameter& parameter : query.all()) {
    // SDKs name the operation once more in x-id.
    if (parameter.name == "x-id") continue;
    if (std::find(known.begin(), known.end(), parameter.name) == known.end()) {
      return not_implemented(std::string(to_string(operation)) + " with the query parameter '" +
                             parameter.name.substr(0, 64) + "'");
    }
  }
  return operation;
}

/// Request headers that must not be ignored.
Result<void> check_headers(const HeaderList& headers) {
  constexpr std::array<std::string_view, 10> kRefusedPrefixes = {"x-amz-server-side-encryption",
                                                                 "x-amz-object-lock-",
                                                                 "x-amz-tagging",
                                                                 "x-amz-website-redirect-location",
                                                                 "x-amz-grant-",
                                                                 "x-amz-write-offset-bytes",
                                                                 "x-amz-if-match-",
                                                                 "x-amz-expected-bucket-owner",
                                                                 "x-amz-bucket-object-lock-enabled",
                                                                 "x-amz-object-ownership"};
  for (const Header& field : headers) {
    if (!field.name.starts_with(s3::header::kAmzPrefix)) continue;
    for (const std::string_view prefix : kRefusedPrefixes) {
      if (field.name.starts_with(prefix)) return not_implemented("the header " + field.name);
    }
    if (field.name == "x-amz-acl" && field.value != "private" && field.value != "bucket-owner-full-control") {
      return not_implemented("another x-amz-acl than private");
    }
    if (field.name == "x-amz-storage-class" && field.value != "STANDARD") {
      return s3::make_error("InvalidStorageClass", "only the storage class STANDARD exists here");
    }
  }
  return {};
}

std::optional<Error> sub_resource(std::string_view method, const s3::Query& query) {
  for (const SubResource& known : kSubResources) {
    if (!query.has(known.query)) continue;
    const std::string_view verb = method == "PUT"      ? "Put"
                                  : method == "DELETE" ? "Delete"
                                  : method == "POST"   ? ""
                                                       : "Get";
    const bool has_verb = known.name.starts_with("RestoreO") || known.name.starts_with("SelectO");
    return not_implemented((has_verb ? std::string() : std::string(verb)) + std::string(known.name));
  }
  return std::nullopt;
}

Result<Operation> route_bucket(std::string_view method, const s3::Target& target) {
  const s3::Query& query = target.query;
  if (method == "POST") {
    if (query.has("delete")) return not_implemented("DeleteObjects");
    return not_implemented("PostObject");
  }
  if (auto refused = sub_resource(method, query)) return *std::move(refused);
  if (query.has("uploads")) return not_implemented("ListMultipartUploads");
  if (method == "GET") {
    if (query.has("location")) return with_query(Operation::get_bucket_location, query, {"location"});
    if (query.find("list-type") != "2")
      return not_implemented("ListObjects version 1; list with list-type=2: it");
    return with_query(Operation::list_objects_v2, query,
                      {"list-type", "prefix", "delimiter", "max-keys", "continuation-token", "start-after",
                       "encoding-type", "fetch-owner"});
  }
  if (method == "HEAD") return with_query(Operation::head_bucket, query, {});
  if (method == "PUT") return with_query(Operation::create_bucket, query, {});
  if (method == "DELETE") return with_query(Operation::delete_bucket, query, {});
  return method_not_allowed(method, "a bucket");
}

Result<Operation> route_object(std::string_view method, const s3::Target& target, const HeaderList& headers) {
  const s3::Query& query = target.query;
  if (query.has("uploads")) return not_implemented("CreateMultipartUpload");
  if (query.has("uploadId") || (method == "PUT" && query.has("partNumber"))) {
    if (method == "PUT")
      return not_implemented(headers.has(s3::header::kCopySource) ? "UploadPartCopy" : "UploadPart");
    if (method == "POST") return not_implemented("CompleteMultipartUpload");
    if (method == "DELETE") return not_implemented("AbortMultipartUpload");
    return not_implemented("ListParts");
  }
  if (auto refused = sub_resource(method, query)) return *std::move(refused);
  if (method == "GET") {
    return with_query(
        Operation::get_object, query,
        {"response-content-type", "response-content-language", "response-expires", "response-cache-control",
         "response-content-disposition", "response-content-encoding"});
  }
  if (method == "HEAD") return with_query(Operation::head_object, query, {});
  if (method == "PUT") {
    if (headers.has(s3::header::kCopySource)) return not_implemented("CopyObject");
    return with_query(Operation::put_object, query, {});
  }
  if (method == "DELETE") {
    // RFC 9110 preconditions on a DELETE are not evaluated here, so they must not be ignored either.
    if (headers.has(s3::header::kIfMatch)) return not_implemented("DeleteObject with If-Match");
    return with_query(Operation::delete_object, query, {});
  }
  return method_not_allowed(method, "an object");
}

}  // namespace

Error not_implemented(std::string_view what) {
  return s3::make_error("NotImplemented", std::string(what) + " is not implemented by this gateway");
}

std::string_view to_string(Operation operation) noexcept {
  switch (operation) {
    case Operation::list_buckets:
      return "ListBuckets";
    case Operation::create_bucket:
      return "CreateBucket";
    case Operation::head_bucket:
      return "HeadBucket";
    case Operation::delete_bucket:
      return "DeleteBucket";
    case Operation::get_bucket_location:
      return "GetBucketLocation";
    case Operation::list_objects_v2:
      return "ListObjectsV2";
    case Operation::put_object:
      return "PutObject";
    case Operation::get_object:
      return "GetObject";
    case Operation::head_object:
      return "HeadObject";
    case Operation::delete_object:
      return "DeleteObject";
    case Operation::discovery:
      return "Discovery";
    case Operation::unknown:
      break;
  }
  return "Unknown";
}

bool writes(Operation operation) noexcept {
  switch (operation) {
    case Operation::create_bucket:
    case Operation::delete_bucket:
    case Operation::put_object:
    case Operation::delete_object:
      return true;
    default:
      return false;
  }
}

bool is_discovery(std::string_view raw_target) {
  return raw_target.substr(0, raw_target.find('?')) == s3::kDiscoveryTarget;
}

Result<Operation> route(std::string_view method, const s3::Target& target, const HeaderList& headers) {
  if (auto fine = check_headers(headers); !fine) return std::move(fine).error();
  if (target.bucket.empty()) {
    if (!target.key.empty())
      return s3::make_error("InvalidBucketName", "the target has an empty bucket name");
    if (method != "GET") return method_not_allowed(method, "the service");
    return with_query(Operation::list_buckets, target.query, {});
  }
  return target.key.empty() ? route_bucket(method, target) : route_object(method, target, headers);
}

}  // namespace sluice::gateway
