"""Waiting until a published port leads to its pod: kube-proxy follows the pod's readiness a second behind."""

from __future__ import annotations

import requests

from chaoslat.backends.local.parts import NotYet
from chaoslat.errors import SystemLost
from chaoslat.waiting import retrying

DEADLINE_S = 20.0
PAUSE_S = 0.2


def until_it_answers(url: str) -> None:
    """Ask until the answer is 200. Raises SystemLost after the deadline."""
    try:
        retrying(NotYet, DEADLINE_S, PAUSE_S)(_ask, url)
    except NotYet as last:
        raise SystemLost(f"Nothing answers within {DEADLINE_S:.0f} s", where=url, why=str(last)) from last


def _ask(url: str) -> None:
    try:
        answer = requests.get(url, timeout=2.0)
    except requests.RequestException as error:
        raise NotYet(str(error)) from error
    if answer.status_code != 200:
        raise NotYet(f"status {answer.status_code}")
