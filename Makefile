# Takes for granted: make, and Python 3.11 or later with its venv module. The rest is fetched into .venv.

VENV  := .venv
BIN   := $(VENV)/bin
READY := $(VENV)/.ready
ARGS  ?=

.DEFAULT_GOAL := help
.PHONY: help run test check bench doctor clean

help: ## List what can be made
	@awk -F ':.*## ' '/^[a-z]+:.*## / {printf "  make %-8s %s\n", $$1, $$2}' Makefile

run: $(READY) ## Start Backstory, show what it knows and how to connect an agent: examples/first_session.py
	@$(BIN)/python examples/first_session.py $(ARGS)

test: $(READY) ## Run every test, with coverage; a part of them: make test ARGS="--no-cov -k words"
	@$(BIN)/python -m pytest --numprocesses=auto --dist=loadfile --cov --cov-report=term $(ARGS)

check: $(READY) ## Lint, format and types
	@$(BIN)/ruff check
	@$(BIN)/ruff format --check
	@$(BIN)/mypy

bench: $(READY) ## Measure speed and quality; options by ARGS="..."
	@$(BIN)/python -m benchmarks $(ARGS)

doctor: $(READY) ## Ask the store on this machine how it is
	@$(BIN)/backstory doctor $(ARGS)

clean: ## Remove .venv, caches and build output; memories are kept elsewhere and stay
	rm -rf $(VENV) build dist htmlcov .coverage .coverage.* .hypothesis .mypy_cache .pytest_cache .ruff_cache
	find src tests benchmarks examples -type d -name __pycache__ -prune -exec rm -rf {} +

# The versions in uv.lock are the ones tested. uv installs them: the one on PATH, or one fetched
# into .venv. Where neither can be had, pip installs the newest versions that pyproject.toml allows.
SYNC := UV_PROJECT_ENVIRONMENT=$(VENV) $(if $(PYTHON),UV_PYTHON=$(PYTHON)) uv sync --frozen --quiet
PIP  := $(BIN)/python -m pip --quiet --disable-pip-version-check
DEV  := import tomllib; print(*tomllib.load(open("pyproject.toml", "rb"))["dependency-groups"]["dev"])

$(READY): pyproject.toml uv.lock
	@echo "Setting up $(VENV)"
	@{ uv --version >/dev/null 2>&1 && $(SYNC); } || $(MAKE) --no-print-directory without-uv
	@touch $@

.PHONY: without-uv
without-uv:
	@python=$$(for each in $(PYTHON) python3 python3.13 python3.12 python3.11 python; do \
		"$$each" -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))' 2>/dev/null \
			&& echo "$$each" && break; \
	done); \
	if [ -z "$$python" ]; then \
		echo "Backstory needs Python 3.11 or later with its venv module (on Debian: apt install python3-venv)." >&2; \
		echo "If it has an unusual name: make PYTHON=/path/to/python" >&2; \
		exit 1; \
	fi; \
	"$$python" -m venv $(VENV)
	@if $(PIP) install uv && PATH="$(CURDIR)/$(BIN):$$PATH" && $(SYNC); then :; else \
		echo "uv could not do it: installing with pip, whose versions may differ from uv.lock" >&2; \
		$(PIP) install --editable . $$($(BIN)/python -c '$(DEV)'); \
	fi
