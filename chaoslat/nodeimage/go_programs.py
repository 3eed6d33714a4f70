"""The programs of node and images: built from Go modules, whose checksums the go.sum files beside them pin."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from chaoslat.nodeimage import versions
from chaoslat.nodeimage.artefact import Artefact, Made
from chaoslat.nodeimage.inputs import folder, tree_key
from chaoslat.parts.base import Progress
from chaoslat.parts.go_toolchain import go_for_build
from chaoslat.parts.run import run
from chaoslat.parts.store import key

_RECIPE = "1"
_DEADLINE_S = 3600.0
_COMPONENT = "k8s.io/component-base/version"


@dataclass(frozen=True, slots=True)
class GoProgram:
    """`module` is a folder below clusters/node-image/go, `package` what to build there; `sets` are -X values."""

    name: str
    module: str
    package: str = "."
    sets: Mapping[str, str] = field(default_factory=dict)

    @property
    def ldflags(self) -> str:
        return " ".join(["-s -w", *(f"-X {name}={value}" for name, value in self.sets.items())])

    def artefact(self) -> Artefact:
        """The folder holds one static program, called `name`. Raises EnvironmentMissing without a checkout."""
        inputs = key(
            _RECIPE, versions.architecture(), self.package, self.ldflags, tree_key(folder("go", self.module))
        )
        return Artefact(self.name, inputs, self._build)

    def _build(self, into: Path, _: Made, progress: Progress) -> None:
        go = go_for_build(into / "toolchain", progress)
        progress(f"go build {self.package if self.package != '.' else self.module}")
        flags = f"{os.environ.get('GOFLAGS', '')} -mod=readonly".strip()  # the user's, say -p=1, stay
        run(
            [
                go.program,
                "build",
                "-trimpath",
                "-ldflags",
                self.ldflags,
                "-o",
                into / self.name,
                self.package,
            ],
            cwd=folder("go", self.module),
            env={"CGO_ENABLED": "0", "GOFLAGS": flags, "GOTOOLCHAIN": "auto", "GOWORK": "off"},
            timeout_s=_DEADLINE_S,
        )
        remove_toolchain(into / "toolchain")


def remove_toolchain(scratch: Path) -> None:
    """Remove a Go that was unpacked for one build, if there is one."""
    if scratch.exists():
        run(["rm", "-rf", scratch])


def _kubernetes() -> Mapping[str, str]:
    major, minor, _ = versions.KUBERNETES.removeprefix("v").split(".")
    values = {
        "gitVersion": versions.KUBERNETES,
        "gitMajor": major,
        "gitMinor": minor,
        "gitTreeState": "clean",
    }
    return {f"{_COMPONENT}.{name}": value for name, value in values.items()}


KUBEALL = GoProgram("kubeall", "kube", sets=_kubernetes())
COREDNS = GoProgram("coredns", "coredns")
PAUSE = GoProgram("pause", "pause")
KIND = GoProgram("kind", "kind", "sigs.k8s.io/kind")
CRICTL = GoProgram(
    "crictl",
    "crictl",
    "sigs.k8s.io/cri-tools/cmd/crictl",
    {"sigs.k8s.io/cri-tools/pkg/version.Version": versions.CRICTL},
)
TOXIPROXY = GoProgram(
    "toxiproxy",
    "toxiproxy",
    "github.com/Shopify/toxiproxy/v2/cmd/server",
    {"github.com/Shopify/toxiproxy/v2.Version": versions.TOXIPROXY},
)
KUBE_NAMES = (
    "etcd",
    "kube-apiserver",
    "kube-controller-manager",
    "kube-proxy",
    "kube-scheduler",
    "kubeadm",
    "kubectl",
    "kubelet",
)
"""What `kubeall` can be called as."""
