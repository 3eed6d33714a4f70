"""The HTML report: phases, levers, drawings and words, and that nothing recorded can become markup."""

import json
import re
import shutil
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from chaoslat.errors import ChaoslatError
from chaoslat.model import Evidence, Finding, Outcome, Ruling
from chaoslat.recording import Recording, read_verdict
from chaoslat.report.html import render, svg, write
from chaoslat.report.html.levers import CPU, POOL, Span, instants, levers
from chaoslat.report.html.phases import in_force, phases
from chaoslat.report.html.scale import Scale
from chaoslat.report.html.story import tell
from chaoslat.report.html.tails import survival, tails
from chaoslat.report.html.timeline import points, timeline, window_s
from chaoslat.report.html.words import deciding, sentence
from chaoslat.score import check, of_verdicts, parse_gate, read, scores
from tests.doubles import requests
from tests.session_doubles import verdict

RECORDED = Path(__file__).parents[3] / "fixtures" / "recordings" / "trials"
VOID = {"meta", "link"}


class Balance(HTMLParser):
    """Notes every element that is closed out of order."""

    def __init__(self, text):
        super().__init__()
        self.open, self.wrong, self.outside = [], [], []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.outside += [v for k, v in attrs if k in ("src", "href") and not v.startswith(("#", "data:,"))]
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        if not self.open or self.open.pop() != tag:
            self.wrong.append(tag)


def event(at_s, kind, **more):
    return {"at_s": at_s, "event": kind, **more}


def call(name, *args, answer=None):
    return {"call": name, "args": list(args), "answer": answer}


# --- phases ------------------------------------------------------------------------------------------------

WHOLE = [
    event(2.0, "steady"),
    event(5.0, "steady"),
    event(9.0, "injected", fault="cpu-limit"),
    event(12.0, "diagnose"),
    event(20.0, "diagnosis"),
    event(24.0, "undone"),
]


def test_phases_follow_each_other_without_a_gap():
    found = phases(WHOLE, 0.0, faults=True)
    assert [p.name.split()[0] for p in found] == ["steady", "injection", "symptom", "diagnosis", "undo"]
    assert [p.span for p in found] == [Span(0, 5), Span(5, 9), Span(9, 12), Span(12, 20), Span(20, 24)]
    assert in_force(WHOLE) == (("cpu-limit", Span(9, 20)),)


def test_what_broke_a_trial_ends_the_phase_that_it_broke():
    found = phases([event(4.0, "steady"), event(8.0, "invalid"), event(9.0, "undone")], 0.0, faults=True)
    assert [(p.name, p.span.end_s) for p in found] == [
        ("steady state", 4.0),
        ("injection", 8.0),
        ("undo and recovery", 9.0),
    ]


def test_where_nothing_is_injected_there_is_no_injection():
    events = [e for e in WHOLE if e["event"] != "injected"]
    assert [p.name for p in phases(events, 0.0, faults=False)][1] == "symptom gate"
    assert in_force(events) == ()


# --- levers ------------------------------------------------------------------------------------------------

CPU_READ = call("app_cpu", answer=[{"path": "/app", "quota_us": 30000}, {"path": "/", "quota_us": None}])


def test_a_setting_is_changed_while_it_is_not_as_it_was_found():
    calls = [
        CPU_READ,
        call("now_s", answer=10.0),
        call("set_cpu_quota", "/app", None),
        call("sleep", 2.0),
        call("set_cpu_quota", "/app", 30000),
        call("now_s", answer=15.0),
        call("set_cpu_quota", "/app", None),
    ]
    (found,) = levers(calls, 20.0)
    assert (found.factor, found.label) == (CPU, "CPU limit lifted")
    assert found.changed == (Span(10.0, 12.0), Span(15.0, 20.0))


def test_a_setting_that_was_only_issued_again_was_not_changed():
    calls = [call("pool", answer={"max": 10}), call("set_pool_size", 10)]
    assert levers(calls, 5.0) == ()
    (found,) = levers([*calls, call("now_s", answer=3.0), call("set_pool_size", 30)], 5.0)
    assert (found.factor, found.label, found.changed) == (POOL, "pool 10 → 30", (Span(3.0, 5.0),))


