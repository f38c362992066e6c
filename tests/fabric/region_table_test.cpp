#include "fabric/region_table.h"

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "fabric/window.h"
#include "fixtures/canary.h"
#include "fixtures/matchers.h"

namespace sluice::fabric {
namespace {

using test::IsOk;

class RegionTableTest : public testing::Test {
 protected:
  Memory part(std::size_t offset, std::size_t bytes) {
    return Memory::host(buffer_.span().subspan(offset, bytes));
  }
  std::shared_ptr<Region> region(std::size_t offset, std::size_t bytes) {
    auto made = Region::make(part(offset, bytes));
    EXPECT_THAT(made, IsOk());
    return *made;
  }
  RegionTable& table_ = RegionTable::instance();
  const std::size_t before_ = table_.size();
  test::GuardedBuffer buffer_ = test::GuardedBuffer::at_offset(4096, 0);
};

TEST_F(RegionTableTest, FindsTheRegionThatCoversAllOfIt) {
  const auto left = region(0, 1000);
  const auto right = region(1000, 1000);
  EXPECT_EQ(table_.size(), before_ + 2);
  EXPECT_EQ(table_.find(part(10, 990)), left);
  EXPECT_EQ(table_.find(part(1000, 1)), right);
  EXPECT_EQ(table_.find(part(999, 2)), nullptr) << "two regions do not add up to one";
  EXPECT_EQ(table_.find(part(2000, 1)), nullptr);
}

TEST_F(RegionTableTest, SkipsRetiredRegionsAndTakesAnotherOverTheSameBytes) {
  const auto first = region(0, 1000);
  const auto second = region(0, 2000);
  second->retire();
  EXPECT_EQ(table_.find(part(0, 100)), first);
  EXPECT_EQ(table_.find(part(0, 2000)), nullptr);
}

TEST_F(RegionTableTest, TellsDeviceMemoryFromHostMemory) {
  const auto host = region(0, 1000);
  Memory device = part(0, 1000);
  device.kind = MemoryKind::device;
  device.device = 0;
  EXPECT_EQ(table_.find(device), nullptr);
  const auto registered = Region::make(device);
  ASSERT_THAT(registered, IsOk());
  EXPECT_EQ(table_.find(device), *registered);
  device.device = 1;
  EXPECT_EQ(table_.find(device), nullptr);
  EXPECT_EQ(table_.find(part(0, 1000)), host);
}

TEST_F(RegionTableTest, ForgetsARegionWithItsLastOwner) {
  {
    const auto gone = region(0, 1000);
    EXPECT_EQ(table_.size(), before_ + 1);
  }
  EXPECT_EQ(table_.size(), before_);
  EXPECT_EQ(table_.find(part(0, 10)), nullptr);
}

TEST_F(RegionTableTest, LookingUpMayBeTheLastOwnerLettingGo) {
  // find() holds the only reference for a moment when the owner drops its own meanwhile; its end needs the
  // table.
  std::atomic<bool> stop = false;
  std::vector<std::thread> seekers;
  for (int i = 0; i < 2; ++i) {
    seekers.emplace_back([&] {
      while (!stop) static_cast<void>(table_.find(part(0, 10)));
    });
  }
  for (int i = 0; i < 2000; ++i) {
    auto made = Region::make(part(0, 1000));
    if (made && i % 2 == 0) (*made)->retire();
  }
  stop = true;
  for (auto& seeker : seekers) seeker.join();
  EXPECT_EQ(table_.size(), before_);
}

}  // namespace
}  // namespace sluice::fabric
