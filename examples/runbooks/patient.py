#!/usr/bin/env python3
"""A runbook as a program, over its standard streams: one JSON object a line. Needs nothing but Python."""

import json
import sys


def ask(call, *args):
    print(json.dumps({"call": call, "args": args}), flush=True)
    told = json.loads(sys.stdin.readline())
    if "error" in told:
        sys.exit(f"{call}: {told['error']['what']}")
    return told["answer"]


def conclude(*causes, sentence):
    print(json.dumps({"conclude": {"causes": causes, "sentence": sentence}}), flush=True)
    sys.exit(0)


def over_slo(seconds):
    ask("sleep", seconds)
    return ask("latency", seconds)["over_slo"]


json.loads(sys.stdin.readline())  # the SLO, the time limit, and the calls that there are
before = over_slo(8)
if before <= 0.01:
    conclude(sentence=f"{before:.1%} of the requests are over the SLO")
limited = [cgroup for cgroup in ask("app_cpu") if cgroup["quota_us"] is not None]
for cgroup in limited:
    ask("set_cpu_quota", cgroup["path"], None)
if limited and (after := over_slo(8)) <= 0.01:
    conclude(
        "cpu-throttling", sentence=f"without the CPU limit {after:.1%} are over the SLO, with it {before:.1%}"
    )
ask("set_pool_size", 30)
if (after := over_slo(8)) <= 0.01:
    conclude("pool-wait", sentence=f"with a larger pool {after:.1%} are over the SLO, before {before:.1%}")
print(json.dumps({"conclude": {"inconclusive": True, "sentence": "neither limit nor pool"}}), flush=True)
