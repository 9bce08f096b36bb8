# `make app` runs the app, `make test` tests it; both set up all that they need.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# Stamps, so that `make app` never waits for test tools.
APP_READY := $(VENV)/.app-ready
DEV_READY := $(VENV)/.dev-ready
PEERS_READY := $(VENV)/.peers-ready
TWO := -n 2 --dist loadfile --no-loadscope-reorder
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check

# Tests start processes by the dozen, each of which would compile all code anew.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: app serve test check fix bench stress setup peers lock clean

app: $(APP_READY)  ## Run the app on this machine
	$(BIN)/streamlit run app.py --server.headless=false --server.showEmailPrompt=false

serve: $(APP_READY)  ## Run the app as a host does: security headers, engine warm at start
	$(BIN)/streamlit run server.py

# Two at a time, a file each, as files share models and servers; one thread of BLAS:
# more wait busily. What trains runs on TensorFlow, all else on OpenVINO, three at a time,
# as it waits for other processes now and then: a process has one backend. The browser
# comes last, alone: beside Playwright nothing else may start an event loop. RERUNS tries
# again what fails, as a busy browser may lose a click.
RERUNS ?= 0
test: export OPENBLAS_NUM_THREADS = 1
test: $(DEV_READY)  ## Run every test; browser tests need Chromium or Chrome
	$(BIN)/python -m pytest $(TWO) -n 3 -m "not tensorflow" --ignore tests/browser
	KERAS_BACKEND=tensorflow $(BIN)/python -m pytest $(TWO) -m tensorflow --ignore tests/browser
	$(BIN)/python -m pytest $(TWO) --reruns $(RERUNS) -rfER tests/browser

check: $(DEV_READY)  ## Style, types, layering
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/python -m pytest tests/test_layering.py tests/test_locales.py

fix: $(DEV_READY)  ## Format, and mend what ruff can
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: $(PEERS_READY)  ## Measure beside peers; see benchmarks/README.md
	$(BIN)/python -m benchmarks

stress: $(DEV_READY)  ## A hosted app under load and faults, on loopback; see benchmarks/README.md
	$(BIN)/python -m benchmarks.stress $(STRESS)

lock: $(DEV_READY)  ## Renew requirements.lock, which hosts install from
	$(BIN)/uv pip compile --quiet --upgrade --universal --python-version 3.11 \
	    --generate-hashes --no-annotate --no-emit-index-url \
	    --custom-compile-command "make lock" -o requirements.lock requirements.txt

setup: $(DEV_READY)  ## Everything but the benchmark peers

peers: $(PEERS_READY)  ## torch, for benchmarks and `peer` tests

$(VENV)/bin/python:
	@$(PYTHON) -c 'import sys; v = sys.version_info; (3, 11) <= v < (3, 14) or sys.exit( \
	    f"TensorFlow needs Python 3.11, 3.12 or 3.13. $(PYTHON) is {v[0]}.{v[1]}. " \
	    "Install one of these and name it, as in: make app PYTHON=python3.13")'
	$(PYTHON) -m venv $(VENV)

$(APP_READY): requirements.txt | $(VENV)/bin/python
	$(PIP) -r requirements.txt
	touch $@

$(DEV_READY): requirements-dev.txt $(APP_READY)
	$(PIP) -r requirements-dev.txt
	touch $@

$(PEERS_READY): requirements-peers.txt $(DEV_READY)
	$(PIP) -r requirements-peers.txt
	touch $@

clean:  ## Remove the virtual environment and caches
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache
