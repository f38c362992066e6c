// Every size, depth and time that Sluice decides by itself, in one place, with the reason beside the number.
// Units are in the names. `sluice doctor` prints them.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>

namespace sluice::limits {

using namespace std::chrono_literals;

inline constexpr std::uint64_t kKiB = 1024;
inline constexpr std::uint64_t kMiB = 1024 * kKiB;
inline constexpr std::uint64_t kGiB = 1024 * kMiB;

// --- data plane
// ---------------------------------------------------------------------------------------------
/// Bytes per RDMA operation: the knee of fabric.md 2.3; also bounds what can land after a revocation.
inline constexpr std::uint64_t kChunkBytes = kMiB;
/// Operations in flight per request (fabric.md 0.11).
inline constexpr std::size_t kChunksInFlight = 4;
/// A token longer than this is refused (protocol.md 2.2).
inline constexpr std::size_t kTokenTextBytes = 1024;
/// Endpoint names in ofi1 tokens (protocol.md 3.6).
inline constexpr std::size_t kEndpointNameBytes = 192;
/// Largest single window: the S3 single-PUT limit.
inline constexpr std::uint64_t kWindowBytes = 5 * kGiB;
/// The gateway's lease for one request is kLease + bytes / kLeaseMinRate (protocol.md 8.4 step 9).
inline constexpr std::chrono::milliseconds kLease = 5s;
inline constexpr std::uint64_t kLeaseMinBytesPerSecond = 32 * kMiB;
/// No lease or drain is longer, whatever a discovery document says: sums of them stay below
/// Deadline::never().
inline constexpr std::chrono::milliseconds kLongestLease = 1000h;
/// How long operations that were posted inside the lease may take to come home before their lane is retired.
inline constexpr std::chrono::milliseconds kDrain = 3s;
/// What the client adds to lease + drain before it calls a request lost.
inline constexpr std::chrono::milliseconds kClientMargin = 1s;
/// No completion for this long on a request: the peer is taken for stopped.
inline constexpr std::chrono::milliseconds kProgressTimeout = 3s;
/// Posting to a peer that never connected fails after this (fabric.md section 8 rule 5).
inline constexpr std::chrono::milliseconds kConnectTimeout = 2s;
/// How long a fence may take before the memory is quarantined.
inline constexpr std::chrono::milliseconds kFenceTimeout = 2s;
/// How far behind its deadline a fence may answer before a blocking caller stops believing in it.
inline constexpr std::chrono::milliseconds kFenceGrace = 1s;
/// Lanes kept per process half; beyond that the least recently used idle one is closed.
inline constexpr std::size_t kClientLanes = 64;
inline constexpr std::size_t kServerLanes = 256;
inline constexpr std::chrono::milliseconds kLaneIdle = 60s;
/// Below this an HTTP body beats a window by far: measured by `make bench`, see docs/benchmarks.md.
inline constexpr std::uint64_t kRdmaThresholdBytes = kMiB;

// --- HTTP
// ---------------------------------------------------------------------------------------------------
inline constexpr std::size_t kHeaderBytes =
    32 * kKiB;  ///< 1 KiB token + 2 KiB metadata + signatures, with room
inline constexpr std::size_t kHeaderCount = 128;
inline constexpr std::size_t kTargetBytes =
    8 * kKiB;  ///< 1024-byte key, every byte percent-encoded, plus query
inline constexpr std::size_t kSocketBufferBytes = 512 * kKiB;  ///< libraries.md finding 2
inline constexpr std::size_t kErrorBodyBytes =
    64 * kKiB;  ///< XML errors and other small replies a client reads
inline constexpr std::size_t kListBodyBytes = 8 * kMiB;  ///< 1000 keys of 1024 bytes, percent-encoded, in XML
inline constexpr std::chrono::milliseconds kHeaderTimeout = 10s;
inline constexpr std::chrono::milliseconds kIdleTimeout = 60s;
inline constexpr std::chrono::milliseconds kBodyProgressTimeout =
    30s;  ///< no byte for this long ends the request
inline constexpr std::chrono::milliseconds kTlsHandshakeTimeout = 10s;
inline constexpr std::chrono::milliseconds kHttpConnectTimeout = 5s;
inline constexpr std::chrono::milliseconds kRequestTimeout = 30s;  ///< client default for small requests
inline constexpr std::size_t kServerConnections = 1024;
inline constexpr std::size_t kConnectionsPerPeer = 256;
inline constexpr std::size_t kClientConnections = 64;
/// What one read of a head asks for: most heads and small bodies fit in one; larger bodies bypass this
/// buffer.
inline constexpr std::size_t kHeadReadBytes = 8 * kKiB;
inline constexpr std::size_t kChunkedReadBytes = 16 * kKiB;  ///< the same for chunk framing
inline constexpr std::size_t kChunkLineBytes = 1 * kKiB;     ///< a chunk's size and its (ignored) extensions
inline constexpr std::size_t kTrailerBytes = 8 * kKiB;       ///< all trailer fields of a chunked body
/// Unread request body that is read and dropped to keep a connection; with more left it is closed instead.
inline constexpr std::uint64_t kDrainBytes = 256 * kKiB;
/// How long a connection that we close goes on reading, so that a reset does not overtake our response.
inline constexpr std::chrono::milliseconds kLingerTimeout = 2s;
/// Over the connection limits: how many at a time get a polite 503, and for how long, before the door is just
/// shut.
inline constexpr std::size_t kRefusalsAtATime = 32;
/// Looks at a peer whose unread bytes hide its closing from readiness events.
inline constexpr std::chrono::milliseconds kPeerCheck = 200ms;
/// Accepting goes on after this when descriptors or memory ran out.
inline constexpr std::chrono::milliseconds kAcceptRetry = 100ms;
inline constexpr int kListenBacklog = 1024;               ///< net.core.somaxconn caps it
inline constexpr int kInterimResponses = 16;              ///< 1xx responses a client skips per request
inline constexpr std::size_t kConnectionWaiters = 16384;  ///< requests that wait for a pooled connection

// --- S3
// -----------------------------------------------------------------------------------------------------
inline constexpr std::size_t kKeyBytes = 1024;
inline constexpr std::uint64_t kObjectPutBytes = 5 * kGiB;
inline constexpr std::size_t kUserMetadataBytes = 2 * kKiB;
inline constexpr std::size_t kListKeys = 1000;
inline constexpr std::chrono::seconds kClockSkew = 15min;
inline constexpr std::size_t kQueryParameters = 64;  ///< the busiest S3 request has about a dozen
inline constexpr std::size_t kSignedHeaders =
    kHeaderCount;  ///< a signature cannot name more than a head can hold
inline constexpr std::size_t kAuthorizationBytes = 8 * kKiB;
inline constexpr int kXmlDepth = 16;  ///< the deepest S3 document has 5 levels
inline constexpr std::size_t kDiscoveryBytes = 64 * kKiB;
inline constexpr int kDiscoveryDepth = 8;             ///< ours has 3 levels
inline constexpr std::size_t kDiscoveryEntries = 64;  ///< fabrics, dialects, checksums: each
/// A body on a successful RDMA reply is drained up to this (one known peer sends 3 bytes, protocol.md 7.31).
inline constexpr std::uint64_t kRdmaReplyBodyBytes = 64;
/// No server may park a client for longer by Retry-After.
inline constexpr std::chrono::seconds kRetryAfterCap = 60s;

// --- gateway
// ------------------------------------------------------------------------------------------------
inline constexpr std::size_t kRequestsInFlight = 256;
inline constexpr std::uint64_t kStagingBytes = 256 * kMiB;  ///< staging memory over all requests
inline constexpr std::size_t kReplayEntries = 1U << 20U;    ///< signatures remembered for the lease window
/// How long an RDMA request waits for staging before it is declined (the client then takes the body), and how
/// long a body waits before 503.
inline constexpr std::chrono::milliseconds kStagingWaitRdma = 500ms;
inline constexpr std::chrono::milliseconds kStagingWaitHttp = 10s;
inline constexpr std::size_t kStagingWaiters = 1024;
/// A fabric reports every operation's end itself within connect and progress time-out; a mover that hears
/// nothing for this long closes the window under it.
inline constexpr std::chrono::milliseconds kCompletionPatience = kConnectTimeout + kProgressTimeout + 1s;
/// How long after lease and drain a mover still waits for the fabric to say that an operation ended; less
/// than kClientMargin.
inline constexpr std::chrono::milliseconds kDrainGrace = 200ms;
/// What stopping may take beyond its deadline: operations in flight come home or their lanes are retired.
inline constexpr std::chrono::milliseconds kStopGrace = kProgressTimeout + 2s;
inline constexpr std::size_t kGatewayThreads = 64;  ///< more workers than any machine has use for
/// Objects up to this go out in one piece with their response head.
inline constexpr std::uint64_t kSingleWriteBytes = 64 * kKiB;
inline constexpr std::size_t kBlockingThreads = 4;  ///< fsync, cold reads, directory walks
inline constexpr std::size_t kBlockingQueue = 4096;
inline constexpr std::chrono::milliseconds kShutdown = 15s;

// --- client
// -------------------------------------------------------------------------------------------------
/// Checksums of less than this are computed where they are needed; longer ones on the hashing threads.
inline constexpr std::uint64_t kInlineHashBytes = kMiB;
inline constexpr std::size_t kHashThreads = 2;
inline constexpr std::chrono::milliseconds kBackoffBase = 50ms;
inline constexpr std::chrono::milliseconds kBackoffCap = 5s;
/// An unreachable fabric is left alone for this long.
inline constexpr std::chrono::milliseconds kFabricRetry = 30s;

// --- directory store
// ----------------------------------------------------------------------------------------
/// Metadata record of an object: ext4 keeps all attributes of a file in one 4096-byte block, shared with
/// others'.
inline constexpr std::size_t kMetadataRecordBytes = 3584;
/// Smaller writes are done where they are: they cost less than the way to the pool and back.
inline constexpr std::size_t kInlineWriteBytes = 64 * kKiB;
inline constexpr std::uint64_t kPreallocateBytes =
    kMiB;  ///< from here on room is reserved before the first byte
inline constexpr std::uint64_t kWritebackBytes =
    16 * kMiB;                               ///< handed to the disk at once, so that fsync is short
inline constexpr int kCommitAttempts = 100;  ///< while others make and remove the same folders
inline constexpr std::size_t kDurableFolders = 1U << 16U;  ///< folders remembered as synced (about 5 MiB)
inline constexpr std::size_t kLinkedFolders =
    4;  ///< links to folders that a listing follows within each other

}  // namespace sluice::limits
