# make run · make test · make lint: each sets up .venv by itself, once.

PYTHON ?= $(firstword $(foreach p,python3.11 python3.12 python3,$(if $(shell $(p) -c 'print(1)' 2>/dev/null),$(p))))
VENV := .venv
BIN := $(VENV)/bin

.PHONY: run test lint clean

run: $(VENV)/.run
	@$(BIN)/snakemake --cores all
	@echo
	@echo "Report   results/report.html"
	@echo "Figures  results/figures/"
	@echo "Tables   results/tables/   (start with claims.csv)"

test: $(VENV)/.dev
	@$(BIN)/python -m pytest

lint: $(VENV)/.dev
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/snakefmt --check Snakefile workflow/rules
	@$(BIN)/snakemake --lint

clean:
	rm -rf results .snakemake

$(VENV)/.created:
	@test -n "$(PYTHON)" || { echo "Python 3.11 or 3.12 is needed; none found. Install it, or name it: make PYTHON=/path/to/python3.11" >&2; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 12))' || { echo "Python 3.11 or 3.12 is needed; $(PYTHON) is $$($(PYTHON) --version 2>&1). Name another: make PYTHON=/path/to/python3.11" >&2; exit 1; }
	@echo "Setting up $(VENV) (once; a few minutes)"
	@$(PYTHON) -m venv $(VENV)
	@touch $@

$(VENV)/.run: envs/requirements.txt $(VENV)/.created
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -r $<
	@touch $@

$(VENV)/.dev: envs/requirements-dev.txt $(VENV)/.run
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -r $<
	@touch $@
