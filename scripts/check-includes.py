#!/usr/bin/env python3
"""Checks that includes point the way docs/architecture.md says: layers, third-party libraries, public headers.

    scripts/check-includes.py [ROOT]

Prints `file:line: rule` for every include that breaks a rule, and exits 1 if there is one.
"""
import pathlib
import re
import sys

# layer -> the layers of src/ that it may include, besides itself. include/sluice is open to all.
LAYERS = {
    "base": set(),
    "checksum": {"base"},
    "memory": {"base", "checksum"},
    "fabric": {"base", "checksum", "memory"},
    "s3": {"base", "checksum"},
    "http": {"base"},
    "store": {"base", "checksum", "memory", "s3"},
    "client": {"base", "checksum", "memory", "fabric", "s3", "http"},
    "gateway": {"base", "checksum", "memory", "fabric", "s3", "http", "store"},
    # The client only through include/sluice; what is pure (buffers, sums of parts) directly.
    "cli": {"base", "checksum", "memory", "gateway"},
}
# Single headers that a layer may include besides: with these `sluice serve` puts a gateway together.
PARTS = {
    "cli": {"src/fabric/registry.h", "src/store/directory/directory_store.h"},
}
# Edges that would undo the design: said by name, and looked for through other headers too.
NEVER = {
    ("fabric", "http"): "fabric must not know HTTP: what both need belongs in base/",
    ("client", "gateway"): "client must not include gateway: what both need belongs in s3/",
}
SOCKETS = re.compile(r"^(sys/socket|sys/un|sys/epoll|netinet/|arpa/inet|netdb|boost/asio|boost/beast|rdma/)")
# Third-party headers: pattern -> (the files that may include them, why).
LIBRARIES = [
    (r"^boost/beast", r"^src/http/.*\.cpp$", "Beast stays in src/http/*.cpp (17 to 26 s and 1 GB per unit)"),
    (r"^boost/asio", r"^(src/(base|http|fabric|store|client|gateway|cli)|tests|bench)/",
     "Asio is for layers that wait: not for include/sluice, checksum, memory and s3"),
    (r"^rdma/", r"^(src/fabric/|tests/fabric/|bench/)", "libfabric stays in src/fabric/"),
    (r"^pugixml", r"^(src/s3|tests/s3)/.*\.cpp$", "XML is read and written in src/s3/*.cpp"),
    (r"^CLI/", r"^src/cli/.*\.cpp$", "CLI11 stays in src/cli/*.cpp"),
    (r"^toml\+\+/", r"^src/base/.*\.cpp$", "configuration files are read in src/base/*.cpp"),
    (r"^spdlog/", r"^src/base/.*\.cpp$", "logging goes through base/log.h"),
    (r"^nlohmann/(?!json_fwd)", r"\.cpp$", "nlohmann/json is for .cpp files (4 s per unit)"),
    (r"^(gtest|gmock|rapidcheck)", r"^(tests|bench)/", "test libraries are for tests/"),
]
PUBLIC_ALLOWED = {"tl/expected.hpp"}
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')
SUFFIXES = {".h", ".hpp", ".cpp"}
ROOTS = ("src", "include", "tests", "bench", "examples")


def includes_of(path):
    """(line number, name, quoted) of every include of a file."""
    text = path.read_text(encoding="utf-8", errors="replace")
    for number, line in enumerate(text.splitlines(), 1):
        match = INCLUDE.match(line)
        if match:
            yield number, match[2], match[1] == '"'


