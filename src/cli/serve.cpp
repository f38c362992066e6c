// sluice serve: a directory as an RDMA-capable S3 endpoint.
#include <fcntl.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <thread>

#include "base/config.h"
#include "base/encoding.h"
#include "base/file.h"
#include "base/log.h"
#include "base/parse.h"
#include "base/try.h"
#include "cli/command.h"
#include "cli/output.h"
#include "cli/serve_credentials.h"
#include "fabric/registry.h"
#include "gateway/gateway.h"
#include "store/directory/directory_store.h"

namespace sluice::cli {

namespace {

/// Names the flag in whatever its parser says.
template <class T>
Result<T> flag(const char* name, Result<T> parsed) {
  if (!parsed) return Error(ErrorCode::config_error, std::string(name) + ": " + parsed.error().message());
  return parsed;
}

Result<std::size_t> thread_count(const std::string& text) {
  if (text == "auto") {
    // Clients on the same machine need cores, too: half of them, one at least.
    return std::clamp<std::size_t>(std::thread::hardware_concurrency() / 2, 1, 8);
  }
  SLUICE_TRY(std::uint64_t count, parse_u64(text, 256));
  if (count == 0) return Error(ErrorCode::invalid_argument, "must be 1 to 256, or auto");
  return static_cast<std::size_t>(count);
}

Result<gateway::GatewayOptions> gateway_options(const ServeFlags& flags) {
  gateway::GatewayOptions options;
  SLUICE_TRY(options.http.listen, flag("--listen", parse_listen_address(flags.listen)));
  SLUICE_TRY(std::uint64_t connections,
             flag("--max-connections", parse_u64(flags.max_connections, 1'000'000)));
  options.http.max_connections = connections;
  options.http.max_connections_per_peer =
      std::min<std::size_t>(connections, options.http.max_connections_per_peer);
  if (flags.tls_certificate.empty() != flags.tls_key.empty()) {
    return Error(ErrorCode::config_error,
                 "--tls-certificate and --tls-key belong together: give both or neither");
  }
  if (!flags.tls_certificate.empty()) {
    http::TlsServerFiles tls;
    tls.certificate_chain_file = flags.tls_certificate;
    tls.private_key_file = flags.tls_key;
    options.http.tls = tls;
  }
  SLUICE_TRY(auto fabrics, fabric::parse_fabric_list(flags.fabric));
  for (const auto& name : fabrics) {
    options.fabrics.emplace_back([name] { return fabric::make_server_fabric(name); });
  }
  SLUICE_TRY(options.threads, flag("--threads", thread_count(flags.threads)));
  SLUICE_TRY(options.lease.lease, flag("--lease", parse_duration(flags.lease)));
  SLUICE_TRY(options.lease.drain, flag("--drain", parse_duration(flags.drain)));
  SLUICE_TRY(options.lease.min_bytes_per_second, flag("--lease-min-rate", parse_size(flags.lease_min_rate)));
  if (options.lease.lease.count() == 0) return Error(ErrorCode::config_error, "--lease: must be more than 0");
  if (options.lease.min_bytes_per_second == 0)
    return Error(ErrorCode::config_error, "--lease-min-rate: must be more than 0");
  SLUICE_TRY(options.staging_bytes, flag("--staging", parse_size(flags.staging)));
  if (options.staging_bytes < options.chunk_bytes * options.chunks_in_flight) {
    return Error(ErrorCode::config_error,
                 "--staging: " + flags.staging + " is less than one request needs (" +
                     format_size(options.chunk_bytes * options.chunks_in_flight) + ")");
  }
  options.region = flags.region;
  options.allowed_peers = flags.allow_peer;
  options.read_only = flags.read_only;
  return options;
}

/// Written beside and renamed, so that whoever waits for it never reads half of it.
Result<void> write_ready_file(const std::string& path, const std::string& text) {
  const std::string temporary = path + ".new";
  const FileDescriptor file(::open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644));
  if (!file) return errno_error(errno, "--ready-file " + path);
  if (::write(file.get(), text.data(), text.size()) != static_cast<ssize_t>(text.size())) {
    return errno_error(errno, "--ready-file " + path);
  }
  if (::rename(temporary.c_str(), path.c_str()) != 0) return errno_error(errno, "--ready-file " + path);
  return {};
}

/// A file that the gateway leaves only while it runs: gone however `serve` ends. Empty: none.
struct RemovedAtEnd {
  std::string path;
  RemovedAtEnd() = default;
  RemovedAtEnd(const RemovedAtEnd&) = delete;
  RemovedAtEnd& operator=(const RemovedAtEnd&) = delete;
  ~RemovedAtEnd() {
    if (!path.empty()) ::unlink(path.c_str());
  }
};

/// Signals that end the gateway arrive on a descriptor; blocked before any thread starts, so in all of them.
Result<FileDescriptor> stop_signals() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGTERM);
  sigaddset(&set, SIGINT);
  if (::pthread_sigmask(SIG_BLOCK, &set, nullptr) != 0) return errno_error(errno, "blocking signals");
  FileDescriptor fd(::signalfd(-1, &set, SFD_CLOEXEC));
  if (!fd) return errno_error(errno, "signalfd");
  return fd;
}

