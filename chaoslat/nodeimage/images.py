"""What all image artefacts have in common: a name that carries the key, and one compressed archive."""

from __future__ import annotations

import shutil
from pathlib import Path

from chaoslat.nodeimage.archive import Image, Settings, compress, pack_layer, write_archive
from chaoslat.nodeimage.artefact import Artefact

ARCHIVE = "image.tar.zst"
PREFIX = "image-"


def reference(artefact: Artefact) -> str:
    """The image's name. It changes with all that the image is made from, so an engine never has an old one."""
    return f"chaoslat/{artefact.name.removeprefix(PREFIX)}:{artefact.key}"


def pack_image(root: Path, into: Path, name: str, settings: Settings) -> None:
    """Pack the folder `root` as the image `name` into `into/image.tar.zst`, and remove the folder."""
    layer = pack_layer(root, into / "layer.tar")
    shutil.rmtree(root)
    archive = into / ARCHIVE.removesuffix(".zst")
    write_archive(archive, [Image((name,), layer, settings)])
    layer.tar.unlink()
    compress(archive)
