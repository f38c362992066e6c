#include <signal.h>

#include <initializer_list>

#include "cli/app.h"

int main(int argc, char** argv) {
  // libfabric's PSM libraries put handlers on these before main runs, which print into the working directory
  // and hide where a crash really was.
  for (const int number : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT}) ::signal(number, SIG_DFL);
  return sluice::cli::run(argc, argv);
}
