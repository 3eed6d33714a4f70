"""The doctor's judgement of what it reads; each check has a sentence and, where it is not well, a fix."""

import pytest

from chaoslat import doctor
from chaoslat.capabilities import CAPABILITIES, cgroup_version, missing
from chaoslat.doctor import Check, Status

V1 = (
    "cgroup /sys/fs/cgroup/memory cgroup rw,memory 0 0\ncgroup /sys/fs/cgroup/cpu cgroup rw,cpu,cpuacct 0 0\n"
)
V2 = "cgroup2 /sys/fs/cgroup cgroup2 rw,nsdelegate 0 0\n"
HYBRID = V1 + "cgroup2 /sys/fs/cgroup/unified cgroup2 rw 0 0\n"


@pytest.mark.parametrize(
    ("mounts", "version"), [(V1, 1), (V2, 2), (HYBRID, 1), ("proc /proc proc rw 0 0\n", 0)]
)
def test_cgroup_version(mounts, version):
    assert cgroup_version(mounts) == version


def test_missing_names_what_is_not_offered(monkeypatch):
    monkeypatch.setattr(
        "chaoslat.capabilities.CAPABILITIES", CAPABILITIES | {"root": CAPABILITIES["cgroup-v1"]}
    )
    offered = {name: capability.offered() for name, capability in CAPABILITIES.items()}
    assert set(missing(CAPABILITIES)) >= {name for name, is_here in offered.items() if not is_here} - {"root"}
    assert missing(()) == ()


def test_without_root_it_says_so(monkeypatch):
    monkeypatch.setattr("os.geteuid", lambda: 1000)
    (check,) = doctor.privileges()
    assert (check.status, check.found) == (Status.MISSING, "user 1000, not root")
    assert "sudo" in check.fix


@pytest.mark.parametrize(
    ("status", "lacking"),
    [
        ("CapEff:\t000001ffffffffff\n", []),
        ("CapEff:\t00000000a80425fb\n", ["CAP_NET_ADMIN", "CAP_SYS_ADMIN"]),  # a container's default
        ("nothing\n", ["CAP_CHOWN", "CAP_KILL", "CAP_SETUID", "CAP_NET_ADMIN", "CAP_SYS_ADMIN"]),
    ],
)
def test_capabilities_of_root(status, lacking):
    assert doctor._lacking_capabilities(status) == lacking


@pytest.mark.parametrize(
    ("lags_ms", "status"), [([0.1] * 100, Status.OK), ([0.1] * 90 + [9.0] * 10, Status.WARN)]
)
def test_noise(monkeypatch, lags_ms, status):
    monkeypatch.setattr(doctor, "timer_lags_ms", lambda: lags_ms)
    assert [check.status for check in doctor.cpu() if check.name == "noise"] == [status]


def test_timer_lags_are_measured():
    lags_ms = doctor.timer_lags_ms(0.05)
    assert lags_ms
    assert min(lags_ms) >= -0.01  # a sleep never ends early


def test_the_whole_examination_gives_plain_checks(monkeypatch):
    monkeypatch.setattr(doctor, "NOISE_S", 0.05)
    said = []
    checks = list(doctor.examine(said.append))
    assert {"privileges", "control groups", "cores", "noise", "disk", "mysql"} <= {
        check.name for check in checks
    }
    assert all(check.found for check in checks)
    assert all(check.fix for check in checks if check.status is Status.MISSING)
    assert len(said) == len(doctor.CHECKS)


def test_the_sentence_over_all():
    fine, poor = Check("cores", Status.OK, "2"), Check("noise", Status.WARN, "loud", "hush")
    bad = Check("tmpfs", Status.MISSING, "no", "root")
    assert doctor.verdict([fine]) == "the local backend can run here"
    assert doctor.verdict([fine, poor]) == "the local backend can run here; mind noise"
    assert doctor.verdict([fine, poor, bad]) == "the local backend cannot run here: tmpfs missing"


class DoubleOfAnArtefact:
    def __init__(self, built):
        self.ready = lambda store: built


@pytest.mark.parametrize(
    ("absent", "built", "statuses"),
    [
        ({}, True, [Status.OK, Status.OK]),
        ({"dockerd": "docker.io"}, True, [Status.WARN, Status.OK]),
        ({}, False, [Status.OK, Status.WARN]),
    ],
)
def test_without_a_cluster_the_local_backend_still_runs(monkeypatch, absent, built, statuses):
    monkeypatch.setattr("chaoslat.engine.packages.missing", lambda: absent)
    monkeypatch.setattr("chaoslat.nodeimage.catalogue", lambda: {"node": DoubleOfAnArtefact(built)})
    checks = list(doctor.cluster())
    assert [check.status for check in checks] == statuses
    assert all(check.fix for check in checks)
    assert doctor.verdict(checks).startswith("the local backend can run here")
