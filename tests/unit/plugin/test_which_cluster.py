"""--chaos-context and --chaos-namespace: for the kube backend, and for no other."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from chaoslat.backends.kube import KubeBackend
from chaoslat.errors import UsageError
from chaoslat.plugin.state import _backend


@dataclass
class Double:
    """The options that matter here."""

    backend: str
    context: str = ""
    namespace: str = ""


def test_without_them_the_backend_is_the_one_of_that_name():
    assert _backend(Double("kube")).name == "kube"
    assert _backend(Double("local")).name == "local"


def test_they_say_where_the_kube_backend_goes(monkeypatch):
    monkeypatch.setenv("CHAOSLAT_KUBE_NAMESPACE", "from-the-environment")
    found = _backend(Double("kube", context="staging"))
    assert isinstance(found, KubeBackend)
    assert (found.settings.context, found.settings.namespace) == ("staging", "from-the-environment")


def test_another_backend_takes_none():
    with pytest.raises(UsageError, match="--chaos-backend=kube"):
        _backend(Double("kind", namespace="x"))
