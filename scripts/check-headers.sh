#!/usr/bin/env bash
# Each public header compiles alone, as the first include, under the flags of a strict user.
#   scripts/check-headers.sh [INCLUDE_DIR]
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
include=${1:-$root/include}
prefix=$root/build/deps/usr/include # where install-deps.sh unpacks what it cannot install
failed=0 count=0
for header in "$include"/sluice/*; do
  name=sluice/${header##*/}
  count=$((count + 1))
  # Twice: a header without a guard fails as well.
  printf '#include "%s"\n#include "%s"\nint main() {}\n' "$name" "$name" |
    "${CXX:-g++}" -std=c++20 -fsyntax-only -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wold-style-cast -Werror \
      -I "$include" -isystem "$prefix" -x c++ - || { echo "$name: does not compile alone" >&2; failed=1; }
done
[ "$count" -gt 0 ] || { echo "check-headers: no header in $include/sluice" >&2; exit 2; }
printf 'check-headers: %s public headers\n' "$count" >&2
exit "$failed"
