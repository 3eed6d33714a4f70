"""The manifests and the cluster's configuration as they are applied: what the tests of a real cluster rely on."""

from __future__ import annotations

from pathlib import Path

import pytest
from ruamel.yaml import YAML

from chaoslat import paths, probes
from chaoslat.backends.kind import cluster, workloads
from chaoslat.backends.kind.cluster import NODE_PORTS, Cluster
from chaoslat.engine.kind import refuse_open_ports
from chaoslat.errors import EnvironmentMissing, UsageError
from chaoslat.kube import qos
from chaoslat.kube.apply import documents
from tests.kube_recordings import typed

RUN = "0a1b2c3d"
IMAGES = {name: f"chaoslat/{name}:key" for name in cluster.WORKLOADS}
MANIFESTS = paths.repo_root() / "clusters" / "manifests"


class DoubleOfKind:
    """A cluster with these nodes."""

    def __init__(self, *names):
        self.names = names

    def nodes(self):
        return list(self.names)


def made(*nodes):
    return Cluster(DoubleOfKind(*nodes), Path("/none"), {}, IMAGES)


FILLED = workloads.values(RUN, made("c-control-plane", "c-worker"))


def objects(name):
    return documents(MANIFESTS / f"{name}.yaml", FILLED)


def pod_template(name):
    (deployment,) = (one for one in objects(name) if one["kind"] == "Deployment")
    return typed("V1PodTemplateSpec", deployment["spec"]["template"])


class TestManifests:
    @pytest.mark.parametrize("path", sorted(MANIFESTS.glob("*.yaml")), ids=lambda path: path.stem)
    def test_every_object_carries_the_run(self, path: Path) -> None:
        found = documents(path, FILLED)
        assert found
        assert {one["metadata"]["labels"]["chaoslat.run"] for one in found} == {RUN}

    @pytest.mark.parametrize("name", ["app", "proxy", "database"])
    def test_pods_are_burstable_on_their_node_and_never_pulled(self, name: str) -> None:
        template = pod_template(name)
        (container,) = template.spec.containers
        assert template.spec.node_name == ("c-worker" if name == "database" else "c-control-plane")
        assert container.image in IMAGES.values()
        assert container.image_pull_policy == "Never"
        assert qos.of(template.spec).qos == "Burstable"

    def test_the_app_is_as_in_the_field_report(self) -> None:
        """Not root, a limit that can move in place, and no lost request when its pod is replaced."""
        (container,) = pod_template("app").spec.containers
        assert container.security_context.run_as_non_root
        limits, requests = container.resources.limits, container.resources.requests
        cores = probes.node_cpu().cores  # lifting the limit goes up, on any machine
        assert qos.amount(requests["cpu"]) < qos.amount(limits["cpu"]) < cores
        assert [(one.resource_name, one.restart_policy) for one in container.resize_policy] == [
            ("cpu", "NotRequired")
        ]
        assert container.lifecycle.pre_stop.sleep.seconds == 2

    def test_the_apps_database_is_the_proxy(self) -> None:
        (container,) = pod_template("app").spec.containers
        values = {one.name: one.value for one in container.env}
        proxy = [one for one in objects("proxy") if one["kind"] == "Service"]
        assert values["DB_HOST"] == proxy[0]["metadata"]["name"]
        assert values["DB_PORT"] == "3306"

    def test_the_databases_memory_limit_can_move_in_place(self) -> None:
        (container,) = pod_template("database").spec.containers
        assert "memory" in container.resources.limits
        assert [(one.resource_name, one.restart_policy) for one in container.resize_policy] == [
            ("memory", "NotRequired")
        ]

    def test_the_node_ports_are_those_that_are_published(self) -> None:
        ports = {
            port["nodePort"]
            for name in ("app", "proxy", "database")
            for one in objects(name)
            if one["kind"] == "Service"
            for port in one["spec"]["ports"]
            if "nodePort" in port
        }
        assert ports == set(NODE_PORTS.values())

    def test_a_name_without_a_value_is_a_plain_error(self, tmp_path: Path) -> None:
        manifest = tmp_path / "odd.yaml"
        manifest.write_text("kind: ${ODD}\n")
        with pytest.raises(EnvironmentMissing, match="cannot be filled in") as raised:
            documents(manifest, FILLED)
        assert (raised.value.where, raised.value.why) == (str(manifest), "KeyError('ODD')")

    def test_a_manifest_that_is_missing_is_a_plain_error(self, tmp_path: Path) -> None:
        with pytest.raises(EnvironmentMissing, match="cannot be filled in"):
            documents(tmp_path / "none.yaml", FILLED)


class TestNodes:
    def test_one_node_has_all(self) -> None:
        assert made("c-control-plane").nodes == {"app": "c-control-plane", "database": "c-control-plane"}

    def test_of_two_the_worker_has_the_database(self) -> None:
        assert made("c-control-plane", "c-worker").nodes == {"app": "c-control-plane", "database": "c-worker"}


class TestConfiguration:
    @pytest.fixture(params=["1", "2"])
    def config(self, request, tmp_path, monkeypatch):
        monkeypatch.setenv(cluster.NODES_VARIABLE, request.param)
        path = tmp_path / "kind.yaml"
        cluster._write_config(path, {name: 40_000 + at for at, name in enumerate(NODE_PORTS)}, Path("/seed"))
        return path

    def test_all_ports_are_on_loopback(self, config: Path) -> None:
        refuse_open_ports(config)
        mappings = nodes(config)[0]["extraPortMappings"]
        assert {one["listenAddress"] for one in mappings} == {"127.0.0.1"}
        assert {one["containerPort"] for one in mappings} == set(NODE_PORTS.values())
        assert len({one["hostPort"] for one in mappings}) == len(NODE_PORTS)

    def test_an_open_port_would_be_refused(self, config: Path) -> None:
        config.write_text(config.read_text().replace("listenAddress: 127.0.0.1", "listenAddress: 0.0.0.0"))
        with pytest.raises(UsageError, match="open to other machines"):
            refuse_open_ports(config)

    def test_every_node_has_the_seed_and_may_not_write_it(self, config: Path) -> None:
        for node in nodes(config):
            (mount,) = node["extraMounts"]
            assert (mount["hostPath"], mount["readOnly"]) == ("/seed", True)

    def test_free_ports_differ(self) -> None:
        ports = cluster._free_ports(("a", "b", "c"))
        assert len(set(ports.values())) == 3


def nodes(config):
    return YAML(typ="safe").load(config.read_text())["nodes"]
