// make bench: memcpy, raw libfabric, RDMA and HTTP of the same gateway beside each other, interleaved in one
// run.
//
// One claim per row: bytes per second of one request at a time, median over the rounds. Every cell of a round
// runs before any cell of the next, so that a noisy minute hurts all of them. The gateway keeps its objects
// on a directory with --fsync none (the disk is not what is measured) and serves from the page cache.
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "base/encoding.h"
#include "base/parse.h"
#include "base/try.h"
#include "checksum/crc64nvme.h"
#include "fixtures/process.h"
#include "fixtures/temp_dir.h"
#include "memory/memory.h"
#include "raw_libfabric.h"
#include "sluice/client.h"

namespace sluice::bench {
namespace {

struct Options {
  std::string gateway;           ///< path of the sluice binary
  std::string provider = "net";  ///< of the raw loop
  std::string fabric = "ofi:tcp";
  std::vector<std::uint64_t> sizes = {4096, 65536, 1U << 20U, 16U << 20U, 256U << 20U};
  int rounds = 7;
  bool json = false;
};

/// User and system seconds of this process, or of another.
double cpu_seconds_of_self() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) * 1e-6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}
double cpu_seconds_of(pid_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
  std::string text((std::istreambuf_iterator<char>(file)), {});
  const auto end = text.rfind(')');
  if (end == std::string::npos) return 0;
  std::istringstream rest(text.substr(end + 2));
  std::string skipped;
  for (int i = 0; i < 11; ++i) rest >> skipped;
  double user = 0;
  double system = 0;
  rest >> user >> system;
  return (user + system) / static_cast<double>(::sysconf(_SC_CLK_TCK));
}

struct Cell {
  std::string name;
  std::function<Result<void>(std::uint64_t bytes)> once;
  bool remote = true;  ///< the gateway works, too
  bool raw = false;
};

struct Sample {
  double seconds_per_byte = 0;
  double client_cpu = 0;   ///< per GiB
  double gateway_cpu = 0;  ///< per GiB
};

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values.empty() ? 0 : values[values.size() / 2];
}

class Bench {
 public:
  explicit Bench(Options options) : options_(std::move(options)) {}

  Result<void> run(const std::string& self) {
    SLUICE_CHECK(start(self));
    for (const std::uint64_t bytes : options_.sizes) SLUICE_CHECK(measure(bytes));
    return {};
  }

