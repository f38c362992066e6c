#!/usr/bin/env bash
# Installs the Debian packages that Sluice needs, and only those that are missing.
#
#   scripts/install-deps.sh [--build | --all] [--list]
#
#   --build   what building the sluice binary needs (make demo)
#   --all     that, and what tests, lint and acceptance tests need (make test, .ci/run); the default
#   --list    print the package names and stop
#
# Works as root or with sudo, asks nothing, and calls apt not at all when nothing is missing. A package that could
# only be installed by removing others (Boost 1.81 beside Debian's default Boost) is unpacked below build/deps
# instead, where CMake looks first; nothing on the system is removed, ever.
set -euo pipefail
export DEBIAN_FRONTEND=noninteractive LC_ALL=C

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
prefix=${SLUICE_DEPS_PREFIX:-$root/build/deps}

build_packages=(
  build-essential g++ cmake ninja-build ccache pkg-config
  libboost1.81-dev libssl-dev libpugixml-dev nlohmann-json3-dev libcli11-dev libtomlplusplus-dev
  libspdlog-dev libfmt-dev libexpected-dev libfabric-dev
)
test_packages=(
  libfabric-bin libgtest-dev libgmock-dev librapidcheck-dev
  clang-19 libclang-rt-19-dev clang-tidy-19 clang-tools-19 clang-format-14
  awscli curl codespell shellcheck python3 openssl git
)

say() { printf 'install-deps: %s\n' "$*"; }
die() { printf 'install-deps: %s\n' "$*" >&2; exit 1; }

as_root() {
  if [ "$(id -u)" -eq 0 ]; then "$@"
  elif command -v sudo >/dev/null 2>&1; then sudo --preserve-env=DEBIAN_FRONTEND,LC_ALL "$@"
  else die "needs root to install packages: run it as root, or install sudo (as root: apt-get install $*)"
  fi
}

is_installed() { [ "$(dpkg-query -W -f '${db:Status-Status}' "$1" 2>/dev/null || true)" = installed ]; }
is_unpacked() { [ -e "$prefix/.packages/$1" ]; }

lists_are_fresh=no
refresh_lists() {  # once per run; fails if that was done already
  [ "$lists_are_fresh" = no ] || return 1
  say "updating apt's package lists"
  as_root apt-get -qq update >/dev/null || die "apt-get update failed; is a Debian mirror reachable?"
  lists_are_fresh=yes
}

# Asks apt what "install $@" would do, into $apt_plan; fetches the package lists if apt does not know the names.
apt_plan=
plan() {
  apt_plan=$(apt-get -s install --no-install-recommends "$@" 2>&1) && return
  refresh_lists || return 1
  apt_plan=$(apt-get -s install --no-install-recommends "$@" 2>&1)
}
# True if $@ can be installed and nothing has to go for it.
plan_is_harmless() { plan "$@" && ! grep -q '^Remv ' <<<"$apt_plan"; }

install_on_system() {
  local options=(-y -qq --no-install-recommends --no-remove -o Dpkg::Use-Pty=0)
  say "installing ${#} packages: $*"
  # A list that is older than the mirror names files that are gone: refresh it once.
  as_root apt-get "${options[@]}" install "$@" >&2 ||
    { refresh_lists && as_root apt-get "${options[@]}" install "$@" >&2; } ||
    die "apt-get could not install: $*"
}

# What $apt_plan would newly install ("Inst name (version …"); upgrades ("Inst name [old] …") stay out.
new_packages() { sed -n 's/^Inst \([^ ]*\) (.*/\1/p' <<<"$apt_plan"; }

unpack_in_prefix() {
  local package=$1 dir deb names=()
  if plan "$package"; then
    mapfile -t names < <(new_packages)
    say "installing $package would remove: $(sed -n 's/^Remv \([^ ]*\).*/\1/p' <<<"$apt_plan" | paste -sd' ')"
  else
    say "apt cannot install $package beside what is here"
  fi
  [ "${#names[@]}" -gt 0 ] || names=("$package")
  say "so it goes into a private prefix, $prefix/usr: ${names[*]}"
  dir=$(mktemp -d)
  (cd "$dir" && apt-get -qq -o APT::Sandbox::User=root download "${names[@]}" >&2) ||
    { refresh_lists && (cd "$dir" && apt-get -qq -o APT::Sandbox::User=root download "${names[@]}" >&2); } ||
    die "apt-get could not download: ${names[*]}"
  mkdir -p "$prefix/.packages"
  for deb in "$dir"/*.deb; do dpkg-deb -x "$deb" "$prefix"; done
  rm -rf "$dir"
  touch "$prefix/.packages/$package"
}

main() {
  local wanted=("${build_packages[@]}" "${test_packages[@]}") list_only=no option
  for option in "$@"; do
    case $option in
      --build) wanted=("${build_packages[@]}") ;;
      --all) wanted=("${build_packages[@]}" "${test_packages[@]}") ;;
      --list) list_only=yes ;;
      *) sed -n '2,12s/^# \{0,1\}//p' "${BASH_SOURCE[0]}" >&2; exit 2 ;;
    esac
  done
  if [ "$list_only" = yes ]; then printf '%s\n' "${wanted[@]}"; return; fi

  local missing=() package
  for package in "${wanted[@]}"; do
    is_installed "$package" || is_unpacked "$package" || missing+=("$package")
  done
  if [ "${#missing[@]}" -eq 0 ]; then say "all ${#wanted[@]} packages are there"; return; fi
  command -v apt-get >/dev/null 2>&1 ||
    die "needs a Debian 12 machine (no apt-get here); install the counterparts of: ${missing[*]}"

  if plan_is_harmless "${missing[@]}"; then
    install_on_system "${missing[@]}"
    return
  fi
  # Something would have to go. Add one package at a time and set aside those that cost others their place.
  local together=() aside=()
  for package in "${missing[@]}"; do
    if plan_is_harmless "${together[@]}" "$package"; then together+=("$package"); else aside+=("$package"); fi
  done
  if [ "${#together[@]}" -gt 0 ]; then install_on_system "${together[@]}"; fi
  for package in "${aside[@]}"; do unpack_in_prefix "$package"; done
}

main "$@"
