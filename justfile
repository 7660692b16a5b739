# Thin names for the commands; each recipe is one line. `just` itself comes with .venv.

# list the recipes
default:
    @just --list

# make or refresh .venv
setup:
    python3 tools/bootstrap.py

# run Mainspring on this machine
start *arguments:
    python3 tools/start.py {{arguments}}

# the whole gate
test *arguments:
    python3 tools/test.py {{arguments}}

# lint, types, unit tests and tidy tests
fast *arguments:
    python3 tools/test.py --fast {{arguments}}

# rewrite formatting and what ruff can mend by itself
format:
    .venv/bin/ruff format . && .venv/bin/ruff check --fix .

# build the documentation
docs:
    python3 tools/test.py --only docs

# resolve the dependencies anew (add --upgrade for newer versions)
lock *arguments:
    python3 tools/lock.py {{arguments}}

# run the quick checks before each commit
hooks:
    .venv/bin/prek install
