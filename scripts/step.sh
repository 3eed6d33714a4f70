#!/usr/bin/env bash
# step.sh [--last] HEADING COMMAND...: run a step under a heading, and say how long it took.
# With --last nothing is printed after the command, so that its own summary is the end of the log.
set -euo pipefail

last=""
if [ "$1" = --last ]; then
  last=1
  shift
fi
heading=$1
shift
printf '\n== %s\n' "$heading"
if [ -n "$last" ]; then
  exec "$@"
fi
started=$SECONDS
code=0
"$@" || code=$?
if [ "$code" = 0 ]; then
  printf '== %s: %d s\n' "$heading" "$((SECONDS - started))"
else
  printf '== %s: FAILED (exit code %d) after %d s\n' "$heading" "$code" "$((SECONDS - started))" >&2
fi
exit "$code"
