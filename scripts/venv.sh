#!/usr/bin/env bash
# Make .venv with a Python >= 3.11 and install requirements.lock and the project into it. Quick when nothing changed.
set -euo pipefail
cd "$(dirname "$0")/.."

stamp=".venv/.installed-$(cat requirements.lock pyproject.toml scripts/venv.sh | sha256sum | cut -c1-12)"

usable() {
  "$1" -c 'import ensurepip, sys, venv; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1
}

find_python() {
  local candidate
  for candidate in "${PYTHON:-python3}" python3 python3.13 python3.12 python3.11 /usr/bin/python3; do
    if usable "$candidate"; then
      command -v "$candidate"
      return
    fi
  done
  return 1
}

apt_python() {
  local as_root=()
  if [ "$(id -u)" != 0 ]; then
    if ! command -v sudo >/dev/null; then
      echo "No Python >= 3.11 with venv here, and no sudo to install one: run \`apt-get install python3-venv\` as root." >&2
      return 3
    fi
    as_root=(sudo)
  fi
  "${as_root[@]}" apt-get -q update </dev/null
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -q -y --no-install-recommends install python3-venv </dev/null
}

make_venv() {
  if .venv/bin/python -c 'import pip, sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1; then
    return
  fi
  find_python >/dev/null || apt_python
  local python
  if ! python=$(find_python); then
    echo "This machine's Python is older than 3.11. Install a newer one and run: make setup PYTHON=/path/to/python" >&2
    return 3
  fi
  echo "virtualenv with $("$python" --version)"
  "$python" -m venv --clear .venv
}

install_packages() {
  echo "packages of requirements.lock"
  .venv/bin/python -m pip install -q --disable-pip-version-check -r requirements.lock
  .venv/bin/python -m pip install -q --disable-pip-version-check --no-deps --no-build-isolation -e .
  rm -f .venv/.installed-*
  touch "$stamp"
}

mkdir -p .stamps
exec 9>.stamps/venv.lock
flock -w 900 9 || { echo "Another set-up is still running in this checkout." >&2; exit 3; }
if [ ! -e "$stamp" ]; then
  make_venv
  install_packages
fi
