// The gateway's key pair: from the environment, from a file, or made at random.
#pragma once

#include <cstdint>
#include <string>

#include "sluice/error.h"

namespace sluice::cli {

struct ServeCredentials {
  std::string access_key;
  std::string secret_key;
  bool generated = false;
  std::string file;  ///< where the pair was read from; empty: the environment
};

/// `file` if it exists, else AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, else a random pair (not yet
/// written). The file holds lines `export AWS_ACCESS_KEY_ID=…` (export is optional) and must not be readable
/// by others. Errors: config_error naming the file or the variable.
Result<ServeCredentials> serve_credentials(const std::string& file);

/// Writes a generated pair for `. FILE`, mode 0600 (design rule 13). Empty `file`: a private folder of this
/// user under $XDG_RUNTIME_DIR or /tmp, named after the port. Returns the path.
Result<std::string> write_generated(const ServeCredentials& credentials, const std::string& file,
                                    std::uint16_t port);

}  // namespace sluice::cli
