// Client options from the AWS environment variables and configuration files.
#include <cerrno>
#include <cstdlib>
#include <fstream>
#include <map>
#include <string>

#include "base/try.h"
#include "sluice/options.h"

namespace sluice {

namespace {

std::string env(const char* name) {
  const char* value = std::getenv(name);  // NOLINT(concurrency-mt-unsafe): read once, before threads matter
  return value == nullptr ? std::string() : std::string(value);
}

std::string_view trim(std::string_view text) {
  const auto first = text.find_first_not_of(" \t\r");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t\r") - first + 1);
}

using Section = std::map<std::string, std::string>;

/// One profile of an AWS configuration file: "[name]" in the credentials file, "[profile name]" in the config
/// file. A missing file or section is an empty one. Nested (indented) settings are skipped.
Result<Section> read_profile(const std::string& path, const std::string& heading) {
  Section found;
  std::ifstream file(path);
  if (!file) return found;
  std::string line;
  bool inside = false;
  for (int number = 1; std::getline(file, line); ++number) {
    if (line.size() > 8192) {
      return Error(ErrorCode::config_error,
                   path + ":" + std::to_string(number) + ": line longer than 8192 bytes");
    }
    const bool nested = !line.empty() && (line[0] == ' ' || line[0] == '\t');
    const std::string_view text = trim(line);
    if (text.empty() || text[0] == '#' || text[0] == ';') continue;
    if (text[0] == '[') {
      if (text.back() != ']') {
        return Error(ErrorCode::config_error,
                     path + ":" + std::to_string(number) + ": a section heading without its ']'");
      }
      inside = trim(text.substr(1, text.size() - 2)) == heading;
      continue;
    }
    if (!inside || nested) continue;
    const auto equals = text.find('=');
    if (equals == std::string_view::npos) {
      return Error(ErrorCode::config_error,
                   path + ":" + std::to_string(number) + ": expected 'name = value'");
    }
    found[std::string(trim(text.substr(0, equals)))] = std::string(trim(text.substr(equals + 1)));
  }
  return found;
}

std::string first_of(std::initializer_list<std::string> candidates) {
  for (const auto& candidate : candidates) {
    if (!candidate.empty()) return candidate;
  }
  return {};
}

}  // namespace

Result<ClientOptions> options_from_environment(ClientOptions base) {
  const ClientOptions defaults;
  const std::string home = env("HOME");
  const std::string named_profile = env("AWS_PROFILE");
  const std::string profile = named_profile.empty() ? "default" : named_profile;
  const std::string credentials_file =
      first_of({env("AWS_SHARED_CREDENTIALS_FILE"), home + "/.aws/credentials"});
  const std::string config_file = first_of({env("AWS_CONFIG_FILE"), home + "/.aws/config"});
  SLUICE_TRY(Section secrets, read_profile(credentials_file, profile));
  SLUICE_TRY(Section config,
             read_profile(config_file, profile == "default" ? "default" : "profile " + profile));
  if (!named_profile.empty() && secrets.empty() && config.empty()) {
    return Error(ErrorCode::config_error, "AWS_PROFILE names profile '" + profile +
                                              "', which is neither in " + credentials_file + " nor in " +
                                              config_file);
  }

  if (base.credentials.access_key.empty() && base.credentials.secret_key.empty()) {
    // A pair is taken whole from one source: half of the environment and half of a file is never right.
    if (!env("AWS_ACCESS_KEY_ID").empty() || !env("AWS_SECRET_ACCESS_KEY").empty()) {
      if (env("AWS_ACCESS_KEY_ID").empty() || env("AWS_SECRET_ACCESS_KEY").empty()) {
        return Error(ErrorCode::config_error,
                     "only one of AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY is set; set both or neither");
      }
      base.credentials.access_key = env("AWS_ACCESS_KEY_ID");
      base.credentials.secret_key = env("AWS_SECRET_ACCESS_KEY");
      base.credentials.session_token = env("AWS_SESSION_TOKEN");
    } else {
      for (auto* source : {&secrets, &config}) {
        if ((*source)["aws_access_key_id"].empty()) continue;
        base.credentials.access_key = (*source)["aws_access_key_id"];
        base.credentials.secret_key = (*source)["aws_secret_access_key"];
        base.credentials.session_token = (*source)["aws_session_token"];
        break;
      }
    }
  }
  if (base.endpoint.empty()) {
    base.endpoint = first_of({env("AWS_ENDPOINT_URL_S3"), env("AWS_ENDPOINT_URL"), config["endpoint_url"]});
  }
  if (base.region == defaults.region) {
    base.region = first_of({env("AWS_REGION"), env("AWS_DEFAULT_REGION"), config["region"], defaults.region});
  }
  if (base.ca_file.empty()) base.ca_file = first_of({env("AWS_CA_BUNDLE"), config["ca_bundle"]});
  return base;
}

}  // namespace sluice
