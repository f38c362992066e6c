# The commands of daily work. `make demo` and `make test` need nothing but a Debian 12 machine and this folder.
SHELL := /bin/bash
.DEFAULT_GOAL := help
.PHONY: help demo test bench lint format install clean

PREFIX ?= /usr/local
DESTDIR ?=
# One job per core, and 3 GiB of memory for each: a sanitized Beast unit takes half of that.
JOBS ?= $(shell awk -v cores="$$(nproc)" '/^MemTotal/ { jobs = int($$2 / 1048576 / 3); \
  if (jobs > cores) jobs = cores; if (jobs < 1) jobs = 1; print jobs }' /proc/meminfo)
DEMO_BYTES ?= 256MiB
export CCACHE_BASEDIR := $(CURDIR)
export CCACHE_NOHASHDIR := 1

help: ## this list
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "make %-8s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: ## put a file into a gateway and get it back by RDMA, with the numbers (DEMO_BYTES=256MiB)
	scripts/install-deps.sh --build
	cmake --preset release -DSLUICE_BUILD_TESTS=OFF -DSLUICE_BUILD_BENCH=OFF >/dev/null
	cmake --build build/release -j $(JOBS) --target sluice_tool
	scripts/demo.sh --size $(DEMO_BYTES)

test: ## build with g++ 12 and run every test
	scripts/install-deps.sh --all
	cmake --preset dev
	cmake --build build/dev -j $(JOBS)
	ctest --preset dev -j $(JOBS)

bench: ## memcpy, raw libfabric, RDMA and HTTP beside each other, in one run
	scripts/install-deps.sh --all
	cmake --preset release -DSLUICE_BUILD_TESTS=OFF -DSLUICE_BUILD_BENCH=ON
	cmake --build build/release -j $(JOBS)
	build/release/bin/sluice_bench $(BENCH_ARGS)

lint: ## formatting, includes, coroutines, clang-tidy on changes, spelling, shell
	scripts/install-deps.sh --all
	scripts/lint.sh

format: ## rewrite every C++ file as .clang-format says
	git ls-files --cached --others --exclude-standard -z -- '*.h' '*.hpp' '*.cpp' | xargs -0 -r clang-format-14 -i

install: ## install the command, the library and its headers (PREFIX=/usr/local DESTDIR=)
	scripts/install-deps.sh --build
	cmake --preset release -DSLUICE_BUILD_TESTS=OFF -DSLUICE_BUILD_BENCH=OFF -DCMAKE_INSTALL_PREFIX=$(PREFIX)
	cmake --build build/release -j $(JOBS)
	DESTDIR=$(DESTDIR) cmake --install build/release --prefix $(PREFIX)

clean: ## remove what was built (build/deps, the private packages, stays)
	find build -mindepth 1 -maxdepth 1 ! -name deps -exec rm -rf {} + 2>/dev/null || true
