#!/bin/sh
# Diagnoses over HTTP: $CHAOSLAT_URL/CALL with a JSON list of arguments, $CHAOSLAT_URL/conclude to end. Needs curl.
# `curl "$CHAOSLAT_URL/"` lists the calls.
set -eu
ask() { call=$1; shift; curl -sS --fail-with-body "$CHAOSLAT_URL/$call" -d "${1:-[]}"; }
figure() { sed -n "s/.*\"$1\": \([0-9.]*\).*/\1/p"; }
conclude() { ask conclude "{\"causes\": [$1], \"sentence\": \"$2\"}"; exit 0; }

ask sleep "[10]" >/dev/null
over=$(ask latency "[10]" | figure over_slo)
if awk "BEGIN { exit !($over <= 0.01) }"; then conclude "" "$over of the requests are over the SLO: nothing is wrong"; fi

for _ in 1 2 3 4 5 6 7 8; do
  waiting=$(ask pool | figure waiting)
  if [ "$waiting" -gt 0 ]; then conclude '"pool-wait"' "$waiting requests were waiting for a connection"; fi
  ask sleep "[0.25]" >/dev/null
done

throttled() { ask app_cpu | sed 's/}/}\n/g' | figure throttled_periods | sort -n | tail -n 1; }
before=$(throttled)
ask sleep "[5]" >/dev/null
periods=$(($(throttled) - before))
if [ "$periods" -gt 5 ]; then conclude '"cpu-throttling"' "$periods periods were throttled in 5 s"; fi
ask conclude '{"inconclusive": true, "sentence": "neither the pool nor the CPU limit"}'
