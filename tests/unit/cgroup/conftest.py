"""Copies of the recorded trees, to read and to write."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from chaoslat.cgroup import CgroupTree, detect

DATA = Path(__file__).parent / "data"


@pytest.fixture
def v1_root(tmp_path: Path) -> Path:
    return Path(shutil.copytree(DATA / "v1", tmp_path / "v1"))


@pytest.fixture
def v2_root(tmp_path: Path) -> Path:
    return Path(shutil.copytree(DATA / "v2", tmp_path / "v2"))


@pytest.fixture(params=["v1", "v2"])
def tree(request: pytest.FixtureRequest, tmp_path: Path) -> CgroupTree:
    """Either version; both were recorded in the same situation."""
    return detect(Path(shutil.copytree(DATA / request.param, tmp_path / "root")))
