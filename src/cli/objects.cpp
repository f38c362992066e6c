// sluice cat, ls, stat, rm: commands on objects.
#include <nlohmann/json.hpp>

#include <cstdio>

#include "base/parse.h"
#include "base/time.h"
#include "base/try.h"
#include "base/uri.h"
#include "cli/command.h"
#include "cli/output.h"
#include "cli/parts.h"
#include "cli/progress.h"
#include "memory/memory.h"

namespace sluice::cli {

namespace {

using Json = nlohmann::ordered_json;

/// "4096-8191" or "4096-": first and last byte, inclusive, as in an HTTP Range.
Result<ByteRange> parse_cat_range(const std::string& text, std::uint64_t object_bytes) {
  const auto bad = [&](const std::string& what) {
    return Error(ErrorCode::invalid_argument,
                 "--range '" + text + "': " + what + "; write FIRST-LAST or FIRST-, counted from 0");
  };
  const auto dash = text.find('-');
  if (dash == std::string::npos) return bad("there is no '-'");
  auto first = parse_u64(std::string_view(text).substr(0, dash));
  if (!first) return bad(first.error().message());
  std::uint64_t last = UINT64_MAX;
  if (dash + 1 < text.size()) {
    auto parsed = parse_u64(std::string_view(text).substr(dash + 1));
    if (!parsed) return bad(parsed.error().message());
    last = *parsed;
  }
  if (last < *first) return bad("it ends before it begins");
  if (*first >= object_bytes) {
    return Error(ErrorCode::range_not_satisfiable,
                 "--range '" + text + "': the object has only " + std::to_string(object_bytes) + " bytes");
  }
  return ByteRange{.first = *first, .bytes = std::min(last, object_bytes - 1) - *first + 1};
}

Result<void> write_all(std::span<const std::byte> bytes) {
  if (std::fwrite(bytes.data(), 1, bytes.size(), stdout) != bytes.size() || std::fflush(stdout) != 0) {
    return errno_error(errno, "writing to standard output");
  }
  return {};
}

/// One object to stdout through a buffer of two parts, so that memory stays bounded whatever the size.
Result<void> cat_one(Client& client, const CatFlags& flags, const std::string& location,
                     const TransferOptions& options) {
  SLUICE_TRY(S3Location source, parse_s3_location(location));
  if (source.key.empty())
    return Error(ErrorCode::invalid_argument, location + " names a bucket: name an object in it");
  SLUICE_TRY(const std::uint64_t part_bytes, parse_part_size(flags.part_size));
  SLUICE_TRY(ObjectDetails details, client.head(source.bucket, source.key));
  ByteRange range{.first = 0, .bytes = details.summary.bytes};
  if (!flags.range.empty()) {
    SLUICE_TRY(range, parse_cat_range(flags.range, details.summary.bytes));
  }
  if (range.bytes == 0) return {};
  const std::uint64_t step = std::min(range.bytes, part_bytes);
  SLUICE_TRY(AlignedBuffer buffer, AlignedBuffer::allocate(step));
  Progress progress(location, range.bytes, flags.output);
  for (std::uint64_t done = 0; done < range.bytes;) {
    const std::uint64_t bytes = std::min(step, range.bytes - done);
    const auto window = buffer.span().first(bytes);
    SLUICE_TRY(
        PartsResult sum,
        get_parts(client, source.bucket, source.key, details.summary.etag, details.summary.bytes,
                  range.first + done, Memory::host(window), bytes, options,
                  [&](std::uint64_t, std::uint64_t moved, DataPath path) { progress.add(moved, path); }));
    (void)sum;
    SLUICE_CHECK(write_all(window));
    done += bytes;
  }
  return {};
}

std::string time_text(std::chrono::system_clock::time_point when) {
  return format_iso8601(when);
}

/// Every page of a listing, each handed to `page`.
template <class OnPage>
Result<void> each_page(Client& client, ListRequest request, OnPage on_page) {
  for (;;) {
    SLUICE_TRY(ListPage page, client.list(request));
    on_page(page);
    if (page.next_continuation_token.empty()) return {};
    if (page.next_continuation_token == request.continuation_token) {
      return Error(ErrorCode::protocol_error, "the server repeats a page of the listing without end");
    }
    request.continuation_token = page.next_continuation_token;
  }
}

Result<void> list_location(Client& client, const ListFlags& flags) {
  SLUICE_TRY(S3Location location, parse_s3_location(flags.location));
  ListRequest request{.bucket = location.bucket, .prefix = location.key};
  if (!flags.recursive) request.delimiter = "/";
  return each_page(client, std::move(request), [&](const ListPage& page) {
    for (const auto& prefix : page.common_prefixes) {
      if (flags.output.json) {
        print_json({{"bucket", location.bucket}, {"prefix", prefix}});
      } else {
        print_line("                               PRE " + printable(prefix));
      }
    }
    for (const auto& object : page.objects) {
      if (flags.output.json) {
        print_json({{"bucket", location.bucket},
                    {"key", object.key},
                    {"bytes", object.bytes},
                    {"etag", object.etag},
                    {"modified", time_text(object.modified)}});
      } else {
        std::string size = std::to_string(object.bytes);
        size.insert(0, size.size() < 14 ? 14 - size.size() : 0, ' ');
        print_line(time_text(object.modified).substr(0, 19) + size + "  " + printable(object.key));
      }
    }
  });
}

Result<void> list_all_buckets(Client& client, const OutputFlags& output) {
  SLUICE_TRY(auto buckets, client.buckets());
  for (const auto& bucket : buckets) {
    if (output.json) {
      print_json({{"bucket", bucket.name}, {"created", time_text(bucket.created)}});
    } else {
      print_line(time_text(bucket.created).substr(0, 19) + "  s3://" + printable(bucket.name));
    }
  }
  return {};
}

/// Runs `action` on each location; goes on after a failure and reports every one. The exit code is the worst.
template <class Action>
int for_each_location(const LocationFlags& flags, Action action) {
  auto client = make_client(flags.client, DataPathPolicy::off);
  if (!client) return fail(client.error(), flags.output);
  int code = kDone;
  for (const auto& location : flags.locations) {
    if (Result<void> done = action(*client, location); !done) {
      code = std::max(code, fail(Error(done.error()).with_context(printable(location)), flags.output,
                                 {{"location", location}}));
    }
  }
  return code;
}

Result<void> stat_one(Client& client, const std::string& location, const OutputFlags& output) {
  SLUICE_TRY(S3Location place, parse_s3_location(location));
  if (place.key.empty()) {
    SLUICE_CHECK(client.head_bucket(place.bucket));
    if (output.json) {
      print_json({{"bucket", place.bucket}});
    } else {
      print_line("bucket    " + printable(place.bucket));
    }
    return {};
  }
  SLUICE_TRY(ObjectDetails details, client.head(place.bucket, place.key));
  if (output.json) {
    Json metadata = Json::object();
    for (const auto& [name, value] : details.user_metadata) metadata[name] = value;
    print_json({{"bucket", place.bucket},
                {"key", place.key},
                {"bytes", details.summary.bytes},
                {"etag", details.summary.etag},
                {"modified", time_text(details.summary.modified)},
                {"content_type", details.content_type},
                {"checksum", details.checksum},
                {"metadata", metadata}});
    return {};
  }
  print_line("object    " + printable(location));
  print_line("bytes     " + std::to_string(details.summary.bytes) + " (" +
             format_size(details.summary.bytes) + ")");
  print_line("etag      " + printable(details.summary.etag));
  print_line("modified  " + time_text(details.summary.modified));
  print_line("type      " + printable(details.content_type));
  if (!details.checksum.empty()) print_line("checksum  " + details.checksum);
  for (const auto& [name, value] : details.user_metadata)
    print_line("metadata  " + printable(name) + "=" + printable(value));
  return {};
}

Result<std::string> bucket_of(const std::string& location) {
  SLUICE_TRY(S3Location place, parse_s3_location(location));
  if (!place.key.empty())
    return Error(ErrorCode::invalid_argument,
                 location + " names an object; a bucket is s3://" + place.bucket);
  return place.bucket;
}

void confirm(const OutputFlags& output, const char* what, const std::string& location) {
  if (output.json) {
    print_json({{"location", location}, {"done", what}});
  } else if (!output.quiet) {
    print_line(std::string(what) + " " + printable(location));
  }
}

}  // namespace

int run_cat(const CatFlags& flags) {
  auto client = make_client(flags.client, DataPathPolicy::prefer);
  if (!client) return fail(client.error(), flags.output);
  auto options = transfer_options(flags.client);
  if (!options) return fail(options.error(), flags.output);
  for (const auto& location : flags.objects) {
    // The first failure ends it: what follows on stdout would look like the rest of this object.
    if (auto done = cat_one(*client, flags, location, *options); !done) {
      return fail(Error(done.error()).with_context("cat " + printable(location)), flags.output);
    }
  }
  return kDone;
}

int run_ls(const ListFlags& flags) {
  auto client = make_client(flags.client, DataPathPolicy::off);
  if (!client) return fail(client.error(), flags.output);
  const bool all = flags.location.empty() || flags.location == "s3://";
  const auto done = all ? list_all_buckets(*client, flags.output) : list_location(*client, flags);
  return done ? kDone
              : fail(Error(done.error()).with_context(all ? "ls" : "ls " + printable(flags.location)),
                     flags.output);
}

int run_stat(const LocationFlags& flags) {
  return for_each_location(flags, [&](Client& client, const std::string& location) {
    return stat_one(client, location, flags.output);
  });
}

int run_rm(const LocationFlags& flags) {
  return for_each_location(flags, [&](Client& client, const std::string& location) -> Result<void> {
    SLUICE_TRY(S3Location place, parse_s3_location(location));
    if (place.key.empty())
      return Error(ErrorCode::invalid_argument, "this is a bucket: remove it with sluice rb");
    SLUICE_CHECK(client.remove(place.bucket, place.key));
    confirm(flags.output, "removed", location);
    return {};
  });
}

int run_mb(const LocationFlags& flags) {
  return for_each_location(flags, [&](Client& client, const std::string& location) -> Result<void> {
    SLUICE_TRY(std::string bucket, bucket_of(location));
    SLUICE_CHECK(client.create_bucket(bucket));
    confirm(flags.output, "made", location);
    return {};
  });
}

int run_rb(const LocationFlags& flags) {
  return for_each_location(flags, [&](Client& client, const std::string& location) -> Result<void> {
    SLUICE_TRY(std::string bucket, bucket_of(location));
    SLUICE_CHECK(client.delete_bucket(bucket));
    confirm(flags.output, "removed", location);
    return {};
  });
}

}  // namespace sluice::cli
