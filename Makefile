# Two commands matter: `make demo` (see it work) and `make test` (see that it works).
PORT ?= 8000
VENV := .venv
BIN := $(VENV)/bin
CODE := annotator labeling evaluation tests benchmarks deploy manage.py
# The first interpreter that is new enough; `make PYTHON=/path/to/python3.11` says which.
PYTHON ?= $(shell for p in python3.11 python3 python3.12 python3.13; do \
	$$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && { echo $$p; break; }; done)

# Tests start many processes, each of which would compile all of the code again.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help setup setup-dev exchange lock demo test test-all lint format docs messages bench bench-gpu scale clean clean-data

help:  ## what can be made
	@sed -n 's/^\([a-z-]*\):.*##/\1\t/p' $(MAKEFILE_LIST) | expand -t 14

setup: $(VENV)/.installed $(VENV)/.compiled var/wordnet/.installed  ## .venv with requirements.txt, and WordNet 3.0

setup-dev: setup $(VENV)/.installed-dev

exchange: setup-dev $(VENV)/exchange/.installed  ## readers of others, in which tests open our exports (140 MB)

$(BIN)/python:
	@test -n "$(PYTHON)" || { echo "Assay needs Python 3.11 or later, and no python3 here is. \
	Install it (Debian: apt install python3 python3-venv) or say where it is: make PYTHON=/path/to/python3.11" >&2; exit 1; }
	@"$(PYTHON)" -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	{ echo "$(PYTHON) is older than Python 3.11, or does not run." >&2; exit 1; }
	"$(PYTHON)" -m venv $(VENV) || { rm -rf $(VENV); echo "Could not make $(VENV); on Debian: apt install python3-venv" >&2; exit 1; }

# First what the lock holds, by hash; then torch, of which a machine may have a build of its own.
PIP = $(BIN)/python -m pip install --quiet --disable-pip-version-check
LOCKED = $(PIP) --no-deps --require-hashes -r

$(VENV)/.installed: requirements.lock requirements.txt | $(BIN)/python
	$(LOCKED) requirements.lock
	$(PIP) -r requirements.txt
	@touch $@

# Compile the numba kernels ahead, so that no command waits for them.
$(VENV)/.compiled: deploy/compile_kernels.py $(shell find labeling evaluation -name 'kernels*.py') $(VENV)/.installed
	$(BIN)/python -m deploy.compile_kernels
	@touch $@

$(VENV)/.installed-dev: requirements-dev.lock requirements-dev.txt $(VENV)/.installed
	$(LOCKED) requirements-dev.lock
	$(PIP) -r requirements-dev.txt
	@touch $@

$(VENV)/exchange/.installed: requirements-exchange.lock $(VENV)/.installed-dev
	rm -rf $(VENV)/exchange
	$(LOCKED) requirements-exchange.lock --target $(VENV)/exchange
	@touch $@

LOCK = $(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes \
	--custom-compile-command "make lock"
# torch and its CUDA packages: which build a machine wants is its own affair.
UNLOCKED = $(addprefix --no-emit-package ,torch triton cuda-bindings cuda-pathfinder cuda-toolkit \
	$(addprefix nvidia-,cublas cuda-cupti cuda-nvrtc cuda-runtime cudnn-cu13 cufft cufile curand \
	cusolver cusparse cusparselt-cu13 nccl-cu13 nvjitlink nvshmem-cu13 nvtx))

lock: setup-dev  ## requirements*.lock from requirements*.txt, after a change there
	$(LOCK) $(UNLOCKED) requirements.txt -o requirements.lock
	$(LOCK) $(UNLOCKED) requirements-dev.txt -c requirements.lock -o requirements-dev.lock
	$(LOCK) --no-deps requirements-exchange.txt -o requirements-exchange.lock

var/wordnet/.installed: deploy/wordnet.sh
	sh deploy/wordnet.sh "$(CURDIR)/var/wordnet"
	@touch $@

demo: setup  ## the demonstration at http://127.0.0.1:8000 (PORT=… for another port)
	@$(BIN)/python deploy/serve.py --demo --port $(PORT) --end-with-parent

# Neighbours share what is built once a module: each worker takes half of the list, and then from
# the end of the other's.
PYTEST = $(BIN)/python -m pytest -n auto --dist worksteal

# .ci/run asks for more.
TESTS ?= not slow and not ci

test: setup-dev  ## the test suite; what cannot run here is skipped and says why
	$(PYTEST) -m "$(TESTS)"

test-all: setup-dev  ## and the long forms of its long stories, with more examples of each property
	$(PYTEST) --hypothesis-profile nightly

lint: setup-dev  ## ruff, mypy, djlint, node --check
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/djlint templates --lint --check --quiet
	@if command -v node >/dev/null; then \
	for f in $$(find static/js -name '*.js'); do node --check "$$f" || exit 1; done; \
	else echo "node is not here: scripts not checked"; fi

format: setup-dev  ## let ruff and djlint rewrite code and templates
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .
	$(BIN)/djlint templates --reformat --quiet

docs: setup-dev  ## the documentation as pages in docs/_build; every warning is an error
	$(BIN)/sphinx-build -nW --keep-going -q docs docs/_build

messages: setup-dev  ## locale/ again, after a change of sentences that annotators read
	$(BIN)/python deploy/messages.py

bench: setup-dev  ## measure what docs/ promises
	$(BIN)/python -m benchmarks

bench-gpu: setup-dev  ## measure what a GPU shortens, where one is
	$(BIN)/python -m benchmarks gpu

scale: setup-dev  ## measure what grows and what several processes share, in under 20 minutes
	$(BIN)/python -m benchmarks pages freeze predict

clean:  ## remove .venv and caches; var/ (data, passwords) stays
	rm -rf $(VENV) docs/_build staticfiles .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find $(CODE) -name __pycache__ -type d -prune -exec rm -rf {} +

clean-data:  ## remove var/ with every answer in it, after asking
	@printf 'This deletes var/: database, images, answers, passwords. Type "delete" to go on: '; \
	read answer && [ "$$answer" = delete ] && rm -rf var || { echo "Nothing was deleted."; exit 1; }
