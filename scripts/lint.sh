#!/usr/bin/env bash
# Style, types and import direction. All of them run, so that one failure does not hide the next.
set -uo pipefail
cd "$(dirname "$0")/.."

code=0
.venv/bin/ruff check . || code=1
.venv/bin/ruff format --check . || code=1
.venv/bin/mypy || code=1
.venv/bin/lint-imports || code=1
exit "$code"
