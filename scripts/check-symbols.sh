#!/usr/bin/env bash
# libsluice.so exports names of namespace sluice and nothing else: what it links must not leak into its users.
#   scripts/check-symbols.sh LIBRARY
set -euo pipefail

library=${1:?usage: scripts/check-symbols.sh LIBRARY}
exported=$(nm -D --defined-only --demangle "$library" | cut -d' ' -f3-)
foreign=$(grep -vE '^((typeinfo|typeinfo name|vtable|VTT|guard variable|(non-)?virtual thunk) (for|to) )?sluice::' <<<"$exported" || true)
if [ -n "$foreign" ]; then
  printf '%s exports foreign names:\n%s\n' "$library" "$foreign" | head -n 20
  exit 1
fi
count=$(grep -c . <<<"$exported" || true)
[ "$count" -gt 0 ] || { echo "$library exports nothing"; exit 1; }
printf 'check-symbols: %s names, all of sluice::\n' "$count" >&2
