#include "cli/app.h"

#include <signal.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <functional>
#include <string>
#include <vector>

#include "base/config.h"
#include "cli/command.h"
#include "cli/output.h"
#include "sluice/version.h"

namespace sluice::cli {

namespace {

constexpr const char* kTopFooter =
    R"(S3 locations are s3://bucket/key. Endpoint and credentials come from flags, then from the AWS environment
(AWS_ENDPOINT_URL_S3, AWS_ENDPOINT_URL, AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN, AWS_REGION, AWS_PROFILE)
and the AWS configuration files.

Exit codes: 0 done, 1 failed, 2 usage or configuration.

Examples:
  sluice serve /srv/data                          serve a folder on 127.0.0.1:9000, RDMA included
  sluice cp model.bin s3://models/v1/ --json      upload, by RDMA where it works and pays
  sluice cp s3://models/v1/model.bin . --data-path require
  sluice doctor                                   what works here, and what to do about the rest

'sluice help COMMAND' shows a command's flags.)";

constexpr const char* kDataPathHelp =
    "require: RDMA or an error; prefer: RDMA where it works and pays, else HTTP, and say which; off: HTTP "
    "(default: prefer)";

void add_client_flags(CLI::App& command, ClientFlags& flags, bool moves_data) {
  command.add_option("--endpoint", flags.endpoint, "URL of the S3 endpoint (default: AWS_ENDPOINT_URL)")
      ->type_name("URL");
  command.add_option("--region", flags.region, "Region in signatures (default: AWS_REGION or us-east-1)")
      ->type_name("NAME");
  command
      .add_option("--ca-file", flags.ca_file,
                  "PEM file of the authorities to trust for https (default: AWS_CA_BUNDLE or the system's)")
      ->type_name("FILE");
  command.add_option("--attempts", flags.attempts, "Tries per request, the first included")
      ->capture_default_str()
      ->type_name("N");
  if (!moves_data) return;
  command.add_option("--data-path", flags.data_path, kDataPathHelp)->type_name("POLICY");
  command
      .add_option("--fabric", flags.fabric,
                  "Fabrics to try, best first: ofi:tcp, ofi:net, ofi:tcp;ofi_rxm, ofi:verbs;ofi_rxm, "
                  "ofi:efa; none turns RDMA off")
      ->capture_default_str()
      ->type_name("LIST");
  command
      .add_option("--checksum", flags.checksum, "crc64nvme: verify every transfer end to end; none: do not")
      ->capture_default_str()
      ->type_name("KIND");
  command
      .add_option("--timeout", flags.timeout,
                  "Deadline of each request, such as 30s (default: from its size and the server's lease)")
      ->type_name("TIME");
  command
      .add_option("--rdma-threshold", flags.threshold,
                  "With --data-path prefer, smaller objects go over HTTP (default: 1MiB, measured)")
      ->type_name("SIZE");
  command.add_flag("--fence-always", flags.fence_always,
                   "End RDMA into memory by force after every request, for servers that are not trusted to "
                   "stop when they say so");
}

void add_output_flags(CLI::App& command, OutputFlags& flags, bool quiet) {
  command.add_flag("--json", flags.json, "One JSON object per line on standard output");
  if (quiet) command.add_flag("--quiet,-q", flags.quiet, "No progress and no summary");
}

void add_serve_flags(CLI::App& command, ServeFlags& flags) {
  command
      .add_option("DIR", flags.directory,
                  "Folder to serve: its sub-folders are the buckets, their files the objects")
      ->required();
  command.add_option("--listen", flags.listen, "Address and port; port 0 picks a free one")
      ->capture_default_str()
      ->type_name("HOST:PORT");
  command.add_option("--fabric", flags.fabric, "Fabrics to offer, best first; none turns RDMA off")
      ->capture_default_str()
      ->type_name("LIST");
  command
      .add_option("--config", flags.config,
                  "TOML file with these flags as keys, without dashes in front; flags win")
      ->type_name("FILE");
  command
      .add_option("--ready-file", flags.ready_file,
                  "Written (JSON) once requests are accepted, removed at the end")
      ->type_name("FILE");
  command
      .add_option("--credentials-file", flags.credentials_file,
                  "Key pair to read, or where to write the generated one; without it: AWS_ACCESS_KEY_ID and "
                  "AWS_SECRET_ACCESS_KEY, else a random pair")
      ->type_name("FILE");
  command.add_option("--region", flags.region, "Region that signatures must name (default: any)")
      ->type_name("NAME");
  command.add_flag("--read-only", flags.read_only, "Refuse every write");
  command
      .add_option("--fsync", flags.fsync,
                  "What survives a power failure once acknowledged: always, data or none")
      ->capture_default_str()
      ->type_name("POLICY");
  command.add_option("--tls-certificate", flags.tls_certificate, "PEM certificate chain: serve https")
      ->type_name("FILE");
  command.add_option("--tls-key", flags.tls_key, "PEM private key of --tls-certificate")->type_name("FILE");
  command.add_option("--threads", flags.threads, "Worker threads (auto: half of the cores)")
      ->capture_default_str()
      ->type_name("N");
  command.add_option("--max-connections", flags.max_connections, "HTTP connections at a time")
      ->capture_default_str()
      ->type_name("N");
  command.add_option("--staging", flags.staging, "Memory for data on its way, over all requests")
      ->capture_default_str()
      ->type_name("SIZE");
  command
      .add_option("--lease", flags.lease,
                  "How long a request may touch a client's window, besides its size over --lease-min-rate")
      ->capture_default_str()
      ->type_name("TIME");
  command
      .add_option("--lease-min-rate", flags.lease_min_rate, "Slowest rate per second that a lease allows for")
      ->capture_default_str()
      ->type_name("SIZE");
  command.add_option("--drain", flags.drain, "How long operations may take to come home after the lease")
      ->capture_default_str()
      ->type_name("TIME");
  command
      .add_option("--allow-peer", flags.allow_peer,
                  "Address that tokens may point to besides the requester's own (repeatable)")
      ->type_name("ADDRESS");
  command
      .add_option("--shutdown-timeout", flags.shutdown_timeout,
                  "How long SIGTERM lets running requests finish")
      ->capture_default_str()
      ->type_name("TIME");
  command.add_option("--log-level", flags.log_level, "debug, info, warn, error or off")
      ->capture_default_str()
      ->type_name("LEVEL");
  command.add_option("--log-format", flags.log_format, "text or json")
      ->capture_default_str()
      ->type_name("FORMAT");
}

/// Gives each flag that was not on the command line the value of the configuration file.
Result<void> apply_config(CLI::App& serve, const std::string& path) {
  std::vector<std::string> known;
  for (const auto* option : serve.get_options()) {
    for (const auto& name : option->get_lnames()) {
      if (name != "help" && name != "config") known.push_back(name);
    }
  }
  auto entries = read_config(path, known);
  if (!entries) return std::move(entries).error();
  for (const auto& entry : *entries) {
    auto* option = serve.get_option("--" + entry.key);
    if (option->count() > 0) continue;
    try {
      if (option->get_expected_max() > 1) {
        // Repeatable: an array in the file.
        std::string_view rest = entry.value;
        for (bool more = true; more;) {
          const auto comma = rest.find(',');
          option->add_result(std::string(rest.substr(0, comma)));
          more = comma != std::string_view::npos;
          if (more) rest.remove_prefix(comma + 1);
        }
      } else {
        option->add_result(entry.value);
      }
      option->run_callback();
    } catch (const CLI::Error& error) {
      return Error(ErrorCode::config_error,
                   path + ":" + std::to_string(entry.line) + ": " + entry.key + ": " + error.what());
    }
  }
  return {};
}

struct Commands {
  ServeFlags serve;
  CopyFlags cp;
  CatFlags cat;
  ListFlags ls;
  LocationFlags stat, rm, mb, rb;
  DoctorFlags doctor;
};

CLI::App* add_locations(CLI::App& app, const char* name, const char* what, const char* location,
                        LocationFlags& flags) {
  auto* command = app.add_subcommand(name, what);
  command->add_option("LOCATION", flags.locations, location)->required();
  add_client_flags(*command, flags.client, false);
  add_output_flags(*command, flags.output, true);
  return command;
}

int unknown_command(const CLI::App& app, const std::string& name) {
  std::vector<std::string> known;
  for (const auto* command : app.get_subcommands([](const CLI::App*) { return true; }))
    known.push_back(command->get_name());
  const std::string near = nearest(name, known);
  print_error("there is no command '" + printable(name) + "'" +
              (near.empty() ? "" : ", did you mean '" + near + "'?") + " (see 'sluice help')");
  return kUsage;
}

int run_command(int argc, const char* const* argv) {
  CLI::App app("Sluice moves S3 objects straight between storage and memory over RDMA.", "sluice");
  app.set_version_flag("--version", "sluice " SLUICE_VERSION_STRING);
  app.footer(kTopFooter);
  app.require_subcommand(1);
  Commands flags;

  auto* serve = app.add_subcommand("serve", "Serve a folder as an S3 endpoint with an RDMA data plane");
  add_serve_flags(*serve, flags.serve);

  auto* cp =
      app.add_subcommand("cp", "Copy a file to an object, an object to a file, or an object to an object");
  cp->add_option("SOURCE", flags.cp.source, "A file, - for standard input, or s3://bucket/key")->required();
  cp->add_option("TARGET", flags.cp.target,
                 "A file or folder, or s3://bucket[/key]; a trailing / keeps the source's name")
      ->required();
  cp->add_option("--part-size", flags.cp.part_size, "Bytes per window of a download")
      ->capture_default_str()
      ->type_name("SIZE");
  cp->add_option("--content-type", flags.cp.content_type, "Content-Type of the uploaded object")
      ->type_name("TYPE");
  cp->add_option("--metadata", flags.cp.metadata, "User metadata of the uploaded object (repeatable)")
      ->type_name("NAME=VALUE");
  cp->add_flag("--no-clobber,-n", flags.cp.no_clobber, "Fail if the target exists");
  add_client_flags(*cp, flags.cp.client, true);
  add_output_flags(*cp, flags.cp.output, true);

  auto* cat = app.add_subcommand("cat", "Write objects to standard output");
  cat->add_option("OBJECT", flags.cat.objects, "s3://bucket/key")->required();
  cat->add_option("--range", flags.cat.range, "Bytes FIRST-LAST (inclusive) or FIRST-")->type_name("RANGE");
  cat->add_option("--part-size", flags.cat.part_size, "Bytes per window, and of memory used")
      ->capture_default_str()
      ->type_name("SIZE");
  add_client_flags(*cat, flags.cat.client, true);
  cat->add_flag("--quiet,-q", flags.cat.output.quiet, "No progress");

  auto* ls = app.add_subcommand("ls", "List buckets, or the objects of a bucket");
  ls->add_option("LOCATION", flags.ls.location, "s3://bucket[/prefix]; without it: the buckets");
  ls->add_flag("--recursive,-r", flags.ls.recursive, "Everything below the prefix, not only one level");
  add_client_flags(*ls, flags.ls.client, false);
  add_output_flags(*ls, flags.ls.output, false);

  auto* stat = add_locations(app, "stat", "Show size, ETag, checksum and metadata",
                             "s3://bucket/key or s3://bucket", flags.stat);
  auto* rm = add_locations(app, "rm", "Remove objects", "s3://bucket/key", flags.rm);
  auto* mb = add_locations(app, "mb", "Make buckets", "s3://bucket", flags.mb);
  auto* rb = add_locations(app, "rb", "Remove empty buckets", "s3://bucket", flags.rb);

  auto* doctor = app.add_subcommand(
      "doctor", "Say which fabrics, limits and endpoints work here, and what to do about the others");
  add_client_flags(*doctor, flags.doctor.client, true);
  add_output_flags(*doctor, flags.doctor.output, false);

  std::string help_topic;
  auto* help = app.add_subcommand("help", "Show the help of a command");
  help->add_option("COMMAND", help_topic, "Which")->required();
  // "help" alone is asked of the program, not of its help command.
  if (argc == 2 && std::string_view(argv[1]) == "help") {
    std::fputs(app.help().c_str(), stdout);
    return kDone;
  }

  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    const auto chosen = app.get_subcommands();
    std::fputs((chosen.empty() ? app.help() : chosen.front()->help("sluice")).c_str(), stdout);
    return kDone;
  } catch (const CLI::CallForVersion&) {
    std::puts("sluice " SLUICE_VERSION_STRING);
    return kDone;
  } catch (const CLI::ParseError& error) {
    if (app.get_subcommands().empty() && argc > 1 && argv[1][0] != '-') return unknown_command(app, argv[1]);
    std::string hint = "see 'sluice help'";
    if (const auto chosen = app.get_subcommands(); !chosen.empty())
      hint = "see 'sluice help " + chosen.front()->get_name() + "'";
    print_error(std::string(error.what()) + " (" + hint + ")");
    return kUsage;
  }

