#!/usr/bin/env python3
"""scripts/check-includes.py flags each kind of wrong include, at its line, and lets right ones pass."""
import pathlib
import subprocess
import sys
import tempfile
import unittest

SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "scripts" / "check-includes.py"

GOOD = {
    "include/sluice/error.h": "#include <string>\n#include <tl/expected.hpp>\n",
    "src/base/task.h": '#include <boost/asio/awaitable.hpp>\n#include "sluice/error.h"\n',
    "src/base/bytes.h": "#include <span>\n",
    "src/s3/range.h": '#include "base/bytes.h"\n',
    "src/s3/xml.cpp": '#include <pugixml.hpp>\n#include "s3/range.h"\n',
    "src/http/client.h": '#include "base/task.h"\n',
    "src/http/client.cpp": '#include "http/client.h"\n#include <boost/beast/http.hpp>\n',
    "src/fabric/fabric.h": '#include "base/task.h"\n',
    "src/client/get.cpp": '#include "fabric/fabric.h"\n#include "http/client.h"\n#include "s3/range.h"\n',
    "src/gateway/gateway.h": '#include "http/client.h"\n',
    "src/cli/main.cpp": '#include "gateway/gateway.h"\n#include "sluice/error.h"\n#include <CLI/CLI.hpp>\n',
    "tests/fixtures/dirs.h": "#include <string>\n",
    "tests/s3/range_test.cpp": '#include "fixtures/dirs.h"\n#include <gtest/gtest.h>\n#include "s3/range.h"\n',
}


def check(files):
    """(exit status, findings) of the script on a tree of these files."""
    with tempfile.TemporaryDirectory() as root:
        for name, text in files.items():
            path = pathlib.Path(root, name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        done = subprocess.run([sys.executable, str(SCRIPT), root], capture_output=True, text=True, timeout=60, check=False)
        return done.returncode, done.stdout.splitlines()


class CheckIncludesTest(unittest.TestCase):
    def test_right_includes_pass(self):
        self.assertEqual(check(GOOD), (0, []))

    def flags(self, name, text, line, words):
        status, findings = check({**GOOD, name: text})
        self.assertEqual(status, 1)
        self.assertEqual(len(findings), 1, findings)
        self.assertTrue(findings[0].startswith(f"{name}:{line}: "), findings)
        self.assertIn(words, findings[0])

    def test_a_lower_layer_may_not_include_a_higher_one(self):
        self.flags("src/base/uri.cpp", '\n#include "s3/range.h"\n', 2, "base must not include s3")
        self.flags("src/http/server.cpp", '#include "s3/range.h"\n', 1, "http must not include s3")

    def test_the_three_named_edges_are_named(self):
        self.flags("src/fabric/lane.cpp", '#include "http/client.h"\n', 1, "fabric must not know HTTP")
        self.flags("src/client/put.cpp", '#include "gateway/gateway.h"\n', 1, "client must not include gateway")
        self.flags("src/s3/keys.cpp", "#include <sys/socket.h>\n", 1, "s3 is pure functions over bytes")

    def test_s3_may_not_reach_a_socket_through_another_header(self):
        self.flags("src/s3/sigv4.cpp", '#include "base/task.h"\n', 1, "reaches <boost/asio/awaitable.hpp> through src/base/task.h")

    def test_the_command_line_uses_the_public_client(self):
        self.flags("src/cli/cp.cpp", '#include "http/client.h"\n', 1, "cli must not include http")

    def test_the_command_line_may_put_a_gateway_together(self):
        files = {"src/fabric/registry.h": "", "src/cli/serve.cpp": '#include "fabric/registry.h"\n'}
        self.assertEqual(check({**GOOD, **files}), (0, []))
        self.flags("src/cli/x.cpp", '#include "fabric/fabric.h"\n', 1, "cli must not include fabric")

    def test_beast_stays_in_http_sources(self):
        self.flags("src/http/body.h", "#include <boost/beast/core.hpp>\n", 1, "Beast stays in src/http/*.cpp")
        self.flags("src/gateway/put.cpp", "#include <boost/beast/core.hpp>\n", 1, "Beast stays in src/http/*.cpp")

    def test_public_headers_show_no_library_and_nothing_private(self):
        for name in ("boost/asio.hpp", "fmt/format.h", "spdlog/spdlog.h", "rdma/fabric.h", "nlohmann/json.hpp"):
            self.flags("include/sluice/client.h", f"#include <{name}>\n", 1, f"<{name}> in a public header")
        self.flags("include/sluice/client.h", '#include "base/bytes.h"\n', 1, "includes private")

    def test_libraries_stay_where_they_belong(self):
        self.flags("src/client/x.cpp", "#include <rdma/fabric.h>\n", 1, "libfabric stays in src/fabric/")
        self.flags("src/gateway/x.cpp", "#include <CLI/CLI.hpp>\n", 1, "CLI11 stays in src/cli/*.cpp")
        self.flags("src/store/x.h", "#include <nlohmann/json.hpp>\n", 1, "nlohmann/json is for .cpp files")

    def test_a_header_that_is_nowhere_is_flagged(self):
        self.flags("src/base/x.cpp", '#include "bytes.h"\n', 1, "neither below src/ nor include/")

    def test_a_new_layer_needs_a_row_in_the_table(self):
        self.flags("src/extra/x.cpp", "#include <string>\n", 1, "not in the layer table")

    def test_examples_use_installed_headers_only(self):
        self.flags("examples/x.cpp", '#include "base/bytes.h"\n', 1, "examples use the installed headers only")

    def test_an_empty_tree_is_an_error(self):
        self.assertEqual(check({})[0], 2)


if __name__ == "__main__":
    unittest.main()
