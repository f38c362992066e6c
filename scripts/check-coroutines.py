#!/usr/bin/env python3
"""Finds the coroutine shapes that g++ 11 and 12 miscompile (a temporary destroyed twice).

    scripts/check-coroutines.py [--build DIR] [FILE...]     sources with coroutines, their headers included
    scripts/check-coroutines.py --self-test                 the samples in tests/lint/bad_coroutines.cpp

In a full expression that contains co_await, a braced aggregate or a capturing lambda with a destructor is destroyed
twice. Name it in a variable first. Two clang-query matchers find exactly these shapes; any match fails.
DIR (default build/dev) is a configured g++ build.
"""
import argparse
import re
import subprocess
import sys
import tempfile

import clang_units

TOOL = "clang-query-19"
MINE = f'isExpansionInFileMatching("^{re.escape(str(clang_units.ROOT))}/(src|include|tests|bench|examples)/")'
MATCHERS = (
    f"m coawaitExpr({MINE}, hasDescendant(cxxBindTemporaryExpr(anyOf(has(lambdaExpr()), has(initListExpr()), "
    "has(cxxFunctionalCastExpr(has(initListExpr())))))))",
    f"m initListExpr({MINE}, hasDescendant(coawaitExpr()))",
)
CURE = "a braced aggregate or capturing lambda inside a co_await expression is destroyed twice by g++ 12; name it first"
SAMPLE = "tests/lint/bad_coroutines.cpp"


def check(unit):
    """Findings of one unit, as `file:line: why`."""
    with tempfile.NamedTemporaryFile("w", suffix=".query") as script:
        script.write("set bind-root true\nset output diag\n" + "\n".join(MATCHERS) + "\n")
        script.flush()
        done = subprocess.run([TOOL, "-f", script.name, str(unit.path), "--", *unit.flags], cwd=unit.directory,
                              capture_output=True, text=True, timeout=clang_units.UNIT_TIMEOUT_SECONDS, check=False)
    root = re.escape(str(clang_units.ROOT))
    places = sorted(set(re.findall(rf'^{root}/(.+?:\d+):\d+: note: "root" binds here', done.stdout, re.MULTILINE)))
    findings = [f"{place}: {CURE}" for place in places]
    counts = re.findall(r"^(\d+) match(?:es)?\.$", done.stdout, re.MULTILINE)
    if not findings and (done.returncode != 0 or counts != ["0"] * len(MATCHERS)):
        findings.append(f"{unit.relative}:1: {TOOL} could not check this unit:\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
    return findings


def has_coroutines(relative):
    text = (clang_units.ROOT / relative).read_text(encoding="utf-8", errors="replace")
    return re.search(r"\bco_(await|return|yield)\b", text) is not None


def choose(units):
    """Units with coroutines, and for each header with coroutines that these do not reach, one that does."""
    chosen = {name for name in units if has_coroutines(name)}
    covered = set().union(*(clang_units.headers_of(name) for name in chosen)) if chosen else set()
    for name in sorted(units):
        new = {header for header in clang_units.headers_of(name) - covered if has_coroutines(header)}
        if new:
            chosen.add(name)
            covered |= clang_units.headers_of(name)
    return [units[name] for name in sorted(chosen)]


def self_test():
    path = clang_units.ROOT / SAMPLE
    entry = {"directory": str(clang_units.ROOT), "file": str(path),
             "arguments": ["g++", "-std=c++20", "-fcoroutines", "-Isrc", "-c", str(path)]}
    lines = path.read_text(encoding="utf-8").splitlines()
    wanted = {f"{SAMPLE}:{number}" for number, line in enumerate(lines, 1) if line.endswith("// FLAG")}
    found = {finding.split(": ")[0] for finding in check(clang_units.Unit(entry))}
    for place in sorted(wanted - found):
        print(f"{place}: a broken shape was not flagged")
    for place in sorted(found - wanted):
        print(f"{place}: a right shape was flagged")
    print(f"check-coroutines: {len(wanted & found)} of {len(wanted)} broken shapes flagged", file=sys.stderr)
    return 0 if wanted == found and wanted else 1


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default=str(clang_units.ROOT / "build" / "dev"))
    parser.add_argument("--self-test", action="store_true")
    parser.add_argument("files", nargs="*", help="units, relative to the root; default: all with coroutines")
    options = parser.parse_args()
    if options.self_test:
        return self_test()
    units = clang_units.load_units(options.build)
    chosen = [units[name] for name in options.files if name in units] if options.files else choose(units)
    cache = clang_units.CleanCache("coroutines", clang_units.tool_version(TOOL), *MATCHERS)
    findings = clang_units.run_all(chosen, check, cache)
    print(f"check-coroutines: {len(chosen)} of {len(units)} units, {findings} findings", file=sys.stderr)
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
