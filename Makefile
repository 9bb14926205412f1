# Everything starts here. A machine needs only python3 (3.10 or newer) and make; the rest is installed into .venv.
# Stamp files inside the virtual environments make a second run quick. `make help` lists the targets.

PYTHON ?= python3
VENV := .venv
FAST := .venv-fast
BIN := $(VENV)/bin
FAST_BIN := $(FAST)/bin
PIP := -m pip --disable-pip-version-check
SOURCES := $(shell find src -name '*.py' 2>/dev/null)
EDITORS := editors
NODE_MODULES := $(EDITORS)/vscode/node_modules/.package-lock.json
TSC := $(EDITORS)/vscode/node_modules/.bin/tsc
PAGES := src/tileir/serve/explorer/assets/tsconfig.json src/tileir/judging/report/assets/tsconfig.json
# Extra arguments for pytest, as in: make test ARGS='-k printer -x'
ARGS ?=
# The oldest torch that emulation supports.
TORCH_OLDEST := 2.6.0
OLDEST := .venv-torch-oldest
FUZZ_SECONDS ?= 20
FUZZ_OPTIONS := -timeout=20 -rss_limit_mb=1024 -print_final_stats=1
# Tests start hundreds of processes: compiling every module again in each takes a third of their time.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help demo test suite test-long test-torch-oldest torch lint types ruff pages npm fast test-fast docs docs-check site counts dist vscode fuzz bench bench-fast bench-more clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

# A virtual environment, made only where none works yet. $(1) is its folder. A pip before 24.2 writes commands that
# import `re` before anything else, a fifth of what it takes to start one: a newer one is taken where there is one.
define make_venv
@$(PYTHON) -c 'import sys; sys.exit(0 if sys.version_info >= (3, 10) else "tileir needs Python 3.10 or newer; this is %s. Try: make PYTHON=python3.11 ..." % sys.version.split()[0])'
@$(1)/bin/python $(PIP) --version >/dev/null 2>&1 || { echo "making $(1)"; $(PYTHON) -m venv $(1) && { $(1)/bin/python $(PIP) install --quiet 'pip>=24.2' 2>/dev/null || true; }; }
@touch $@
endef

$(VENV)/.made:
	$(call make_venv,$(VENV))

$(FAST)/.made:
	$(call make_venv,$(FAST))

# The project, installed so that edits of src/ take effect at once.
$(VENV)/.installed: pyproject.toml | $(VENV)/.made
	@echo "installing tileir into $(VENV)"
	@$(BIN)/python $(PIP) install --quiet --prefer-binary --editable .
	@touch $@

$(VENV)/.installed-test: pyproject.toml | $(VENV)/.made
	@echo "installing tileir and what its tests need into $(VENV)"
	@$(BIN)/python $(PIP) install --quiet --prefer-binary --editable '.[docs,test]'
	@touch $@ $(VENV)/.installed $(VENV)/.installed-docs

$(VENV)/.installed-docs: pyproject.toml | $(VENV)/.made
	@echo "installing what builds the documentation site into $(VENV)"
	@$(BIN)/python $(PIP) install --quiet --prefer-binary --editable '.[docs]'
	@touch $@ $(VENV)/.installed

# What running programs needs; cuTile, for the examples written in it, where it exists.
$(VENV)/.installed-run: pyproject.toml | $(VENV)/.made
	@echo "installing tileir and what running programs needs into $(VENV)"
	@$(BIN)/python $(PIP) install --quiet --prefer-binary --editable '.[cpu]'
	@$(BIN)/python $(PIP) install --quiet 'cuda-tile>=1.7' 2>/dev/null || echo "(cuda-tile cannot be installed here: its examples are left out)"
	@touch $@ $(VENV)/.installed

$(VENV)/.installed-bench: pyproject.toml | $(VENV)/.made
	@echo "installing tileir and its benchmark peers into $(VENV)"
	@$(BIN)/python $(PIP) install --quiet --prefer-binary --editable '.[bench,test]'
	@touch $@ $(VENV)/.installed

