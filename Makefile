# Everything sets itself up: environments are made under .envs/ on first use.
PYTHON ?= python3
UNIT = .envs/unit/bin
VLLM = .envs/vllm-0.32.0/bin
SGLANG = 0.5.23
# What hundreds of children of the unit tests import: compiled once, not by each of them.
COMPILED = patchkit $(addprefix .envs/unit/lib/python3*/site-packages/,_pytest click packaging \
	pluggy pygments rich)
# Tests with engines, two at a time. `make test` runs the flagship and one pack.
E2E_TESTS = $(VLLM)/python -m pytest -n 2 --durations=0
A_FILE_AT_A_TIME = --dist loadfile --no-loadscope-reorder
SMOKE = tests/e2e/test_flagship.py tests/e2e/test_outsider_pack.py
SAMPLE = -m "not every_cell and not triton" $(E2E)
UNIT_TESTS = $(UNIT)/python -m pytest tests/unit -n 2 --dist worksteal
QUALITY = PYTHONPATH=tools $(UNIT)/python -m quality
# What is checked beside the package, with the directories that its modules are found in.
AROUND = tools lab studies examples tests/support tests/e2e benchmarks
# The example packs, and the folders that they are found in.
GUIDE_PACKS = guide_distributed.worker guide_platform.platform guide_engine_core guide_edited_vllm
GUIDE = $(subst / ,/:,$(wildcard examples/guide/*/))
EFFECTS = tests/e2e/test_in_effect.py tests/e2e/test_torch_compile.py
RUNS = 20
# A caller's own modules decide nothing here; and without bytecode each child compiles all anew.
unexport PYTHONPATH PYTHONDONTWRITEBYTECODE
export MYPYPATH = tools:lab:studies:examples/simnpu:examples/conformance:tests/support:tests/e2e:tests/sglang:tests/unit

.PHONY: help test test-rest test-all test-unit test-processes test-integration test-browser lint \
	docs check faults mutants quality quality-tighten quality-table outputs bench load \
	e2e e2e-smoke e2e-rest e2e-all effects ways truth sglang sglang-smoke metrics containers matrix demo demo-cpu demo-ray235 pictures \
	screenshots dist env-unit env-vllm env-ray235 clean

help:            ## What there is
	@sed -n 's/^\([a-z0-9-]*\):[^#]*## /\1\t/p' Makefile | expand -t 18

test: lint test-unit test-processes e2e-smoke  ## Ten minutes; the last line is pytest's; SAMPLES=many

test-rest: docs test-integration check e2e-rest  ## What `make test` leaves out: half an hour

test-all: export SAMPLES = many
test-all: test test-rest  ## All that CI runs; the laws try more examples

test-unit: env-unit  ## A minute, no vLLM: all that needs no other process
	@$(UNIT)/python -m compileall -q $(COMPILED)
	$(UNIT_TESTS) -m "not integration and not processes"

test-processes: env-unit  ## The unit tests that start processes: two minutes, no vLLM
	@$(UNIT)/python -m compileall -q $(COMPILED)
	$(UNIT_TESTS) -m "processes and not integration"

test-integration: env-unit  ## action.yml and the hooks, with the real pip, git and pre-commit
	$(UNIT)/python -m pytest tests/unit/ci -n 2 -m integration

test-browser:    ## The pages of `check` and `status`, in chromium, which must be there; read by axe
	@$(PYTHON) lab/environments.py browser > /dev/null
	.envs/browser/bin/python -m pytest tests/browser -n 2

faults: env-unit ## A fault at every line of an apply; `make test-unit` takes a sample of them
	SAMPLES=all $(UNIT)/python -m pytest tests/unit/runtime/process/test_faults.py

mutants: env-unit ## How many of a sample of broken lines the unit tests notice: 40 minutes
	PYTHONPATH=tools $(UNIT)/python -m mutation $(MUTANTS)

quality: env-unit ## Size in syntax nodes, names, idioms, circles, with the limits of quality.toml
	@$(QUALITY)

quality-tighten: env-unit ## Lower the limits of quality.toml to what is measured; raises none
	@$(QUALITY) --tighten

quality-table: env-unit ## Write the table of docs/architecture.md
	@$(QUALITY) --write

outputs: env-unit ## What every command prints on fixed inputs, into .outputs, to compare checkouts
	rm -rf .outputs
	$(UNIT)/python tools/outputs --python $(UNIT)/python --into .outputs $(OUTPUTS)

check: env-unit  ## patchkit's own patches, and the examples', against every release in their ranges
	$(UNIT)/patchkit check --releases "vllm>=0.5,<0.34" --releases "ray>=2.9"
	PYTHONPATH=$(GUIDE) $(UNIT)/patchkit check --releases "vllm>=0.7,<0.34" \
		$(addprefix --patches ,$(GUIDE_PACKS))
	PYTHONPATH=examples/simnpu:examples/conformance $(UNIT)/patchkit check \
		--releases "vllm>=0.7,<0.34" --patches simnpu_rows --patches patchkit_conformance.seen
	$(UNIT)/patchkit check --patches patchkit.data_llm --releases "ray>=2.35"

e2e: env-vllm    ## Real engines on a real Ray, two files of tests at a time; E2E="-k word"
	$(E2E_TESTS) $(A_FILE_AT_A_TIME) tests/e2e $(SAMPLE)

e2e-smoke: env-vllm ## Those of the flagship and of one pack: two minutes
	$(E2E_TESTS) --dist worksteal $(SMOKE) $(SAMPLE)

e2e-rest: env-vllm ## All others
	$(E2E_TESTS) $(A_FILE_AT_A_TIME) tests/e2e $(addprefix --ignore=,$(SMOKE)) $(SAMPLE)

e2e-all: env-vllm ## The same without a sample: every cell, an hour and a half
	$(E2E_TESTS) $(A_FILE_AT_A_TIME) tests/e2e -m "not triton" $(E2E)

sglang: env-sglang ## Real engines and a server of SGLang on the CPU: five minutes; SGLANG=0.5.10
	.envs/sglang-$(SGLANG)/bin/python -m pytest tests/sglang

sglang-smoke: env-sglang ## One engine of SGLang: a minute or two
	.envs/sglang-$(SGLANG)/bin/python -m pytest tests/sglang/test_both_engines.py

metrics: env-unit ## Alert rules and metrics, by promtool of PATH or of Debian's package
	$(UNIT)/python tools/promtool.py

containers: env-unit ## What a container does to a process, by namespaces of the kernel; as root
	$(UNIT)/python -m pytest tests/containers

effects: env-vllm ## What "in effect" says: 20 runs of an engine, and on Python 3.12: an hour
	@$(PYTHON) lab/environments.py vllm-0.32.0-python-3.12 > /dev/null
	.envs/vllm-0.32.0-python-3.12/bin/python -m pytest $(EFFECTS) tests/e2e/test_second_runner.py
	for run in $$(seq $(RUNS)); do $(VLLM)/python -m pytest $(EFFECTS) || exit; done

ways: env-vllm   ## Every cell of docs/ways-in.md, more than an hour; WRITE_DOCS=1 writes the page anew
	$(E2E_TESTS) --dist worksteal tests/e2e/test_ways_in.py
	$(E2E_TESTS) $(A_FILE_AT_A_TIME) tests/e2e/test_cpu_ray.py tests/e2e/test_data_llm.py \
		tests/e2e/test_old_ray.py

truth: env-vllm  ## What source is said to hold, against vLLM and eight packages as they are imported
	$(VLLM)/python -m pytest tests/e2e/test_strangers.py tests/e2e/test_static_truth.py

docs:            ## The site of the docs, .site; warnings are errors
	@$(PYTHON) lab/environments.py docs > /dev/null
	env NO_MKDOCS_2_WARNING=1 .envs/docs/bin/mkdocs build --strict

pictures: env-vllm ## The terminal pictures of the docs, drawn anew from a real engine: a minute
	PYTHONPATH=tools $(VLLM)/python tools/pictures.py

screenshots: env-vllm ## The terminal pictures, and the pages of `status` and `check` in chromium
	@$(PYTHON) lab/environments.py browser > /dev/null
	.envs/browser/bin/python tools/screenshots.py $(VLLM)/python

dist:            ## The archives of a release, from the last commit: the same bytes each time
	@$(PYTHON) lab/archives.py

lint: env-unit   ## Style, types, layers, the limits of quality.toml
	$(UNIT)/ruff check .
	$(UNIT)/ruff format --check .
	$(UNIT)/mypy
	$(UNIT)/mypy --explicit-package-bases $(AROUND)
	$(UNIT)/mypy --explicit-package-bases tests/sglang
	$(UNIT)/lint-imports
	$(QUALITY) --check

matrix: env-unit ## Real releases, hours: the lanes of lanes.toml; LANES=0.23.0,0.30.0 KEEP=1 FRESH=1
	$(UNIT)/python lab/matrix.py --lanes "$(LANES)" $(if $(KEEP),--keep) $(if $(FRESH),--fresh)

demo: env-vllm   ## The failure, the cure, and who was patched: about two minutes
	$(VLLM)/python examples/demo/run.py

demo-ray235: env-ray235  ## A new vLLM on Ray 2.35: what fails, what cures it: ten minutes
	.envs/ray-2.35.0/bin/python examples/demo_ray235/run.py

demo-cpu: env-vllm ## vLLM for CPUs on Ray, nothing simulated: about two minutes
	$(VLLM)/python examples/demo_cpu/run.py

bench: env-vllm  ## Ratios, paired in one run; writes the tables of docs/benchmarks.md
	$(VLLM)/python -m benchmarks --write

load: env-vllm   ## `vllm serve` with 36 rows and without under 64 streams, in turns: 25 minutes
	$(VLLM)/python -m benchmarks load

clean:           ## Environments, caches and what tools left
	rm -rf .envs .matrix .demo .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache .outputs .quality .site dist

env-unit:        ## The environment of the unit tests, .envs/unit
	@$(PYTHON) lab/environments.py unit > /dev/null

env-vllm:        ## The environment with vLLM, Ray and torch for CPU
	@$(PYTHON) lab/environments.py vllm-0.32.0 > /dev/null

env-sglang:      ## The environment with SGLang and torch for CPU
	@$(PYTHON) lab/environments.py sglang-$(SGLANG) > /dev/null

env-ray235:      ## The same vLLM on Ray 2.35.0, and on the Ray of env-vllm
	@$(PYTHON) lab/environments.py ray-2.35.0 vllm-0.32.0 > /dev/null
