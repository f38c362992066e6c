// A pure map from address ranges to values: which registrations cover these bytes?
#pragma once

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

namespace sluice {

/// Overlapping intervals are allowed (the same buffer may be registered twice). Not thread-safe.
/// `Value` is copyable. Intervals are [begin, begin + bytes), bytes > 0, and do not wrap (checked by the
/// caller).
template <class Value>
class IntervalIndex {
 public:
  using Id = std::uint64_t;
  Id insert(std::uintptr_t begin, std::size_t bytes, Value value) {
    const Id id = next_++;
    by_begin_.emplace(std::pair{begin, id}, Entry{bytes, std::move(value)});
    longest_ = bytes > longest_ ? bytes : longest_;
    begins_.emplace(id, begin);
    return id;
  }
  bool erase(Id id) {
    const auto found = begins_.find(id);
    if (found == begins_.end()) return false;
    by_begin_.erase(std::pair{found->second, id});
    begins_.erase(found);
    return true;
  }
  /// All values whose interval covers every byte of [begin, begin + bytes).
  [[nodiscard]] std::vector<Value> covering(std::uintptr_t begin, std::size_t bytes) const {
    return collect(begin, begin, [&](std::uintptr_t b, std::size_t n) {
      return b <= begin && begin - b <= n && n - (begin - b) >= bytes;
    });
  }
  /// All values whose interval shares at least one byte with [begin, begin + bytes).
  [[nodiscard]] std::vector<Value> overlapping(std::uintptr_t begin, std::size_t bytes) const {
    if (bytes == 0) return {};
    return collect(begin, begin + (bytes - 1), [&](std::uintptr_t b, std::size_t n) {
      return b <= begin ? begin - b < n : b - begin < bytes;
    });
  }
  [[nodiscard]] std::size_t size() const { return by_begin_.size(); }

 private:
  struct Entry {
    std::size_t bytes;
    Value value;
  };
  /// Looks at intervals that begin at or before `last`, going down until even the longest could not reach
  /// `first`.
  template <class Match>
  std::vector<Value> collect(std::uintptr_t first, std::uintptr_t last, Match match) const {
    std::vector<Value> found;
    auto it = by_begin_.upper_bound(std::pair{last, UINT64_MAX});
    while (it != by_begin_.begin()) {
      --it;
      const std::uintptr_t begin = it->first.first;
      if (begin < first && first - begin > longest_) break;
      if (match(begin, it->second.bytes)) found.push_back(it->second.value);
    }
    return found;
  }
  std::map<std::pair<std::uintptr_t, Id>, Entry> by_begin_;
  std::map<Id, std::uintptr_t> begins_;
  std::size_t longest_ = 0;  ///< of all ever inserted: only ever costs a longer search
  Id next_ = 1;
};

}  // namespace sluice
