#!/usr/bin/env bash
# The demo application's own tests, against a private database with the shop in it.
set -euo pipefail
cd "$(dirname "$0")/.."

python=$PWD/.venv/bin/python
node=$("$python" -m chaoslat.parts path node)
cd fixtures/node-app
export NODE_OPTIONS=--test-reporter=spec  # one line a test, also without a terminal
PATH="$(dirname "$node"):$PATH" exec "$python" -m chaoslat.parts with-mysql timeout -k 10 300 npm test
