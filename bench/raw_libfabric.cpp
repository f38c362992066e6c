#include "raw_libfabric.h"

#include <fcntl.h>
#include <poll.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <sstream>
#include <vector>

#include "base/deadline.h"
#include "base/encoding.h"
#include "base/file.h"
#include "base/parse.h"
#include "base/try.h"
#include "fabric/ofi/lane.h"
#include "memory/memory.h"

namespace sluice::bench {

namespace {

using fabric::ofi::Domain;
using fabric::ofi::Endpoint;
using fabric::ofi::Fid;
using fabric::ofi::Side;

constexpr auto kPatience = std::chrono::seconds(30);

struct Opened {
  std::unique_ptr<Domain> domain;
  Endpoint endpoint;
};

Result<Opened> open_side(const std::string& provider, Side side) {
  const auto* traits = fabric::ofi::find_traits(provider);
  if (traits == nullptr) return Error(ErrorCode::unsupported, "no provider " + provider);
  SLUICE_TRY(auto info, fabric::ofi::query(*traits, side, "127.0.0.1"));
  Opened opened;
  SLUICE_TRY(opened.domain, Domain::open(*traits, info, 1024));
  SLUICE_TRY(opened.endpoint, Endpoint::open(*opened.domain));
  return opened;
}

class Loop final : public RawLoop {
 public:
  ~Loop() override {
    input_.reset();  // ends the peer
    if (peer_ > 0) {
      ::kill(peer_, SIGKILL);
      ::waitpid(peer_, nullptr, 0);
    }
  }

  Result<void> spawn(const std::string& self, const std::string& provider, std::uint64_t bytes) {
    std::array<int, 2> to_peer{};
    std::array<int, 2> from_peer{};
    if (::pipe2(to_peer.data(), O_CLOEXEC) != 0) return errno_error(errno, "pipe");
    FileDescriptor peer_input(to_peer[0]);
    input_ = FileDescriptor(to_peer[1]);
    if (::pipe2(from_peer.data(), O_CLOEXEC) != 0) return errno_error(errno, "pipe");
    output_ = FileDescriptor(from_peer[0]);
    FileDescriptor peer_output(from_peer[1]);
    const std::string size = std::to_string(bytes);
    peer_ = ::fork();
    if (peer_ < 0) return errno_error(errno, "fork");
    if (peer_ == 0) {
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);
      ::dup2(peer_input.get(), STDIN_FILENO);
      ::dup2(peer_output.get(), STDOUT_FILENO);
      ::execl(self.c_str(), self.c_str(), "--raw-peer", provider.c_str(), size.c_str(),
              static_cast<char*>(nullptr));
      ::_exit(127);
    }
    return {};
  }

  Result<std::string> read_line() const {
    std::string line;
    const Deadline deadline = Deadline::after(kPatience);
    for (;;) {
      pollfd ready{output_.get(), POLLIN, 0};
      if (::poll(&ready, 1, static_cast<int>(deadline.remaining_ms().count())) <= 0) {
        return Error(ErrorCode::timeout, "the raw peer does not answer");
      }
      char c = 0;
      if (::read(output_.get(), &c, 1) != 1) return Error(ErrorCode::peer_gone, "the raw peer ended");
      if (c == '\n') return line;
      line += c;
    }
  }

  Result<void> connect(const std::string& provider, std::uint64_t bytes) {
    SLUICE_TRY(std::string line, read_line());
    std::istringstream words(line);
    std::string name;
    std::string key;
    std::string base;
    words >> name >> key >> base;
    SLUICE_TRY(auto raw_name, hex_decode(name));
    SLUICE_TRY(key_, parse_hex_u64(key));
    SLUICE_TRY(base_, parse_hex_u64(base));
    SLUICE_TRY(opened_, open_side(provider, Side::server));
    if (fi_av_insert(opened_.domain->addresses(), raw_name.data(), 1, &address_, 0, nullptr) != 1) {
      return Error(ErrorCode::io_error, "fi_av_insert refused the raw peer's name");
    }
    SLUICE_TRY(buffer_, AlignedBuffer::allocate(bytes));
    for (std::size_t i = 0; i < buffer_.size(); i += 4096) buffer_.data()[i] = std::byte{1};
    return {};
  }

