#include "base/metrics.h"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

namespace sluice::metrics {
namespace {

TEST(MetricsTest, ANameIsOneCounter) {
  Counter& first = counter("test_same_total");
  Counter& second = counter(std::string("test_same_") + "total");
  EXPECT_EQ(&first, &second);
  first.set(0);
  first.add();
  second.add(4);
  EXPECT_EQ(first.value(), 5U);
  first.sub(2);
  EXPECT_EQ(second.value(), 3U);
  first.set(100);
  EXPECT_EQ(snapshot().at("test_same_total"), 100U);
}

TEST(MetricsTest, LabelsMakeDifferentCounters) {
  counter("test_labels_total{operation=\"GetObject\"}").set(1);
  counter("test_labels_total{operation=\"PutObject\"}").set(2);
  const auto values = snapshot();
  EXPECT_EQ(values.at("test_labels_total{operation=\"GetObject\"}"), 1U);
  EXPECT_EQ(values.at("test_labels_total{operation=\"PutObject\"}"), 2U);
}

TEST(MetricsTest, CountsFromManyThreads) {
  counter("test_threads_total").set(0);
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([] {
      for (int k = 0; k < 1000; ++k) counter("test_threads_total").add();
    });
  }
  for (int i = 0; i < 50; ++i) (void)snapshot();
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(counter("test_threads_total").value(), 8000U);
}

}  // namespace
}  // namespace sluice::metrics
