"""The node image: a Debian with systemd, containerd and Kubernetes, the control plane's images already inside."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from chaoslat.errors import EnvironmentMissing
from chaoslat.nodeimage import versions
from chaoslat.nodeimage.archive import Settings
from chaoslat.nodeimage.artefact import Artefact, Made
from chaoslat.nodeimage.control_plane import ARCHIVE as IMAGES
from chaoslat.nodeimage.control_plane import control_plane, link_programs
from chaoslat.nodeimage.go_programs import CRICTL, KUBEALL
from chaoslat.nodeimage.images import pack_image, reference
from chaoslat.nodeimage.inputs import folder, tree_key
from chaoslat.nodeimage.rootfs import NODE, unpack
from chaoslat.parts.base import Progress
from chaoslat.parts.run import run
from chaoslat.parts.store import key

_RECIPE = "1"
_COMMANDS = ("kubelet", "kubeadm", "kubectl")
_TEMPLATES = ("etc/containerd/config.toml", "kind/manifests/default-cni.yaml")
_OWN_NAMESPACES = ("unshare", "--mount", "--pid", "--fork", "--kill-child")


def node() -> Artefact:
    """What kind makes nodes from. Takes root. Raises EnvironmentMissing without a checkout."""
    needs = (KUBEALL.artefact(), CRICTL.artefact(), NODE.artefact(), control_plane())
    return Artefact("image-node", key(_RECIPE, versions.KUBERNETES, tree_key(folder("node"))), _build, needs)


def _build(into: Path, made: Made, progress: Progress) -> None:
    if os.geteuid() != 0:
        raise EnvironmentMissing("The node image is built as root", fix="run it with sudo")
    root = into / "root"
    progress("setting up the node")
    _set_up(root, made)
    progress("putting the control plane's images into its containerd")
    run([*_OWN_NAMESPACES, folder("node", "preload.sh"), root, made["control-plane"] / IMAGES])
    progress("packing the image")
    pack_image(root, into, reference(node()), Settings(entrypoint=("/usr/local/bin/node-init",)))


def _set_up(root: Path, made: Made) -> None:
    unpack(made["rootfs-node"], root)
    shutil.copytree(folder("node", "rootfs"), root, dirs_exist_ok=True)
    for name in _TEMPLATES:
        _fill_in(root / name)
    (root / "kind/version").write_text(versions.KUBERNETES)
    link_programs(made["kubeall"], root / "usr/local/bin", ())
    for name in _COMMANDS:
        (root / "usr/bin" / name).symlink_to("../local/bin/kubeall")
    shutil.copy2(made["crictl"] / "crictl", root / "usr/local/bin/crictl")
    run(["chroot", root, "/bin/sh", "-s"], stdin=folder("node", "setup.sh").read_text())


def _fill_in(path: Path) -> None:
    text = path.read_text()
    text = text.replace("@KUBERNETES@", versions.KUBERNETES).replace("@PAUSE_IMAGE@", versions.PAUSE_IMAGE)
    path.write_text(text)
