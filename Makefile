# make demo: the main job, in seconds.  make test: lint, types, layers, tests.  make stress: what takes longer.
# make docs: build/site.  make coverage: which lines the tests run.  make fuzz: hostile input for every reader, SECONDS for each.
PYTHON ?= $(shell command -v python3.11 || command -v python3)
VENV := .venv
BIN := $(VENV)/bin
INSTALLED := $(VENV)/.installed
READY := $(VENV)/.ready

.PHONY: test stress coverage fuzz demo docs lint servers

test: $(READY) servers lint
	$(BIN)/pytest -n auto --dist loadfile

stress: $(READY) servers
	$(BIN)/pytest -m stress

coverage: $(READY) servers
	$(BIN)/coverage erase
	$(BIN)/coverage run -m pytest
	$(BIN)/coverage combine --quiet
	$(BIN)/coverage report

SECONDS ?= 60
fuzz: $(READY)
	$(BIN)/pip install --quiet --editable '.[test,fuzz]'
	$(BIN)/python -m tests.fuzzing --seconds $(SECONDS)

demo: $(INSTALLED)
	$(BIN)/kgeval demo

docs: $(READY)
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet
	@echo build/site/index.html

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

# The product alone: its dependencies are compiled to bytecode where they are imported, not all of them at once.
$(INSTALLED): pyproject.toml
	@$(PYTHON) -c 'import ensurepip' || [ "$$(id -u)" != 0 ] || { apt-get update -qq && apt-get install -y -qq python3-venv; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --no-compile --editable .
	touch $@

$(READY): $(INSTALLED)
	$(BIN)/pip install --quiet --editable '.[test]'
	touch $@

# Real servers and a browser for the tests; without root, the tests that need an absent one say how to get it.
servers:
	@command -v virtuoso-t >/dev/null && command -v java >/dev/null && command -v chromium >/dev/null || \
	  [ "$$(id -u)" != 0 ] || \
	  { apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends \
	    virtuoso-opensource default-jre-headless chromium; }