demo: $(VENV)/.installed-run ## install, then show the main job on the examples
	@echo
	@echo "=== 1. A correct program: tileir check prints nothing and succeeds"
	@echo "    \$$ tileir check examples/vector_add.mlir"
	@$(BIN)/tileir check examples/vector_add.mlir && echo "    (no findings, exit status 0)"
	@echo
	@echo "=== 2. A program with three errors: each is reported with its position"
	@echo "    \$$ tileir check examples/broken.mlir"
	@$(BIN)/tileir check examples/broken.mlir; status=$$?; test $$status -eq 1 || { echo "expected exit status 1, got $$status"; exit 1; }
	@echo
	@echo "=== 3. Read, verify and print again, exactly as NVIDIA's own tools print"
	@echo "    \$$ tileir opt examples/matmul.mlir"
	@$(BIN)/tileir opt examples/matmul.mlir
	@echo
	@echo "=== 4. The same for softmax, in a pipe"
	@echo "    \$$ tileir opt examples/softmax.mlir | tileir check -"
	@$(BIN)/tileir opt examples/softmax.mlir > $(VENV)/demo.mlir && $(BIN)/tileir check - < $(VENV)/demo.mlir && echo "    (no findings, exit status 0)"
	@echo
	@echo "=== 5. Bytecode: written, printed as NVIDIA's disassembler prints it, and explained byte by byte"
	@echo "    \$$ tileir as examples/vector_add.mlir -o vector_add.tileirbc"
	@echo "    \$$ tileir dis vector_add.tileirbc; tileir objdump vector_add.tileirbc"
	@$(BIN)/tileir as examples/vector_add.mlir -o $(VENV)/demo.tileirbc
	@$(BIN)/tileir dis $(VENV)/demo.tileirbc | head -4; echo "    ..."
	@$(BIN)/tileir objdump $(VENV)/demo.tileirbc | head -16; echo "    ..."
	@echo
	@echo "=== 6. What does an operation mean? The matmul of the example:"
	@echo "    \$$ tileir explain mmaf"
	@$(BIN)/tileir explain mmaf
	@echo
	@echo "=== 7. The same matmul, built in Python instead of written, in a pipe"
	@echo "    \$$ python examples/build_matmul.py | tileir check -"
	@$(BIN)/python examples/build_matmul.py > $(VENV)/demo.mlir && $(BIN)/tileir check - < $(VENV)/demo.mlir && echo "    (no findings, exit status 0)"
	@echo
	@echo "=== 8. Every example kernel run on this machine, without a GPU: interpreted, and as native code"
	@echo "    \$$ python examples/run_all.py"
	@$(BIN)/python examples/run_all.py
	@echo
	@echo "Done. The tool is $(BIN)/tileir; the programs are in examples/; docs/ has the rest."

lint: types ruff pages ## ruff (rules and layout), mypy --strict, and tsc --strict for pages

types: $(VENV)/.installed-test
	$(BIN)/mypy --strict

ruff: $(VENV)/.installed-test
	$(BIN)/ruff check src generators tests benchmarks examples .ci
	$(BIN)/ruff format --check src generators tests benchmarks examples .ci

# The TypeScript compiler is one of the extension's npm packages.
pages: npm
	@if test -x $(TSC); then for page in $(PAGES); do echo $(TSC) --project $$page; $(TSC) --project $$page || exit 1; done; \
	else echo "the types of the pages are not checked: there is no TypeScript"; fi

# Tests and pages go without these packages where Node is missing or no registry answers.
npm:
	@if command -v npm >/dev/null; then $(MAKE) --silent --no-print-directory $(NODE_MODULES) || echo "npm installs nothing: what needs it is left out"; fi

$(NODE_MODULES): $(EDITORS)/vscode/package-lock.json
	@echo "installing the extension's npm packages into $(EDITORS)/vscode"
	@cd $(EDITORS)/vscode && npm ci --loglevel=error --ignore-scripts --no-audit --no-fund
	@touch $@

# Types are checked while torch is installed and the first tests run.
test: $(VENV)/.installed-test ## ruff, mypy, the reference up to date, and all tests but the long ones; ends with what was left out
	@$(MAKE) --no-print-directory -j 2 torch npm lint docs-check suite
	@$(BIN)/python -m tests.optional

# Tests start hundreds of programs; where Python writes no bytecode, each would compile the sources again.
suite: torch npm
	@$(BIN)/python -m compileall -q -j 0 src
	$(BIN)/python -m pytest -n auto --dist worksteal $(ARGS)

test-long: ## the same with the long tests
	@$(MAKE) --no-print-directory test ARGS='-m "long or not long" $(ARGS)'

# The newest torch, where one can be had without CUDA's libraries.
torch: $(VENV)/.installed-test
	@$(BIN)/python .ci/install_torch.py

$(OLDEST)/.made:
	$(call make_venv,$(OLDEST))

test-torch-oldest: $(OLDEST)/.made ## the tests that use torch, with the oldest that is supported
	@$(OLDEST)/bin/python $(PIP) install --quiet --prefer-binary --no-warn-conflicts --editable '.[test]'
	@$(OLDEST)/bin/python .ci/install_torch.py $(TORCH_OLDEST)
	@# torch.compile of the oldest torch fails where a newer triton than its own is installed.
	@$(OLDEST)/bin/python $(PIP) uninstall --quiet --yes triton
	$(OLDEST)/bin/python -m pytest -n auto $$(grep -rlw torch tests --include='test_*.py') $(ARGS)

fuzz: $(VENV)/.installed-test ## a bounded run of the fuzzers (FUZZ_SECONDS each; tests/fuzz/README.md)
	@mkdir -p build/fuzz/bytecode build/fuzz/text
	$(BIN)/python tests/fuzz/fuzz_bytecode.py -max_total_time=$(FUZZ_SECONDS) $(FUZZ_OPTIONS) -artifact_prefix=build/fuzz/bytecode- build/fuzz/bytecode tests/fuzz/corpus/bytecode
	$(BIN)/python tests/fuzz/fuzz_text.py -max_total_time=$(FUZZ_SECONDS) $(FUZZ_OPTIONS) -artifact_prefix=build/fuzz/text- build/fuzz/text tests/fuzz/corpus/text

docs: $(VENV)/.installed-test ## write what follows from the declarations: the reference, stubs, words of editors (generators/), and docs/pictures
	$(BIN)/python -m generators
	$(BIN)/python .ci/pictures.py
	$(BIN)/python .ci/terminal_pictures.py

site: $(VENV)/.installed-docs ## build the documentation as a site, without a network: build/site
	@NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --quiet
	@echo "build/site/index.html is the first page; the search needs a server: python3 -m http.server -d build/site"

counts: $(VENV)/.installed ## print how many words, public names, commands and options there are
	@$(BIN)/python -m generators.counts

docs-check: $(VENV)/.installed-test
	@$(BIN)/python -m generators --check

# The tools that a package index and its users apply, in an environment of their own; the sdist is built once more by pip.
dist: ## the pure wheel and the sdist in build/dist, checked and tested in clean environments
	@rm -rf build/dist build/dist-tools build/dist-test && mkdir -p build
	@$(PYTHON) -m venv build/dist-tools && build/dist-tools/bin/python $(PIP) install --quiet build twine check-wheel-contents
	@build/dist-tools/bin/python -m build --outdir build/dist .
	build/dist-tools/bin/twine check --strict build/dist/*
	build/dist-tools/bin/check-wheel-contents build/dist/*.whl
	@for file in build/dist/*; do echo "testing $$file"; $(PYTHON) -m venv --clear build/dist-test && build/dist-test/bin/python $(PIP) install --quiet $$file && build/dist-test/bin/python .ci/wheel_test.py pure || exit 1; done

vscode: npm ## package the extension for Visual Studio Code: build/tileir-VERSION.vsix
	@command -v npm >/dev/null || { echo "the extension is built by npm: apt-get install nodejs npm"; exit 1; }
	@mkdir -p build
	cd $(EDITORS)/vscode && npm run --silent package

# The fast wheel needs a C compiler and Python's headers.
$(FAST)/.installed: pyproject.toml hatch_build.py compile_layers.py $(SOURCES) | $(FAST)/.made
	@echo "compiling tileir with mypyc (a few minutes)"
	@rm -rf build/fast && mkdir -p build/fast/dist
	@$(FAST_BIN)/python $(PIP) install --quiet build
	@TILEIR_COMPILE=1 $(FAST_BIN)/python -m build --wheel --outdir build/fast/dist .
	@$(FAST_BIN)/python $(PIP) install --quiet --no-deps --force-reinstall build/fast/dist/*.whl
	@$(FAST_BIN)/python .ci/compiled_build.py
	@touch $@

$(FAST)/.installed-test: $(FAST)/.installed
	@echo "installing what the tests need into $(FAST)"
	@$(FAST_BIN)/python $(PIP) install --quiet --prefer-binary "$$(ls build/fast/dist/*.whl)[test,bench]"
	@touch $@

fast: $(FAST)/.installed ## build the wheel compiled with mypyc into .venv-fast

test-fast: $(FAST)/.installed-test ## the same tests against the compiled build
	PYTHONPATH=.ci $(FAST_BIN)/python -m pytest -p compiled_build -n auto $(ARGS)

bench: $(VENV)/.installed-bench ## the figures that have a bar, in one table, pure Python
	$(BIN)/python benchmarks/all.py --history build/bench.jsonl $(ARGS)

bench-fast: $(FAST)/.installed-test ## the same with the compiled build
	$(FAST_BIN)/python benchmarks/all.py --history build/bench.jsonl $(ARGS)

bench-more: $(VENV)/.installed-bench ## the other figures of the documents
	$(BIN)/python benchmarks/scaling.py
	@echo
	$(BIN)/python benchmarks/bytecode_speed.py
	@echo
	$(BIN)/python benchmarks/optimizer_speed.py
	$(BIN)/python benchmarks/reduce_speed.py
	@echo
	$(BIN)/python benchmarks/diff_speed.py
	$(BIN)/python benchmarks/sanitizer_speed.py
	$(BIN)/python benchmarks/explorer_speed.py
	$(BIN)/python benchmarks/language_server.py
	$(BIN)/python benchmarks/debugger_speed.py
	$(BIN)/python benchmarks/sweep_speed.py --count 2000
	@echo
	$(BIN)/python benchmarks/cpu_speed.py
	@echo
	$(BIN)/python benchmarks/cpu_checked.py
	@echo
	$(BIN)/python benchmarks/cpu_math.py
	@echo
	$(BIN)/python benchmarks/triton_kernels_speed.py

clean: ## remove what the targets made, the virtual environments included
	rm -rf build dist $(VENV) $(FAST) $(OLDEST) .mypy_cache .ruff_cache .pytest_cache .hypothesis $(EDITORS)/vscode/node_modules $(EDITORS)/vscode/out $(EDITORS)/vscode/LICENSE
	find src tests benchmarks .ci -name __pycache__ -type d -prune -exec rm -rf {} + 2>/dev/null || true
