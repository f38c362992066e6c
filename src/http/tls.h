// TLS contexts from files: version 1.2 or newer, errors that name the file.
#pragma once

#include <boost/asio/ssl/context.hpp>
#include <memory>

#include "http/client.h"
#include "http/server.h"
#include "sluice/error.h"

namespace sluice::http {

/// Shared by all streams of a pool or server; safe from any thread once made. Errors: config_error.
Result<std::shared_ptr<boost::asio::ssl::context>> make_client_tls(const TlsClientOptions& options);
Result<std::shared_ptr<boost::asio::ssl::context>> make_server_tls(const TlsServerFiles& files);

}  // namespace sluice::http