  Result<double> move(bool write, std::uint64_t bytes, std::uint64_t chunk, std::size_t depth) override {
    if (contexts_.size() < depth) contexts_.resize(depth);
    const auto start = std::chrono::steady_clock::now();
    const Deadline deadline = Deadline::after(kPatience);
    std::vector<std::size_t> free;
    for (std::size_t i = 0; i < depth; ++i) free.push_back(i);
    std::uint64_t posted = 0;
    std::uint64_t in_flight = 0;
    while (posted < bytes || in_flight > 0) {
      while (posted < bytes && !free.empty()) {
        const std::uint64_t length = std::min(chunk, bytes - posted);
        const ssize_t status = post(write, posted, length, &contexts_[free.back()]);
        if (status == -FI_EAGAIN) break;
        if (status != 0) return fabric::ofi::library_error(ErrorCode::io_error, "posting", status);
        free.pop_back();
        posted += length;
        ++in_flight;
      }
      std::array<fi_cq_entry, 16> entries;
      const ssize_t got = fi_cq_read(opened_.domain->queue(), entries.data(), entries.size());
      if (got > 0) {
        for (ssize_t i = 0; i < got; ++i) {
          free.push_back(static_cast<std::size_t>(
              static_cast<fi_context2*>(entries[static_cast<std::size_t>(i)].op_context) - contexts_.data()));
        }
        in_flight -= static_cast<std::uint64_t>(got);
      } else if (got != -FI_EAGAIN) {
        return fabric::ofi::library_error(ErrorCode::io_error, "the completion queue", got);
      }
      if (deadline.expired()) return Error(ErrorCode::timeout, "the raw loop does not finish");
    }
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  }

  [[nodiscard]] int peer_pid() const override { return peer_; }

 private:
  ssize_t post(bool write, std::uint64_t offset, std::uint64_t length, fi_context2* context) {
    iovec local{buffer_.data() + offset, length};
    fi_rma_iov remote{base_ + offset, length, key_};
    fi_msg_rma message{};
    message.msg_iov = &local;
    message.iov_count = 1;
    message.addr = address_;
    message.rma_iov = &remote;
    message.rma_iov_count = 1;
    message.context = context;
    if (write) return fi_writemsg(opened_.endpoint.get(), &message, FI_COMPLETION | FI_DELIVERY_COMPLETE);
    return fi_readmsg(opened_.endpoint.get(), &message, FI_COMPLETION);
  }

  pid_t peer_ = -1;
  FileDescriptor input_;
  FileDescriptor output_;
  Opened opened_;
  AlignedBuffer buffer_;
  std::vector<fi_context2> contexts_;
  fi_addr_t address_ = FI_ADDR_UNSPEC;
  std::uint64_t key_ = 0;
  std::uint64_t base_ = 0;
};

}  // namespace

Result<std::unique_ptr<RawLoop>> RawLoop::start(const std::string& self, const std::string& provider,
                                                std::uint64_t bytes) {
  auto loop = std::make_unique<Loop>();
  SLUICE_CHECK(loop->spawn(self, provider, bytes));
  SLUICE_CHECK(loop->connect(provider, bytes));
  return loop;
}

int run_raw_peer(const std::string& provider, std::uint64_t bytes) {
  auto opened = open_side(provider, Side::client);
  if (!opened) {
    std::fprintf(stderr, "raw peer: %s\n", opened.error().describe().c_str());
    return 1;
  }
  auto buffer = AlignedBuffer::allocate(bytes);
  if (!buffer) return 1;
  for (std::size_t i = 0; i < buffer->size(); i += 4096) buffer->data()[i] = std::byte{1};
  fid_mr* registered = nullptr;
  if (fi_mr_reg(opened->domain->get(), buffer->data(), bytes, FI_REMOTE_READ | FI_REMOTE_WRITE, 0,
                random_u64(), 0, &registered, nullptr) != 0) {
    return 1;
  }
  const Fid<fid_mr> region(registered);
  const std::uint64_t base =
      opened->domain->mr_mode(FI_MR_VIRT_ADDR) ? reinterpret_cast<std::uintptr_t>(buffer->data()) : 0;
  std::printf("%s %s %s\n", hex_encode(opened->endpoint.name()).c_str(),
              hex_u64(fi_mr_key(registered)).c_str(), hex_u64(base).c_str());
  std::fflush(stdout);
  ::fcntl(STDIN_FILENO, F_SETFL, O_NONBLOCK);
  for (std::uint64_t turn = 0;; ++turn) {
    std::array<fi_cq_entry, 16> entries;
    const ssize_t got = fi_cq_read(opened->domain->queue(), entries.data(), entries.size());
    if (got < 0 && got != -FI_EAGAIN) return 1;
    if (turn % 4096 != 0) continue;
    char c = 0;
    if (::read(STDIN_FILENO, &c, 1) == 0) return 0;
  }
}

}  // namespace sluice::bench
