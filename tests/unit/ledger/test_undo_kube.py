"""The undo `kube`: one command; what is gone needs none, and a cluster that stays is not gone when it is silent."""

from __future__ import annotations

import stat

import pytest

from chaoslat.ledger import Entry
from chaoslat.ledger.undo_kube import kube

REFUSED = "The connection to the server 127.0.0.1:1 was refused - dial tcp: connect: connection refused"
NOT_FOUND = 'Error from server (NotFound): pods "app-1" not found'
FORBIDDEN = "Error from server (Forbidden): pods is forbidden"


@pytest.fixture
def entry(tmp_path):
    """An entry whose kubectl is a program that says `said` and fails, and keeps its arguments."""

    def made(said, **args):
        program = tmp_path / "kubectl"
        fails = f"echo '{said}' >&2; exit 1" if said else "exit 0"
        program.write_text(f'#!/bin/sh\necho "$@" > {tmp_path}/argv\n{fails}\n')
        program.chmod(program.stat().st_mode | stat.S_IXUSR)
        told = {"kubectl": str(program), "kubeconfig": "/k", "argv": ["patch", "pod", "app-1"], **args}
        return Entry(1, "kube", told, "0a1b2c3d")

    return made


def test_the_command_is_run(entry, tmp_path):
    kube(entry(""))
    assert (tmp_path / "argv").read_text().split() == [
        "--kubeconfig=/k",
        "--request-timeout=10s",
        "patch",
        "pod",
        "app-1",
    ]


@pytest.mark.parametrize("existing", [False, True])
def test_an_object_that_is_gone_needs_no_undo(entry, existing):
    kube(entry(NOT_FOUND, existing=existing))


def test_a_cluster_of_the_runs_own_that_does_not_answer_is_gone(entry):
    kube(entry(REFUSED))


def test_a_cluster_that_stays_and_does_not_answer_is_to_be_healed_later(entry):
    with pytest.raises(OSError, match=r"was refused.*gone for good: rm -r /run/x"):
        kube(entry(REFUSED, existing=True, kubeconfig="/run/x/kubeconfig"))


def test_a_refusal_is_no_undo(entry):
    with pytest.raises(OSError, match="pods is forbidden"):
        kube(entry(FORBIDDEN))
