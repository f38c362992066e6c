#include "cli/output.h"

#include <cstdio>
#include <nlohmann/json.hpp>

namespace sluice::cli {
namespace {

/// What happened, and the flag that helps where there is one.
std::string with_cure(const Error& error) {
  switch (error.code()) {
    case ErrorCode::timeout:
      return error.describe() + "; if the server is only slow, --timeout of cp and cat gives it longer";
    case ErrorCode::lease_expired:
      return error.describe() + "; if the network is only slow, lower --lease-min-rate of 'sluice serve'";
    default:
      return error.describe();
  }
}

}  // namespace

void print_json(const nlohmann::ordered_json& object) {
  print_line(object.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace));
}

void print_line(std::string_view line) {
  std::fwrite(line.data(), 1, line.size(), stdout);
  std::fputc('\n', stdout);
}

void print_error(std::string_view message) {
  std::fflush(stdout);
  std::fprintf(stderr, "sluice: %.*s\n", static_cast<int>(message.size()), message.data());
}

int exit_code(const Error& error) {
  const bool usage = error.code() == ErrorCode::invalid_argument && error.s3().http_status == 0;
  return usage || error.code() == ErrorCode::config_error ? kUsage : kFailed;
}

int fail(const Error& error, const OutputFlags& output) {
  return fail(error, output, nlohmann::ordered_json::object());
}

int fail(const Error& error, const OutputFlags& output, nlohmann::ordered_json done) {
  if (output.json) {
    done["error"] = with_cure(error);
    done["code"] = to_string(error.code());
    done["outcome"] = to_string(error.outcome());
    if (!error.s3().code.empty()) done["s3_code"] = error.s3().code;
    if (!error.s3().request_id.empty()) done["request_id"] = error.s3().request_id;
    print_json(done);
  } else {
    std::string line = with_cure(error);
    if (!error.s3().request_id.empty()) line += " (request " + error.s3().request_id + ")";
    print_error(line);
  }
  return exit_code(error);
}

std::string printable(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte == 0x7f) {
      char escaped[8];
      std::snprintf(escaped, sizeof escaped, "\\x%02x", byte);
      out += escaped;
    } else {
      out += c;
    }
  }
  return out;
}

}  // namespace sluice::cli
