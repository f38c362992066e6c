// A progress line for long work: bytes, rate, time left, share of RDMA. Only on a terminal.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <string>
#include <thread>

#include "cli/command.h"

namespace sluice::cli {

/// Draws on stderr from a thread of its own, a few times per second; silent with --quiet, --json or when
/// stderr is no terminal. `add` is safe from any thread.
class Progress {
 public:
  Progress(std::string what, std::uint64_t total_bytes, const OutputFlags& output);
  ~Progress();  ///< wipes the line
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;
  void add(std::uint64_t bytes, DataPath path);

 private:
  void draw() const;
  const std::string what_;
  const std::uint64_t total_;
  const std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  std::atomic<std::uint64_t> bytes_{0};
  std::atomic<std::uint64_t> rdma_bytes_{0};
  std::mutex mutex_;
  std::condition_variable wake_;
  bool stop_ = false;
  std::thread thread_;
};

}  // namespace sluice::cli
