// The command line: flags, help, and which command runs.
#pragma once

namespace sluice::cli {

/// Parses and runs; returns the exit code (0 done, 1 failed, 2 usage).
int run(int argc, const char* const* argv);

}  // namespace sluice::cli
