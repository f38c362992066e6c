// The conformance suite on the directory store: both kinds of file system, without attributes, and decorated.
#include "conformance/store_suite.h"
#include "store/directory_harness.h"
#include "store/fault_store.h"

namespace sluice::test {
namespace {

using store::DirectoryStoreOptions;
using store::FsyncPolicy;
using store::StoreAbilities;

// On tmpfs when the machine has it where Debian puts it.
class SharedMemoryHarness final : public DirectoryHarness {
 public:
  explicit SharedMemoryHarness(const std::string& root) : DirectoryHarness(options(root)), root_(root) {}
  ~SharedMemoryHarness() override {
    std::error_code ignored;
    std::filesystem::remove_all(root_, ignored);
  }
  static std::unique_ptr<StoreHarness> make() {
    std::string root = "/dev/shm/sluice-test-XXXXXX";
    if (::mkdtemp(root.data()) == nullptr) return std::make_unique<DirectoryHarness>(fast());
    return std::make_unique<SharedMemoryHarness>(root);
  }
  static DirectoryStoreOptions fast() {
    DirectoryStoreOptions options;
    options.fsync = FsyncPolicy::none;
    return options;
  }

 private:
  static DirectoryStoreOptions options(const std::string& root) {
    DirectoryStoreOptions options = fast();
    options.root = root;
    return options;
  }
  std::string root_;
};

class FaultHarness final : public StoreHarness {
 public:
  FaultHarness() : directory_(std::make_shared<DirectoryHarness>(SharedMemoryHarness::fast())) {
    const std::shared_ptr<ObjectStore> inner(directory_, &directory_->store());
    store_ = store::make_fault_store(inner, std::make_shared<store::FaultPlan>());
  }
  ObjectStore& store() override { return *store_; }
  std::vector<std::string> leftovers() override { return directory_->leftovers(); }

 private:
  std::shared_ptr<DirectoryHarness> directory_;
  std::unique_ptr<ObjectStore> store_;
};

// Whether a file system has user attributes (tmpfs only since Linux 6.6) is asked; what follows from it is
// tested.
StoreAbilities with_attributes_of(StoreHarness& harness) {
  StoreAbilities abilities;
  abilities.any_key = false;
  abilities.user_metadata = harness.store().abilities().user_metadata;
  abilities.stored_checksums = abilities.user_metadata;
  return abilities;
}
StoreAbilities directory_abilities() {
  DirectoryHarness harness(SharedMemoryHarness::fast());
  return with_attributes_of(harness);
}

StoreUnderTest with_policy(std::string name, FsyncPolicy policy) {
  StoreUnderTest store;
  store.name = std::move(name);
  store.abilities = directory_abilities();
  store.make = [policy] {
    DirectoryStoreOptions options;
    options.fsync = policy;
    return std::make_unique<DirectoryHarness>(options);
  };
  return store;
}

StoreUnderTest without_attributes() {
  StoreUnderTest store;
  store.name = "WithoutAttributes";
  store.abilities = directory_abilities();
  store.abilities.user_metadata = false;
  store.abilities.stored_checksums = false;
  store.make = [] {
    DirectoryStoreOptions options = SharedMemoryHarness::fast();
    options.extended_attributes = false;
    return std::make_unique<DirectoryHarness>(options);
  };
  return store;
}

StoreUnderTest on_shared_memory() {
  StoreUnderTest store;
  store.name = "SharedMemory";
  store.abilities = with_attributes_of(*SharedMemoryHarness::make());
  store.make = SharedMemoryHarness::make;
  return store;
}

StoreUnderTest decorated() {
  StoreUnderTest store;
  store.name = "ThroughFaultStore";
  store.abilities = directory_abilities();
  store.make = [] { return std::make_unique<FaultHarness>(); };
  return store;
}

INSTANTIATE_TEST_SUITE_P(Directory, StoreConformance,
                         testing::Values(with_policy("FsyncAlways", FsyncPolicy::always),
                                         with_policy("FsyncData", FsyncPolicy::data),
                                         with_policy("FsyncNone", FsyncPolicy::none), without_attributes(),
                                         on_shared_memory(), decorated()),
                         store_test_name);

}  // namespace
}  // namespace sluice::test
