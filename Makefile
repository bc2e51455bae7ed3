# Two commands for a fresh machine: `make demo` and `make test`.

PYTHON ?= python3
# Of PySpark in `make test-runners`: 3.5 is the other that the tests have run with.
PYSPARK ?= 4
# Of the PySpark that writes tables of Iceberg and Delta for `make test-connectors`: 4.0 or 3.5.
LAKES ?= 4.0
VENV := .venv
BIN := $(VENV)/bin

# Every test is in one suite: `slow`, `stores`, `runners`, ... are markers of pytest, `test` the rest.
# As many processes run tests as there are cores, so each keeps its linear algebra to one thread.
export OPENBLAS_NUM_THREADS := 1
export OMP_NUM_THREADS := 1
# Tests write thousands of small files and flush each: in memory, where there is room for them.
MEMORY := $(shell test -w /dev/shm && test "$$(df -Pk /dev/shm | awk 'END {print $$4}')" -gt 2000000 && echo TMPDIR=/dev/shm)
# Tests start the program hundreds of times, which would compile it anew each time.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: demo docs pages pictures test test-slow test-stores test-runners test-connectors test-labelstudio test-platforms test-report test-site check-airflow check format reference-points bench mutants study coverage clean

demo: $(VENV)/.examples ## score and evaluate 25 million record pairs
	$(BIN)/python examples/febrl/demo.py

test: $(VENV)/.examples $(VENV)/.test check ## lint, types, and all tests that need no server and take seconds
	$(MEMORY) $(BIN)/python -m pytest -n auto -m "not slow and not stores and not runners and not labelstudio and not platforms and not connectors"

test-slow: $(VENV)/.examples $(VENV)/.guides $(VENV)/.docs $(VENV)/.test ## larger pools, longer simulations, the demonstration, the pages and a newcomer's first hour
	$(BIN)/python -m pytest -n auto -rs -m "slow and not stores and not runners" tests

test-stores: $(VENV)/.test ## on an emulator of Google Cloud Storage; all skipped if Go cannot build it
	-$(MAKE) $(BIN)/fake-gcs-server
	$(BIN)/python -m pytest -n auto -rs -m "stores and not runners" tests

test-runners: $(VENV)/.test $(VENV)/.spark-$(PYSPARK) ## on Prism, Flink and Spark, and by PySpark; what cannot be had is skipped
	-PATH="$(abspath $(BIN)):$$PATH" deployment/prism/prism
	-PATH="$(abspath $(BIN)):$$PATH" deployment/flink/job-server
	-PATH="$(abspath $(BIN)):$$PATH" deployment/spark/job-server
	$(BIN)/python -m pytest -rs -m runners tests

test-connectors: $(VENV)/.test $(VENV)/.lakes-$(LAKES) ## tables of Iceberg and Delta that Spark wrote; what cannot be had is skipped
	$(BIN)/python -m pytest -rs -m connectors tests

test-labelstudio: $(VENV)/.test $(VENV)/label-studio/.done ## a batch to a real Label Studio and back; about 1 GB is installed
	$(BIN)/python -m pytest -rs -m labelstudio tests

test-platforms: $(VENV)/.test $(VENV)/platforms/.done ## gates in a Dagster asset, a run on a server of MLflow, tests of dbt; what cannot be had is skipped
	$(BIN)/python -m pytest -rs -m platforms tests

test-report: $(VENV)/.test $(VENV)/report/.done ## pages of reports in Chromium, looked at by axe-core; skipped if either cannot be had
	$(BIN)/python -m pytest -rs -m slow tests/report

test-site: $(VENV)/.docs $(VENV)/.test $(VENV)/report/.done ## the site: its links, its search, and its pages in Chromium, looked at by axe-core
	$(BIN)/python -m pytest -rs tests/docs/test_site.py

docs: $(VENV)/.docs ## the site, in build/site; a warning or a link that leads nowhere ends it
	$(BIN)/python -m sphinx -W --keep-going -q -b html docs build/site

