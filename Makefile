# Front door. Meson and Ninja do the building; this file knows where.
SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory
.PHONY: demo check check-all build bench chaos seeds torture lint lint-all fuzz format install uninstall sbom clean help
.PHONY: torture-machines torture-slurm build-release build-asan

PREFIX  ?= /usr/local
DESTDIR ?=
KILLS   ?= 200
TIMES   ?= 100
FAULTS  ?= 204
SEEDS   ?= 100000
SECONDS_PER_TARGET ?= 600
ONLY    ?=

# Programs of ours that are Python find the project's environment first.
export PATH := $(CURDIR)/.venv/bin:$(PATH)
export MUSTER_BIN := $(CURDIR)/build/release/muster

# $(call compile,FOLDER,CC,OPTIONS,TARGET): configure when new or meant differently, or when a folder of
# sources or a package that only tests need came or went; compile; put the programs where people look
# for them. One at a time per folder.
OPTIONAL := cmocka jansson
define compile
@mkdir -p build
@( flock 9; \
   found=$$(find src fuzz -name meson.build 2>/dev/null | sort; \
            for p in $(OPTIONAL); do echo "$$p $$(pkg-config --modversion $$p 2>/dev/null)"; done); \
   quiet() { "$$@" >build/$(1).log 2>&1 || { cat build/$(1).log; exit 1; }; }; \
   if [ "$$(cat build/$(1)/.meant 2>/dev/null)" != '$(2) $(3)' ]; then rm -rf build/$(1); fi; \
   if [ ! -f build/$(1)/build.ninja ]; then \
     CC=$(2) quiet meson setup build/$(1) $(3); \
   elif [ "$$found" != "$$(cat build/$(1)/.found 2>/dev/null)" ]; then \
     quiet meson setup --reconfigure build/$(1) $(3); \
   fi; \
   printf '%s\n' "$$found" >build/$(1)/.found; echo '$(2) $(3)' >build/$(1)/.meant; \
   ninja -C build/$(1) $(if $(MAKE_TERMOUT),,--quiet) $(4); \
   for p in muster muster-node launch torchrun slurm dlc; do \
     if [ -x build/$(1)/src/main/$$p ]; then ln -sfn src/main/$$p build/$(1)/$$p; fi; \
   done ) 9>build/$(1).lock
endef

demo: ## what muster does, shown: set up, build, run a distributed PyTorch job, and one in an image
	@tools/setup build --background-python
	@$(MAKE) build-release
	@tools/demo

check: ## set up, build, lint and test (at most 25 minutes on 2 cores; ONLY=e2e: one phase)
	@tools/setup all --background-clients
	@tools/check $(if $(ONLY),--phases '$(ONLY)')

check-all: ## check, and the slow tests (at most 60 minutes on 2 cores)
	@tools/setup all --background-clients
	@tools/setup ray || true
	@tools/setup trainers || true
	@tools/check --all $(if $(ONLY),--phases '$(ONLY)')

build: ## build/release/muster and build/release/muster-node
	@tools/setup build
	@$(MAKE) build-release

build-release:
	$(call compile,release,gcc,--buildtype=debugoptimized --prefix=/,product)

build-asan:
	$(call compile,asan,clang,$(SANITIZED),all)

, := ,
SANITIZED := --buildtype=debug --optimization=0 -Ddebug=false -Dc_args=-gline-tables-only -Dc_link_args=-fuse-ld=gold \
	-Db_sanitize=address$(,)undefined -Db_lundef=false -Dfuzz=true

bench: ## every benchmark, as tables (ONLY="sched list": some; one: bench/NAME --help)
	@tools/setup all
	@$(MAKE) build-release
	@bench/run $(ONLY)

chaos: ## kill ranks, an agent, a node and the server under a training job; then a rank under PyTorch's torchrun
	@tools/setup all
	@$(MAKE) build-release
	@tools/chaos

seeds: ## try every promise of the published pages, print how it is kept and what happened
	@tools/setup all
	@$(MAKE) build-release
	@tests/seeds

torture: ## kill -9 the server under load, then beside faults of disk, clock and descriptors, then with damaged files (KILLS=200); each fault once under load; ranks and nodes of training jobs (TIMES=100); seeds of the core's simulation and of the rendezvous' (SEEDS=100000)
	@tools/setup all
	@$(MAKE) build-release
	@tests/torture --kills $(KILLS)
	@tests/torture --kills $(KILLS) --agents --faults all
	@tests/torture --kills $(KILLS) --agents --damage all
	@tests/loaded_faults
	@tests/torture_launch --times $(TIMES) $(ONLY)
	@ninja -C build/release --quiet src/ctl/test/simulate_faults src/rdzv/test_rdzv_random
	@MUSTER_TRACES=$(SEEDS) build/release/src/rdzv/test_rdzv_random
	@build/release/src/ctl/test/simulate_faults --seeds $(SEEDS) --jobs $$(nproc) --coverage 95

torture-machines: ## break machines and the network between them while jobs run, each fault in each state of a job twice (FAULTS=204; SEED=N: the same decisions)
	@tools/setup all
	@$(MAKE) build-release
	@tests/torture_machines --faults $(FAULTS) $(if $(SEED),--seed $(SEED))

torture-slurm: ## break a real Slurm and what runs in it, each fault in each state of a job that it can meet (FAULTS=204; SEED=N: the same decisions)
	@tools/setup all
	@$(MAKE) build-release
	@tests/torture_slurm --faults $(FAULTS) $(if $(SEED),--seed $(SEED))

lint: ## the budget of the house style, layers, formatting, warnings, Python and shell checks (ONLY=ruff: one)
	@tools/setup lint
	@$(MAKE) build-release
	@tools/lint $(if $(ONLY),--only '$(ONLY)')

lint-all: ## lint, and the deep analyzers of gcc and clang
	@tools/setup lint
	@$(MAKE) build-release
	@tools/lint --all $(if $(ONLY),--only '$(ONLY)')

fuzz: ## every libFuzzer target for a while (SECONDS_PER_TARGET=600)
	@tools/setup all
	@$(MAKE) build-asan
	@tools/check --phases fuzz --fuzz-each $(SECONDS_PER_TARGET)

format: ## rewrite C and Python in the project's format
	@tools/setup lint
	@tools/lint --fix

install: ## programs, man pages, completions, examples (PREFIX=/usr/local DESTDIR=)
	@$(MAKE) build
	@tools/install '$(DESTDIR)' '$(PREFIX)'

uninstall: ## remove what install put there (same PREFIX and DESTDIR)
	@tools/install --remove '$(DESTDIR)' '$(PREFIX)'

sbom: ## what is inside the programs, as a CycloneDX document (build/muster.cdx.json)
	@$(MAKE) build
	@tools/sbom

clean: ## remove build/ (the Python environment in .venv/ stays)
	@rm -rf build

help: ## this text
	@awk -F':.*## ' '/^[a-z-]+:.*## /{printf "  make %-10s %s\n", $$1, $$2}' $(firstword $(MAKEFILE_LIST))
