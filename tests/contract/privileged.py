"""Tests that change the machine (cgroups, namespaces, mounts) run only when somebody asks for it."""

from __future__ import annotations

import os

import pytest

privileged = pytest.mark.skipif(
    os.geteuid() != 0 or os.environ.get("CHAOSLAT_PRIVILEGED") != "1",
    reason="makes cgroups, namespaces and mounts: run as root with CHAOSLAT_PRIVILEGED=1",
)
