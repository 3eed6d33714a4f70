"""Decoys run when they are asked for: `pytest -m chaos experiments/decoys`. Each takes a minute of a quiet machine."""

from pathlib import Path

import pytest

DECOYS = Path(__file__).parent / "decoys"


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Leave the folder out unless an argument names it or a file in it."""
    if collection_path != DECOYS:
        return None
    named = (Path(config.invocation_params.dir, arg.split("::")[0]).resolve() for arg in config.args)
    return None if any(path.is_relative_to(DECOYS) for path in named) else True
