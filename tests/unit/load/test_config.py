"""The job file."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from chaoslat.errors import ChaoslatError
from chaoslat.load import LoadConfig
from chaoslat.load.config import LoadJob
from tests.load_doubles import WORKLOAD

CONFIG = LoadConfig("127.0.0.1", 8080, WORKLOAD, 42, duration_s=1.5, priority="nice")


def test_a_job_goes_through_its_file(tmp_path: Path) -> None:
    job = LoadJob(CONFIG, tmp_path / "x.log")
    job.write(tmp_path / "job.json")
    assert LoadJob.read(tmp_path / "job.json") == job


@pytest.mark.parametrize(
    "change",
    [
        {"port": 0},
        {"deadline_s": -1.0},
        {"max_sockets": 0},
        {"duration_s": float("nan")},
        {"priority": "highest"},
        {"engine": "trio"},
        {"timer": "sundial"},
    ],
    ids=lambda change: next(iter(change)),
)
def test_refuses_a_value_and_names_it(change: dict[str, object]) -> None:
    with pytest.raises(ChaoslatError, match=next(iter(change))):
        replace(CONFIG, **change)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "{}",
        '{"config": 1, "log": "x"}',
        json.dumps({"config": CONFIG.to_json() | {"x": 1}, "log": "y"}),
    ],
)
def test_refuses_a_file_that_is_no_job(tmp_path: Path, text: str) -> None:
    path = tmp_path / "job.json"
    path.write_text(text)
    with pytest.raises(ChaoslatError):
        LoadJob.read(path)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(ChaoslatError) as caught:
        LoadJob.read(tmp_path / "absent.json")
    assert "absent.json" in caught.value.where
