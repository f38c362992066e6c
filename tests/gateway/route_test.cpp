#include "gateway/route.h"

#include <gtest/gtest.h>

#include "fixtures/matchers.h"

namespace sluice::gateway {
namespace {

using test::Fails;
using test::IsOkAndHolds;

Result<Operation> route_of(std::string_view method, std::string_view target, HeaderList headers = {}) {
  auto parsed = s3::parse_target(target);
  if (!parsed) return std::move(parsed).error();
  return route(method, *parsed, headers);
}

TEST(RouteTest, EveryOperationHasItsMethodAndTarget) {
  EXPECT_THAT(route_of("GET", "/"), IsOkAndHolds(Operation::list_buckets));
  EXPECT_THAT(route_of("GET", "/?x-id=ListBuckets"), IsOkAndHolds(Operation::list_buckets));
  EXPECT_THAT(route_of("PUT", "/bucket"), IsOkAndHolds(Operation::create_bucket));
  EXPECT_THAT(route_of("PUT", "/bucket/"), IsOkAndHolds(Operation::create_bucket));
  EXPECT_THAT(route_of("HEAD", "/bucket"), IsOkAndHolds(Operation::head_bucket));
  EXPECT_THAT(route_of("DELETE", "/bucket"), IsOkAndHolds(Operation::delete_bucket));
  EXPECT_THAT(route_of("GET", "/bucket?location"), IsOkAndHolds(Operation::get_bucket_location));
  EXPECT_THAT(route_of("GET", "/bucket?list-type=2&prefix=a%2F&delimiter=%2F&encoding-type=url&max-keys=7"),
              IsOkAndHolds(Operation::list_objects_v2));
  EXPECT_THAT(route_of("GET", "/bucket/key"), IsOkAndHolds(Operation::get_object));
  EXPECT_THAT(route_of("GET", "/bucket/key?response-content-type=text%2Fplain"),
              IsOkAndHolds(Operation::get_object));
  EXPECT_THAT(route_of("HEAD", "/bucket/a//b/"), IsOkAndHolds(Operation::head_object));
  EXPECT_THAT(route_of("PUT", "/bucket/key?x-id=PutObject"), IsOkAndHolds(Operation::put_object));
  EXPECT_THAT(route_of("DELETE", "/bucket/key"), IsOkAndHolds(Operation::delete_object));
}

TEST(RouteTest, WhatIsNotDoneIsNamedAndNeverTakenForAPlainOperation) {
  const auto unsupported = [](std::string_view name) { return Fails(ErrorCode::unsupported, name); };
  EXPECT_THAT(route_of("GET", "/bucket/key?acl"), unsupported("GetAcl"));
  EXPECT_THAT(route_of("PUT", "/bucket/key?acl"), unsupported("PutAcl"));
  EXPECT_THAT(route_of("DELETE", "/bucket/key?tagging"), unsupported("DeleteTagging"));
  EXPECT_THAT(route_of("PUT", "/bucket?versioning"), unsupported("PutBucketVersioning"));
  EXPECT_THAT(route_of("GET", "/bucket?versions"), unsupported("GetObjectVersions"));
  EXPECT_THAT(route_of("DELETE", "/bucket?policy"), unsupported("DeleteBucketPolicy"));
  EXPECT_THAT(route_of("POST", "/bucket/key?uploads"), unsupported("CreateMultipartUpload"));
  EXPECT_THAT(route_of("PUT", "/bucket/key?partNumber=1&uploadId=u"), unsupported("UploadPart"));
  EXPECT_THAT(route_of("PUT", "/bucket/key?partNumber=1"), unsupported("UploadPart"));
  EXPECT_THAT(route_of("POST", "/bucket/key?uploadId=u"), unsupported("CompleteMultipartUpload"));
  EXPECT_THAT(route_of("DELETE", "/bucket/key?uploadId=u"), unsupported("AbortMultipartUpload"));
  EXPECT_THAT(route_of("GET", "/bucket?uploads"), unsupported("ListMultipartUploads"));
  EXPECT_THAT(route_of("POST", "/bucket?delete"), unsupported("DeleteObjects"));
  EXPECT_THAT(route_of("POST", "/bucket"), unsupported("PostObject"));
  EXPECT_THAT(route_of("GET", "/bucket"), unsupported("list-type=2"));
  EXPECT_THAT(route_of("GET", "/bucket/key?versionId=7"), unsupported("versionId"));
  EXPECT_THAT(route_of("DELETE", "/bucket/key?versionId=7"), unsupported("versionId"));
  EXPECT_THAT(route_of("GET", "/bucket/key?partNumber=1"), unsupported("partNumber"));
  EXPECT_THAT(route_of("PUT", "/bucket/key?append"), unsupported("append"));
  EXPECT_THAT(route_of("PUT", "/bucket/key", {{"x-amz-copy-source", "/a/b"}}), unsupported("CopyObject"));
  EXPECT_THAT(route_of("PUT", "/bucket/key", {{"x-amz-server-side-encryption", "AES256"}}),
              unsupported("x-amz-server-side-encryption"));
  EXPECT_THAT(route_of("PUT", "/bucket/key", {{"x-amz-write-offset-bytes", "7"}}),
              unsupported("x-amz-write-offset-bytes"));
  EXPECT_THAT(route_of("PUT", "/bucket/key", {{"x-amz-acl", "public-read"}}), unsupported("x-amz-acl"));
  EXPECT_THAT(route_of("DELETE", "/bucket/key", {{"if-match", "\"x\""}}), unsupported("If-Match"));
  EXPECT_THAT(route_of("PUT", "/bucket/key", {{"x-amz-storage-class", "GLACIER"}}),
              Fails(ErrorCode::invalid_argument, "STANDARD"));
}

TEST(RouteTest, HeadersWithoutConsequenceDoNotDisturb) {
  EXPECT_THAT(route_of("PUT", "/bucket/key", {{"x-amz-acl", "private"}, {"x-amz-storage-class", "STANDARD"}}),
              IsOkAndHolds(Operation::put_object));
  EXPECT_THAT(route_of("GET", "/bucket/key", {{"x-amz-checksum-mode", "ENABLED"}}),
              IsOkAndHolds(Operation::get_object));
}

TEST(RouteTest, OtherMethodsAreNotAllowed) {
  for (const auto* target : {"/", "/bucket", "/bucket/key"}) {
    const auto refused = route_of("PATCH", target);
    ASSERT_FALSE(refused.has_value()) << target;
    EXPECT_EQ(refused.error().s3().code, "MethodNotAllowed") << target;
  }
  EXPECT_EQ(route_of("POST", "/bucket/key").error().s3().http_status, 405);
  EXPECT_EQ(route_of("PUT", "//key").error().s3().code, "InvalidBucketName");
}

TEST(RouteTest, OnlyTheDiscoveryTargetIsUnsigned) {
  EXPECT_TRUE(is_discovery("/.well-known/s3-rdma"));
  EXPECT_TRUE(is_discovery("/.well-known/s3-rdma?x=1"));
  EXPECT_FALSE(is_discovery("/.well-known/s3-rdma/"));
  EXPECT_FALSE(is_discovery("/bucket/.well-known/s3-rdma"));
  EXPECT_FALSE(is_discovery("/%2Ewell-known/s3-rdma"));
}

}  // namespace
}  // namespace sluice::gateway
