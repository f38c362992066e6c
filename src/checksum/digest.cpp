#include "checksum/digest.h"

#include <openssl/evp.h>
#include <openssl/hmac.h>

#include <array>
#include <cstdlib>

#include "base/encoding.h"

namespace sluice {

struct Digest::Context {
  explicit Context(const EVP_MD* kind) : state(EVP_MD_CTX_new()) {
    // Only out of memory or a broken OpenSSL can fail here; nothing may be signed or believed then.
    if (state == nullptr || EVP_DigestInit_ex(state, kind, nullptr) != 1) std::abort();
  }
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;
  ~Context() { EVP_MD_CTX_free(state); }
  EVP_MD_CTX* state;
};

Digest::Digest(std::unique_ptr<Context> context) : context_(std::move(context)) {}
Digest::Digest(Digest&&) noexcept = default;
Digest& Digest::operator=(Digest&&) noexcept = default;
Digest::~Digest() = default;

Digest Digest::sha256() {
  return Digest(std::make_unique<Context>(EVP_sha256()));
}
Digest Digest::md5() {
  return Digest(std::make_unique<Context>(EVP_md5()));
}

void Digest::update(std::span<const std::byte> bytes) {
  if (EVP_DigestUpdate(context_->state, bytes.data(), bytes.size()) != 1) std::abort();
}

std::vector<std::byte> Digest::finish() {
  std::array<unsigned char, EVP_MAX_MD_SIZE> out;
  unsigned size = 0;
  if (EVP_DigestFinal_ex(context_->state, out.data(), &size) != 1) std::abort();
  const auto bytes = std::as_bytes(std::span(out)).first(size);
  return {bytes.begin(), bytes.end()};
}

std::string sha256_hex(std::string_view text) {
  Digest digest = Digest::sha256();
  digest.update(as_bytes(text));
  return hex_encode(digest.finish());
}

std::vector<std::byte> hmac_sha256(std::span<const std::byte> key, std::string_view text) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> out;
  unsigned size = 0;
  const auto* data = reinterpret_cast<const unsigned char*>(text.data());
  if (HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()), data, text.size(), out.data(), &size) ==
      nullptr)
    std::abort();
  const auto bytes = std::as_bytes(std::span(out)).first(size);
  return {bytes.begin(), bytes.end()};
}

}  // namespace sluice
