#include "http/tls.h"

#include <boost/system/error_code.hpp>
#include <string>

namespace sluice::http {

namespace {

namespace ssl = boost::asio::ssl;
using boost::system::error_code;

std::shared_ptr<ssl::context> make_context(ssl::context::method method) {
  auto context = std::make_shared<ssl::context>(method);
  ::SSL_CTX_set_min_proto_version(context->native_handle(), TLS1_2_VERSION);
  context->set_options(ssl::context::default_workarounds | ssl::context::no_compression |
                       static_cast<ssl::context::options>(SSL_OP_NO_RENEGOTIATION));
  // Without it OpenSSL refuses a retried write whose buffer object is another one at the same address.
  ::SSL_CTX_set_mode(context->native_handle(), SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
  return context;
}

Error file_error(const std::string& what, const std::string& file, const error_code& code) {
  return Error(ErrorCode::config_error, "cannot use " + what + " '" + file + "': " + code.message() +
                                            "; it must be a readable PEM file");
}

}  // namespace

Result<std::shared_ptr<ssl::context>> make_client_tls(const TlsClientOptions& options) {
  auto context = make_context(ssl::context::tls_client);
  error_code code;
  if (options.ca_file.empty()) {
    context->set_default_verify_paths(code);
    if (code)
      return Error(ErrorCode::config_error, "the system's CA certificates cannot be used: " + code.message());
  } else {
    context->load_verify_file(options.ca_file, code);
    if (code) return file_error("the CA file", options.ca_file, code);
  }
  context->set_verify_mode(options.verify_peer ? ssl::verify_peer : ssl::verify_none, code);
  return context;
}

Result<std::shared_ptr<ssl::context>> make_server_tls(const TlsServerFiles& files) {
  auto context = make_context(ssl::context::tls_server);
  error_code code;
  context->use_certificate_chain_file(files.certificate_chain_file, code);
  if (code) return file_error("the TLS certificate", files.certificate_chain_file, code);
  context->use_private_key_file(files.private_key_file, ssl::context::pem, code);
  if (code) return file_error("the TLS private key", files.private_key_file, code);
  if (::SSL_CTX_check_private_key(context->native_handle()) != 1) {
    return Error(ErrorCode::config_error, "the TLS private key '" + files.private_key_file +
                                              "' does not belong to the certificate '" +
                                              files.certificate_chain_file + "'");
  }
  return context;
}

}  // namespace sluice::http
