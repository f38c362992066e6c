#include "s3/sha256.h"

#include <openssl/evp.h>
#include <openssl/hmac.h>

#include "base/encoding.h"

namespace sluice::s3 {

std::string sha256_hex(std::string_view text) {
  Sha256 digest{};
  EVP_Digest(text.data(), text.size(), reinterpret_cast<unsigned char*>(digest.data()), nullptr, EVP_sha256(),
             nullptr);
  return hex_encode(digest);
}

Sha256 hmac_sha256(std::span<const std::byte> key, std::string_view text) {
  Sha256 digest{};
  HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()),
       reinterpret_cast<const unsigned char*>(text.data()), text.size(),
       reinterpret_cast<unsigned char*>(digest.data()), nullptr);
  return digest;
}

}  // namespace sluice::s3
