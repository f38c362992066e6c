// The fabric seam: the two halves that every provider implements, and who owns a window when.
//
// Ownership of a window, as transfers:
//   before mint                the caller owns the bytes
//   mint .. revoke's callback  the *token* owns the window: the peer may read or write it at any moment, the
//   caller
//                              keeps its hands off (a put source may be read)
//   callback says fenced       the caller owns the bytes again; no RDMA touches them any more, whatever the
//   peer does callback says quarantined  the memory is lost to the caller until the process ends or a later
//   fence succeeds;
//                              the region stays referenced so that pooled memory is not reused
// If the peer's process dies in between nothing changes: revoke still has to be called.
//
// Ownership of local memory given to Target::write/read: the fabric's until the completion runs, the caller's
// after. A completion that reports an error has already taken the memory back from the fabric (by retiring
// the lane).
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/deadline.h"
#include "fabric/window.h"
#include "sluice/error.h"

namespace sluice::fabric {

/// How a fabric presents itself in `--fabric`, in results, metrics and the discovery document.
struct FabricIdentity {
  std::string name;           ///< "ofi:net", "ofi:tcp;ofi_rxm", "ofi:verbs;ofi_rxm"
  std::string provider;       ///< the library's own name of the provider, e.g. "net"
  std::string wire_protocol;  ///< two fabrics talk if these are equal, e.g. "xnet", "rxm-tcp"
  std::uint64_t max_window_bytes = 0;
};

enum class FenceOutcome : std::uint8_t { fenced, quarantined };

/// Why a token is revoked: decides how much it takes.
enum class RevokeReason : std::uint8_t {
  completed,  ///< a well-formed success reply was received and checked: the server has no operation left
  doubtful,   ///< anything else: timeout, cancel, error, lost connection, odd reply
};

/// The grant of one window to one server. Move-only; made by ClientFabric::mint, fresh for every posted
/// request.
///
/// Exactly one `revoke` ends it. Destroying it unrevoked (or assigning over it) revokes as doubtful with the
/// default fence deadline and blocks until that is decided. In a forked child (fork.h) the token is forgotten
/// instead, without a call into the provider, and a revoke answers `quarantined`. Thread-safety: one thread
/// at a time.
class Token {
 public:
  /// A provider's side of a token. `revoke` is called exactly once before destruction (never in a forked
  /// child), and the Impl may be destroyed as soon as it returns, `done` pending or not.
  class Impl {
   public:
    virtual ~Impl() = default;
    virtual const std::string& text() const = 0;
    virtual void revoke(RevokeReason reason, Deadline deadline, std::function<void(FenceOutcome)> done) = 0;
  };
  explicit Token(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
  Token(Token&&) noexcept = default;
  Token& operator=(Token&& other) noexcept;
  ~Token();

  /// What goes into x-amz-rdma-token: a capability. Never log it.
  [[nodiscard]] const std::string& text() const { return impl_->text(); }
  /// Ends the grant. `done` runs exactly once, on any thread, possibly before this returns, and no later than
  /// shortly after `deadline`. It must not block.
  void revoke(RevokeReason reason, Deadline deadline, std::function<void(FenceOutcome)> done) &&;
  /// The same, blocking. Never on a thread that the fabric's own progress needs. A provider that has not
  /// answered limits::kFenceGrace after `deadline` counts as `quarantined`.
  [[nodiscard]] FenceOutcome revoke_and_wait(RevokeReason reason, Deadline deadline) &&;
  [[nodiscard]] bool live() const { return impl_ != nullptr; }

 private:
  std::unique_ptr<Impl> impl_;
};

/// What `mint` has to know about the request that will carry the token.
struct MintOptions {
  /// The HTTP connection's own IP address: the lane is bound to it, so that the address in the token and the
  /// address the request comes from agree (design rule 3).
  std::string local_address;
  /// The server that will get the token, as host:port. Lanes are not shared between servers.
  std::string peer;
};

/// The client half: passive. Registers memory, hands out windows, ends grants. Safe from any thread.
class ClientFabric {
 public:
  virtual ~ClientFabric() = default;
  [[nodiscard]] virtual const FabricIdentity& identity() const = 0;
  /// Whether windows of this kind of memory can be minted (else the caller bounces).
  [[nodiscard]] virtual bool reaches(MemoryKind kind) const = 0;
  /// Errors: invalid_argument (window), overloaded (no lane free), unsupported (a forked child), io_error.
  virtual Result<Token> mint(const Window& window, const MintOptions& options) = 0;
  /// Bytes of windows that could not be fenced and are kept out of use.
  [[nodiscard]] virtual std::uint64_t quarantined_bytes() const = 0;
};

/// What the gateway allows a token to do; from the HTTP request, never from the token.
struct OpenPolicy {
  Direction direction = Direction::get;
  /// The address the HTTP request came from: the token's endpoint must have it, unless it is in
  /// `allowed_peers`.
  std::string peer_address;
  std::vector<std::string> allowed_peers;
  /// The HTTP connection's local address, to which the server's lane is bound.
  std::string local_address;
  /// Absolute: nothing is posted after it. Operations in flight then have until `drain` to come home.
  Deadline lease = Deadline::never();
  Deadline drain = Deadline::never();
};

/// Bytes moved, or why not. Errors carry outcome `refused` if the operation was never posted, else
/// `uncertain`.
using Completion = std::function<void(Result<std::uint64_t>)>;

/// A peer's window, opened for one request. Only on its fabric's thread.
///
/// An operation outside the window, an empty one and one against the policy's direction fail with
/// invalid_argument without a post; after `close` everything fails with cancelled, after the lease with
/// lease_expired: all `refused`.
class Target {
 public:
  /// Must be closed first (`close` has called back; destroying it inside that callback is fine).
  virtual ~Target() = default;
  [[nodiscard]] virtual std::uint64_t window_bytes() const = 0;
  [[nodiscard]] virtual std::uint64_t max_operation_bytes() const = 0;
  /// Moves local -> window (GET). `local` stays valid and unchanged until `done`. The completion means that
  /// the bytes are visible in the peer's memory (delivery complete). Operations may complete in any order.
  /// Never calls `done` before returning. Deadline, lease and progress time-outs end it with an error.
  virtual void write(std::uint64_t offset_in_window, std::span<const std::byte> local, Completion done) = 0;
  /// Moves window -> local (PUT). `local` belongs to the fabric until `done`.
  virtual void read(std::uint64_t offset_in_window, std::span<std::byte> local, Completion done) = 0;
  /// No more operations: fails those not yet posted, waits for those in flight until the drain deadline, then
  /// retires the lane under them. `done` runs when none is left (never before this returns).
  virtual void close(std::function<void()> done) = 0;
};

/// What a token's text says, after shape, field, size and wrap checks. Holds a capability: never log it.
struct ParsedToken {
  std::uint64_t base = 0;
  std::uint64_t bytes = 0;
  std::string provider;
  std::vector<std::byte> endpoint_name;
  std::uint64_t key = 0;
};

/// The server half: the initiator. One instance belongs to one thread ("only on its thread" for every call
/// but `identity`). It never blocks; `progress` runs completions. Waiting: poll `wait_descriptor()` for
/// readability after `progress` returned `idle`, and call `progress` again when readable.
class ServerFabric {
 public:
  virtual ~ServerFabric() = default;
  [[nodiscard]] virtual const FabricIdentity& identity() const = 0;
  /// Whether a token of this text is ours to open (provider and wire protocol match).
  [[nodiscard]] virtual bool speaks(const ParsedToken& token) const = 0;
  /// Errors: token_refused (endpoint name malformed, address not allowed, size), overloaded (lanes), all
  /// `refused`.
  virtual Result<std::unique_ptr<Target>> open(const ParsedToken& token, const OpenPolicy& policy) = 0;

  enum class Progress : std::uint8_t { idle, again };
  /// Reaps completions, retries posts that met a full queue, enforces deadlines. Bounded work per call.
  virtual Progress progress() = 0;
  /// Readable when `progress` has something to do (deadlines included). The same descriptor for the whole
  /// life.
  [[nodiscard]] virtual int wait_descriptor() const = 0;
  /// Operations posted and not completed.
  [[nodiscard]] virtual std::size_t outstanding() const = 0;
};

}  // namespace sluice::fabric
