# `make run` on a fresh machine installs everything into .venv and opens the app; `make test` installs and tests.
# README.md has the same steps as plain commands, for Windows too.

PYTHON ?= python3
VENV ?= .venv
ARGS ?=
# Processes that run tests at the same time, each with one thread.
WORKERS ?= 2
BIN := $(VENV)/bin
# pip compiles one file after the other, half of the time of an installation; `COMPILE` uses all cores.
PIP_INSTALL := $(BIN)/python -m pip install --disable-pip-version-check --no-compile -c constraints.txt
COMPILE := $(BIN)/python -m compileall -qq -j 0 $(VENV) > /dev/null || true
# Deno asks no server for updates, and keeps its cache in the environment.
DENO := DENO_NO_UPDATE_CHECK=1 DENO_DIR=$(VENV)/deno $(BIN)/deno

.DEFAULT_GOAL := help
.PHONY: help run fast test test-all lint rules types tools wheel dist docs bench fuzz soak twins atlas dates digits plotly site clean

help:
	@echo "make run    install into $(VENV) and open the app; options as in make run ARGS=\"--port 8600\""
	@echo "make site   write site/, whose pages compute in the browser; see docs/site.md"
	@echo "make docs   write build/docs, the documentation as pages, every link checked"
	@echo "make dist   sdist and wheel of the last commit, into dist/"
	@echo "make fast   rules, then the tests near to what has changed, for a minute"
	@echo "make test   install, with a Chromium if none is found, then lint and the fast tests; some with ARGS=tests/measure"
	@echo "make test-all  make test, then the slow tests"
	@echo "make lint   check rules, formatting and types of the code, and the words of its sentences"
	@echo "make wheel  install the wheel from the network, with the newest and the lowest versions, and open it"
	@echo "make bench  the benchmark: a table and JSON; less of it with ARGS=\"--quick --only engine\""
	@echo "make fuzz   hostile files, texts, places, settings, addresses and messages for ten minutes; ARGS=\"--seed 1\""
	@echo "make soak   thirty visitors for ten minutes, processes killed under them; ARGS=\"--minutes 60\""
	@echo "make twins  train the two bundled models again (about two hours on two cores)"
	@echo "make atlas  measure the heads of the bundled models over 2,000 sentences again (a minute)"
	@echo "make dates  train the bundled translators of dates and number words again (46 minutes on a busy machine)"
	@echo "make digits train the bundled encoders of digits, written, spoken and in words, again (about 12 minutes; needs espeak-ng)"
	@echo "make plotly bundle the part of plotly.js that browsers get again (needs npm)"
	@echo "make clean  remove what was built; $(VENV) stays (remove it by hand)"

# A stamp for each set of dependencies: a second run starts at once, and changed pins install again.
$(VENV)/created:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Encoderscope needs Python 3.11 or newer; " + sys.executable + " is " + sys.version.split()[0] + ". Try: make PYTHON=python3.12")'
	$(PYTHON) -m venv $(VENV)
	@touch $@

$(VENV)/installed: $(VENV)/created pyproject.toml constraints.txt
	$(PIP_INSTALL) -e .
	@$(COMPILE)
	@touch $@

$(VENV)/installed-test: $(VENV)/created pyproject.toml constraints.txt
	$(PIP_INSTALL) -e ".[test]"
	@$(COMPILE)
	@touch $@ $(VENV)/installed

# One by one: if one cannot be installed, the benchmark says so and measures the others.
RIVALS := bertviz attnview transformer-lens

$(VENV)/installed-bench: $(VENV)/created pyproject.toml constraints.txt
	$(PIP_INSTALL) -e ".[test]"
	@for rival in $(RIVALS); do \
		$(PIP_INSTALL) $$rival || echo "$$rival cannot be installed: published figures replace it"; \
	done
	@touch $@ $(VENV)/installed $(VENV)/installed-test

run: $(VENV)/installed
	$(BIN)/encoderscope $(ARGS)

lint: rules types

rules: $(VENV)/installed-test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(DENO) lint --quiet
	$(DENO) fmt --check --quiet
	$(BIN)/python -m pytest -q tests/test_voice.py

types: $(VENV)/installed-test
	$(BIN)/mypy
	$(DENO) check --quiet --no-remote --no-npm encoder pages

tools: $(VENV)/installed-test
	$(BIN)/python tests/ensure_chromium.py
	$(BIN)/python -m tests.ensure_servers

# The longest tests of a run are in its output, so that CI's logs say what has become slow.
PYTEST := $(BIN)/python -m pytest --durations 25 --durations-min 3 -n $(WORKERS)
# Servers and commands that tests start, and the second run of pytest, read what the first process compiled, also where
# the environment forbids Python to write it.
TESTED := export OMP_NUM_THREADS=1 PYTHONDONTWRITEBYTECODE=
WITHOUT_BROWSER := --dist loadfile --no-loadscope-reorder --ignore tests/test_voice.py
WITH_BROWSER := --dist worksteal

