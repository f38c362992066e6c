#include "store/fault_store.h"

#include <string>
#include <utility>

#include "base/try.h"

namespace sluice::store {

void FaultPlan::arm(std::uint64_t step, Moment moment, ErrorCode code) {
  steps_ = 0;
  fired_ = false;
  moment_ = moment;
  code_ = code;
  fail_at_ = step;
}

FaultPlan::Step FaultPlan::begin(std::string_view name) {
  const std::uint64_t step = steps_.fetch_add(1, std::memory_order_relaxed) + 1;
  if (step != fail_at_.load(std::memory_order_relaxed)) return Step();
  fired_ = true;
  return Step(name, moment_, code_);
}

Result<void> FaultPlan::Step::at(Moment moment) const {
  if (!fails_ || moment != moment_) return {};
  return Error(code_, "injected failure of the store: " + std::string(name_))
      .with_outcome(moment == Moment::before ? Outcome::refused : Outcome::uncertain);
}

namespace {

using Moment = FaultPlan::Moment;
using Plan = std::shared_ptr<FaultPlan>;

class FaultReader final : public ObjectReader {
 public:
  FaultReader(std::unique_ptr<ObjectReader> inner, Plan plan)
      : inner_(std::move(inner)), plan_(std::move(plan)) {}
  [[nodiscard]] const ObjectInfo& info() const override { return inner_->info(); }

  Result<std::size_t> try_read(std::uint64_t offset, std::span<std::byte> into) override {
    const auto step = plan_->begin("try_read");
    SLUICE_CHECK(step.at(Moment::before));
    auto result = inner_->try_read(offset, into);
    SLUICE_CHECK(step.at(Moment::after));
    return result;
  }
  Task<Result<void>> read(std::uint64_t offset, std::span<std::byte> into) override {
    const auto step = plan_->begin("read");
    SLUICE_CO_CHECK(step.at(Moment::before));
    auto result = co_await inner_->read(offset, into);
    SLUICE_CO_CHECK(step.at(Moment::after));
    co_return result;
  }
  Task<Result<void>> verify_unchanged() override {
    const auto step = plan_->begin("verify_unchanged");
    SLUICE_CO_CHECK(step.at(Moment::before));
    auto result = co_await inner_->verify_unchanged();
    SLUICE_CO_CHECK(step.at(Moment::after));
    co_return result;
  }

 private:
  std::unique_ptr<ObjectReader> inner_;
  Plan plan_;
};

class FaultWriter final : public ObjectWriter {
 public:
  FaultWriter(std::unique_ptr<ObjectWriter> inner, Plan plan)
      : inner_(std::move(inner)), plan_(std::move(plan)) {}

  Task<Result<void>> write(std::span<const std::byte> bytes) override {
    const auto step = plan_->begin("write");
    SLUICE_CO_CHECK(step.at(Moment::before));
    auto result = co_await inner_->write(bytes);
    SLUICE_CO_CHECK(step.at(Moment::after));
    co_return result;
  }
  Task<Result<ObjectInfo>> commit(CommitOptions options) override {
    const auto step = plan_->begin("commit");
    if (auto failed = step.at(Moment::before); !failed) {
      inner_.reset();  // as the interface says: nothing is left behind after a failed commit
      co_return std::move(failed).error();
    }
    if (!inner_) co_return Error(ErrorCode::internal, "the upload failed already");
    auto result = co_await inner_->commit(std::move(options));
    SLUICE_CO_CHECK(step.at(Moment::after));
    co_return result;
  }

 private:
  std::unique_ptr<ObjectWriter> inner_;
  Plan plan_;
};

class FaultStore final : public ObjectStore {
 public:
  FaultStore(std::shared_ptr<ObjectStore> inner, Plan plan)
      : inner_(std::move(inner)), plan_(std::move(plan)) {}

  [[nodiscard]] StoreAbilities abilities() const override { return inner_->abilities(); }

  Task<Result<std::vector<BucketInfo>>> list_buckets() override {
    const auto step = plan_->begin("list_buckets");
    SLUICE_CO_CHECK(step.at(Moment::before));
    auto result = co_await inner_->list_buckets();
    SLUICE_CO_CHECK(step.at(Moment::after));
    co_return result;
  }
  Task<Result<void>> head_bucket(std::string bucket) override {
    const auto step = plan_->begin("head_bucket");
    SLUICE_CO_CHECK(step.at(Moment::before));
    auto result = co_await inner_->head_bucket(std::move(bucket));
    SLUICE_CO_CHECK(step.at(Moment::after));
    co_return result;
  }
  Task<Result<void>> create_bucket(std::string bucket) override {
    const auto step = plan_->begin("create_bucket");
    SLUICE_CO_CHECK(step.at(Moment::before));
    auto result = co_await inner_->create_bucket(std::move(bucket));
    SLUICE_CO_CHECK(step.at(Moment::after));
    co_return result;
  }
  Task<Result<void>> delete_bucket(std::string bucket) override {
    const auto step = plan_->begin("delete_bucket");
    SLUICE_CO_CHECK(step.at(Moment::before));
    auto result = co_await inner_->delete_bucket(std::move(bucket));
    SLUICE_CO_CHECK(step.at(Moment::after));
    co_return result;
  }
  Task<Result<std::unique_ptr<ObjectReader>>> open(std::string bucket, std::string key) override {
    const auto step = plan_->begin("open");
    SLUICE_CO_CHECK(step.at(Moment::before));
    auto opened = co_await inner_->open(std::move(bucket), std::move(key));
    SLUICE_CO_CHECK(step.at(Moment::after));
    if (!opened) co_return std::move(opened).error();
    co_return std::unique_ptr<ObjectReader>(std::make_unique<FaultReader>(std::move(*opened), plan_));
  }
  Task<Result<std::unique_ptr<ObjectWriter>>> create(std::string bucket, std::string key,
                                                     ObjectMetadata metadata,
                                                     std::optional<std::uint64_t> expected_bytes) override {
    const auto step = plan_->begin("create");
    SLUICE_CO_CHECK(step.at(Moment::before));
    auto made =
        co_await inner_->create(std::move(bucket), std::move(key), std::move(metadata), expected_bytes);
    SLUICE_CO_CHECK(step.at(Moment::after));
    if (!made) co_return std::move(made).error();
    co_return std::unique_ptr<ObjectWriter>(std::make_unique<FaultWriter>(std::move(*made), plan_));
  }
  Task<Result<void>> remove(std::string bucket, std::string key) override {
    const auto step = plan_->begin("remove");
    SLUICE_CO_CHECK(step.at(Moment::before));
    auto result = co_await inner_->remove(std::move(bucket), std::move(key));
    SLUICE_CO_CHECK(step.at(Moment::after));
    co_return result;
  }
  Task<Result<ListPage>> list(std::string bucket, ListRequest request) override {
    const auto step = plan_->begin("list");
    SLUICE_CO_CHECK(step.at(Moment::before));
    auto result = co_await inner_->list(std::move(bucket), std::move(request));
    SLUICE_CO_CHECK(step.at(Moment::after));
    co_return result;
  }

 private:
  std::shared_ptr<ObjectStore> inner_;
  Plan plan_;
};

}  // namespace

std::unique_ptr<ObjectStore> make_fault_store(std::shared_ptr<ObjectStore> inner,
                                              std::shared_ptr<FaultPlan> plan) {
  return std::make_unique<FaultStore>(std::move(inner), std::move(plan));
}

}  // namespace sluice::store
