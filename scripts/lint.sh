#!/usr/bin/env bash
# Everything that can be said about the code without running it; one line and its seconds per step.
#
#   scripts/lint.sh [--quick | --all] [--build DIR]
#
#   --quick   formatting, includes, headers, spelling and shell: seconds, no configured build needed
#   --all     clang-tidy on every file, not only on changed ones
#   --build   a configured g++ build (default build/dev, configured here if it is missing)
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$root"
quick=no tidy=() build=build/dev
while [ $# -gt 0 ]; do
  case $1 in
    --quick) quick=yes ;;
    --all) tidy=(--all) ;;
    --build) build=${2:?--build needs a folder}; shift ;;
    *) sed -n '2,8s/^# \{0,1\}//p' "${BASH_SOURCE[0]}" >&2; exit 2 ;;
  esac
  shift
done

output=$(mktemp)
trap 'rm -f "$output"' EXIT
failed=()

step() { # step NAME COMMAND...
  local name=$1 begin=$EPOCHREALTIME status=ok
  shift
  "$@" >"$output" 2>&1 || status=FAILED
  printf 'lint: %-12s %-6s %6.1f s  %s\n' "$name" "$status" \
    "$(awk -v a="$begin" -v b="$EPOCHREALTIME" 'BEGIN { print b - a }')" \
    "$([ "$status" != ok ] || tail -n 1 "$output" | cut -c1-100)"
  if [ "$status" != ok ]; then
    failed+=("$name")
    head -n 200 "$output" | sed 's/^/    /'
  fi
}

# Tracked files and new ones, without those that were just deleted.
sources() { git ls-files --cached --others --exclude-standard -- "$@" | while read -r f; do if [ -f "$f" ]; then echo "$f"; fi; done; }
run_on() { # run_on COMMAND... -- PATTERN...: the command on the files
  local command=()
  while [ "$1" != -- ]; do command+=("$1"); shift; done
  shift
  sources "$@" | tr '\n' '\0' | xargs -0 -r "${command[@]}"
}
# shellcheck disable=SC2016  # $0 is awk's
shell_scripts() { sources | tr '\n' '\0' | xargs -0 awk 'FNR == 1 { if ($0 ~ /^#!.*[\/ ](ba)?sh$/) print FILENAME; nextfile }'; }
check_shell() { shell_scripts | tr '\n' '\0' | xargs -0 shellcheck -x; }
# Names of the standard library and of S3 that look like misspelt English.
check_spelling() { run_on codespell --ignore-words-list=inout,te,unexpect,statics,fo,ment -- . ':!LICENSE'; }
check_python() { sources '*.py' | tr '\n' '\0' | xargs -0 python3 -c 'import ast, sys
for name in sys.argv[1:]: ast.parse(open(name, encoding="utf-8").read(), name)'; }

step format run_on clang-format-14 --dry-run -Werror -- '*.h' '*.hpp' '*.cpp'
step includes scripts/check-includes.py
step headers scripts/check-headers.sh
step spelling check_spelling
step shell check_shell
step python check_python
if [ "$quick" = no ]; then
  [ -f "$build/compile_commands.json" ] || step configure cmake --preset dev
  step coroutines scripts/check-coroutines.py --build "$build"
  step tidy scripts/check-tidy.py --build "$build" "${tidy[@]}"
fi

if [ "${#failed[@]}" -gt 0 ]; then
  printf 'lint: failed: %s (make format mends the formatting)\n' "${failed[*]}"
  exit 1
fi
