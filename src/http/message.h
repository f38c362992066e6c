// HTTP/1.1 messages as values, shared by client and server.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "base/deadline.h"
#include "base/headers.h"

namespace sluice::http {

struct RequestHead {
  std::string method;  ///< "GET", "PUT", …
  std::string target;  ///< exactly as on the wire: origin form, percent-encoded, with its query
  HeaderList headers;
};

struct ResponseHead {
  int status = 200;
  HeaderList
      headers;  ///< without content-length/transfer-encoding/connection when sending: the server adds them
};

/// Numeric addresses of an established connection.
struct ConnectionAddresses {
  std::string local;
  std::string peer;
  std::uint16_t local_port = 0;
  std::uint16_t peer_port = 0;
  bool tls = false;
};

}  // namespace sluice::http
