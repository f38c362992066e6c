// sluice cp: one file or object to another place.
#include <nlohmann/json.hpp>

#include "base/parse.h"
#include "base/try.h"
#include "base/uri.h"
#include "cli/command.h"
#include "cli/local_file.h"
#include "cli/output.h"
#include "cli/parts.h"
#include "cli/progress.h"

namespace sluice::cli {

namespace {

using Json = nlohmann::ordered_json;

std::string base_name(const std::string& path) {
  const auto slash = path.find_last_of('/');
  return slash == std::string::npos ? path : path.substr(slash + 1);
}

/// "s3://b" or "s3://b/dir/" as a target: the source's own name is added.
S3Location complete(S3Location target, const std::string& source) {
  if (target.key.empty() || target.key.back() == '/') target.key += base_name(source);
  return target;
}

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

struct Copied {
  std::string target;
  PartsResult sum;
};

Result<PutRequest> put_request(const CopyFlags& flags, const S3Location& target) {
  PutRequest request{.bucket = target.bucket, .key = target.key};
  request.content_type = flags.content_type;  // empty: the server tells it from the name of the key
  if (flags.no_clobber) request.if_none_match = "*";
  for (const auto& entry : flags.metadata) {
    const auto equals = entry.find('=');
    if (equals == std::string::npos || equals == 0) {
      return Error(ErrorCode::invalid_argument, "--metadata: '" + entry + "' is not NAME=VALUE");
    }
    request.user_metadata.emplace_back(entry.substr(0, equals), entry.substr(equals + 1));
  }
  return request;
}

Result<PartsResult> put_memory(Client& client, PutRequest request, Memory from,
                               const TransferOptions& options, Progress& progress) {
  SLUICE_TRY(TransferResult result, client.put(std::move(request), from, options).wait());
  progress.add(result.bytes, result.data_path);
  PartsResult sum;
  sum.bytes = result.bytes;
  sum.rdma_bytes = result.data_path == DataPath::rdma ? result.bytes : 0;
  sum.parts = 1;
  sum.retries = result.retries;
  sum.fabric = result.fabric;
  sum.etag = result.etag;
  sum.checksum = result.checksum;
  sum.fallback_reason = result.fallback_reason;
  sum.delivery = to_string(result.delivery);
  return sum;
}

Result<Copied> upload(Client& client, const CopyFlags& flags, const TransferOptions& options) {
  SLUICE_TRY(S3Location target, parse_s3_location(flags.target));
  if (flags.source == "-" && (target.key.empty() || target.key.back() == '/')) {
    return Error(ErrorCode::invalid_argument,
                 "standard input has no name: give the whole key in " + flags.target);
  }
  target = complete(std::move(target), flags.source);
  SLUICE_TRY(PutRequest request, put_request(flags, target));
  std::size_t bytes = 0;
  SLUICE_TRY(AlignedBuffer source, read_source(flags.source, bytes));
  Progress progress(flags.source, bytes, flags.output);
  const Memory memory = Memory::host({source.data(), bytes});
  Copied copied{.target = "s3://" + target.bucket + "/" + target.key, .sum = {}};
  SLUICE_TRY(copied.sum, put_memory(client, std::move(request), memory, options, progress));
  return copied;
}

Result<S3Location> object_location(const std::string& text) {
  SLUICE_TRY(S3Location location, parse_s3_location(text));
  if (location.key.empty())
    return Error(ErrorCode::invalid_argument, text + " names a bucket: name an object in it");
  return location;
}

/// Gets the whole object into memory of its size, which `allocate` provides once the size is known.
template <class Allocate>
Result<PartsResult> download_into(Client& client, const CopyFlags& flags, const S3Location& source,
                                  const ObjectDetails& details, std::uint64_t part_bytes,
                                  const TransferOptions& options, Allocate allocate) {
  SLUICE_TRY(Memory into, allocate(details.summary.bytes));
  Progress progress(flags.source, details.summary.bytes, flags.output);
  SLUICE_TRY(PartsResult sum,
             get_parts(client, source.bucket, source.key, details.summary.etag, details.summary.bytes, 0,
                       into, part_bytes, options, [&](std::uint64_t, std::uint64_t bytes, DataPath path) {
                         progress.add(bytes, path);
                       }));
  if (!sum.checksum.empty() && !details.checksum.empty() && sum.checksum != details.checksum) {
    return Error(ErrorCode::checksum_mismatch, "the parts of " + flags.source + " add up to " + sum.checksum +
                                                   ", the server stores " + details.checksum)
        .with_outcome(Outcome::uncertain);
  }
  return sum;
}

Result<Copied> download(Client& client, const CopyFlags& flags, const TransferOptions& options) {
  SLUICE_TRY(S3Location source, object_location(flags.source));
  if (flags.target == "-")
    return Error(ErrorCode::invalid_argument, "to standard output: use sluice cat " + flags.source);
  SLUICE_TRY(const std::uint64_t part_bytes, parse_part_size(flags.part_size));
  SLUICE_TRY(ObjectDetails details, client.head(source.bucket, source.key));
  std::string path = flags.target;
  if (path.empty() || path.back() == '/') path += base_name(source.key);
  if (is_directory(path)) path += "/" + base_name(source.key);
  // Before the transfer, so that nothing moves in vain; `finish` decides.
  if (flags.no_clobber && file_exists(path)) return target_exists(path);
  SLUICE_TRY(TargetFile target, TargetFile::create(path, details.summary.bytes));
  Copied copied{.target = path, .sum = {}};
  SLUICE_TRY(copied.sum,
             download_into(client, flags, source, details, part_bytes, options,
                           [&](std::uint64_t) -> Result<Memory> { return Memory::host(target.span()); }));
  SLUICE_CHECK(target.finish(!flags.no_clobber));
  return copied;
}

Result<Copied> copy_object(Client& client, const CopyFlags& flags, const TransferOptions& options) {
  SLUICE_TRY(S3Location source, object_location(flags.source));
  SLUICE_TRY(S3Location target, parse_s3_location(flags.target));
  target = complete(std::move(target), source.key);
  SLUICE_TRY(const std::uint64_t part_bytes, parse_part_size(flags.part_size));
  SLUICE_TRY(PutRequest request, put_request(flags, target));
  SLUICE_TRY(ObjectDetails details, client.head(source.bucket, source.key));
  AlignedBuffer buffer;
  CopyFlags silent = flags;
  silent.output.quiet = true;
  SLUICE_TRY(PartsResult got, download_into(client, silent, source, details, part_bytes, options,
                                            [&](std::uint64_t bytes) -> Result<Memory> {
                                              if (bytes == 0) return Memory{};
                                              SLUICE_TRY(buffer, AlignedBuffer::allocate(bytes));
                                              return Memory::host(buffer.span());
                                            }));
  if (flags.content_type.empty()) request.content_type = details.content_type;
  if (flags.metadata.empty()) request.user_metadata = details.user_metadata;
  Progress progress(flags.source, got.bytes, flags.output);
  Copied copied{.target = "s3://" + target.bucket + "/" + target.key, .sum = {}};
  SLUICE_TRY(copied.sum,
             put_memory(client, std::move(request), Memory::host(buffer.span()), options, progress));
  return copied;
}

}  // namespace

int run_cp(const CopyFlags& flags) {
  const bool from_s3 = is_s3_location(flags.source);
  const bool to_s3 = is_s3_location(flags.target);
  const auto start = std::chrono::steady_clock::now();
  const Json done = {{"source", flags.source}, {"target", flags.target}};
  if (!from_s3 && !to_s3) {
    const Error error(ErrorCode::invalid_argument, "neither '" + printable(flags.source) + "' nor '" +
                                                       printable(flags.target) +
                                                       "' is an s3:// location; use cp for local copies");
    return fail(error, flags.output, done);
  }
  auto client = make_client(flags.client, DataPathPolicy::prefer);
  if (!client) return fail(client.error(), flags.output, done);
  auto options = transfer_options(flags.client);
  if (!options) return fail(options.error(), flags.output, done);
  auto copied = !from_s3 ? upload(*client, flags, *options)
                : !to_s3 ? download(*client, flags, *options)
                         : copy_object(*client, flags, *options);
  if (!copied) {
    return fail(
        Error(copied.error()).with_context("cp " + printable(flags.source) + " " + printable(flags.target)),
        flags.output, done);
  }
  const auto& sum = copied->sum;
  const double seconds = seconds_since(start);
  if (flags.output.json) {
    Json line = {{"source", flags.source}, {"target", copied->target},     {"bytes", sum.bytes},
                 {"seconds", seconds},     {"data_path", sum.data_path()}, {"fabric", sum.fabric},
                 {"etag", sum.etag},       {"checksum", sum.checksum},     {"parts", sum.parts},
                 {"retries", sum.retries}};
    if (sum.rdma_bytes > 0) line["delivery"] = sum.delivery;
    if (!sum.fallback_reason.empty()) line["fallback_reason"] = sum.fallback_reason;
    print_json(line);
  } else if (!flags.output.quiet) {
    std::string line = printable(flags.source) + " -> " + printable(copied->target) + "  " +
                       format_size(sum.bytes) + " in " +
                       format_duration(std::chrono::nanoseconds(static_cast<std::int64_t>(seconds * 1e9))) +
                       " by " + sum.data_path();
    if (!sum.fabric.empty()) line += " (" + sum.fabric + ")";
    if (!sum.checksum.empty()) line += ", verified " + sum.checksum;
    if (!sum.fallback_reason.empty()) line += "; HTTP because " + sum.fallback_reason;
    print_line(line);
  }
  return kDone;
}

}  // namespace sluice::cli
