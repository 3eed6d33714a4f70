"""The manifests for any cluster: no node is named, no port is opened to others, and nothing is mounted from a node."""

from __future__ import annotations

import pytest

from chaoslat.backends.kube import manifests
from chaoslat.backends.kube.manifests import objects, values
from chaoslat.backends.kube.settings import IMAGES, Settings
from chaoslat.errors import EnvironmentMissing

FILLED = values("0a1b2c3d", {name: f"chaoslat/{name}:key" for name in IMAGES}, "space")
EVERY = [one for name in ("database", "proxy", "app") for one in objects(name, FILLED)]


@pytest.mark.parametrize("one", EVERY, ids=lambda one: f"{one['kind']}-{one['metadata']['name']}")
def test_it_suits_any_cluster_and_carries_the_runs_label(one):
    assert one["metadata"]["labels"]["chaoslat.run"] == "0a1b2c3d"
    text = str(one)
    for foreign in ("nodeName", "nodePort", "hostPath", "tolerations", "'NodePort'", "'0'"):
        assert foreign not in text


def test_the_database_waits_for_its_seed():
    (deployment, _) = objects("database", FILLED)
    (container,) = deployment["spec"]["template"]["spec"]["containers"]
    assert manifests.COMPLETE in container["command"][2]
    assert container["args"]  # they reach the server
    assert [mount["name"] for mount in container["volumeMounts"]] == ["data"]


class TestSettings:
    def test_from_the_environment(self):
        found = Settings.of({"CHAOSLAT_KUBE_CONTEXT": "c", "CHAOSLAT_KUBE_APP_IMAGE": "mine:1"})
        assert (found.context, found.namespace, found.kubeconfig) == ("c", "", None)
        assert found.image("app") == "mine:1"

    def test_an_image_that_nobody_named_nor_built(self, tmp_path, monkeypatch):
        monkeypatch.setenv("CHAOSLAT_CACHE", str(tmp_path))
        with pytest.raises(EnvironmentMissing, match="which image mysql has") as raised:
            Settings.of({}).image("mysql")
        assert "CHAOSLAT_KUBE_MYSQL_IMAGE" in raised.value.fix