  if (help->parsed()) {
    const auto all = app.get_subcommands([](CLI::App*) { return true; });
    const auto found = std::find_if(
        all.begin(), all.end(), [&](const CLI::App* command) { return command->get_name() == help_topic; });
    if (found == all.end()) return unknown_command(app, help_topic);
    std::fputs((*found)->help("sluice").c_str(), stdout);
    return kDone;
  }
  if (serve->parsed()) {
    if (!flags.serve.config.empty()) {
      if (auto applied = apply_config(*serve, flags.serve.config); !applied) {
        print_error(applied.error().describe());
        return kUsage;
      }
    }
    return run_serve(flags.serve);
  }
  if (cp->parsed()) return run_cp(flags.cp);
  if (cat->parsed()) return run_cat(flags.cat);
  if (ls->parsed()) return run_ls(flags.ls);
  if (stat->parsed()) return run_stat(flags.stat);
  if (rm->parsed()) return run_rm(flags.rm);
  if (mb->parsed()) return run_mb(flags.mb);
  if (rb->parsed()) return run_rb(flags.rb);
  if (doctor->parsed()) return run_doctor(flags.doctor);
  return kUsage;
}

}  // namespace

int run(int argc, const char* const* argv) {
  ::signal(SIGPIPE, SIG_IGN);
  const int code = run_command(argc, argv);
  // Output that nobody got is a failure, such as a listing on a full disk.
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return code;
  if (code == kDone) print_error("writing to standard output failed");
  return code == kDone ? kFailed : code;
}

}  // namespace sluice::cli
