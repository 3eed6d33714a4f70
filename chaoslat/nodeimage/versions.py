"""What the node image is made of. The go.mod files in clusters/node-image/go pin the same versions."""

from __future__ import annotations

import platform

from chaoslat.errors import EnvironmentMissing

KIND = "v0.33.0"
KUBERNETES = "v1.34.4"
ETCD = "3.6.5-0"  # as kubeadm of this Kubernetes names its image
COREDNS = "v1.12.1"
PAUSE = "3.10.1"
CRICTL = "v1.34.0"
TOXIPROXY = "2.12.0"

# kubeadm and the kubelet ask for images by these names. They are never fetched: the node carries them.
_NAMES = "registry.k8s.io"
PAUSE_IMAGE = f"{_NAMES}/pause:{PAUSE}"
COREDNS_IMAGE = f"{_NAMES}/coredns/coredns:{COREDNS}"
KUBE_IMAGES = (
    f"{_NAMES}/kube-apiserver:{KUBERNETES}",
    f"{_NAMES}/kube-controller-manager:{KUBERNETES}",
    f"{_NAMES}/kube-scheduler:{KUBERNETES}",
    f"{_NAMES}/kube-proxy:{KUBERNETES}",
    f"{_NAMES}/etcd:{ETCD}",
)

_ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}


def architecture() -> str:
    """This machine's, as images name it. Raises EnvironmentMissing for one that is not supported."""
    machine = platform.machine()
    if machine not in _ARCHITECTURES:
        known = ", ".join(_ARCHITECTURES)
        raise EnvironmentMissing(f"No node image can be built for {machine}", why=f"known: {known}")
    return _ARCHITECTURES[machine]
