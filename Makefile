# Every target with a word of explanation behind two hashes lists itself under `make`.
.DEFAULT_GOAL := help
SHELL := bash
PY := .venv/bin/python
export PYTHONDONTWRITEBYTECODE ?=

.PHONY: help install python jars demo test test-all test-fast coverage modules format check rewrite sim sim-quorum sim-kraft fuzz oracle soak spark-cluster bench conformance lock clean sim-watch

help: ## list the targets
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  \1\t\2/p' $(MAKEFILE_LIST) | expand -t 16

install: ## everything: the Python environment in .venv and the JVM parts in .cache/jars
	@$(MAKE) -s -j2 python jars

python: .venv/.complete ## only the Python environment (what running Kedge needs)

.venv/.complete: requirements/dev.txt requirements/uv.txt pyproject.toml scripts/install-python
	@scripts/install-python
	@touch $@

jars: .cache/jars/.complete ## only the JVM parts (what tests and benchmarks compare with)

.cache/jars/.complete: pom.xml scripts/install-jars
	@scripts/install-jars
	@touch $@

demo: python ## the story so far, on this machine alone
	@.venv/bin/kedge demo

test: install ## all checks and all tests but those that take minutes each
	@$(PY) -m tests

test-all: install check ## the same and the tests that take minutes each
	@scripts/install-servers
	@$(PY) -m pytest -q -m "slow or not slow"

test-fast: python ## tests that start no JVM
	@$(PY) -m pytest -q -m "not real and not slow"

coverage: install ## how much of each package the tests run; PARTS="tests/plan tests/cli": these alone
	@$(PY) -m tests.coverage_by_package $(PARTS)

modules: python ## write the list of modules in docs/ARCHITECTURE.md anew
	@$(PY) -m tests.docs.modules

format: python ## put the code in its form
	@.venv/bin/ruff check -q --fix . ; .venv/bin/ruff format -q .

check: python ## style, types and the direction of imports
	@.venv/bin/ruff check -q .
	@.venv/bin/ruff format -q --check .
	@.venv/bin/basedpyright --level error
	@.venv/bin/lint-imports --no-logo

conformance: install ## known answers from real Kafka, against this code
	@$(PY) -m tests.conformance tests/vectors/*.json

oracle: install ## random scenarios on Kafka's own controller and on ours: SEEDS=500 MODE=kraft
	@$(PY) -m tests.oracle$(if $(filter kraft,$(MODE)),.kraft) --seeds $(or $(SEEDS),500)

rewrite: python ## write the stories in tests/scenarios anew; read the difference before you keep it
	@$(PY) -m tests.scenarios.text

sim: python ## simulate faults, from a drawn seed; SEEDS=2000 FIRST=1: these; SEED=81276: one, traced
	@$(PY) -m kedge.sim $(if $(SEED),--seed $(SEED) --trace,--seeds $(or $(SEEDS),200) \
		--first-seed $(or $(FIRST),$(if $(SEEDS),1,random)))

sim-quorum: python ## simulate faults of a KRaft quorum, from a drawn seed: SEEDS=2000 FIRST=1; SEED=3: one, traced
	@$(PY) -m kedge.sim.quorum $(if $(SEED),--seed $(SEED) --trace,--seeds $(or $(SEEDS),200) \
		--first-seed $(or $(FIRST),random))

sim-kraft: python ## simulate faults of KRaft controllers and brokers: SEEDS=2000 FIRST=1; SEED=3: one
	@$(PY) -m kedge.sim.kraft $(if $(SEED),--seed $(SEED) --trace,--seeds $(or $(SEEDS),200) \
		--first-seed $(or $(FIRST),random))

sim-watch: python ## simulate the watch loop under faults, from a drawn seed: SEEDS=1000 FIRST=1; SEED=3: one, traced
	@$(PY) -m kedge.sim.watch $(if $(SEED),--seed $(SEED) --trace,--seeds $(or $(SEEDS),200) \
		$(if $(FIRST),--first-seed $(FIRST)))

fuzz: python ## hostile files and frames, 1000 seeds of each kind: SEEDS=1000, FIRST_SEED=1 to repeat
	@$(PY) -m tests.fuzz --seeds $(or $(SEEDS),1000) $(if $(FIRST_SEED),--first-seed $(FIRST_SEED))

spark-cluster: python ## a Spark master and two workers on this machine
	@$(PY) -m kedge.pipeline.spark_cluster

soak: install ## real brokers and controllers killed at random: MINUTES=20 MODE=kraft
	@$(PY) -m tests.soak$(if $(filter kraft,$(MODE)),.kraft) --minutes $(or $(MINUTES),20)

bench: install ## measure, beside peers in the same run; rewrites docs/benchmarks.md
	@$(PY) -m bench

lock: python ## pin the requirement files anew
	@scripts/lock

clean: ## remove what install and the tests have made
	@rm -rf .venv .cache .pytest_cache .ruff_cache .hypothesis .import_linter_cache
