// The store itself: which calls go to the pool, and what read-only refuses.
#include "store/directory/directory_store.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>
#include <functional>
#include <utility>

#include "base/try.h"
#include "store/directory/buckets.h"
#include "store/directory/errors.h"
#include "store/directory/listing.h"
#include "store/directory/publish.h"
#include "store/directory/reader.h"
#include "store/directory/tree.h"
#include "store/directory/writer.h"

namespace sluice::store {
namespace directory {
namespace {

// For pool calls that have nothing to return.
struct Done {};
Result<Done> done(Result<void> result) {
  if (!result) return std::move(result).error();
  return Done();
}

class DirectoryStore final : public ObjectStore {
 public:
  explicit DirectoryStore(std::unique_ptr<Tree> tree) : tree_(std::move(tree)) {}

  [[nodiscard]] StoreAbilities abilities() const override {
    StoreAbilities abilities;
    abilities.user_metadata = tree_->attributes;
    abilities.stored_checksums = tree_->attributes;
    abilities.any_key = false;
    abilities.read_only = tree_->options.read_only;
    return abilities;
  }

  Task<Result<std::vector<BucketInfo>>> list_buckets() override {
    std::function<Result<std::vector<BucketInfo>>()> call = [this] {
      return directory::list_buckets(*tree_);
    };
    co_return co_await tree_->pool->run<std::vector<BucketInfo>>(std::move(call));
  }

  Task<Result<void>> head_bucket(std::string bucket) override {
    auto folder = tree_->open_bucket(bucket, Lookup::cached);
    if (folder && !*folder) {
      std::function<Result<FileDescriptor>()> call = [this, &bucket] { return tree_->open_bucket(bucket); };
      folder = co_await tree_->pool->run<FileDescriptor>(std::move(call));
    }
    if (!folder) co_return std::move(folder).error();
    co_return Result<void>();
  }

  Task<Result<void>> create_bucket(std::string bucket) override {
    SLUICE_CO_CHECK(writable());
    std::function<Result<Done>()> call = [this, &bucket] {
      return done(directory::create_bucket(*tree_, bucket));
    };
    SLUICE_CO_CHECK(co_await tree_->pool->run<Done>(std::move(call)));
    co_return Result<void>();
  }

  Task<Result<void>> delete_bucket(std::string bucket) override {
    SLUICE_CO_CHECK(writable());
    std::function<Result<Done>()> call = [this, &bucket] {
      return done(directory::delete_bucket(*tree_, bucket));
    };
    SLUICE_CO_CHECK(co_await tree_->pool->run<Done>(std::move(call)));
    co_return Result<void>();
  }

  Task<Result<std::unique_ptr<ObjectReader>>> open(std::string bucket, std::string key) override {
    if (auto opened = open_object(*tree_, bucket, key, Lookup::cached)) co_return std::move(*opened);
    std::function<Result<std::unique_ptr<ObjectReader>>()> call = [this, &bucket, &key] {
      return *open_object(*tree_, bucket, key, Lookup::any);
    };
    co_return co_await tree_->pool->run<std::unique_ptr<ObjectReader>>(std::move(call));
  }

  Task<Result<std::unique_ptr<ObjectWriter>>> create(std::string bucket, std::string key,
                                                     ObjectMetadata metadata,
                                                     std::optional<std::uint64_t> expected_bytes) override {
    SLUICE_CO_CHECK(writable());
    std::function<Result<std::unique_ptr<ObjectWriter>>()> call = [this, &bucket, &key, &metadata,
                                                                   expected_bytes] {
      return create_object(*tree_, std::move(bucket), std::move(key), std::move(metadata), expected_bytes);
    };
    co_return co_await tree_->pool->run<std::unique_ptr<ObjectWriter>>(std::move(call));
  }

  Task<Result<void>> remove(std::string bucket, std::string key) override {
    SLUICE_CO_CHECK(writable());
    std::function<Result<Done>()> call = [this, &bucket, &key] {
      return done(remove_object(*tree_, bucket, key));
    };
    SLUICE_CO_CHECK(co_await tree_->pool->run<Done>(std::move(call)));
    co_return Result<void>();
  }

  Task<Result<ListPage>> list(std::string bucket, ListRequest request) override {
    std::function<Result<ListPage>()> call = [this, &bucket, &request] {
      return list_objects(*tree_, bucket, request);
    };
    co_return co_await tree_->pool->run<ListPage>(std::move(call));
  }

 private:
  Result<void> writable() const {
    if (tree_->options.read_only) return read_only_error();
    return {};
  }

  std::unique_ptr<Tree> tree_;
};

Result<FileDescriptor> open_root(const std::string& path) {
  FileDescriptor root(::open(path.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (root) return root;
  switch (errno) {
    case ENOENT:
      return Error(ErrorCode::not_found, "the folder " + path + " does not exist; make it first (mkdir)")
          .with_native("errno", ENOENT);
    case ENOTDIR:
      return Error(ErrorCode::invalid_argument, path + " is not a folder").with_native("errno", ENOTDIR);
    default:
      return file_error(errno, path);
  }
}

Result<void> check_kernel(int root) {
  const int error = probe_openat2(root);
  if (error == ENOSYS || error == EPERM) {
    return Error(ErrorCode::unsupported,
                 "the directory store needs the system call openat2 (Linux 5.6 or newer, and a container "
                 "runtime whose "
                 "seccomp profile knows it)")
        .with_native("errno", error);
  }
  if (error != 0) return file_error(error, "opening the served folder");
  if (probe_proc(root) != 0) {
    return Error(ErrorCode::unsupported, "the directory store needs /proc to be mounted");
  }
  return {};
}

}  // namespace
}  // namespace directory

Result<FsyncPolicy> parse_fsync_policy(std::string_view text) {
  if (text == "always") return FsyncPolicy::always;
  if (text == "data") return FsyncPolicy::data;
  if (text == "none") return FsyncPolicy::none;
  return Error(ErrorCode::invalid_argument,
               "fsync policy \"" + std::string(text) + "\" is unknown: use always, data or none");
}

Result<std::unique_ptr<ObjectStore>> open_directory_store(DirectoryStoreOptions options, BlockingPool& pool) {
  auto tree = std::make_unique<directory::Tree>();
  tree->pool = &pool;
  SLUICE_TRY(tree->root, directory::open_root(options.root));
  SLUICE_CHECK(directory::check_kernel(tree->root.get()));
  tree->attributes = options.extended_attributes;
  if (!options.read_only) {
    auto scratch = directory::Scratch::open(tree->root.get());
    if (!scratch) return std::move(scratch).error().with_context(options.root);
    tree->scratch = std::move(*scratch);
    tree->attributes = options.extended_attributes && tree->scratch->attributes();
  }
  tree->options = std::move(options);
  return std::unique_ptr<ObjectStore>(std::make_unique<directory::DirectoryStore>(std::move(tree)));
}

}  // namespace sluice::store
