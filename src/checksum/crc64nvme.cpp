#include "checksum/crc64nvme.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <system_error>
#include <thread>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace sluice {

namespace {

constexpr std::uint64_t kPolynomial = 0x9a6c9329ac4bc9b5;  // reflected: bit 63 is x^0

/// A reflected word times x, modulo the polynomial.
constexpr std::uint64_t times_x(std::uint64_t a) {
  return (a >> 1U) ^ ((a & 1U) != 0 ? kPolynomial : 0);
}

/// x^n modulo the polynomial, reflected. Compile time only.
constexpr std::uint64_t power_of_x(std::uint64_t n) {
  std::uint64_t value = 1ULL << 63U;
  for (std::uint64_t i = 0; i < n; ++i) value = times_x(value);
  return value;
}

constexpr std::uint64_t multiply(std::uint64_t a, std::uint64_t b) {
  std::uint64_t product = 0;
  for (int bit = 63; bit >= 0; --bit) {
    if ((a >> static_cast<unsigned>(bit) & 1U) != 0) product ^= b;
    b = times_x(b);
  }
  return product;
}

using Table = std::array<std::array<std::uint64_t, 256>, 8>;

constexpr Table make_tables() {
  Table table{};
  for (unsigned byte = 0; byte < 256; ++byte) {
    std::uint64_t value = byte;
    for (int bit = 0; bit < 8; ++bit) value = times_x(value);
    table[0][byte] = value;
  }
  for (std::size_t slice = 1; slice < 8; ++slice) {
    for (unsigned byte = 0; byte < 256; ++byte) {
      const std::uint64_t below = table[slice - 1][byte];
      table[slice][byte] = (below >> 8U) ^ table[0][below & 0xffU];
    }
  }
  return table;
}
constexpr Table kTables = make_tables();

/// Slice-by-8 on the inner state (without the inversions at both ends).
std::uint64_t advance_portable(const std::byte* at, std::size_t count, std::uint64_t state) {
  if constexpr (std::endian::native == std::endian::little) {
    for (; count >= 8; count -= 8, at += 8) {
      std::uint64_t word = 0;
      std::memcpy(&word, at, 8);
      word ^= state;
      state = 0;
      for (unsigned i = 0; i < 8; ++i) state ^= kTables[7 - i][word >> 8U * i & 0xffU];
    }
  }
  for (; count > 0; --count, ++at)
    state = (state >> 8U) ^ kTables[0][(state ^ std::to_integer<std::uint64_t>(*at)) & 0xffU];
  return state;
}

std::uint64_t update_portable(std::span<const std::byte> bytes, std::uint64_t before) {
  return ~advance_portable(bytes.data(), bytes.size(), ~before);
}

#if defined(__x86_64__)

// Folding: 128 bits of state stand for lo * x^64 + hi (lo holds the earlier bytes). Moving them D bits ahead
// is lo * x^(D+64) + hi * x^D; a carry-less product of reflected words is one x too high, hence the -1.
struct FoldConstants {
  std::uint64_t low;
  std::uint64_t high;
};
constexpr FoldConstants fold_by(std::uint64_t bits) {
  return {power_of_x(bits + 63), power_of_x(bits - 1)};
}
constexpr FoldConstants kFold128 = fold_by(128);
constexpr FoldConstants kFold512 = fold_by(512);
constexpr FoldConstants kFold1024 = fold_by(1024);
constexpr FoldConstants kFold2048 = fold_by(2048);

#define SLUICE_PCLMUL __attribute__((target("pclmul,sse4.1")))
#define SLUICE_VPCLMUL256 __attribute__((target("vpclmulqdq,pclmul,avx2")))
#define SLUICE_VPCLMUL512 __attribute__((target("vpclmulqdq,pclmul,avx512f,avx512vl,avx2")))

SLUICE_PCLMUL inline __m128i load(const std::byte* at) {
  return _mm_loadu_si128(reinterpret_cast<const __m128i*>(at));
}
SLUICE_PCLMUL inline __m128i constants(FoldConstants c) {
  return _mm_set_epi64x(static_cast<long long>(c.high), static_cast<long long>(c.low));
}
SLUICE_PCLMUL inline __m128i fold(__m128i state, __m128i k, __m128i next) {
  return _mm_xor_si128(
      _mm_xor_si128(_mm_clmulepi64_si128(state, k, 0x00), _mm_clmulepi64_si128(state, k, 0x11)), next);
}

/// Folds whole 16-byte blocks into `state`, then brings it and the rest down to 64 bits.
SLUICE_PCLMUL std::uint64_t finish(__m128i state, const std::byte* at, std::size_t count) {
  const __m128i k = constants(kFold128);
  for (; count >= 16; count -= 16, at += 16) state = fold(state, k, load(at));
  std::array<std::byte, 16> folded;
  _mm_storeu_si128(reinterpret_cast<__m128i*>(folded.data()), state);
  return advance_portable(at, count, advance_portable(folded.data(), folded.size(), 0));
}

SLUICE_PCLMUL std::uint64_t update_pclmul(std::span<const std::byte> bytes, std::uint64_t before) {
  const std::byte* at = bytes.data();
  std::size_t count = bytes.size();
  if (count < 64) return update_portable(bytes, before);
  __m128i s0 = _mm_xor_si128(load(at), _mm_set_epi64x(0, std::bit_cast<long long>(~before)));
  __m128i s1 = load(at + 16);
  __m128i s2 = load(at + 32);
  __m128i s3 = load(at + 48);
  at += 64;
  count -= 64;
  const __m128i k = constants(kFold512);
  for (; count >= 64; count -= 64, at += 64) {
    s0 = fold(s0, k, load(at));
    s1 = fold(s1, k, load(at + 16));
    s2 = fold(s2, k, load(at + 32));
    s3 = fold(s3, k, load(at + 48));
  }
  const __m128i near = constants(kFold128);
  const __m128i state = fold(fold(fold(s0, near, s1), near, s2), near, s3);
  return ~finish(state, at, count);
}

SLUICE_VPCLMUL256 inline __m256i load256(const std::byte* at) {
  return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(at));
}
SLUICE_VPCLMUL256 inline __m256i fold256(__m256i state, __m256i k, __m256i next) {
  return _mm256_xor_si256(
      _mm256_xor_si256(_mm256_clmulepi64_epi128(state, k, 0x00), _mm256_clmulepi64_epi128(state, k, 0x11)),
      next);
}

