// One HTTP request to the endpoint: building, signing, and the small exchanges whose bodies are text.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "base/headers.h"
#include "base/task.h"
#include "client/attempt.h"
#include "client/engine.h"
#include "http/message.h"
#include "s3/keys.h"

namespace sluice::client {

/// A head ready to be sent: host, user-agent and content-length are added, and it is signed unless the client
/// is anonymous. `content_length` unset: a request without a body.
Result<http::RequestHead> make_head(const Engine& engine, std::string method, std::string target,
                                    HeaderList headers, std::optional<std::uint64_t> content_length);

struct SmallRequest {
  std::string method;
  std::string bucket;
  std::string key;
  s3::Query query;
  HeaderList headers;
  std::string body;
  std::string context;     ///< "head s3://b/k", for messages
  std::string raw_target;  ///< instead of bucket, key and query
  bool sign = true;
};
struct SmallReply {
  int status = 0;
  HeaderList headers;
  std::string body;
};

/// Sends and reads everything, repeating what may be repeated until the deadline or the client's attempts are
/// used up. Statuses from 300 on are errors (s3::error_from_response).
Task<Result<SmallReply>> exchange(std::shared_ptr<Engine> engine, SmallRequest request,
                                  std::size_t body_limit, Deadline deadline);

/// The rest of a response whose status is an error, as an Error. Consumes the connection's body.
Task<Error> read_error(http::Connection* connection, http::ResponseHead head, std::string context,
                       Deadline deadline);

/// "get s3://bucket/key" with control characters made visible.
std::string describe(std::string_view verb, std::string_view bucket, std::string_view key);

}  // namespace sluice::client
