// Stores memory as an object and reads it back, by RDMA where the endpoint and this machine can, else over
// HTTP.
//
//   put_get ENDPOINT BUCKET KEY [BYTES]
//
// Keys come from AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY. The bucket must exist (`sluice mb
// s3://BUCKET`).
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sluice/sluice.hpp"

namespace {

int fail(std::string_view what, const sluice::Error& error) {
  std::fprintf(stderr, "put_get: %.*s: %s (outcome: %s)\n", static_cast<int>(what.size()), what.data(),
               error.describe().c_str(), std::string(to_string(error.outcome())).c_str());
  return 1;
}

void report(const char* what, const sluice::TransferResult& result) {
  const double seconds = std::chrono::duration<double>(result.elapsed).count();
  std::printf("%s: %llu bytes, data path %s %s, %.6f s, %s\n", what,
              static_cast<unsigned long long>(result.bytes), std::string(to_string(result.data_path)).c_str(),
              result.fabric.c_str(), seconds, result.checksum.c_str());
  if (!result.fallback_reason.empty()) std::printf("  not by RDMA: %s\n", result.fallback_reason.c_str());
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> arguments(argv, argv + argc);
  if (arguments.size() == 2 && arguments[1] == "--version") {
    std::puts("put_get with Sluice " SLUICE_VERSION_STRING);
    return 0;
  }
  if (arguments.size() < 4 || arguments.size() > 5) {
    std::fputs("usage: put_get ENDPOINT BUCKET KEY [BYTES]\n", stderr);
    return 2;
  }
  const std::size_t bytes =
      arguments.size() == 5 ? std::strtoull(arguments[4].c_str(), nullptr, 10) : 1 << 20;

  // Credentials, region and a CA bundle come from the AWS environment and files; what is set here wins.
  sluice::ClientOptions wanted;
  wanted.endpoint = arguments[1];
  wanted.data_path = sluice::DataPathPolicy::prefer;
  wanted.rdma_threshold_bytes = 0;  // small objects by RDMA, too: this is a demonstration
  auto options = sluice::options_from_environment(std::move(wanted));
  if (!options) return fail("options", options.error());
  auto client = sluice::Client::make(*std::move(options));
  if (!client) return fail("client", client.error());

  std::vector<std::byte> source(bytes);
  for (std::size_t i = 0; i < bytes; ++i) source[i] = static_cast<std::byte>(i * 131 >> 3);

  // `source` belongs to the transfer until wait() returns.
  sluice::PutRequest put;
  put.bucket = arguments[2];
  put.key = arguments[3];
  const auto stored = client->put(std::move(put), sluice::Memory::host_source(source)).wait();
  if (!stored) return fail("put", stored.error());
  report("put", *stored);

  std::vector<std::byte> target(bytes);
  sluice::GetRequest get;
  get.bucket = arguments[2];
  get.key = arguments[3];
  get.object_bytes = bytes;  // known, so no request is needed to ask for it
  const auto fetched = client->get(std::move(get), sluice::Memory::host(target)).wait();
  if (!fetched) return fail("get", fetched.error());
  report("get", *fetched);

  if (target != source) {
    std::fputs("put_get: what came back is not what went in\n", stderr);
    return 1;
  }
  std::puts("identical");
  return 0;
}