SLUICE_VPCLMUL256 std::uint64_t update_vpclmul256(std::span<const std::byte> bytes, std::uint64_t before) {
  const std::byte* at = bytes.data();
  std::size_t count = bytes.size();
  if (count < 256) return update_pclmul(bytes, before);
  __m256i s0 = _mm256_xor_si256(load256(at), _mm256_set_epi64x(0, 0, 0, std::bit_cast<long long>(~before)));
  __m256i s1 = load256(at + 32);
  __m256i s2 = load256(at + 64);
  __m256i s3 = load256(at + 96);
  at += 128;
  count -= 128;
  const __m256i k = _mm256_broadcastsi128_si256(constants(kFold1024));
  for (; count >= 128; count -= 128, at += 128) {
    s0 = fold256(s0, k, load256(at));
    s1 = fold256(s1, k, load256(at + 32));
    s2 = fold256(s2, k, load256(at + 64));
    s3 = fold256(s3, k, load256(at + 96));
  }
  const __m128i near = constants(kFold128);
  __m128i state = fold(_mm256_castsi256_si128(s0), near, _mm256_extracti128_si256(s0, 1));
  for (const __m256i part : {s1, s2, s3}) {
    state = fold(state, near, _mm256_castsi256_si128(part));
    state = fold(state, near, _mm256_extracti128_si256(part, 1));
  }
  return ~finish(state, at, count);
}

// g++ 12's own header reads an undefined register on purpose (GCC PR 105593).
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wuninitialized"
#if !defined(__clang__)
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif
SLUICE_VPCLMUL512 inline __m512i load512(const std::byte* at) {
  return _mm512_loadu_si512(at);
}
SLUICE_VPCLMUL512 inline __m512i fold512(__m512i state, __m512i k, __m512i next) {
  return _mm512_ternarylogic_epi64(_mm512_clmulepi64_epi128(state, k, 0x00),
                                   _mm512_clmulepi64_epi128(state, k, 0x11), next, 0x96);
}