 private:
  Result<void> start(const std::string& self) {
    const std::uint64_t most = *std::max_element(options_.sizes.begin(), options_.sizes.end());
    std::filesystem::create_directory(folder_.path() / "data");
    const std::string ready = folder_.file("ready");
    test::ProcessOptions serve;
    serve.executable = options_.gateway;
    serve.arguments = {"serve",        (folder_.path() / "data").string(),
                       "--listen",     "127.0.0.1:0",
                       "--ready-file", ready,
                       "--fabric",     options_.fabric,
                       "--fsync",      "none",
                       "--log-level",  "warn"};
    serve.environment = {"AWS_ACCESS_KEY_ID=bench", "AWS_SECRET_ACCESS_KEY=benchbench"};
    SLUICE_TRY(gateway_, test::Process::spawn(std::move(serve)));
    const Deadline deadline = Deadline::after(std::chrono::seconds(20));
    while (!std::filesystem::exists(ready)) {
      if (deadline.expired() || !gateway_->running())
        return Error(ErrorCode::timeout, "the gateway does not start: " + gateway_->err());
      ::usleep(10'000);
    }
    std::ifstream file(ready);
    const auto info = nlohmann::json::parse(file);
    ClientOptions options;
    options.endpoint = info["endpoint"];
    options.credentials = {"bench", "benchbench", ""};
    options.fabric = options_.fabric;
    SLUICE_TRY(Client client, Client::make(std::move(options)));
    client_.emplace(std::move(client));
    SLUICE_CHECK(client_->create_bucket("bench"));
    SLUICE_TRY(raw_, RawLoop::start(self, options_.provider, most));
    SLUICE_TRY(source_, AlignedBuffer::allocate(most));
    SLUICE_TRY(target_, AlignedBuffer::allocate(most));
    random_bytes(source_.span().first(std::min<std::size_t>(most, 1U << 20U)));
    for (std::size_t at = 1U << 20U; at < most; at += 1U << 20U)
      std::memcpy(source_.data() + at, source_.data(), std::min<std::size_t>(1U << 20U, most - at));
    std::memset(target_.data(), 1, most);
    return {};
  }

  Result<void> get(std::uint64_t bytes, DataPathPolicy path, ChecksumMode checksum) {
    GetRequest request{.bucket = "bench", .key = std::to_string(bytes), .object_bytes = bytes};
    TransferOptions options{.data_path = path, .checksum = checksum};
    SLUICE_TRY(TransferResult result,
               client_->get(std::move(request), Memory::host(target_.span().first(bytes)), options).wait());
    if (result.bytes != bytes) return Error(ErrorCode::size_mismatch, "a get moved another number of bytes");
    return {};
  }
  Result<void> put(std::uint64_t bytes, DataPathPolicy path, ChecksumMode checksum, const char* key) {
    PutRequest request{.bucket = "bench", .key = key};
    TransferOptions options{.data_path = path, .checksum = checksum};
    SLUICE_TRY(TransferResult result,
               client_->put(std::move(request), Memory::host(source_.span().first(bytes)), options).wait());
    if (result.bytes != bytes) return Error(ErrorCode::size_mismatch, "a put moved another number of bytes");
    return {};
  }

  std::vector<Cell> cells() {
    const auto rdma = DataPathPolicy::require;
    const auto http = DataPathPolicy::off;
    const auto sum = ChecksumMode::crc64nvme;
    const auto none = ChecksumMode::none;
    const auto raw = [this](bool write) {
      return [this, write](std::uint64_t bytes) -> Result<void> {
        SLUICE_TRY(double seconds, raw_->move(write, bytes, 1U << 20U, 4));
        (void)seconds;
        return {};
      };
    };
    std::vector<Cell> list;
    list.push_back({"memcpy",
                    [this](std::uint64_t bytes) -> Result<void> {
                      std::memcpy(target_.data(), source_.data(), bytes);
                      return {};
                    },
                    false, false});
    list.push_back({"crc64nvme",
                    [this](std::uint64_t bytes) -> Result<void> {
                      sink_ = crc64nvme(source_.span().first(bytes));
                      return {};
                    },
                    false, false});
    list.push_back({"raw libfabric write", raw(true), true, true});
    list.push_back({"raw libfabric read", raw(false), true, true});
    list.push_back({"RDMA GET", [=, this](std::uint64_t n) { return get(n, rdma, none); }, true, false});
    list.push_back(
        {"RDMA GET, checksum", [=, this](std::uint64_t n) { return get(n, rdma, sum); }, true, false});
    list.push_back(
        {"RDMA PUT", [=, this](std::uint64_t n) { return put(n, rdma, none, "put"); }, true, false});
    list.push_back(
        {"RDMA PUT, checksum", [=, this](std::uint64_t n) { return put(n, rdma, sum, "put"); }, true, false});
    list.push_back({"HTTP GET", [=, this](std::uint64_t n) { return get(n, http, none); }, true, false});
    list.push_back(
        {"HTTP GET, checksum", [=, this](std::uint64_t n) { return get(n, http, sum); }, true, false});
    list.push_back(
        {"HTTP PUT", [=, this](std::uint64_t n) { return put(n, http, none, "put"); }, true, false});
    list.push_back(
        {"HTTP PUT, checksum", [=, this](std::uint64_t n) { return put(n, http, sum, "put"); }, true, false});
    return list;
  }

  Result<void> measure(std::uint64_t bytes) {
    SLUICE_CHECK(put(bytes, DataPathPolicy::off, ChecksumMode::crc64nvme, std::to_string(bytes).c_str()));
    const auto list = cells();
    std::map<std::string, std::vector<Sample>> samples;
    // Enough repeats that a small cell lasts some milliseconds; the first round warms up and does not count.
    const std::uint64_t repeats = std::clamp<std::uint64_t>((32U << 20U) / bytes, 1, 200);
    for (int round = 0; round <= options_.rounds; ++round) {
      for (const auto& cell : list) {
        const pid_t other = cell.raw ? raw_->peer_pid() : gateway_->pid();
        const double client_before = cpu_seconds_of_self();
        const double other_before = cpu_seconds_of(other);
        const auto start = std::chrono::steady_clock::now();
        for (std::uint64_t i = 0; i < repeats; ++i) {
          if (auto done = cell.once(bytes); !done)
            return Error(done.error()).with_context(cell.name + " of " + format_size(bytes));
        }
        const double seconds =
            std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
        if (round == 0) continue;
        const double gib = static_cast<double>(bytes * repeats) / static_cast<double>(1U << 30U);
        Sample sample;
        sample.seconds_per_byte = seconds / static_cast<double>(bytes * repeats);
        sample.client_cpu = (cpu_seconds_of_self() - client_before) / gib;
        sample.gateway_cpu = cell.remote ? (cpu_seconds_of(other) - other_before) / gib : 0;
        samples[cell.name].push_back(sample);
      }
    }
    report(bytes, list, samples);
    return {};
  }

  void report(std::uint64_t bytes, const std::vector<Cell>& list,
              const std::map<std::string, std::vector<Sample>>& samples) const {
    const auto of = [&](const std::string& name, double Sample::*field) {
      std::vector<double> values;
      for (const auto& sample : samples.at(name)) values.push_back(sample.*field);
      return median(std::move(values));
    };
    const double raw_write = of("raw libfabric write", &Sample::seconds_per_byte);
    const double raw_read = of("raw libfabric read", &Sample::seconds_per_byte);
    if (!options_.json) {
      std::printf("\n%s  (median of %d interleaved rounds)\n", format_size(bytes).c_str(), options_.rounds);
      std::printf("  %-22s %9s %11s %8s %14s %14s\n", "", "MB/s", "us/request", "of raw", "client CPU s/GiB",
                  "server CPU s/GiB");
    }
    for (const auto& cell : list) {
      const double per_byte = of(cell.name, &Sample::seconds_per_byte);
      const bool towards_client =
          cell.name.find("GET") != std::string::npos || cell.name == "raw libfabric write";
      const double raw = towards_client ? raw_write : raw_read;
      const double share = raw / per_byte;
      const double client_cpu = of(cell.name, &Sample::client_cpu);
      const double server_cpu = of(cell.name, &Sample::gateway_cpu);
      if (options_.json) {
        const nlohmann::ordered_json line = {{"bytes", bytes},
                                             {"what", cell.name},
                                             {"mb_per_second", 1e-6 / per_byte},
                                             {"microseconds", per_byte * static_cast<double>(bytes) * 1e6},
                                             {"of_raw", share},
                                             {"client_cpu_seconds_per_gib", client_cpu},
                                             {"server_cpu_seconds_per_gib", server_cpu}};
        std::printf("%s\n", line.dump().c_str());
        continue;
      }
      std::printf("  %-22s %9.0f %11.1f ", cell.name.c_str(), 1e-6 / per_byte,
                  per_byte * static_cast<double>(bytes) * 1e6);
      if (cell.remote) {
        std::printf("%7.0f%% %14.2f %14.2f\n", share * 100, client_cpu, server_cpu);
      } else {
        std::printf("%8s %14.2f %14s\n", "", client_cpu, "");
      }
    }
    std::fflush(stdout);
  }

  Options options_;
  test::TempDir folder_;
  std::unique_ptr<test::Process> gateway_;
  std::optional<Client> client_;
  std::unique_ptr<RawLoop> raw_;
  AlignedBuffer source_;
  AlignedBuffer target_;
  volatile std::uint64_t sink_ = 0;
};

Result<Options> parse(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    const auto value = [&]() -> Result<std::string> {
      if (i + 1 >= argc) return Error(ErrorCode::invalid_argument, word + " needs a value");
      return std::string(argv[++i]);
    };
    if (word == "--json") {
      options.json = true;
    } else if (word == "--rounds") {
      SLUICE_TRY(std::string text, value());
      SLUICE_TRY(std::uint64_t rounds, parse_u64(text, 1000));
      options.rounds = std::max(1, static_cast<int>(rounds));
    } else if (word == "--size") {
      SLUICE_TRY(std::string text, value());
      SLUICE_TRY(std::uint64_t size, parse_size(text));
      if (size == 0) return Error(ErrorCode::invalid_argument, "--size: must be more than 0");
      options.sizes = {size};
    } else if (word == "--fabric") {
      SLUICE_TRY(options.fabric, value());
    } else if (word == "--provider") {
      SLUICE_TRY(options.provider, value());
    } else if (word == "--gateway") {
      SLUICE_TRY(options.gateway, value());
    } else {
      return Error(
          ErrorCode::invalid_argument,
          "unknown '" + word + "'; flags: --size N --rounds N --fabric F --provider P --gateway PATH --json");
    }
  }
  return options;
}

}  // namespace
}  // namespace sluice::bench

int main(int argc, char** argv) {
  using namespace sluice;
  if (argc == 4 && std::string(argv[1]) == "--raw-peer") {
    auto bytes = parse_u64(argv[3]);
    return bytes ? bench::run_raw_peer(argv[2], *bytes) : 2;
  }
  auto options = bench::parse(argc, argv);
  if (!options) {
    std::fprintf(stderr, "sluice_bench: %s\n", options.error().describe().c_str());
    return 2;
  }
  const std::string self = std::filesystem::canonical("/proc/self/exe").string();
  if (options->gateway.empty()) options->gateway = std::filesystem::path(self).parent_path() / "sluice";
  bench::Bench run(std::move(*options));
  if (auto done = run.run(self); !done) {
    std::fprintf(stderr, "sluice_bench: %s\n", done.error().describe().c_str());
    return 1;
  }
  return 0;
}
