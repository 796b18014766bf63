# `make demo` and `make test` do all the set-up there is; `make help` lists the rest.
PYTHON ?= python3.11
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check install --quiet --constraint constraints.txt
# What is installed is remembered in stamps, so that a second make starts at once.
LINE := $(VENV)/.installed-line
DEV := $(VENV)/.installed-dev
PEERS := $(VENV)/.installed-peers
PACKAGED := setup.py pyproject.toml constraints.txt

.DELETE_ON_ERROR:
.PHONY: help demo test check bench clean

help:
	@echo 'make demo    set up, then plan, materialize, train and export the five taxi models (again: recomputes nothing)'
	@echo 'make test    set up, then run all tests'
	@echo 'make check   linter, formatter, strict types, the import rule between the rooms'
	@echo 'make bench   both benchmarks in full (BENCH="--quick": within two minutes)'
	@echo 'make clean   remove the environment and what the demo wrote'
	@echo 'PYTHON=...   the Python 3.11 to make the environment from, now: $(PYTHON)'

demo: $(LINE)
	$(BIN)/forebay run examples/taxi/models/*.yaml --data examples/taxi/dataset.yaml \
	  --store demo/store --output demo/models --export tip_cross

test: $(DEV)
	$(BIN)/python -m pytest --numprocesses auto --dist loadfile --no-loadscope-reorder

check: $(DEV)
	$(BIN)/ruff check --quiet .
	$(BIN)/ruff format --quiet --check .
	$(BIN)/mypy
	$(BIN)/python -m pytest --quiet tests/test_imports.py

bench: $(PEERS)
	$(BIN)/python -m benchmarks.trainer $(BENCH)
	$(BIN)/python -m benchmarks.sharing $(BENCH)

clean:
	rm -rf $(VENV) demo

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info[:2] != (3, 11))' 2>/dev/null || { \
	  echo 'Forebay is tested with Python 3.11; "$(PYTHON)" is not that: $(shell $(PYTHON) --version 2>&1 | head -n 1)'; \
	  echo 'Name one: make PYTHON=/path/to/python3.11 ...'; exit 1; } >&2
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || { \
	  echo '"$(PYTHON)" has no venv or no ensurepip, which make a virtual environment; on Debian and Ubuntu:'; \
	  echo 'apt-get install python3.11-venv'; exit 1; } >&2
	$(PYTHON) -m venv $(VENV)

$(LINE): $(BIN)/python $(PACKAGED)
	@echo 'Installing Forebay into $(VENV); the first time this takes some minutes.'
	$(PIP) --editable '.[pipelines,trainer]'
	@touch $@

$(DEV): $(LINE)
	$(PIP) --editable '.[pipelines,trainer,dev]'
	@touch $@

$(PEERS): $(LINE) benchmarks/requirements.txt
	$(PIP) --requirement benchmarks/requirements.txt
	@touch $@