def test_what_is_done_once_is_an_instant():
    found = instants([call("now_s", answer=7.0), call("remove_volume", "/v"), call("pool")])
    assert [(i.at_s, i.label) for i in found] == [(7.0, "volume removed")]


# --- drawings ----------------------------------------------------------------------------------------------


@given(st.floats(0.01, 1e4), st.floats(0.01, 1e4), st.floats(0.001, 1e5), st.booleans())
def test_a_scale_stays_within_its_ends_and_keeps_the_order(a, b, value, log):
    low, high = sorted((a, b))
    scale = Scale(low, high, 10.0, 110.0, log=log)
    assert 10.0 <= scale(value) <= 110.0 + 1e-9
    assert scale(low) <= scale(high)
    ticks = scale.ticks()
    assert ticks == sorted(ticks)
    assert len(ticks) <= 20
    assert all(low * (1 - 1e-6) <= tick <= high * (1 + 1e-6) for tick in ticks)


def test_ticks_are_round():
    assert Scale(3.0, 130.0, 0, 1, log=True).ticks() == [5, 10, 20, 50, 100]
    assert Scale(0.0, 62.0, 0, 1).ticks(6) == [0, 20, 40, 60]


@given(st.lists(st.floats(0.01, 1000), min_size=1, max_size=300))
def test_the_survival_curve_falls_from_one_to_nothing(latency_ms):
    values, share = survival(np.array(latency_ms))
    assert list(values) == sorted(latency_ms)
    assert all(0 <= s < 1 for s in share)
    assert share[-1] == pytest.approx(0)
    assert (np.diff(share) < 0).all()


def test_points_of_a_timeline_hold_every_request_once_and_too_few_are_a_gap():
    seen = requests([5.0] * 120 + [80.0] * 2, rate_rps=60.0)
    found = points(seen, 0.0, 3.0, 1.0)
    assert [p.count for p in found] == [60, 60, 2]
    assert found[0].p99_ms == pytest.approx(5.0, abs=0.01)
    assert np.isnan(found[2].p50_ms)


@given(st.floats(1.0, 2000.0))
def test_a_timeline_has_no_more_points_than_can_be_seen(duration_s):
    assert duration_s / window_s(duration_s) <= 60


def test_a_line_breaks_at_a_gap_and_a_lone_point_is_seen():
    drawn = str(svg.line([(0, 0), (1, 1), None, (3, 3)], "p99"))
    assert 'd="M0.0 0.0L1.0 1.0 M3.0 3.0L3.0 3.0"' in drawn


def test_drawings_escape_what_they_are_given():
    assert "<b>" not in svg.text(0, 0, "<b>")
    assert "&lt;b&gt;" in svg.text(0, 0, "<b>")
    assert '"x"' not in svg.tag("path", d='"x"')


def test_nothing_to_draw_is_no_drawing():
    assert tails([], 30.0, "nothing") is None


# --- the page ----------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def recorded():
    return read([RECORDED])


@pytest.fixture(scope="module")
def text(recorded):
    return render(recorded, check(parse_gate("recall=0.9"), scores(recorded.trials)))


def test_the_page_is_whole_and_asks_for_nothing_from_elsewhere(text):
    found = Balance(text)
    assert (found.wrong, found.open, found.outside) == ([], [], [])
    assert "<script" not in text
    assert not re.search(r"url\(|@import|https?://(?!www\.w3\.org/2000/svg)", text)


def test_every_trial_has_its_sentence_timeline_phases_and_steps(recorded, text):
    assert text.count('<article class="trial"') == len(recorded.trials)
    assert text.count('class="timeline"') == len(recorded.trials)
    for each in recorded.verdicts:
        assert str(svg.escape(sentence(each))) in text
        assert all(str(svg.escape(f.sentence)) in text for f in each.diagnosis.findings)
    assert text.count('<li class="step ') == sum(len(v.diagnosis.findings) for v in recorded.verdicts)
    assert "as found (" in text


def test_the_settings_of_a_comparison_have_both_sides():
    story = tell(read_verdict(RECORDED / "cpu-limit"))
    (sides,) = story.sides
    assert (sides.factor, sides.how) == (CPU, "randomised blocks")
    assert sum(sides.blocks) == len([b for b in story.blocks if not b["void"]])
    assert sides.changed.percentile(99) < 30 < sides.original.percentile(99)
    assert story.levers[0].changed
    assert len(story.requests) == sum(len(story.phase(p.name)) for p in story.phases)


