// What people and scripts read: JSON lines on stdout, messages and progress on stderr.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "cli/command.h"

namespace sluice::cli {

/// One JSON object per line on stdout. Bytes that are not UTF-8 are replaced.
void print_json(const nlohmann::ordered_json& object);
/// One line on stdout.
void print_line(std::string_view line);
/// One line on stderr, "sluice: ..." in front.
void print_error(std::string_view message);
/// 2 for usage and configuration (what the caller wrote is wrong, and no server was needed to see it),
/// else 1.
int exit_code(const Error& error);
/// Says what failed, as text on stderr or with --json as one object on stdout with `error`, `code`, `outcome`
/// and whatever `done` already holds. Returns the exit code.
int fail(const Error& error, const OutputFlags& output);
int fail(const Error& error, const OutputFlags& output, nlohmann::ordered_json done);
/// Control characters of keys and file names as \xNN, so that a listing cannot drive the terminal.
std::string printable(std::string_view text);

}  // namespace sluice::cli
