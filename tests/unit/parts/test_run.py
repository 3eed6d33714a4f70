"""A command that fails becomes one plain error."""

from __future__ import annotations

import sys

import pytest

from chaoslat.errors import EnvironmentMissing
from chaoslat.parts.run import run


def test_output_and_input_and_environment() -> None:
    code = "import os, sys; print(sys.stdin.read() + os.environ['GIVEN'])"
    assert run([sys.executable, "-c", code], stdin="in ", env={"GIVEN": "out"}) == "in out\n"


def test_a_failure_has_the_command_its_last_words_and_the_fix() -> None:
    with pytest.raises(EnvironmentMissing) as caught:
        run([sys.executable, "-c", "import sys; sys.exit('it broke')"], fix="mend it")
    assert "exit code 1" in caught.value.what
    assert caught.value.why == "it broke"
    assert caught.value.fix == "mend it"
    assert "sys.exit" in caught.value.where


def test_a_missing_command_is_named() -> None:
    with pytest.raises(EnvironmentMissing, match="no-such-command is not installed"):
        run(["no-such-command"])


def test_a_command_that_hangs_is_stopped() -> None:
    with pytest.raises(EnvironmentMissing, match="did not finish within"):
        run([sys.executable, "-c", "import time; time.sleep(60)"], timeout_s=0.05)
