"""Runs a clang tool over translation units of a g++ build: flags, parallel runs, and a cache of clean results."""
import concurrent.futures
import hashlib
import json
import os
import pathlib
import re
import shlex
import subprocess

ROOT = pathlib.Path(__file__).resolve().parent.parent
UNIT_TIMEOUT_SECONDS = 300


class Unit:
    """One source file and the flags to read it with."""

    def __init__(self, entry):
        self.directory = entry["directory"]
        self.path = pathlib.Path(self.directory, entry["file"]).resolve()
        self.relative = self.path.relative_to(ROOT).as_posix()
        arguments = entry.get("arguments") or shlex.split(entry["command"])
        if pathlib.Path(arguments[0]).name == "ccache":
            arguments = arguments[1:]
        self.flags = []
        skip = False
        for argument in arguments[1:]:
            if skip:
                skip = False
            elif argument in ("-o", "-MF", "-MT", "-MQ"):
                skip = True
            elif argument in ("-c", "-MD", "-MMD", "-fcoroutines", entry["file"]):
                continue
            elif argument.startswith("-W") and not argument.startswith("-Wp,"):
                continue  # warnings are the compilers' business, g++'s in dev and clang's in asan
            elif argument.startswith("-I") and not argument[2:].startswith(str(ROOT)):
                self.flags += ["-isystem", argument[2:]]
            else:
                self.flags.append(argument)


def load_units(build):
    """The units of our own sources in build/compile_commands.json, by path relative to the root."""
    database = pathlib.Path(build, "compile_commands.json")
    if not database.is_file():
        raise SystemExit(f"{database} is missing; configure first: cmake --preset dev")
    units = {}
    for entry in json.loads(database.read_text(encoding="utf-8")):
        path = pathlib.Path(entry["directory"], entry["file"]).resolve()
        if path.is_relative_to(ROOT) and not path.is_relative_to(ROOT / "build"):
            unit = Unit(entry)
            units[unit.relative] = unit
    return units


def headers_of(relative, cache={}):  # the default lives as long as the process: that is the cache
    """Headers of ours that a file reaches, itself included, relative to the root."""
    if relative in cache:
        return cache[relative]
    seen, queue = {relative}, [relative]
    while queue:
        current = queue.pop()
        text = (ROOT / current).read_text(encoding="utf-8", errors="replace")
        for name in re.findall(r'^\s*#\s*include\s*"([^"]+)"', text, re.MULTILINE):
            for place in ("src", "include", "tests", "bench"):
                target = f"{place}/{name}"
                if target not in seen and (ROOT / target).is_file():
                    seen.add(target)
                    queue.append(target)
    cache[relative] = seen
    return seen


def job_count():
    """As many jobs as cores, fewer when there is less than 2 GiB for each."""
    memory_gib = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    return max(1, min(os.cpu_count() or 1, int(memory_gib // 2)))


class CleanCache:
    """Remembers units that were clean, by everything that decides about it: text after preprocessing, flags, tool."""

    def __init__(self, name, *settings):
        base = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
        self.folder = pathlib.Path(base, "sluice-lint", name)
        self.settings = "\0".join(settings)

    def key(self, unit):
        """None if the unit does not preprocess (the tool will say why)."""
        same_elsewhere = f"-fmacro-prefix-map={ROOT}=."  # __FILE__ in another clone is no other text
        done = subprocess.run(["clang++-19", "-E", "-P", same_elsewhere, *unit.flags, str(unit.path)],
                              cwd=unit.directory, capture_output=True, timeout=UNIT_TIMEOUT_SECONDS, check=False)
        if done.returncode != 0:
            return None
        digest = hashlib.sha256(done.stdout)
        # Comments are gone from the text above, and NOLINT is a comment.
        for header in sorted(headers_of(unit.relative)):
            digest.update((ROOT / header).read_bytes())
        digest.update(("\0".join(unit.flags) + "\0" + self.settings).replace(str(ROOT), "").encode())
        return digest.hexdigest()

    def knows(self, key):
        return key is not None and (self.folder / key).exists()

    def remember(self, key):
        if key is not None:
            self.folder.mkdir(parents=True, exist_ok=True)
            (self.folder / key).touch()


def run_all(units, check, cache):
    """Runs check(unit) -> list of findings over all; prints each finding once, as they come, and returns their number.

    Clean units are remembered."""

    def one(unit):
        key = cache.key(unit)
        if cache.knows(key):
            return []
        try:
            findings = check(unit)
        except subprocess.TimeoutExpired:
            findings = [f"{unit.relative}:1: not done within {UNIT_TIMEOUT_SECONDS} s"]
        if not findings:
            cache.remember(key)
        return findings

    printed = set()
    with concurrent.futures.ThreadPoolExecutor(job_count()) as pool:
        for findings in pool.map(one, units):
            for finding in findings:
                if finding not in printed:  # headers are seen by many units
                    printed.add(finding)
                    print(finding, flush=True)
    return len(printed)


def tool_version(tool):
    return subprocess.run([tool, "--version"], capture_output=True, text=True, timeout=60, check=True).stdout
