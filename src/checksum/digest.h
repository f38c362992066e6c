// Cryptographic digests (OpenSSL behind it): signatures and the checks of HTTP bodies.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sluice {

/// A running digest. Movable; one thread at a time.
class Digest {
 public:
  static Digest sha256();
  static Digest md5();  ///< for Content-MD5 only
  Digest(Digest&&) noexcept;
  Digest& operator=(Digest&&) noexcept;
  ~Digest();
  void update(std::span<const std::byte> bytes);
  /// Ends it; no update may follow.
  std::vector<std::byte> finish();

 private:
  struct Context;
  explicit Digest(std::unique_ptr<Context> context);
  std::unique_ptr<Context> context_;
};

std::string sha256_hex(std::string_view text);
std::vector<std::byte> hmac_sha256(std::span<const std::byte> key, std::string_view text);

}  // namespace sluice
