"""Where files are looked for."""

from __future__ import annotations

from pathlib import Path

import pytest

from chaoslat import paths
from chaoslat.errors import EnvironmentMissing


def test_the_checkout_has_the_fixtures() -> None:
    assert (paths.repo_root() / "pyproject.toml").exists()
    assert (paths.fixtures() / "mysql/my.cnf").exists()


def test_without_a_checkout_the_error_says_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(paths, "__file__", str(tmp_path / "site-packages/chaoslat/paths.py"))
    with pytest.raises(EnvironmentMissing) as caught:
        paths.fixtures()
    assert "make setup" in caught.value.fix


def test_the_cache_is_where_it_was_named_else_below_home(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CHAOSLAT_CACHE", str(tmp_path / "c"))
    assert paths.cache_root() == tmp_path / "c"
    monkeypatch.setenv("CHAOSLAT_CACHE", "")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert paths.cache_root() == tmp_path / ".cache/chaoslat"
