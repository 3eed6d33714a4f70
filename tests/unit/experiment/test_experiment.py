"""What a good file means, names, and the schema."""

from pathlib import Path

import pytest

from chaoslat.errors import ExperimentError
from chaoslat.experiment import DEFAULT_WORKLOAD, Injection, load, named, resolve
from chaoslat.experiment_file import check
from chaoslat.experiment_schema import experiment_schema
from chaoslat.faults import FAULTS
from chaoslat.model import NONE

HEAD = "apiVersion: chaoslat/v1\nkind: Experiment\nname: x\n"


def test_defaults():
    found = check(HEAD + "faults: [cpu-limit]\nexpect: [cpu-throttling]\n", "x.yaml")
    assert (found.slo_ms, found.runbook, found.symptom) == (30.0, "ladder", "classic")
    assert found.workload == DEFAULT_WORKLOAD
    assert found.faults == (Injection("cpu-limit", {}),)
    assert (found.needs, found.path) == ((), "x.yaml")


@pytest.mark.parametrize("nothing", ["[]", "[none]"])
def test_none_is_written_in_two_ways(nothing):
    found = check(HEAD + f"expect: {nothing}\n", "x.yaml")
    assert (found.expect, found.expect_label, found.symptom) == ((), "none", "none")


def test_parameters_are_those_that_were_given():
    text = (
        HEAD
        + "faults:\n  - cpu-limit: {limit_cores: 0.25}\n  - pool-size:\nexpect: [cpu-throttling, pool-wait]\n"
    )
    found = check(text, "x.yaml")
    assert found.faults == (Injection("cpu-limit", {"limit_cores": 0.25}), Injection("pool-size", {}))
    assert found.expect_label == "cpu-throttling + pool-wait"


def test_a_workload_of_ones_own():
    text = (
        HEAD
        + "expect: []\nworkload:\n  rate_rps: 5\n  requests:\n    - {name: any, path: '/query?id={any}'}\n"
    )
    workload = check(text, "x.yaml").workload
    assert workload.rate_rps == 5
    assert [(shape.name, shape.weight) for shape in workload.shapes] == [("any", 1.0)]
    assert (workload.rows, workload.hot_rows) == (DEFAULT_WORKLOAD.rows, DEFAULT_WORKLOAD.hot_rows)


EXPERIMENTS = [load(path) for path in named().values()]


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)
def test_each_fault_of_ours_has_an_experiment_that_expects_its_cause(fault):
    having = [e for e in EXPERIMENTS if fault.name in [injection.fault for injection in e.faults]]
    alone = [e for e in having if len(e.faults) == 1 and e.symptom != "none"]
    assert having
    assert all(e.expect == (fault.cause,) for e in alone)
    assert alone or fault.cause == NONE


@pytest.mark.parametrize("experiment", EXPERIMENTS, ids=lambda e: e.name)
def test_an_experiment_of_ours_is_named_as_its_file_and_says_why(experiment):
    assert experiment.name == Path(experiment.path).stem
    assert experiment.description


def test_the_experiment_without_a_fault():
    found = load(resolve("none"))
    assert (found.expect, found.faults, found.symptom) == ((), (), "none")


def test_a_name_is_looked_for_below_the_folder(tmp_path):
    inner = tmp_path / "decoys"
    inner.mkdir()
    (inner / "calm.yaml").write_text(HEAD + "expect: []\n")
    assert resolve("decoys/calm", tmp_path) == inner / "calm.yaml"
    assert named(tmp_path)["decoys/calm"] == inner / "calm.yaml"


def test_an_unknown_name_gives_those_that_are_known(tmp_path):
    with pytest.raises(ExperimentError) as caught:
        resolve("pool-sise", tmp_path)
    assert caught.value.fix == "did you mean pool-size?"
    assert "cgroup-leak" in caught.value.why


def test_the_schema_names_what_is_installed():
    schema = experiment_schema()
    keys = schema["properties"]
    assert keys["faults"]["items"]["oneOf"][0]["enum"] == [fault.name for fault in FAULTS]
    assert {"cpu-throttling", "none"} <= set(keys["expect"]["items"]["enum"])
    assert schema["additionalProperties"] is False
    assert set(schema["required"]) == {"apiVersion", "kind", "name", "expect"}