SLUICE_VPCLMUL512 std::uint64_t update_vpclmul512(std::span<const std::byte> bytes, std::uint64_t before) {
  const std::byte* at = bytes.data();
  std::size_t count = bytes.size();
  if (count < 512) return update_pclmul(bytes, before);
  __m512i s0 = _mm512_xor_si512(load512(at),
                                _mm512_zextsi128_si512(_mm_set_epi64x(0, std::bit_cast<long long>(~before))));
  __m512i s1 = load512(at + 64);
  __m512i s2 = load512(at + 128);
  __m512i s3 = load512(at + 192);
  at += 256;
  count -= 256;
  const __m512i k = _mm512_broadcast_i32x4(constants(kFold2048));
  for (; count >= 256; count -= 256, at += 256) {
    s0 = fold512(s0, k, load512(at));
    s1 = fold512(s1, k, load512(at + 64));
    s2 = fold512(s2, k, load512(at + 128));
    s3 = fold512(s3, k, load512(at + 192));
  }
  std::array<std::byte, 256> parts;
  _mm512_storeu_si512(parts.data(), s0);
  _mm512_storeu_si512(parts.data() + 64, s1);
  _mm512_storeu_si512(parts.data() + 128, s2);
  _mm512_storeu_si512(parts.data() + 192, s3);
  const __m128i near = constants(kFold128);
  __m128i state = load(parts.data());
  for (std::size_t i = 16; i < parts.size(); i += 16) state = fold(state, near, load(parts.data() + i));
  return ~finish(state, at, count);
}

#pragma GCC diagnostic pop
#endif

}  // namespace

const std::vector<Crc64Implementation>& crc64nvme_implementations() {
  static const std::vector<Crc64Implementation> usable = [] {
    std::vector<Crc64Implementation> found = {{"portable", update_portable}};
#if defined(__x86_64__)
    __builtin_cpu_init();
    const bool pclmul = __builtin_cpu_supports("pclmul") != 0 && __builtin_cpu_supports("sse4.1") != 0;
    const bool wide =
        pclmul && __builtin_cpu_supports("vpclmulqdq") != 0 && __builtin_cpu_supports("avx2") != 0;
    const bool widest =
        wide && __builtin_cpu_supports("avx512f") != 0 && __builtin_cpu_supports("avx512vl") != 0;
    if (pclmul) found.push_back({"pclmul", update_pclmul});
    if (wide) found.push_back({"vpclmul-256", update_vpclmul256});
    if (widest) found.push_back({"vpclmul-512", update_vpclmul512});
#endif
    return found;
  }();
  return usable;
}

std::uint64_t crc64nvme(std::span<const std::byte> bytes, std::uint64_t before) {
  static const auto update = crc64nvme_implementations().back().update;
  return update(bytes, before);
}

std::uint64_t crc64nvme_combine(std::uint64_t of_a, std::uint64_t of_b, std::uint64_t bytes_of_b) {
  // of_a * x^(8 * bytes_of_b) by repeated squaring; the inversions at both ends cancel out.
  std::uint64_t shift = power_of_x(8);
  std::uint64_t value = of_a;
  for (std::uint64_t rest = bytes_of_b; rest > 0; rest >>= 1U) {
    if ((rest & 1U) != 0) value = multiply(value, shift);
    shift = multiply(shift, shift);
  }
  return value ^ of_b;
}

std::uint64_t crc64nvme_parallel(std::span<const std::byte> bytes, std::size_t threads) {
  // A thread costs some 30 us to start, which is what 512 KiB take to sum.
  constexpr std::size_t kWorthAThread = 4U << 20U;
  const std::size_t cores = std::max(1U, std::thread::hardware_concurrency());
  const std::size_t parts = std::min({threads, cores, bytes.size() / kWorthAThread});
  if (parts < 2) return crc64nvme(bytes);
  const std::size_t piece = bytes.size() / parts;
  std::vector<std::uint64_t> sums(parts);
  std::vector<std::thread> workers;
  const auto part_of = [&](std::size_t i) {
    return i + 1 == parts ? bytes.subspan(i * piece) : bytes.subspan(i * piece, piece);
  };
  workers.reserve(parts - 1);
  try {
    for (std::size_t i = 1; i < parts; ++i) {
      workers.emplace_back([&sums, part = part_of(i), i] { sums[i] = crc64nvme(part); });
    }
  } catch (const std::system_error&) {  // no more threads for this process: its share is done below
  }
  sums[0] = crc64nvme(part_of(0));
  for (std::size_t i = workers.size() + 1; i < parts; ++i) sums[i] = crc64nvme(part_of(i));
  for (auto& worker : workers) worker.join();
  std::uint64_t total = sums[0];
  for (std::size_t i = 1; i < parts; ++i) total = crc64nvme_combine(total, sums[i], part_of(i).size());
  return total;
}

}  // namespace sluice
