"""An error of an experiment file names file, line and key, what was found, and what is allowed."""

import pytest

from chaoslat.errors import ExperimentError
from chaoslat.experiment import load
from chaoslat.experiment_file import check
from chaoslat.yaml_lines import MAX_BYTES, BadFile

GOOD = "apiVersion: chaoslat/v1\nkind: Experiment\nname: x\nfaults: [cpu-limit]\nexpect: [cpu-throttling]\n"


def problems(text):
    with pytest.raises(BadFile) as caught:
        check(text, "x.yaml")
    return caught.value.problems


@pytest.mark.parametrize(
    ("text", "line", "key", "says"),
    [
        (GOOD + "slo: 3\n", 6, "slo", "unknown key 'slo'; did you mean slo_ms? (allowed: apiVersion, kind,"),
        (GOOD + "slo_ms: soon\n", 6, "slo_ms", "found 'soon'; it should be a valid number"),
        (GOOD + "slo_ms: 0\n", 6, "slo_ms", "found 0; it should be greater than or equal to 1"),
        (GOOD + "slo_ms: .nan\n", 6, "slo_ms", "found nan; it should be a finite number"),
        (GOOD + "slo_ms: true\n", 6, "slo_ms", "found True; it should be a valid number"),
        (GOOD + "symptom:\n", 6, "symptom", "found nothing; it should be 'classic', 'broken' or 'none'"),
        (GOOD + "name: y\n", 6, "name", "this key is given twice"),
        (GOOD + "a:\n\tb: 1\n", 7, "", "indent with spaces, not with tabs"),
        (GOOD + "a: &x 1\n", 6, "", "anchors (&x) are not supported"),
        (GOOD + "a: *x\n", 6, "", "aliases (*x) are not supported"),
        (GOOD + "a: !!python/object:os.system x\n", 6, "", "tags"),
        (GOOD + "---\na: 1\n", 6, "", "a second document"),
        (GOOD + "? [a]\n: b\n", 6, "", "a key has to be a word"),
        (GOOD + "needs: [rot]\n", 6, "needs[0]", "unknown capability 'rot'; did you mean root?"),
        (GOOD + "runbook: lader\n", 6, "runbook", "unknown runbook 'lader'; did you mean ladder?"),
        (GOOD + "runbook: mine.yaml\n", 6, "runbook", "there is no file 'mine.yaml'"),
        (GOOD + "workload: {rate: 1}\n", 6, "workload.rate", "did you mean rate_rps?"),
        (
            GOOD + "workload:\n  requests:\n    - path: /\n      name: a\n      pth: /\n",
            10,
            "workload.requests[0].pth",
            "did you mean path?",
        ),
        (
            GOOD + "workload:\n  requests:\n    - {name: a, path: '/{x}'}\n",
            7,
            "workload.requests",
            "unknown placeholder {x}",
        ),
        (GOOD.replace("[cpu-limit]", "[cpu-limt]"), 4, "faults[0]", "did you mean cpu-limit?"),
        (GOOD.replace("[cpu-limit]", "[cpu-limit, cpu-limit]"), 4, "faults", "a fault is given twice"),
        (
            GOOD.replace("[cpu-limit]", "\n  - cpu-limit: {cores: 1}"),
            5,
            "faults[0].cpu-limit.cores",
            "unknown key 'cores'",
        ),
        (GOOD.replace("[cpu-limit]", "[{cpu-limit: 3}]"), 4, "faults[0].cpu-limit", "found 3"),
        (GOOD.replace("[cpu-limit]", "[7]"), 4, "faults[0]", "a fault is `name`"),
        (GOOD.replace("throttling", "throtling"), 5, "expect[0]", "did you mean cpu-throttling?"),
        (GOOD.replace("[cpu-throttling]", "[none, database]"), 5, "expect", "`none` stands alone"),
        (GOOD.replace("name: x", "name: Über"), 3, "name", "should match pattern"),
        (GOOD.replace("chaoslat/v1", "chaoslat/v2"), 1, "apiVersion", "should be 'chaoslat/v1'"),
        ("- 1\n", 1, "", "a mapping with keys is needed"),
    ],
)
def test_one_problem(text, line, key, says):
    (found,) = problems(text)
    assert (found.line, found.key) == (line, key)
    assert says in found.says


def test_several_problems_are_listed_in_the_order_of_their_lines():
    found = problems(GOOD.replace("name: x\n", "") + "slo_ms: -1\nfoo: 1\n")
    assert [(p.line, p.key) for p in found] == [(1, "name"), (5, "slo_ms"), (6, "foo")]


def test_the_text_of_an_error_leads_to_the_line():
    with pytest.raises(BadFile) as caught:
        check(GOOD + "slo: 3\n", "experiments/x.yaml")
    assert "where: experiments/x.yaml:6: slo: unknown key" in str(caught.value)
    assert "chaoslat schema" in caught.value.fix


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"", "is empty"),
        (b" \n\n", "is empty"),
        (b"a: 1\nb: \xff\n", "is not UTF-8"),
        (b"# x\n" * MAX_BYTES, "is larger than"),
    ],
)
def test_files_that_are_no_text(tmp_path, content, says):
    path = tmp_path / "x.yaml"
    path.write_bytes(content)
    with pytest.raises(ExperimentError) as caught:
        load(path)
    assert says in str(caught.value)
    assert f"{path}:" in caught.value.where


def test_line_of_the_first_bad_byte(tmp_path):
    path = tmp_path / "x.yaml"
    path.write_bytes(b"a: 1\nb: \xff\n")
    with pytest.raises(BadFile) as caught:
        load(path)
    assert caught.value.problems[0].line == 2


@pytest.mark.parametrize(
    ("name", "says"), [(".", "is a directory"), ("none.yaml", "no such"), ("a\0b", "read")]
)
def test_paths_that_are_no_file(tmp_path, name, says):
    with pytest.raises(ExperimentError) as caught:
        load(f"{tmp_path}/{name}")
    assert says in str(caught.value)


def test_a_byte_order_mark_is_no_problem(tmp_path):
    path = tmp_path / "x.yaml"
    path.write_text(GOOD, encoding="utf-8-sig")
    assert load(path).name == "x"