def test_what_was_done_once_has_its_before_and_after():
    (sides,) = tell(read_verdict(RECORDED / "cgroup-leak")).sides
    assert (sides.label, sides.how) == ("volume removed", "before and after")
    assert len(sides.original) > 300
    assert sides.original.over(30.0) > sides.changed.over(30.0)


def test_a_recording_without_latencies_is_said_so(tmp_path):
    folder = tmp_path / "01-x"
    shutil.copytree(RECORDED / "none", folder)
    (folder / "latencies.bin").unlink()
    page = render(read([tmp_path]))
    assert "No latencies are recorded." in page
    assert "The recording lacks latencies.bin." in page


def test_verdicts_without_any_recording_still_make_a_page():
    every = [verdict(ruling=ruling) for ruling in Ruling]
    page = render(of_verdicts(every))
    assert Balance(page).wrong == []
    assert all(str(ruling) in page for ruling in Ruling)


def test_no_trial_makes_a_page_that_says_so():
    assert "There is no finished trial." in render(of_verdicts([]))


def test_nothing_that_was_recorded_becomes_markup(tmp_path):
    evil = '"><script>alert(1)</script>{{ 7919 * 7919 }}'
    finding = Finding(evil, evil, Outcome.IMPLICATED, evil, evil, (Evidence(evil, 1.0, evil, evil),), (evil,))
    bad = verdict(evil, expect=(evil,), ruling=Ruling.MISATTRIBUTED, folder=str(tmp_path / "t"))
    bad = replace(bad, reason=evil, backend=evil, injected={evil: evil})
    bad = replace(bad, diagnosis=replace(bad.diagnosis, findings=(finding,), runbook=evil, causes=(evil,)))
    Recording(tmp_path / "t").describe(
        experiment=evil,
        description=evil,
        faults=[{"fault": evil}],
        versions={evil: evil},
        started=evil,
        runbook=evil,
        seed=1,
        slo_ms=30.0,
    )
    page = render(of_verdicts([bad]))
    assert "<script" not in page
    assert Balance(page).wrong == []
    assert "62710561" not in page


def test_a_file_that_cannot_be_written_is_said_so(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(ChaoslatError, match="The report cannot be written"):
        write(of_verdicts([]), tmp_path / "file" / "x.html")


def test_an_external_programs_calls_and_output_are_shown(tmp_path):
    folder = tmp_path / "01-x"
    shutil.copytree(RECORDED / "none", folder)
    told = {
        "output": "<looking>",
        "calls": [
            {"at_s": 0.0, "call": "pool", "args": [], "answer": {"max": 1}},
            {"at_s": 0.0, "call": "nonsense", "args": [1], "error": "there is no call"},
        ],
    }
    row = {"call": "outside", "args": ["command", "x"], "answer": told}
    (folder / "operator.jsonl").write_text(json.dumps(row) + "\n")
    page = render(read([tmp_path]))
    assert "&lt;looking&gt;" in page
    assert "<td>pool</td><td>[]</td><td>{&#34;max&#34;: 1}</td>" in page
    assert "<td>there is no call</td>" in page


def test_timeline_needs_latencies():
    assert timeline(replace(tell(read_verdict(RECORDED / "none")), requests=None)) is None


# --- words -------------------------------------------------------------------------------------------------


def test_sentences():
    assert sentence(verdict()) == (
        "The cause was cpu-throttling (limit 0.100 cores). The runbook ladder, which was not told, looked for 12 s, "
        "changed nothing and concluded: cpu-throttling. That is correct."
    )
    assert sentence(verdict(expect=())).startswith("Nothing was wrong with the system.")
    assert sentence(verdict(ruling=Ruling.INVALID)).endswith(
        "The trial is invalid and counts neither for nor against the runbook: no steady state"
    )


def test_the_deciding_findings():
    base = verdict().diagnosis.findings[0]
    cleared, open_ = replace(base, outcome=Outcome.CLEARED), replace(base, outcome=Outcome.INCONCLUSIVE)
    assert deciding([cleared, base, open_]) == (base,)
    assert deciding([cleared, open_]) == (open_,)
    assert deciding([base, cleared][1:]) == (cleared,)
    assert deciding([]) == ()
