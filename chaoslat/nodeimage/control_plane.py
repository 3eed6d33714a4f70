"""The images of the control plane. One layer serves them all: only name and entry point differ."""

from __future__ import annotations

import shutil
from pathlib import Path

from chaoslat.nodeimage import versions
from chaoslat.nodeimage.archive import Image, Settings, pack_layer, write_archive
from chaoslat.nodeimage.artefact import Artefact, Made
from chaoslat.nodeimage.go_programs import COREDNS, KUBE_NAMES, KUBEALL, PAUSE
from chaoslat.nodeimage.inputs import folder, tree_key
from chaoslat.nodeimage.rootfs import KUBE, unpack
from chaoslat.parts.base import Progress
from chaoslat.parts.run import run
from chaoslat.parts.store import key

ARCHIVE = "images.tar"
_RECIPE = "1"
_PODS = ("kube-apiserver", "kube-controller-manager", "kube-proxy", "kube-scheduler", "etcd", "kubectl")


def control_plane() -> Artefact:
    """The folder holds `images.tar`, uncompressed: the node image unpacks it at once."""
    names = repr((versions.KUBE_IMAGES, versions.COREDNS_IMAGE, versions.PAUSE_IMAGE))
    needs = tuple(one.artefact() for one in (KUBEALL, COREDNS, PAUSE, KUBE))
    return Artefact("control-plane", key(_RECIPE, names, tree_key(folder("kube"))), _build, needs)


def _build(into: Path, made: Made, progress: Progress) -> None:
    progress("packing the images of the control plane")
    root, pause = into / "root", into / "pause"
    unpack(made["rootfs-kube"], root)
    shutil.copytree(folder("kube", "rootfs"), root, dirs_exist_ok=True)
    link_programs(made["kubeall"], root / "usr/local/bin", _PODS)
    shutil.copy2(made["coredns"] / "coredns", root / "usr/local/bin/coredns")
    run([folder("kube", "setup.sh"), root])
    pause.mkdir()
    shutil.copy2(made["pause"] / "pause", pause / "pause")
    layer, pause_layer = pack_layer(root, into / "layer.tar"), pack_layer(pause, into / "pause.tar")
    images = (
        Image(versions.KUBE_IMAGES, layer),
        Image((versions.COREDNS_IMAGE,), layer, Settings(entrypoint=("/coredns",))),
        Image((versions.PAUSE_IMAGE,), pause_layer, Settings(entrypoint=("/pause",))),
    )
    write_archive(into / ARCHIVE, images)
    for scratch in (root, pause):
        shutil.rmtree(scratch)
    for scratch in (layer.tar, pause_layer.tar):
        scratch.unlink()


def link_programs(kubeall: Path, into: Path, names: tuple[str, ...] = KUBE_NAMES) -> None:
    """Copy the one binary into the folder `into` and link it under each of the names."""
    shutil.copy2(kubeall / "kubeall", into / "kubeall")
    for name in names:
        (into / name).symlink_to("kubeall")