int wait_for_signal(const FileDescriptor& signals) {
  signalfd_siginfo info{};
  while (::read(signals.get(), &info, sizeof info) != static_cast<ssize_t>(sizeof info)) {
    if (errno != EINTR) return 0;
  }
  return static_cast<int>(info.ssi_signo);
}

Result<void> serve(const ServeFlags& flags) {
  SLUICE_TRY(log::Level level, flag("--log-level", log::parse_level(flags.log_level)));
  if (flags.log_format != "text" && flags.log_format != "json") {
    return Error(ErrorCode::config_error,
                 "--log-format: unknown '" + flags.log_format + "': use text or json");
  }
  log::configure(level, flags.log_format == "json");
  ::signal(SIGPIPE, SIG_IGN);
  SLUICE_TRY(FileDescriptor signals, stop_signals());
  SLUICE_TRY(gateway::GatewayOptions options, gateway_options(flags));
  SLUICE_TRY(auto shutdown_timeout, flag("--shutdown-timeout", parse_duration(flags.shutdown_timeout)));
  SLUICE_TRY(auto fsync, flag("--fsync", store::parse_fsync_policy(flags.fsync)));

  SLUICE_TRY(ServeCredentials credentials, serve_credentials(flags.credentials_file));
  if (credentials.generated && !options.http.listen.is_loopback()) {
    return Error(ErrorCode::config_error,
                 "listening on " + options.http.listen.to_string() +
                     " needs configured credentials: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY or "
                     "--credentials-file, or listen on 127.0.0.1");
  }
  options.credentials.access_key = credentials.access_key;
  options.credentials.secret_key = credentials.secret_key;

  BlockingPool pool(limits::kBlockingThreads, limits::kBlockingQueue);
  store::DirectoryStoreOptions store_options;
  store_options.root = flags.directory;
  store_options.read_only = flags.read_only;
  store_options.fsync = fsync;
  SLUICE_TRY(auto opened, store::open_directory_store(store_options, pool));
  std::shared_ptr<store::ObjectStore> store = std::move(opened);
  SLUICE_TRY(auto gateway, gateway::Gateway::start(std::move(options), store));

  const auto address = gateway->address();
  const std::string endpoint = (flags.tls_certificate.empty() ? "http://" : "https://") + address.to_string();
  RemovedAtEnd generated_file;
  RemovedAtEnd ready_file;
  if (credentials.generated) {
    SLUICE_TRY(credentials.file, write_generated(credentials, flags.credentials_file, address.port));
    generated_file.path = credentials.file;
  }
  std::string fabrics;
  for (const auto& identity : gateway->fabrics()) fabrics += (fabrics.empty() ? "" : ",") + identity.name;
  log::info("serving", {{"directory", flags.directory},
                        {"endpoint", endpoint},
                        {"fabrics", fabrics.empty() ? "none" : fabrics},
                        {"credentials", credentials.file.empty() ? "from the environment" : credentials.file},
                        {"instance", gateway->instance_id()}});
  if (::isatty(STDOUT_FILENO) != 0) {
    print_line("Serving " + flags.directory + " at " + endpoint +
               (fabrics.empty() ? "" : " with RDMA over " + fabrics));
    if (!credentials.file.empty()) print_line("Credentials: . " + credentials.file);
  }
  if (!flags.ready_file.empty()) {
    const nlohmann::ordered_json ready = {{"endpoint", endpoint},
                                          {"credentials_file", credentials.file},
                                          {"fabrics", fabrics},
                                          {"instance_id", gateway->instance_id()},
                                          {"pid", ::getpid()}};
    SLUICE_CHECK(write_ready_file(flags.ready_file, ready.dump() + "\n"));
    ready_file.path = flags.ready_file;
  }
  const int signal = wait_for_signal(signals);
  log::info("stopping", {{"signal", signal}});
  const auto left = gateway->stop(Deadline::after(shutdown_timeout));
  gateway.reset();
  store.reset();
  log::info("stopped", {{"requests_cut_off", static_cast<std::uint64_t>(left.requests_cut_off)},
                        {"fabric_operations_left", static_cast<std::uint64_t>(left.fabric_operations_left)}});
  return {};
}

}  // namespace

int run_serve(const ServeFlags& flags) {
  const auto done = serve(flags);
  if (done) return kDone;
  print_error(Error(done.error()).describe());
  return exit_code(done.error());
}

}  // namespace sluice::cli
