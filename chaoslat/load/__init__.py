"""The open-loop load generator.

`LoadProcess` runs it as a process of its own (`python -m chaoslat.load`), `LatencyLog` reads what it logs,
live or later. Latency counts from the time at which a request was due, so a slow system cannot hide the
requests that it kept from being sent (coordinated omission).
"""

from chaoslat.load.config import LoadConfig
from chaoslat.load.log import LatencyLog, RateChange, Requests
from chaoslat.load.process import LoadProcess
from chaoslat.load.record import LogHeader
from chaoslat.load.schedule import Arrival, Schedule, Shape, Workload
from chaoslat.load.summary import LoadHealth, LoadSummary, judge_health, summarise

__all__ = [
    "Arrival",
    "LatencyLog",
    "LoadConfig",
    "LoadHealth",
    "LoadProcess",
    "LoadSummary",
    "LogHeader",
    "RateChange",
    "Requests",
    "Schedule",
    "Shape",
    "Workload",
    "judge_health",
    "summarise",
]
