"""Rows, tables, explanations and summaries of verdicts."""

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest

from chaoslat.errors import ChaoslatError
from chaoslat.model import Evidence, Ruling
from chaoslat.report.plain import to_json
from chaoslat.report.rows import COLUMNS, Row, score
from chaoslat.report.summary import out_folder, write
from chaoslat.report.terminal import closing, explain, headline, table
from tests.session_doubles import verdict

GOOD = verdict()
WRONG = verdict("network-latency", expect=("network-path",), ruling=Ruling.MISATTRIBUTED, folder="out/02")
INVALID = verdict("pool-size", expect=("pool-wait",), ruling=Ruling.INVALID)
UNSURE = verdict("unsure", ruling=Ruling.INCONCLUSIVE)
NOTHING = verdict("none", expect=())


def test_a_row_has_the_cells_of_the_columns():
    cells = dict(zip(COLUMNS, Row.of(WRONG).cells(), strict=True))
    assert cells == {
        "experiment": "network-latency",
        "injected": "network-path",
        "diagnosed": "pool-wait",
        "ruling": "misattributed",
        "p95/p99 ms": "12.0 / 55.0",
        "diagnosis s": "12.5",
        "trial s": "40.0",
    }


def test_a_row_survives_json():
    row = Row.of(WRONG)
    assert Row.from_json(json.loads(json.dumps(row.to_json()))) == row


def test_what_was_not_measured_is_a_dash():
    assert Row.of(INVALID).cells()[2] == "-"
    assert Row.of(INVALID).cells()[5] == "-"


def test_nothing_injected_reads_none():
    assert Row.of(NOTHING).injected == "none"
    assert Row.of(NOTHING).diagnosed == "none"


def test_invalid_counts_neither_for_nor_against():
    rows = [Row.of(v) for v in (GOOD, WRONG, INVALID)]
    assert score(rows) == "1 of 2 diagnosed right, 1 invalid"
    assert score(rows[:1]) == "1 of 1 diagnosed right"


@pytest.mark.parametrize("width", [80, 120])
def test_the_table_fits_and_loses_nothing(width):
    text = table([Row.of(GOOD), Row.of(WRONG)], width=width)
    assert max(map(len, text.splitlines())) <= width
    assert all(word in text for word in ("misattributed", "12.0 / 55.0", "12.5", "40.0"))  # never broken
    assert width == 80 or "network-path" in text
    assert "\x1b" not in text


def test_colour_only_when_asked():
    assert "\x1b[" in table([Row.of(GOOD)], colour=True)


def test_the_lines_below_the_table():
    text = closing([Row.of(GOOD), Row.of(INVALID)], out="chaos-out/x", seed=3)
    assert "pool-size: invalid: no steady state" in text
    assert "report:  chaos-out/x" in text
    assert "seed:    3" in text
    assert "cores" in text


def test_an_explanation_shows_findings_and_evidence():
    text = explain(WRONG)
    assert "injected network-path, diagnosed pool-wait" in text
    assert "step cpu-limit: implicated: half of the periods were throttled" in text
    assert "throttled periods: 0.5 fraction (50 of 100)" in text
    assert "changed: lifted the CPU limit" in text
    assert "p95 12.0, p99 55.0 ms" in text
    assert "recording: out/02" in text


def test_invalid_and_inconclusive_begin_with_their_own_word():
    assert headline(INVALID) == "invalid: no steady state"
    assert headline(UNSURE) == "inconclusive: because pool-wait: undecided"


def test_both_summaries(tmp_path):
    data = write([GOOD, WRONG], out=tmp_path / "new", seed=3, backend="double")
    assert json.loads((tmp_path / "new/summary.json").read_text()) == json.loads(json.dumps(data))
    assert [trial["good"] for trial in data["trials"]] == [True, False]
    text = (tmp_path / "new/summary.md").read_text()
    assert "| cpu-limit | cpu-throttling | cpu-throttling | correct |" in text
    assert "1 of 2 diagnosed right. Seed 3, backend double." in text


def test_a_summary_that_cannot_be_written_is_a_plain_error(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(ChaoslatError, match="cannot be written"):
        write([GOOD], out=tmp_path / "file", seed=3, backend="double")


def test_the_default_folder_has_time_and_seed():
    now = datetime(2026, 12, 1, 9, 5, 7, tzinfo=UTC)
    assert out_folder(42, now) == Path("chaos-out/20261201T090507Z-42")


def test_json_is_strict():
    evidence = Evidence("ratio", float("nan"), "")
    data = {"a": evidence, "b": (1, float("inf")), "c": Path("x"), "d": Ruling.CORRECT}
    assert json.loads(to_json(data), parse_constant=pytest.fail) == {
        "a": {"what": "ratio", "value": None, "unit": "", "note": ""},
        "b": [1, None],
        "c": "x",
        "d": "correct",
    }
