// From method and target to the one operation that is meant.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/headers.h"
#include "s3/keys.h"
#include "sluice/error.h"

namespace sluice::gateway {

enum class Operation : std::uint8_t {
  list_buckets,
  create_bucket,
  head_bucket,
  delete_bucket,
  get_bucket_location,
  list_objects_v2,
  put_object,
  get_object,
  head_object,
  delete_object,
  discovery,  ///< GET /.well-known/s3-rdma
  unknown,    ///< refused before it had a name
};
inline constexpr std::size_t kOperations = static_cast<std::size_t>(Operation::unknown) + 1;
/// As S3 names them: "GetObject".
std::string_view to_string(Operation operation) noexcept;
/// Operations that change something; --read-only refuses them.
[[nodiscard]] bool writes(Operation operation) noexcept;

/// The answer to what S3 has and this gateway has not: `what` in the words of its S3 name.
Error not_implemented(std::string_view what);

/// Whether the raw target is the discovery document's; it has no signature to check.
[[nodiscard]] bool is_discovery(std::string_view raw_target);

/// Strict: a query parameter or an x-amz header that would change the operation's meaning and is not done
/// here is an error, never ignored. Errors: NotImplemented naming the operation or what asked for it,
/// MethodNotAllowed.
Result<Operation> route(std::string_view method, const s3::Target& target, const HeaderList& headers);

}  // namespace sluice::gateway