pages: $(VENV)/.guides $(VENV)/.test ## run the examples of the pages and put in what they print (look at the difference)
	$(BIN)/python -m tests.docs.examples README.md docs/index.md
	$(BIN)/python -m tests.docs.examples docs/start.md docs/cli.md docs/report.md docs/python.md
	for page in docs/guides/*.md; do $(BIN)/python -m tests.docs.examples $$page || exit 1; done

pictures: $(VENV)/.test ## the pictures of the pages
	$(BIN)/python docs/pictures.py

check-airflow: $(VENV)/.test ## the DAG under a real Airflow, in an environment of its own
	deployment/airflow/check.sh $(abspath $(BIN))/evalsampling

check: $(VENV)/.test ## lint and types
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: $(VENV)/.test ## format the code
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

reference-points: $(VENV)/.test ## errors and coverage on the pools beside the project
	$(BIN)/python benchmarks/reference_points.py

bench: $(VENV)/.test ## what users wait for beside plain work; fails if much slower than it was
	$(BIN)/python benchmarks/bench.py

mutants: $(VENV)/.test ## whether tests still fail with each change that they failed with before
	$(BIN)/python benchmarks/mutants.py check

coverage: $(VENV)/.studies ## how often intervals hold the truth, on pools made to mislead
	$(BIN)/python benchmarks/coverage.py run
	$(BIN)/python benchmarks/coverage.py report --check

study: $(VENV)/.studies ## compare the sampling methods on the pools beside the project
	$(BIN)/python benchmarks/study.py run
	$(BIN)/python benchmarks/study.py report

clean: ## remove what was built
	rm -rf $(VENV) build dist *.egg-info

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)

$(VENV)/.examples: setup.py | $(BIN)/python
	$(BIN)/pip install --quiet --editable ".[examples]"
	touch $@

$(VENV)/.guides: setup.py | $(BIN)/python
	$(BIN)/pip install --quiet --editable ".[guides]"
	touch $@

$(VENV)/.studies: setup.py | $(BIN)/python
	$(BIN)/pip install --quiet --editable ".[studies]"
	touch $@

$(VENV)/.test: setup.py | $(BIN)/python
	$(BIN)/pip install --quiet --editable ".[gcp,test]"
	touch $@

$(VENV)/.docs: setup.py | $(BIN)/python
	$(BIN)/pip install --quiet --editable ".[docs]"
	touch $@

$(VENV)/.spark-$(PYSPARK): setup.py | $(BIN)/python
	rm -f $(VENV)/.spark-*
	$(BIN)/pip install --quiet --editable ".[spark]" "pyspark==$(PYSPARK).*"
	touch $@

# In an environment of its own: what writes tables of Iceberg and Delta is made for few versions of
# Spark.
$(VENV)/.lakes-$(LAKES): tests/runners/lakes/pom.xml | $(BIN)/python
	rm -rf $(VENV)/lakes $(VENV)/.lakes-*
	$(PYTHON) -m venv $(VENV)/lakes
	$(VENV)/lakes/bin/pip install --quiet "pyspark==$(LAKES).*"
	-mvn --quiet --batch-mode --file $< -P spark-$(LAKES) -Doutput="$(abspath $(VENV)/lakes/jars)" package && touch $@

# In an environment of its own: what it needs is older than what we do. Last tried with 1.23.2.
$(VENV)/label-studio/.done: | $(BIN)/python
	$(PYTHON) -m venv $(VENV)/label-studio
	$(VENV)/label-studio/bin/pip install --quiet "label-studio>=1.23,<1.24"
	touch $@

# In environments of their own: Dagster wants a newer protobuf than Beam. dbt 1.12 fetches a part of it
# from elsewhere when it is installed.
$(VENV)/platforms/.done: deployment/dagster/requirements.txt | $(BIN)/python
	$(PYTHON) -m venv $(VENV)/platforms
	$(VENV)/platforms/bin/pip install --quiet --requirement deployment/dagster/requirements.txt "mlflow>=3.17,<4"
	$(PYTHON) -m venv $(VENV)/dbt
	-$(VENV)/dbt/bin/pip install --quiet "dbt-core>=1.11,<1.12" "dbt-duckdb>=1.10,<2"
	touch $@

$(VENV)/report/.done: tests/report/browser/package-lock.json | $(BIN)/python
	mkdir -p $(@D)
	cp tests/report/browser/package.json tests/report/browser/package-lock.json $(@D)
	-cd $(@D) && npm ci --no-audit --no-fund && touch .done

$(BIN)/fake-gcs-server: | $(BIN)/python
	GOBIN=$(abspath $(BIN)) go install github.com/fsouza/fake-gcs-server@v1.56.1
