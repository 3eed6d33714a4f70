"""A state folder of the test's own: no test sees the machine's runs."""

from __future__ import annotations

from pathlib import Path

import pytest

from chaoslat.ledger import Ledger

RUN = "0a1b2c3d"


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("CHAOSLAT_STATE", str(tmp_path / "state"))
    return tmp_path / "state"


@pytest.fixture
def ledger() -> Ledger:
    return Ledger.create(RUN)
