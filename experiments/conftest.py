"""Decoys run when they are asked for: `pytest -m chaos experiments/decoys`. Each takes a minute of a quiet machine."""

from pathlib import Path

import pytest

DECOYS = Path(__file__).parent / "decoys"


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Leave out the folder and each of its files unless an argument names it, or the folder."""
    if not collection_path.is_relative_to(DECOYS):
        return None
    named = (Path(config.invocation_params.dir, arg.split("::")[0]).resolve() for arg in config.args)
    asked = [path for path in named if path.is_relative_to(DECOYS)]
    wanted = any(p.is_relative_to(collection_path) or collection_path.is_relative_to(p) for p in asked)
    return None if wanted else True
