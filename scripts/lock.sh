#!/usr/bin/env bash
# Write requirements.lock: the newest versions that satisfy pyproject.toml, tried in a virtualenv of their own.
set -euo pipefail
cd "$(dirname "$0")/.."

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
"${PYTHON:-.venv/bin/python}" - >"$scratch/wanted" <<'PY'
import tomllib

with open("pyproject.toml", "rb") as file:
    settings = tomllib.load(file)
project = settings["project"]
# editables: what hatchling needs for an editable install; with it in the lock, builds need no isolation.
wanted = [*project["dependencies"], *project["optional-dependencies"]["dev"], *settings["build-system"]["requires"]]
print("\n".join([*wanted, "editables"]))
PY
"${PYTHON:-.venv/bin/python}" -m venv "$scratch/venv"
"$scratch/venv/bin/pip" install -q --disable-pip-version-check -r "$scratch/wanted"
{
  echo "# Made by \`make lock\` from pyproject.toml; do not edit."
  "$scratch/venv/bin/pip" freeze --disable-pip-version-check --exclude-editable
} >requirements.lock
