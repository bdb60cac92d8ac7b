# The targets only call bootstrap.py or the tool itself. Some images have only `python`.
PYTHON ?= $(shell command -v python3 || command -v python)
ARGS ?=

.PHONY: lab test pong lint
lab:  ## set up and open JupyterLab; options: make lab ARGS="--no-browser --port 8889"
	@$(PYTHON) bootstrap.py lab $(ARGS)
test:  ## set up and run what CI runs; options go to pytest: make test ARGS="tests/platform"
	@$(PYTHON) bootstrap.py test $(ARGS)
pong:  ## learn Pong and play 20 games; options: make pong ARGS="--seed 1 --minutes 10"
	@$(PYTHON) bootstrap.py install
	@$$(test -x .venv/bin/python && echo .venv/bin/python || echo $(PYTHON)) -m course_utils train pong $(ARGS)
lint:  ## put the code into the course's format and name what is left to do
	@test -x .venv/bin/ruff || { echo "Stopped: ruff is not installed yet. Run: make test" >&2; exit 1; }
	@.venv/bin/ruff check --fix && .venv/bin/ruff format
