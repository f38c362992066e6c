#!/usr/bin/env python3
"""Runs clang-tidy 19 (.clang-tidy) on the units that a change touches; any warning fails.

    scripts/check-tidy.py [--build DIR] [--all | --base COMMIT] [--product] [FILE...]

Without --base the change is what is not in origin/main (committed or not). Where that is nothing, as in CI on a
submitted main, it is the work of the last 12 hours; where there is no such history, everything. A changed header
counts through one unit that includes it. --product leaves tests and benchmarks out. DIR (default build/dev) is a configured g++ build.
"""
import argparse
import re
import subprocess
import sys

import clang_units

TOOL = "clang-tidy-19"


def git(*arguments):
    """Lines that git printed; None if it failed."""
    done = subprocess.run(["git", "-C", str(clang_units.ROOT), *arguments], capture_output=True, text=True, timeout=60,
                          check=False)
    return done.stdout.split("\n")[:-1] if done.returncode == 0 else None


def find_base():
    """The commit to compare with, or None for everything."""
    head = git("rev-parse", "HEAD")
    merge_base = git("merge-base", "HEAD", "origin/main")
    if merge_base and merge_base != head:
        return merge_base[0]
    older = git("rev-list", "-1", "--before=12 hours ago", "HEAD")
    return older[0] if older else None


def changed_files(base):
    names = git("diff", "--name-only", "--diff-filter=ACMR", base)
    if names is None:
        raise SystemExit(f"check-tidy: git knows no commit {base}")
    return set(names) | set(git("ls-files", "--others", "--exclude-standard") or [])


def choose(units, changed):
    """Changed units, and for each changed header that these do not reach, one that does."""
    chosen = {name for name in units if name in changed}
    covered = set().union(*(clang_units.headers_of(name) for name in chosen)) if chosen else set()
    for name in sorted(units):
        if (clang_units.headers_of(name) - covered) & changed:
            chosen.add(name)
            covered |= clang_units.headers_of(name)
    return [units[name] for name in sorted(chosen)]


def check(unit):
    done = subprocess.run([TOOL, "--quiet", str(unit.path), "--", *unit.flags], cwd=unit.directory, capture_output=True,
                          text=True, timeout=clang_units.UNIT_TIMEOUT_SECONDS, check=False)
    root = str(clang_units.ROOT) + "/"
    findings = [line.removeprefix(root) for line in done.stdout.splitlines()
                if re.match(r".+:\d+:\d+: (warning|error): ", line)]
    if done.returncode != 0 and not findings:
        findings.append(f"{unit.relative}:1: {TOOL} failed:\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
    return findings


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default=str(clang_units.ROOT / "build" / "dev"))
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--base")
    parser.add_argument("--product", action="store_true")
    parser.add_argument("files", nargs="*", help="units, relative to the root")
    options = parser.parse_args()
    units = clang_units.load_units(options.build)
    if options.product:
        units = {name: unit for name, unit in units.items() if name.startswith(("src/", "examples/"))}
    base = None if options.all else options.base or find_base()
    if options.files:
        chosen = [units[name] for name in options.files if name in units]
    elif base is None:
        chosen = [units[name] for name in sorted(units)]
    else:
        chosen = choose(units, changed_files(base))
    config = (clang_units.ROOT / ".clang-tidy").read_text(encoding="utf-8")
    cache = clang_units.CleanCache("tidy", clang_units.tool_version(TOOL), config)
    findings = clang_units.run_all(chosen, check, cache)
    print(f"check-tidy: {len(chosen)} of {len(units)} units, {findings} findings", file=sys.stderr)
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
