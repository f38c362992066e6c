#!/usr/bin/env bash
# Puts a real file into a gateway and gets it back: by RDMA over libfabric's software provider, then over HTTP.
#
#   scripts/demo.sh [--size 256MiB] [--sluice build/release/bin/sluice]
#
# Every copy is compared byte by byte. Exits non-zero if anything differs, fails, or takes the wrong data path. Works
# in a temporary folder (TMPDIR) and leaves nothing behind.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
size=256MiB
sluice=$root/build/release/bin/sluice
while [ $# -gt 0 ]; do
  case $1 in
    --size) size=${2:?--size needs a number, such as 256MiB}; shift ;;
    --sluice) sluice=${2:?--sluice needs a path}; shift ;;
    *) sed -n '2,7s/^# \{0,1\}//p' "${BASH_SOURCE[0]}" >&2; exit 2 ;;
  esac
  shift
done
start_seconds=20    # until the gateway accepts requests
command_seconds=300 # each copy; far above what a slow disk needs for the default size
stop_seconds=20     # from SIGTERM until SIGKILL

die() { printf 'demo: %s\n' "$*" >&2; exit 1; }
bytes=$(numfmt --from=auto "${size%B}" 2>/dev/null) || die "--size: '$size' is no size; use a number such as 64MiB"
[ -x "$sluice" ] || die "$sluice is missing; build it: make demo"

dir=$(mktemp -d -t sluice-demo.XXXXXX)
gateway=
stop_gateway() {
  [ -n "$gateway" ] || return 0
  kill -TERM "$gateway" 2>/dev/null || true
  local tenths
  for ((tenths = 0; tenths < stop_seconds * 10; tenths++)); do
    kill -0 "$gateway" 2>/dev/null || break
    sleep 0.1
  done
  kill -KILL "$gateway" 2>/dev/null && printf 'demo: the gateway did not stop within %s s\n' "$stop_seconds" >&2
  local status=0
  wait "$gateway" 2>/dev/null || status=$?
  gateway=
  return "$status"
}
clean_up() {
  local status=$?
  trap - EXIT
  stop_gateway || true
  if [ "$status" -ne 0 ] && [ -s "$dir/gateway.log" ]; then
    printf 'demo: the end of the gateway'\''s log:\n' >&2
    tail -n 20 "$dir/gateway.log" >&2
  fi
  rm -rf "$dir"
  exit "$status"
}
trap clean_up EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

free=$(df --output=avail -B1 "$dir" | tail -n 1)
[ "$free" -gt $((bytes * 4)) ] || die "$dir has $((free >> 20)) MiB free, $((bytes * 4 >> 20)) are needed; set TMPDIR or --size"

# The value of a key in one line of JSON that sluice printed: a string without quotes, or a number.
json() { sed -n "s/.*\"$1\": *\"\\([^\"]*\\)\".*/\\1/p; s/.*\"$1\": *\\([0-9.eE+-]*\\)[,}].*/\\1/p" <<<"$2" | head -n 1; }

# Nothing of the caller's own S3 settings may leak in.
while read -r name; do unset "$name"; done < <(compgen -e AWS_ || true)

mkdir "$dir/store"
"$sluice" serve "$dir/store" --listen 127.0.0.1:0 --ready-file "$dir/ready" --credentials-file "$dir/credentials" \
  </dev/null >"$dir/gateway.log" 2>&1 &
gateway=$!
for ((tenths = 0; ; tenths++)); do
  [ ! -e "$dir/ready" ] || break
  kill -0 "$gateway" 2>/dev/null || { gateway=; die "the gateway ended before it was ready"; }
  [ "$tenths" -lt $((start_seconds * 10)) ] || die "the gateway was not ready within $start_seconds s"
  sleep 0.1
done
ready=$(tr -d '\n' <"$dir/ready")
AWS_ENDPOINT_URL=$(json endpoint "$ready")
export AWS_ENDPOINT_URL
# shellcheck disable=SC1091  # written by the gateway: export AWS_ACCESS_KEY_ID=… and AWS_SECRET_ACCESS_KEY=…
. "$dir/credentials"
printf 'gateway   %s over a folder, its keys in a file of mode %s\n' "$AWS_ENDPOINT_URL" "$(stat -c %a "$dir/credentials")"

head -c "$bytes" /dev/urandom >"$dir/original"
printf 'file      %s random bytes\n\n' "$bytes"
run() { timeout "$command_seconds" "$sluice" "$@" </dev/null; }
run mb --quiet s3://demo

printf '%-6s %-9s %-10s %12s %9s %12s  %s\n' what 'data path' fabric bytes seconds rate checksum
copy() { # copy WHAT POLICY WANTED_PATH SOURCE TARGET
  local line path
  line=$(run cp --json --data-path "$2" "$4" "$5") || die "$1 with --data-path $2 failed: $line"
  path=$(json data_path "$line")
  [ "$path" = "$3" ] || die "$1 with --data-path $2 took the data path '$path', not '$3': $line"
  [ "$(json bytes "$line")" = "$bytes" ] || die "$1 moved $(json bytes "$line") bytes of $bytes: $line"
  printf '%-6s %-9s %-10s %12s %9.3f %6s MiB/s  %s\n' "$1" "$path" "$(json fabric "$line" | sed 's/^$/-/')" "$bytes" \
    "$(json seconds "$line")" "$(awk -v b="$bytes" -v s="$(json seconds "$line")" 'BEGIN { r = b / 1048576 / (s > 0 ? s : 1e-9); printf(r < 10 ? "%.1f" : "%.0f", r) }')" \
    "$(json checksum "$line")"
}
there_and_back() { # there_and_back POLICY WANTED_PATH
  copy put "$1" "$2" "$dir/original" "s3://demo/$1"
  copy get "$1" "$2" "s3://demo/$1" "$dir/back"
  cmp "$dir/original" "$dir/back" || die "what came back with --data-path $1 is not what went in"
  rm -f "$dir/back"
}
there_and_back require rdma
there_and_back off http
printf '\nBoth copies that came back are identical to the file (cmp).\n\n'

run doctor >"$dir/doctor" || die "sluice doctor failed: $(cat "$dir/doctor")"
awk '/^[^ ]/ { wanted = /^Fabrics/ } wanted' "$dir/doctor"
stop_gateway || die "the gateway did not end cleanly"
printf '(sluice doctor says more)\n\nDone: in the rdma rows the payload went by RDMA reads (put) and writes (get) over libfabric,\nand HTTP carried only the signed requests. In the http rows it travelled in HTTP bodies.\n'
