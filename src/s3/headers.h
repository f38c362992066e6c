// Names of the headers that S3 and S3 over RDMA use, in lower case as they are sent and signed.
#pragma once

#include <string_view>

#include "base/headers.h"

namespace sluice::s3::header {

// The RDMA dialect (protocol.md 2.1 and 3.5).
inline constexpr std::string_view kRdmaToken = "x-amz-rdma-token";
inline constexpr std::string_view kRdmaReply = "x-amz-rdma-reply";
inline constexpr std::string_view kRdmaBytesTransferred = "x-amz-rdma-bytes-transferred";
inline constexpr std::string_view kRdmaBytes = "x-amz-rdma-bytes";  ///< older spelling: read, not sent
inline constexpr std::string_view kRdmaChecksumAlgorithm = "x-amz-rdma-checksum-algorithm";
inline constexpr std::string_view kRdmaChecksum = "x-amz-rdma-checksum";
inline constexpr std::string_view kRdmaPrefix = "x-amz-rdma-";

// S3.
inline constexpr std::string_view kAmzPrefix = "x-amz-";
inline constexpr std::string_view kMetaPrefix = "x-amz-meta-";
inline constexpr std::string_view kContentSha256 = "x-amz-content-sha256";
inline constexpr std::string_view kAmzDate = "x-amz-date";
inline constexpr std::string_view kSecurityToken = "x-amz-security-token";
inline constexpr std::string_view kRequestId = "x-amz-request-id";
inline constexpr std::string_view kHostId = "x-amz-id-2";
inline constexpr std::string_view kBucketRegion = "x-amz-bucket-region";
inline constexpr std::string_view kChecksumPrefix = "x-amz-checksum-";
inline constexpr std::string_view kChecksumMode = "x-amz-checksum-mode";
inline constexpr std::string_view kChecksumAlgorithm = "x-amz-checksum-algorithm";
inline constexpr std::string_view kChecksumType = "x-amz-checksum-type";
inline constexpr std::string_view kSdkChecksumAlgorithm = "x-amz-sdk-checksum-algorithm";
inline constexpr std::string_view kChecksumCrc64nvme = "x-amz-checksum-crc64nvme";
inline constexpr std::string_view kChecksumCrc32c = "x-amz-checksum-crc32c";
inline constexpr std::string_view kChecksumCrc32 = "x-amz-checksum-crc32";
inline constexpr std::string_view kChecksumSha256 = "x-amz-checksum-sha256";
inline constexpr std::string_view kChecksumSha1 = "x-amz-checksum-sha1";
inline constexpr std::string_view kCopySource = "x-amz-copy-source";
inline constexpr std::string_view kDecodedContentLength = "x-amz-decoded-content-length";
inline constexpr std::string_view kTrailer = "x-amz-trailer";
inline constexpr std::string_view kMissingMeta = "x-amz-missing-meta";

// HTTP.
inline constexpr std::string_view kAcceptRanges = "accept-ranges";
inline constexpr std::string_view kAllow = "allow";
inline constexpr std::string_view kAuthorization = "authorization";
inline constexpr std::string_view kCacheControl = "cache-control";
inline constexpr std::string_view kConnection = "connection";
inline constexpr std::string_view kContentDisposition = "content-disposition";
inline constexpr std::string_view kContentEncoding = "content-encoding";
inline constexpr std::string_view kContentLanguage = "content-language";
inline constexpr std::string_view kContentLength = "content-length";
inline constexpr std::string_view kContentMd5 = "content-md5";
inline constexpr std::string_view kContentRange = "content-range";
inline constexpr std::string_view kContentType = "content-type";
inline constexpr std::string_view kDate = "date";
inline constexpr std::string_view kEtag = "etag";
inline constexpr std::string_view kExpect = "expect";
inline constexpr std::string_view kExpires = "expires";
inline constexpr std::string_view kHost = "host";
inline constexpr std::string_view kIfMatch = "if-match";
inline constexpr std::string_view kIfModifiedSince = "if-modified-since";
inline constexpr std::string_view kIfNoneMatch = "if-none-match";
inline constexpr std::string_view kIfUnmodifiedSince = "if-unmodified-since";
inline constexpr std::string_view kLastModified = "last-modified";
inline constexpr std::string_view kRange = "range";
inline constexpr std::string_view kRetryAfter = "retry-after";
inline constexpr std::string_view kServer = "server";
inline constexpr std::string_view kTransferEncoding = "transfer-encoding";
inline constexpr std::string_view kUserAgent = "user-agent";

}  // namespace sluice::s3::header
