#include "cli/parts.h"

#include <algorithm>
#include <deque>
#include <optional>

#include "base/parse.h"
#include "checksum/checksum.h"

namespace sluice::cli {

namespace {

/// Two windows keep both the wire and the verifying core busy; more only costs memory on small machines.
constexpr std::size_t kPartsInFlight = 2;

struct Part {
  std::uint64_t offset;
  std::uint64_t bytes;
  Transfer transfer;
};

void cancel_all(std::deque<Part>& parts) {
  for (const auto& part : parts) part.transfer.cancel();
  for (const auto& part : parts) (void)part.transfer.wait();
  parts.clear();
}

}  // namespace

std::string PartsResult::data_path() const {
  if (bytes == 0) return "none";
  if (rdma_bytes == bytes) return "rdma";
  return rdma_bytes == 0 ? "http" : "mixed";
}

Result<std::uint64_t> parse_part_size(const std::string& text) {
  auto bytes = parse_size(text);
  if (!bytes) return std::move(bytes).error().with_context("--part-size");
  if (*bytes == 0) return Error(ErrorCode::invalid_argument, "--part-size: must be more than 0");
  return bytes;
}

Result<PartsResult> get_parts(Client& client, const std::string& bucket, const std::string& key,
                              const std::string& etag, std::uint64_t object_bytes, std::uint64_t first,
                              Memory into, std::uint64_t part_bytes, const TransferOptions& options,
                              const std::function<void(std::uint64_t, std::uint64_t, DataPath)>& on_part) {
  PartsResult sum;
  sum.etag = etag;
  std::optional<std::uint64_t> crc = 0;
  std::deque<Part> in_flight;
  std::uint64_t next = 0;
  while (next < into.bytes || !in_flight.empty()) {
    while (next < into.bytes && in_flight.size() < kPartsInFlight) {
      const std::uint64_t bytes = std::min<std::uint64_t>(part_bytes, into.bytes - next);
      GetRequest request{.bucket = bucket, .key = key, .if_match = etag, .object_bytes = object_bytes};
      if (first != 0 || bytes != object_bytes)
        request.range = ByteRange{.first = first + next, .bytes = bytes};
      Memory window = into;
      window.data += next;
      window.bytes = bytes;
      in_flight.push_back({next, bytes, client.get(std::move(request), window, options)});
      next += bytes;
    }
    Part part = std::move(in_flight.front());
    in_flight.pop_front();
    auto result = part.transfer.wait();
    if (result && result->bytes != part.bytes) {
      result =
          Error(ErrorCode::size_mismatch, "got " + std::to_string(result->bytes) + " bytes of a part of " +
                                              std::to_string(part.bytes) + ": was the object replaced?")
              .with_outcome(Outcome::uncertain);
    }
    if (!result) {
      cancel_all(in_flight);
      return std::move(result).error();
    }
    sum.bytes += result->bytes;
    sum.parts += 1;
    sum.retries += result->retries;
    if (result->data_path == DataPath::rdma) {
      sum.rdma_bytes += result->bytes;
      sum.fabric = result->fabric;
    }
    if (result->delivery == Delivery::staged) sum.delivery = "staged";
    if (!result->fallback_reason.empty()) sum.fallback_reason = result->fallback_reason;
    const std::string_view prefix = "crc64nvme:";
    if (crc && result->checksum.starts_with(prefix)) {
      const auto value = parse_hex_u64(std::string_view(result->checksum).substr(prefix.size()));
      crc = value ? std::optional(crc64nvme_combine(*crc, *value, part.bytes)) : std::nullopt;
    } else {
      crc.reset();
    }
    on_part(part.offset, part.bytes, result->data_path);
  }
  if (crc) sum.checksum = Checksum::checksum_text(ChecksumAlgorithm::crc64nvme, *crc);
  return sum;
}

}  // namespace sluice::cli
