#!/usr/bin/env bash
# Installs a build into a fresh folder, moves that folder, and uses it as a stranger would: examples/ built with
# find_package and with pkg-config, run against the installed gateway.
#   tests/install/install_test.sh BUILD_DIR
set -euo pipefail

root=$(cd "$(dirname "$0")/../.." && pwd)
build=${1:?usage: tests/install/install_test.sh BUILD_DIR}
dir=$(mktemp -d -t sluice-install.XXXXXX)
gateway=
clean_up() {
  local status=$?
  trap - EXIT
  if [ -n "$gateway" ]; then
    kill -TERM "$gateway" 2>/dev/null || true
    local tenths
    for ((tenths = 0; tenths < 200; tenths++)); do kill -0 "$gateway" 2>/dev/null || break; sleep 0.1; done
    kill -KILL "$gateway" 2>/dev/null || true
  fi
  if [ "$status" -ne 0 ]; then tail -n 20 "$dir"/*.log >&2 2>/dev/null || true; fi
  rm -rf "$dir"
  exit "$status"
}
trap clean_up EXIT
die() { printf 'install test: %s\n' "$*" >&2; exit 1; }

cmake --install "$build" --prefix "$dir/first" >"$dir/install.log"
mv "$dir/first" "$dir/prefix" # an installed tree may be moved
prefix=$dir/prefix
libdir=$(dirname "$(find "$prefix" -name libsluice.so | head -n 1)")
[ -e "$libdir/libsluice.so" ] || die 'no libsluice.so was installed'

diff <(cd "$root/include" && find sluice -type f | sort) <(cd "$prefix/include" && find . -type f | sed 's#^\./##' | sort) ||
  die 'the installed headers are not exactly those of include/sluice'
"$root/scripts/check-headers.sh" "$prefix/include"
"$root/scripts/check-symbols.sh" "$libdir/libsluice.so"
if grep -rlF "$root" "$libdir/cmake" "$libdir/pkgconfig" "$prefix/include"; then die 'installed files name the source folder'; fi
version=$(sed -n 's/.*SLUICE_VERSION_STRING "\(.*\)"/\1/p' "$root/include/sluice/version.h")

cmake -S "$root/examples" -B "$dir/by-cmake" -DCMAKE_PREFIX_PATH="$prefix;$root/build/deps/usr" >"$dir/cmake.log"
cmake --build "$dir/by-cmake" >>"$dir/cmake.log"
export PKG_CONFIG_PATH=$libdir/pkgconfig
[ "$(pkg-config --modversion sluice)" = "$version" ] || die "sluice.pc is of version $(pkg-config --modversion sluice), not $version"
read -ra flags < <(pkg-config --cflags --libs sluice)
g++ -std=c++20 -Wall -Wextra -Werror "$root/examples/put_get.cpp" -isystem "$root/build/deps/usr/include" "${flags[@]}" \
  "-Wl,-rpath,$libdir" -o "$dir/by-pkg-config"

"$prefix/bin/sluice" --version | grep -qF "$version" || die "the installed sluice is not of version $version"
while read -r name; do unset "$name"; done < <(compgen -e AWS_ || true)
mkdir "$dir/store"
"$prefix/bin/sluice" serve "$dir/store" --listen 127.0.0.1:0 --ready-file "$dir/ready" --credentials-file "$dir/keys" \
  </dev/null >"$dir/gateway.log" 2>&1 &
gateway=$!
for ((tenths = 0; ; tenths++)); do
  [ ! -e "$dir/ready" ] || break
  kill -0 "$gateway" 2>/dev/null || { gateway=; die 'the installed gateway ended before it was ready'; }
  [ "$tenths" -lt 200 ] || die 'the installed gateway was not ready within 20 s'
  sleep 0.1
done
AWS_ENDPOINT_URL=$(sed -n 's/.*"endpoint": *"\([^"]*\)".*/\1/p' "$dir/ready")
export AWS_ENDPOINT_URL
# shellcheck disable=SC1091  # written by the gateway
. "$dir/keys"
timeout 30 "$prefix/bin/sluice" mb --quiet s3://examples
for program in "$dir/by-cmake/put_get" "$dir/by-pkg-config"; do
  [ "$("$program" --version)" = "put_get with Sluice $version" ] || die "$program is of another version"
  timeout 60 "$program" "$AWS_ENDPOINT_URL" examples key 1048577 >"$dir/example.log" 2>&1 || die "$program failed"
  [ "$(grep -c 'data path rdma' "$dir/example.log")" = 2 ] || die "$program did not move its bytes by RDMA"
  grep -qx identical "$dir/example.log" || die "$program did not get back what it put"
done
printf 'install test: both examples moved their bytes by RDMA\n'
