"""Making and removing clusters with kind, on ground that is laid: no node starts before the fence was read back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from ipaddress import ip_address
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError

from chaoslat.engine.ground import CLUSTER_LABEL, Ground
from chaoslat.errors import ChaoslatError, EnvironmentMissing, UsageError
from chaoslat.parts.run import run

CREATE_S = 180.0
_JOURNAL_LINES = 30


@dataclass(frozen=True, slots=True)
class Kind:
    """The kind at `program` on a ground. Its one cluster is named after the run."""

    program: Path
    ground: Ground

    @property
    def cluster(self) -> str:
        return self.ground.network

    def create(self, image: str, config: Path, kubeconfig: Path, *, wait_s: float = 90.0) -> None:
        """Create the cluster that `config` describes; its kubeconfig goes into a file of its own.

        Raises UsageError when the configuration opens a port to other machines, Unfenced when the fence is not up,
        ChaoslatError with the end of each node's journal when kind fails. The nodes are left for the undo.
        """
        refuse_open_ports(config)
        self.ground.verify()
        wait = f"--wait={wait_s:.0f}s"
        try:
            self._run(
                "create",
                "cluster",
                "--image",
                image,
                "--config",
                config,
                "--retain",
                wait,
                kubeconfig=kubeconfig,
            )
        except EnvironmentMissing as error:
            raise self._not_created(error) from error

    def delete(self, kubeconfig: Path) -> None:
        """Remove the cluster's nodes; none there is fine. Raises EnvironmentMissing when kind fails."""
        self._run("delete", "cluster", kubeconfig=kubeconfig)

    def nodes(self) -> list[str]:
        """The names of the cluster's nodes, those that stopped as well."""
        label = f"label={CLUSTER_LABEL}={self.cluster}"
        return sorted(
            self.ground.docker.run("ps", "--all", "--filter", label, "--format", "{{.Names}}").split()
        )

    def journal(self, node: str, lines: int = _JOURNAL_LINES) -> str:
        """The end of a node's journal; of what its first process printed, where there is no journal yet."""
        docker = self.ground.docker
        try:
            return docker.run("exec", node, "journalctl", "--no-pager", "--quiet", f"--lines={lines}")
        except ChaoslatError:
            return docker.run("logs", f"--tail={lines}", node)

    def environment(self, kubeconfig: Path) -> dict[str, str]:
        """What kind runs in: this engine and network; no proxy and no kubeconfig of the user's."""
        return {
            **self.ground.docker.whole_environment(),
            "KIND_EXPERIMENTAL_PROVIDER": "docker",
            "KIND_EXPERIMENTAL_DOCKER_NETWORK": self.ground.network,
            "KUBECONFIG": str(kubeconfig),
        }

    def _run(self, *args: str | Path, kubeconfig: Path) -> None:
        argv = [
            "env",
            "--ignore-environment",
            *_assignments(self.environment(kubeconfig)),
            self.program,
            *args,
        ]
        run([*argv, f"--name={self.cluster}", f"--kubeconfig={kubeconfig}"], timeout_s=CREATE_S)

    def _not_created(self, error: EnvironmentMissing) -> ChaoslatError:
        journals = [
            f"{error.why}",
            *(f"--- journal of {node}:\n{self._journal_or_why(node)}" for node in self.nodes()),
        ]
        return ChaoslatError("The cluster was not created", where=self.cluster, why="\n".join(journals))

    def _journal_or_why(self, node: str) -> str:
        try:
            return self.journal(node)
        except ChaoslatError as error:
            return str(error)


def refuse_open_ports(config: Path) -> None:
    """Raises UsageError unless every port that a cluster's configuration publishes is on a loopback address.

    kind's own default for a port mapping is all addresses.
    """
    try:
        published = _published(YAML(typ="safe").load(config.read_text()) or {})
    except (OSError, YAMLError, AttributeError, TypeError) as error:
        raise UsageError(
            "A cluster's configuration cannot be read", where=str(config), why=str(error)
        ) from error
    for address in published:
        if not _is_loopback(address):
            raise UsageError(
                f"A cluster's port would be open to other machines: {address or 'all addresses'}",
                where=str(config),
                fix="give every extraPortMappings a listenAddress of 127.0.0.1",
            )


def _published(cluster: Mapping[str, Any]) -> Sequence[str]:
    mappings = [one for node in cluster.get("nodes") or () for one in node.get("extraPortMappings") or ()]
    api = (cluster.get("networking") or {}).get("apiServerAddress", "127.0.0.1")
    return [api, *(one.get("listenAddress", "") for one in mappings)]


def _is_loopback(address: str) -> bool:
    try:
        return ip_address(address).is_loopback
    except ValueError:
        return False


def _assignments(environment: Mapping[str, str]) -> list[str]:
    return [f"{name}={value}" for name, value in environment.items()]