class Checker:
    def __init__(self, root):
        self.root = root
        self.findings = []
        self.cache = {}
        self.closures = {}

    def say(self, path, line, rule):
        self.findings.append(f"{path}:{line}: {rule}")

    def includes(self, relative):
        if relative not in self.cache:
            self.cache[relative] = list(includes_of(self.root / relative))
        return self.cache[relative]

    def resolve(self, relative, name):
        """Where a quoted include of our own lives, relative to the root; None if it is not ours."""
        places = ["src", "include"]
        top = relative.split("/", 1)[0]
        if top in ("tests", "bench", "examples"):
            places.append(top)
        if top == "bench":
            places.append("tests")  # starts its gateway with the tests' fixtures
        for place in places:
            if (self.root / place / name).is_file():
                return f"{place}/{name}"
        return None

    def files(self):
        for top in ROOTS:
            for path in sorted((self.root / top).rglob("*")):
                if path.suffix in SUFFIXES and path.is_file():
                    yield path.relative_to(self.root).as_posix()

    def reach(self, relative):
        """Every header of ours that a file reaches, with the include by which it was first reached."""
        seen, queue = {}, [relative]
        while queue:
            current = queue.pop()
            for _, name, quoted in self.includes(current):
                target = self.resolve(current, name) if quoted else None
                if target and target not in seen:
                    seen[target] = current
                    queue.append(target)
        return seen

    @staticmethod
    def layer(relative):
        parts = relative.split("/")
        return parts[1] if parts[0] == "src" and len(parts) > 2 else None

    def check_file(self, relative):
        layer = self.layer(relative)
        if layer is not None and layer not in LAYERS:
            self.say(relative, 1, f"src/{layer}/ is not in the layer table of scripts/check-includes.py")
            return
        public = relative.startswith("include/sluice/")
        for line, name, quoted in self.includes(relative):
            if quoted:
                self.check_own(relative, line, name, layer, public)
            else:
                self.check_library(relative, line, name, layer, public)
        if layer is not None:
            self.check_reach(relative, layer)

    def check_own(self, relative, line, name, layer, public):
        target = self.resolve(relative, name)
        if target is None:
            self.say(relative, line, f'"{name}" is neither below src/ nor include/ (write it relative to these; '
                                     "<> for libraries)")
            return
        if public and not target.startswith("include/"):
            self.say(relative, line, f'public header includes private "{name}"')
        if relative.startswith("examples/") and not target.startswith(("include/", "examples/")):
            self.say(relative, line, f'examples use the installed headers only, not "{name}"')
        other = self.layer(target)
        if layer is None or other is None or other == layer or other in LAYERS[layer]:
            return
        if target in PARTS.get(layer, ()):
            return
        rule = NEVER.get((layer, other))
        allowed = ", ".join(sorted(LAYERS[layer])) or "nothing but itself"
        self.say(relative, line, rule or f"{layer} must not include {other} (\"{name}\"); it may include {allowed}")

    def check_library(self, relative, line, name, layer, public):
        if public:
            if name.startswith("sluice/"):
                self.say(relative, line, f'write "{name}", not <{name}>')
            elif name not in PUBLIC_ALLOWED and ("/" in name or name.endswith((".hpp", ".h"))):
                self.say(relative, line, f"<{name}> in a public header: only the standard library and "
                                         + ", ".join(sorted(PUBLIC_ALLOWED)))
            return
        for pattern, where, why in LIBRARIES:
            if re.search(pattern, name) and not re.search(where, relative):
                self.say(relative, line, f"<{name}>: {why}")
        if layer == "s3" and SOCKETS.search(name):
            self.say(relative, line, f"<{name}>: s3 is pure functions over bytes, it must not know sockets")

    def check_reach(self, relative, layer):
        """The named edges again, through the headers that a file reaches."""
        forbidden = {other for (one, other) in NEVER if one == layer}
        if not forbidden and layer != "s3":
            return
        reached = self.reach(relative)
        for target, via in reached.items():
            if via != relative and self.layer(target) in forbidden:
                self.say(relative, 1, f"reaches {target} through {via}: {NEVER[(layer, self.layer(target))]}")
            if layer != "s3" or self.layer(target) == "s3":
                continue
            for _, name, quoted in self.includes(target):
                if not quoted and SOCKETS.search(name):
                    self.say(relative, 1, f"reaches <{name}> through {target}: s3 must not know sockets")

    def run(self):
        count = 0
        for relative in self.files():
            self.check_file(relative)
            count += 1
        return count


def main(arguments):
    root = pathlib.Path(arguments[0]) if arguments else pathlib.Path(__file__).resolve().parent.parent
    checker = Checker(root.resolve())
    count = checker.run()
    if count == 0:
        print(f"check-includes: no C++ file below {root}", file=sys.stderr)
        return 2
    for finding in checker.findings:
        print(finding)
    print(f"check-includes: {count} files, {len(checker.findings)} findings", file=sys.stderr)
    return 1 if checker.findings else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
