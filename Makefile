# make run · make install · make check · make config CONFIG=my.yaml · make test · make test-long · make test-gpu · make lint · make docs: each sets up .venv, once.

PYTHON ?= $(firstword $(foreach p,python3.11 python3.12 python3,$(if $(shell $(p) -c 'print(1)' 2>/dev/null),$(p))))
VENV := .venv
BIN := $(VENV)/bin
# two processes; a file's tests stay together, in the order of tests/conftest.py
PYTEST := $(BIN)/python -m pytest --numprocesses 2 --dist loadfile --no-loadscope-reorder

# what a page links to, in the places of the repository
PAGES := README.md CHANGELOG.md CITATION.cff LICENSE config docs benchmarks

.PHONY: run install check config test test-long test-gpu lint docs clean

run: $(VENV)/.run
	@$(BIN)/snakemake --cores all

# the environment alone
install: $(VENV)/.run

# numbers of the embedded run beside those of plain transformers and numpy, by a script without the workflow's code
check: run
	@$(BIN)/python benchmarks/check.py

# all mistakes of a configuration, with the lines of those for which Snakemake has none: make config CONFIG=my.yaml
config: $(VENV)/.run
	@$(BIN)/python -P -m homogenization.config.check $(CONFIG)

# on the CPU, whether or not there is a GPU
test test-long: export CUDA_VISIBLE_DEVICES := -1

# the library, the rules, and one small run from reviews to report: minutes on two cores
test: $(VENV)/.dev
	@$(PYTEST) tests/library tests/workflow

# faults, reruns, cache, Slurm, browser, real models, and the library's properties on more examples; numbers also
# with the kernels of a processor that has AVX2 and no more
test-long: $(VENV)/.dev
	@$(PYTEST) --verbose --hypothesis-profile thorough -m "long or hypothesis" tests/long tests/library
	@OPENBLAS_CORETYPE=Haswell ATEN_CPU_CAPABILITY=avx2 ONEDNN_MAX_CPU_ISA=AVX2 \
	  $(PYTEST) --quiet tests/library/metrics tests/library/measures

# the stages of the library, where there is a GPU
test-gpu: $(VENV)/.dev
	@$(PYTEST) tests/library/devices

lint: $(VENV)/.dev
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/snakefmt --check Snakefile workflow/Snakefile workflow/rules docs/findings/Snakefile
	@PYTHONPATH=workflow/lib $(BIN)/lint-imports
	@$(BIN)/check-jsonschema --quiet --builtin-schema vendor.github-workflows .github/workflows/*.yml
	@$(BIN)/snakemake --lint

# the pages as a website; a broken link fails. For its search: python -m http.server --directory build/site
docs: $(VENV)/.dev
	@mkdir -p build/pages
	@ln -sfn $(foreach page,$(PAGES),$(CURDIR)/$(page)) build/pages
	@$(BIN)/mkdocs build --strict
	@echo "Website  build/site/index.html"

clean:
	rm -rf .snakemake build
	find results -mindepth 1 -not -path results/README.md -delete

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
