#include "fabric/window.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <utility>

#include "fixtures/canary.h"
#include "fixtures/matchers.h"

namespace sluice::fabric {
namespace {

using test::Fails;
using test::IsOk;

class WindowTest : public testing::Test {
 protected:
  std::shared_ptr<Region> region(std::shared_ptr<void> owner = nullptr) {
    auto made = Region::make(Memory::host(buffer_.span()), std::move(owner));
    EXPECT_THAT(made, IsOk());
    return *made;
  }
  test::GuardedBuffer buffer_ = test::GuardedBuffer::at_offset(1000, 0);
};

TEST_F(WindowTest, IsAPartOfItsRegion) {
  auto window = Window::make(region(), 100, 900, Direction::put);
  ASSERT_THAT(window, IsOk());
  EXPECT_EQ(window->data(), buffer_.data() + 100);
  EXPECT_EQ(window->bytes(), 900U);
  EXPECT_EQ(window->direction(), Direction::put);
}

TEST_F(WindowTest, RefusesWhatIsEmptyOrOutside) {
  const auto outside = testing::HasSubstr("outside its region of 1000 bytes");
  EXPECT_THAT(Window::make(region(), 0, 0, Direction::get), Fails(ErrorCode::invalid_argument, "zero bytes"));
  EXPECT_THAT(Window::make(region(), 0, 1001, Direction::get), Fails(ErrorCode::invalid_argument, outside));
  EXPECT_THAT(Window::make(region(), 1000, 1, Direction::get), Fails(ErrorCode::invalid_argument, outside));
  EXPECT_THAT(Window::make(region(), 1, UINT64_MAX, Direction::get),
              Fails(ErrorCode::invalid_argument, outside));
  EXPECT_THAT(Window::make(region(), UINT64_MAX, 2, Direction::get),
              Fails(ErrorCode::invalid_argument, outside));
  EXPECT_THAT(Window::make(nullptr, 0, 1, Direction::get),
              Fails(ErrorCode::invalid_argument, "needs a region"));
}

TEST_F(WindowTest, ARetiredRegionTakesNoNewWindowAndKeepsTheOldOnes) {
  auto shared = region();
  auto window = Window::make(shared, 0, 10, Direction::get);
  ASSERT_THAT(window, IsOk());
  shared->retire();
  EXPECT_TRUE(shared->retired());
  EXPECT_THAT(Window::make(shared, 0, 10, Direction::get),
              Fails(ErrorCode::invalid_argument, "register the memory again"));
  EXPECT_EQ(window->data(), buffer_.data());
}

TEST_F(WindowTest, TheRegionLivesUntilItsLastWindow) {
  auto owner = std::make_shared<int>(1);
  const std::weak_ptr<int> watched = owner;
  auto shared = region(std::move(owner));
  const std::weak_ptr<Region> watched_region = shared;
  auto window = Window::make(std::move(shared), 0, 10, Direction::get);
  ASSERT_THAT(window, IsOk());
  {
    const Window copy = *window;
    *window = copy;
  }
  EXPECT_FALSE(watched_region.expired());
  EXPECT_FALSE(watched.expired());
  window = Error(ErrorCode::cancelled, "gone");
  EXPECT_TRUE(watched_region.expired());
  EXPECT_TRUE(watched.expired()) << "pooled memory must be free once nothing is out on it";
}

TEST(RegionTest, RefusesMemoryThatIsNotThere) {
  std::byte byte{};
  EXPECT_THAT(Region::make(Memory{nullptr, 10}), Fails(ErrorCode::invalid_argument));
  EXPECT_THAT(Region::make(Memory{&byte, 0}), Fails(ErrorCode::invalid_argument));
  EXPECT_THAT(Region::make(Memory{&byte, SIZE_MAX}), Fails(ErrorCode::invalid_argument, "wrap around"));
}

TEST(DirectionTest, HasAName) {
  EXPECT_EQ(to_string(Direction::get), "get");
  EXPECT_EQ(to_string(Direction::put), "put");
}

}  // namespace
}  // namespace sluice::fabric
