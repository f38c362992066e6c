// A directory store in a temporary folder, for the conformance suite and for tests of its own.
#pragma once

#include <algorithm>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "base/limits.h"
#include "conformance/store_harness.h"
#include "fixtures/temp_dir.h"
#include "store/directory/directory_store.h"

namespace sluice::test {

/// What is in .sluice/tmp besides the locks of living stores.
inline std::vector<std::string> temp_files(const std::filesystem::path& root) {
  std::vector<std::string> names;
  std::error_code gone;
  for (const auto& entry : std::filesystem::directory_iterator(root / ".sluice" / "tmp", gone)) {
    std::string name = entry.path().filename().string();
    if (!name.ends_with(".owner")) names.push_back(std::move(name));
  }
  return names;
}

class DirectoryHarness : public StoreHarness {
 public:
  explicit DirectoryHarness(store::DirectoryStoreOptions options = {}) : pool_(4, limits::kBlockingQueue) {
    if (options.root.empty()) options.root = root_.path().string();
    path_ = options.root;
    auto opened = store::open_directory_store(std::move(options), pool_);
    if (!opened) throw std::runtime_error(opened.error().describe());
    store_ = std::move(*opened);
  }
  ObjectStore& store() override { return *store_; }
  std::vector<std::string> leftovers() override { return temp_files(path_); }
  [[nodiscard]] const std::filesystem::path& path() const { return path_; }
  BlockingPool& pool() { return pool_; }

 private:
  TempDir root_;
  std::filesystem::path path_;
  BlockingPool pool_;
  std::unique_ptr<ObjectStore> store_;
};

}  // namespace sluice::test
