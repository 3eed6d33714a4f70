# Set-up, tests and chaos runs. `make` lists the targets.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory

EXPERIMENTS ?= $(addprefix experiments/,cpu-limit.yaml pool-size.yaml network-latency.yaml cgroup-leak.yaml none.yaml)
PYTEST_ARGS ?=
MATRIX ?= chaos-out/matrix
# Of the decoys, those that `make test` runs: one for each way to be misled.
DECOYS ?= $(addprefix experiments/decoys/,parent-quota.yaml proxy-80.yaml slow-statement-20.yaml harmless-throttling-database.yaml event-loop.yaml)
RUNBOOK ?= ladder

# Where the parts are kept; named, so that root finds those that were installed without root.
export CHAOSLAT_CACHE := $(or $(CHAOSLAT_CACHE),$(HOME)/.cache/chaoslat)
export PYTHONUNBUFFERED := 1

# Chaos needs root. sudo is used only when we are not root and it exists; without it the run says what cannot run.
SUDO := $(if $(filter 0,$(shell id -u)),,$(shell command -v sudo))
AS_ROOT := $(if $(SUDO),$(SUDO) env PATH="$(PATH)" CHAOSLAT_CACHE="$(CHAOSLAT_CACHE)" PYTHONDONTWRITEBYTECODE=1)

# KIND=1 adds the experiments on kind to `make test`. On the slower of two machines they were inconclusive (README).
KIND ?= 0
CAN_KIND := $(if $(filter 1,$(KIND)),$(or $(filter 0,$(shell id -u)),$(SUDO)))

STEP := scripts/step.sh
PYTEST := .venv/bin/pytest

.NOTPARALLEL:
.PHONY: help setup lint node-test unit test chaos matrix node-image kind kind-test kind-experiments lock clean clean-parts

help: ## List the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

setup: ## Install what is missing: virtualenv, packages, MySQL, Toxiproxy, Node.js, the app's packages
	@$(STEP) "virtualenv" scripts/venv.sh
	@$(STEP) "parts" scripts/parts.sh $(AS_ROOT)

lint: setup ## Style, types, import direction
	@$(STEP) "lint" scripts/lint.sh

node-test: setup ## The demo application's tests, against a private database
	@$(STEP) "demo application" scripts/node-tests.sh

unit: setup ## Unit tests only: quick, no privileges
	@$(STEP) --last "unit tests" $(PYTEST) -m "not chaos" tests/unit $(PYTEST_ARGS)

test: setup lint node-test ## Everything: lint, types, all tests, chaos tests and some decoys on the local backend; KIND=1: experiments on kind
	@CHAOSLAT_PRIVILEGED=1 $(STEP) "unit, contract, plugin and replay tests" $(PYTEST) -m "not chaos" $(PYTEST_ARGS)
	@CHAOSLAT_PRIVILEGED=1 $(STEP) "chaos tests" $(AS_ROOT) $(PYTEST) -m chaos tests experiments $(DECOYS) $(PYTEST_ARGS)
	@$(if $(CAN_KIND),$(MAKE) kind-experiments,echo "== kind: left out (KIND=1 adds it, with root or sudo)")

chaos: setup ## Inject each cause into a real system, diagnose it blind, print the table
	@$(STEP) --last "chaos" $(AS_ROOT) .venv/bin/chaoslat run $(EXPERIMENTS)

matrix: setup ## All experiments and decoys, once each, in turns; goes on where it was broken off (MATRIX=folder, RUNBOOK=name)
	@$(STEP) --last "matrix" $(AS_ROOT) .venv/bin/chaoslat run experiments/*.yaml experiments/decoys/*.yaml --runbook $(RUNBOOK) --out $(MATRIX) --resume --report $(MATRIX)/report.html

node-image: setup ## Build node and workload images for kind from package registries only (cached; cold about 15 minutes)
	@$(STEP) "container engine" $(AS_ROOT) .venv/bin/python -m chaoslat.engine install
	@$(STEP) "node and workload images" $(AS_ROOT) .venv/bin/python -m chaoslat.nodeimage build

kind: node-image ## The same as `chaos`, on a kind cluster that the run makes and removes
	@$(STEP) --last "kind" $(AS_ROOT) .venv/bin/chaoslat run --backend kind $(EXPERIMENTS)

kind-test: node-image ## The chaos tests on kind: the contract of backends, pods that die, kills, and the experiments
	@CHAOSLAT_PRIVILEGED=1 CHAOSLAT_KIND=1 $(STEP) "contract and chaos tests on kind" $(AS_ROOT) $(PYTEST) -m chaos -k "kind or kube" tests $(PYTEST_ARGS)
	@$(MAKE) kind-experiments

kind-experiments: node-image ## The five experiments on kind, as tests
	@$(STEP) --last "experiments on kind" $(AS_ROOT) $(PYTEST) -m chaos experiments --chaos-backend=kind $(PYTEST_ARGS)

lock: ## Write requirements.lock anew from pyproject.toml
	@$(STEP) "requirements.lock" scripts/lock.sh

clean: ## Remove what set-up and tests made in this checkout
	rm -rf .venv .stamps chaos-out fixtures/node-app/node_modules
	rm -rf .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache

clean-parts: ## Remove the installed parts from the cache as well
	cd "$(CHAOSLAT_CACHE)" && rm -rf mysql-* mariadb-* toxiproxy-* node-* .mysql-*.lock .mariadb-*.lock .toxiproxy-*.lock .node-*.lock
