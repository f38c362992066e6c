#include "cli/progress.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include "base/parse.h"
#include "cli/output.h"

namespace sluice::cli {

namespace {
constexpr std::chrono::milliseconds kRedraw{200};
}

Progress::Progress(std::string what, std::uint64_t total_bytes, const OutputFlags& output)
    : what_(printable(what)), total_(total_bytes) {
  if (output.quiet || output.json || ::isatty(STDERR_FILENO) == 0) return;
  thread_ = std::thread([this] {
    std::unique_lock lock(mutex_);
    while (!wake_.wait_for(lock, kRedraw, [this] { return stop_; })) draw();
  });
}

Progress::~Progress() {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  wake_.notify_all();
  thread_.join();
  std::fputs("\r\033[K", stderr);
}

void Progress::add(std::uint64_t bytes, DataPath path) {
  bytes_.fetch_add(bytes, std::memory_order_relaxed);
  if (path == DataPath::rdma) rdma_bytes_.fetch_add(bytes, std::memory_order_relaxed);
}

void Progress::draw() const {
  const std::uint64_t bytes = bytes_.load(std::memory_order_relaxed);
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  const double rate = seconds > 0 ? static_cast<double>(bytes) / seconds : 0;
  std::string line = what_ + "  " + format_size(bytes);
  if (total_ > 0) line += " of " + format_size(total_) + " (" + std::to_string(bytes * 100 / total_) + "%)";
  line += "  " + format_size(static_cast<std::uint64_t>(rate)) + "/s";
  if (total_ > bytes && rate > 0) {
    const double left = static_cast<double>(total_ - bytes) / rate;
    line += "  " + std::to_string(static_cast<std::uint64_t>(left) + 1) + " s left";
  }
  if (bytes > 0)
    line += "  " + std::to_string(rdma_bytes_.load(std::memory_order_relaxed) * 100 / bytes) + "% RDMA";
  winsize window{};
  const std::size_t width =
      ::ioctl(STDERR_FILENO, TIOCGWINSZ, &window) == 0 && window.ws_col > 1 ? window.ws_col - 1U : 79U;
  if (line.size() > width) line.resize(width);
  std::fprintf(stderr, "\r\033[K%s", line.c_str());
  std::fflush(stderr);
}

}  // namespace sluice::cli
