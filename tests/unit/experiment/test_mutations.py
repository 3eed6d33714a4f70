"""Whatever happens to a valid file, it loads or is refused with a line; never another exception."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chaoslat.errors import ExperimentError
from chaoslat.experiment import Experiment
from chaoslat.experiment_file import check, read
from chaoslat.yaml_lines import BadFile, Unreadable, parse

FULL = """\
apiVersion: chaoslat/v1
kind: Experiment
name: both
description: >
  Two causes at once.
slo_ms: 30
workload:
  rate_rps: 60
  requests:
    - {name: hot, weight: 96, path: "/query?id={hot}"}
    - name: report
      weight: 4
      path: '/query?id={hot}&related=10'
faults:
  - cpu-limit: {limit_cores: 0.2}
  - pool-size
symptom: broken
runbook: ladder
expect: [cpu-throttling, pool-wait]
needs: [root]
"""
YAML_WORDS = [
    "\t",
    ":",
    "- ",
    "[",
    "]",
    "{",
    "}",
    "&a ",
    "*a",
    "!!python/object:x ",
    "<<: ",
    "\n",
    "---\n",
    "...\n",
]
MARKS = [
    "%",
    "#",
    "|",
    ">",
    "'",
    '"',
    "? ",
    ", ",
    "@",
    "`",
    "\\",
    '"\\UFFFFFFFF"',
    '"\\x"',
    " " * 50,
    "a" * 300,
]
SCALARS = ["~", "null", "yes", "0x10", "1e999", ".nan", "-.inf", "9" * 40, "2024-99-99", "é", "🙂"]
CONTROLS = ["\0", "\x07", "\ud7ff", "\ufeff", "\u2028"]
SPICE = st.sampled_from(YAML_WORDS + MARKS + SCALARS + CONTROLS)


def outcome(text):
    """An experiment, or the error; anything else fails the test by raising."""
    try:
        return check(text, "x.yaml")
    except BadFile as error:
        return error


def is_plain(found, text):
    """An experiment; or problems that say something, each with a line of the file."""
    if isinstance(found, Experiment):
        return True
    lines = range(1, text.count("\n") + 3)
    return bool(found.problems) and all(p.says and p.line in lines for p in found.problems)


def test_the_file_itself_is_good():
    assert isinstance(outcome(FULL), Experiment)


@given(st.integers(0, len(FULL)), st.integers(0, 12), SPICE)
def test_something_replaced_somewhere(at, length, spice):
    text = FULL[:at] + spice + FULL[at + length :]
    assert is_plain(outcome(text), text)


@given(st.lists(st.sampled_from(FULL.splitlines(keepends=True)), max_size=25))
def test_lines_in_any_order_and_number(lines):
    text = "".join(lines)
    assert is_plain(outcome(text), text)


@given(st.text(max_size=200))
def test_any_text(text):
    assert is_plain(outcome(text), text)


@given(st.integers(0, len(FULL.encode()) - 1), st.binary(min_size=1, max_size=4))
def test_any_bytes(tmp_path_factory, at, noise):
    raw = FULL.encode()
    file = tmp_path_factory.getbasetemp() / "noise.yaml"
    file.write_bytes(raw[:at] + noise + raw[at + len(noise) :])
    try:
        where = f"{file}:" if read(file) else ""
    except ExperimentError as error:
        where = error.where
    assert where.startswith(f"{file}:")


PLAIN = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.text(alphabet=st.characters(codec="ascii"), max_size=20),
)
VALUES = st.recursive(
    PLAIN,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text("abcxyz", min_size=1), inner, max_size=3)
    ),
)
KEYS = ["apiVersion", "kind", "name", "slo_ms", "workload", "faults", "symptom", "runbook", "expect", "needs"]


@given(st.sampled_from(KEYS), VALUES)
def test_any_value_of_any_key(key, value):
    """Written as JSON, which YAML 1.2 contains."""
    text = json.dumps(parse(FULL).data | {key: value})
    assert is_plain(outcome(text), text)


@pytest.mark.parametrize("depth", [30, 3000])
def test_depth_does_not_overflow_the_stack(depth):
    with pytest.raises(Unreadable, match="deep"):
        parse("[" * depth)