# The minute-by-minute loop; CONTRIBUTING.md says when to press what.
fast: $(VENV)/installed-test
	$(BIN)/ruff check --quiet .
	$(TESTED); $(PYTEST) -m "not slow" --dist loadfile --no-loadscope-reorder --maxfail 5 --for-seconds 60 \
		$$($(BIN)/python -m tests.touched)

ifdef ARGS
# Of both tiers.
test: $(VENV)/installed-test
	$(TESTED); $(PYTEST) --dist loadfile $(ARGS)
else
# Types take a minute on one core, so tests begin meanwhile.
test: $(VENV)/installed-test
	@$(MAKE) --no-print-directory --jobs=2 rules tools
	@status=0; $(TESTED); \
	$(MAKE) --no-print-directory types > $(VENV)/types.log 2>&1 & types=$$!; \
	$(PYTEST) -m "not browser and not slow" $(WITHOUT_BROWSER) || status=1; \
	wait $$types || status=1; cat $(VENV)/types.log; \
	$(PYTEST) -m "browser and not slow" $(WITH_BROWSER) || status=1; \
	exit $$status
endif

# Only if the fast tier passes.
test-all: test
	@status=0; $(TESTED); \
	$(PYTEST) -m "slow and not browser" $(WITHOUT_BROWSER) || status=1; \
	$(PYTEST) -m "browser and slow" $(WITH_BROWSER) || status=1; \
	exit $$status

wheel: $(VENV)/installed-test
	$(BIN)/python tests/ensure_chromium.py
	$(BIN)/python -m pytest -m network tests/test_versions.py $(ARGS)

# A folder for any web server: its pages compute in the browser.
site: $(VENV)/installed
	$(BIN)/python -m docs.site $(ARGS)

# From the last commit, whatever else is in the folder; the wheel is built from the sdist, so nothing is missing there.
dist: $(VENV)/installed-test
	rm -rf dist build/source && mkdir -p build/source
	git archive HEAD | tar -x -C build/source
	cd build/source && $(CURDIR)/$(BIN)/python -m hatchling build --target sdist --directory $(CURDIR)/dist
	$(BIN)/python -m pip wheel --no-deps --no-build-isolation --wheel-dir dist dist/encoderscope-*.tar.gz

# Warnings are errors. docs/conf.py writes what the repository does not hold: lists of pages, names and licences.
docs: $(VENV)/installed-test
	$(BIN)/python -m sphinx --fail-on-warning --keep-going --quiet --builder html docs build/docs

bench: $(VENV)/installed-bench
	$(BIN)/python tests/ensure_chromium.py
	$(BIN)/python -m benchmarks $(ARGS)

fuzz: $(VENV)/installed-test
	OMP_NUM_THREADS=1 $(BIN)/python -m tests.fuzz $(ARGS)

soak: $(VENV)/installed-test
	$(BIN)/python -m tests.ensure_servers
	OMP_NUM_THREADS=1 $(BIN)/python -m tests.soak $(ARGS)

twins: $(VENV)/installed
	$(BIN)/python -m recipes.twins

# One thread: torch rounds sums by the number of threads, and the files have the same bytes each time.
atlas: $(VENV)/installed
	mkdir -p encoder/data/atlases
	for one in minilm:6 twin-pre:4 twin-post:4; do \
		$(BIN)/encoderscope corpus build $${one%:*} --texts wordnet --most 2000 --device cpu --threads 1 \
			--label "part of speech" --vectors $${one#*:} --vector-texts 200 --out encoder/data/atlases/$${one%:*} --replace || exit 1; \
	done

dates: $(VENV)/installed
	$(BIN)/python -m recipes.dates

digits: $(VENV)/installed
	$(BIN)/python -m recipes.digits
	$(BIN)/python -m recipes.digit_words
	$(BIN)/python -m recipes.spoken
	$(BIN)/python -m recipes.spoken_words

# build/ is not tracked, nor are the packages that npm puts there.
plotly:
	mkdir -p build/plotly
	cp encoder/drawing/plotly/package.json encoder/drawing/plotly/build.mjs build/plotly
	cd build/plotly && npm install --ignore-scripts && npm run build
	cp build/plotly/plotly.min.js.gz build/plotly/LICENSES.txt encoder/drawing/plotly

clean:
	rm -rf build dist docs/generated static/plotly-* static/*.js .pytest_cache .ruff_cache
	find . -name __pycache__ -type d -not -path './$(VENV)/*' -prune -exec rm -rf {} +
