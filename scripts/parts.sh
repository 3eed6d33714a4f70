#!/usr/bin/env bash
# Install the real parts. Only what comes with the system's own apt needs root.
# parts.sh [COMMAND-PREFIX...]: what to put before a command that needs root.
set -euo pipefail
cd "$(dirname "$0")/.."

parts=(.venv/bin/python -m chaoslat.parts)
if ! "${parts[@]}" path iproute2 >/dev/null 2>&1; then
  "$@" "${parts[@]}" install iproute2
fi
"${parts[@]}" install
