// Process-wide counters and gauges, cheap enough for the data path: relaxed atomics, read when scraped.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>

namespace sluice::metrics {

/// Lives for ever (registered ones are never destroyed), so references may be kept in statics.
class Counter {
 public:
  void add(std::uint64_t n = 1) noexcept { value_.fetch_add(n, std::memory_order_relaxed); }
  void set(std::uint64_t n) noexcept { value_.store(n, std::memory_order_relaxed); }
  void sub(std::uint64_t n = 1) noexcept { value_.fetch_sub(n, std::memory_order_relaxed); }
  [[nodiscard]] std::uint64_t value() const noexcept { return value_.load(std::memory_order_relaxed); }

 private:
  std::atomic<std::uint64_t> value_{0};
};

/// The counter of that name, made on first use. Names as Prometheus spells them:
/// "sluice_gateway_requests_total{operation=\"GetObject\"}". Safe from any thread; keep the reference.
Counter& counter(std::string_view name);
/// Name -> value of all, sorted by name.
std::map<std::string, std::uint64_t> snapshot();

}  // namespace sluice::metrics
