# Each target is one line that calls bootstrap.py or the tool itself. Some images have only `python`.
PYTHON ?= $(shell command -v python3 || command -v python)
ARGS ?=

.PHONY: lab test lint
lab:  ## set up and open JupyterLab; options: make lab ARGS="--no-browser --port 8889"
	@$(PYTHON) bootstrap.py lab $(ARGS)
test:  ## set up and run what CI runs; options go to pytest: make test ARGS="tests/platform"
	@$(PYTHON) bootstrap.py test $(ARGS)
lint:  ## put the code into the course's format and name what is left to do
	@.venv/bin/ruff check --fix && .venv/bin/ruff format
