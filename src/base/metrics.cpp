#include "base/metrics.h"

#include <memory>
#include <mutex>

namespace sluice::metrics {

namespace {

struct Registry {
  std::mutex mutex;
  std::map<std::string, std::unique_ptr<Counter>, std::less<>> counters;
};

/// Never destroyed: counters are used by threads that outlive statics.
Registry& registry() {
  static auto* instance = new Registry;
  return *instance;
}

}  // namespace

Counter& counter(std::string_view name) {
  auto& all = registry();
  const std::lock_guard lock(all.mutex);
  auto found = all.counters.find(name);
  if (found == all.counters.end())
    found = all.counters.emplace(std::string(name), std::make_unique<Counter>()).first;
  return *found->second;
}

std::map<std::string, std::uint64_t> snapshot() {
  auto& all = registry();
  const std::lock_guard lock(all.mutex);
  std::map<std::string, std::uint64_t> values;
  for (const auto& [name, value] : all.counters) values.emplace(name, value->value());
  return values;
}

}  // namespace sluice::metrics
