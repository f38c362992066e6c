#!/usr/bin/env bash
# What scripts/install-deps.sh asks of apt, seen by an apt-get and a dpkg-query of our own on PATH. The unpacking is
# real: the packages that the fake apt-get "downloads" are built here by dpkg-deb.
set -euo pipefail

script=$(cd "$(dirname "$0")/../.." && pwd)/scripts/install-deps.sh
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
mkdir "$dir/bin"
export FAKE=$dir

cat >"$dir/bin/dpkg-query" <<'FAKE_QUERY'
#!/usr/bin/env bash
grep -qx -- "${!#}" "$FAKE/installed" && printf installed
FAKE_QUERY

cat >"$dir/bin/sudo" <<'FAKE_SUDO'
#!/usr/bin/env bash
while [ "${1#-}" != "$1" ]; do shift; done
exec "$@"
FAKE_SUDO

# Files beside it decide: `no_lists` makes every name unknown until an update; `conflict` makes libboost1.81-dev cost
# libboost-dev; `refuse` makes it impossible; `no_network` fails what would fetch.
cat >"$dir/bin/apt-get" <<'FAKE_APT'
#!/usr/bin/env bash
printf 'apt-get %s\n' "$*" >>"$FAKE/log"
action='' simulate=no names=() skip_value=no
for word in "$@"; do
  if [ "$skip_value" = yes ]; then skip_value=no; continue; fi
  case $word in
    -o) skip_value=yes ;;
    -s) simulate=yes ;;
    -*) ;;
    install | update | download) action=$word ;;
    *) names+=("$word") ;;
  esac
done
case $action in
  update)
    [ ! -e "$FAKE/no_network" ] || exit 100
    rm -f "$FAKE/no_lists"
    ;;
  install)
    if [ -e "$FAKE/no_lists" ]; then echo "E: Unable to locate package ${names[0]}"; exit 100; fi
    for name in "${names[@]}"; do
      if [ "$name" = libboost1.81-dev ] && [ -e "$FAKE/refuse" ]; then echo 'E: conflict'; exit 100; fi
      if [ "$name" = libboost1.81-dev ] && [ -e "$FAKE/conflict" ]; then
        echo 'Remv libboost-dev [1.74.0.3]'
        echo 'Inst libboost-extra (1.81.0 Debian:12 [amd64])'
        echo 'Inst libold [1.0] (1.1 Debian:12 [amd64])'
      fi
      echo "Inst $name (1.0 Debian:12 [amd64])"
      if [ "$simulate" = no ]; then echo "$name" >>"$FAKE/installed"; fi
    done
    ;;
  download)
    [ ! -e "$FAKE/no_network" ] || exit 100
    for name in "${names[@]}"; do
      mkdir -p "$FAKE/pkg/DEBIAN" "$FAKE/pkg/usr/include/$name"
      printf 'Package: %s\nVersion: 1.0\nArchitecture: all\nMaintainer: t <t@t>\nDescription: t\n' "$name" \
        >"$FAKE/pkg/DEBIAN/control"
      touch "$FAKE/pkg/usr/include/$name/here"
      dpkg-deb -b "$FAKE/pkg" "$name.deb" >/dev/null
      rm -rf "$FAKE/pkg"
    done
    ;;
esac
FAKE_APT
chmod +x "$dir"/bin/*

failures=0
check() { # check NAME COMMAND...: reports, and remembers a failure
  local name=$1
  shift
  if "$@"; then printf 'ok      %s\n' "$name"
  else
    printf 'FAILED  %s\n' "$name"
    sed 's/^/        said: /' "$dir/out"
    sed 's/^/        log:  /' "$dir/log"
    failures=$((failures + 1))
  fi
}
logged() { grep -qE -- "$1" "$dir/log"; }
not_logged() { ! logged "$1"; }
said() { grep -qF -- "$1" "$dir/out"; }
installs() { grep -E '^apt-get .*--no-remove.* install ' "$dir/log"; }
installs_exactly() { [ "$(installs | sed 's/.* install //' | tr ' ' '\n' | sort)" = "$(printf '%s\n' "$@" | sort)" ]; }
fresh() { # fresh PACKAGE...: everything but these is installed
  rm -rf "$dir"/{log,out,no_lists,conflict,refuse,no_network,deps}
  "$script" --all --list >"$dir/installed"
  touch "$dir/log" "$dir/out"
  local name
  for name in "$@"; do sed -i "/^${name//+/\\+}\$/d" "$dir/installed"; done
}
run() { PATH=$dir/bin:$PATH SLUICE_DEPS_PREFIX=$dir/deps "$script" "$@" </dev/null >"$dir/out" 2>&1; }
fails() { ! "$@"; }

fresh
check 'a complete machine succeeds' run --all
check 'a complete machine calls apt not at all' not_logged .

fresh ccache codespell
check 'missing packages are installed' run --all
check 'only the missing ones are' installs_exactly ccache codespell
check 'fresh lists are not updated' not_logged ' update'
check 'a second run has nothing to do' run --all
check 'and says so' said 'packages are there'

fresh ccache codespell
check '--build succeeds' run --build
check '--build leaves the tools for tests alone' installs_exactly ccache

fresh ccache
touch "$dir/no_lists"
check 'unknown names make it update the lists first' run --all
check 'it updated' logged ' update'
check 'and then installed' installs_exactly ccache

fresh ccache libboost1.81-dev
touch "$dir/conflict"
check 'a package that would remove others does not fail the run' run --all
check 'it is not installed on the system' installs_exactly ccache
check 'it is unpacked in the private prefix' test -e "$dir/deps/usr/include/libboost1.81-dev/here"
check 'with its missing dependencies' test -e "$dir/deps/usr/include/libboost-extra/here"
check 'not with those that are only upgraded' test ! -e "$dir/deps/usr/include/libold/here"
check 'it says what would have gone' said 'installing libboost1.81-dev would remove: libboost-dev'
check 'and where it went' said "$dir/deps/usr: libboost-extra libboost1.81-dev"
: >"$dir/log"
check 'a second run succeeds' run --all
check 'and calls apt not at all' not_logged .

fresh libboost1.81-dev
touch "$dir/refuse"
check 'a package that apt refuses outright is unpacked too' run --all
check 'it is in the private prefix' test -e "$dir/deps/usr/include/libboost1.81-dev/here"

fresh ccache
touch "$dir/no_lists" "$dir/no_network"
check 'no mirror is an error' fails run --all
check 'that names the mirror' said 'is a Debian mirror reachable?'

fresh libboost1.81-dev
touch "$dir/conflict" "$dir/no_network"
check 'a failed download is an error' fails run --all
check 'and leaves no mark of success' test ! -e "$dir/deps/.packages/libboost1.81-dev"

fresh
check 'an unknown option is a usage error' fails run --everything

[ "$failures" -eq 0 ] || { printf '%s checks failed\n' "$failures"; exit 1; }
