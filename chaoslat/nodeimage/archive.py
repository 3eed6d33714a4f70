"""Images written as one file, without an engine: what `docker save` writes, and `docker load` and `ctr import` read.

Format: docker/docker, image/spec v1.2: a tar with manifest.json, a JSON file per image, and its layers as tars.
"""

from __future__ import annotations

import hashlib
import io
import json
import tarfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from chaoslat.nodeimage.versions import architecture
from chaoslat.parts.run import run

PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
_EPOCH = "1970-01-01T00:00:00Z"
_BLOCK_BYTES = 1 << 20
_SAME_BYTES = (
    "--numeric-owner",
    "--sort=name",
    "--mtime=@0",
    "--format=posix",
    "--pax-option=exthdr.name=%d/%f.pax,delete=atime,delete=ctime",
)
_CAPABILITIES = ("--xattrs", "--xattrs-include=security.capability")


@dataclass(frozen=True, slots=True)
class Layer:
    """A tar of files. `digest` is the hexadecimal SHA-256 of it."""

    tar: Path
    digest: str


@dataclass(frozen=True, slots=True)
class Settings:
    """How a container of an image starts. `user` is numeric, "" is root."""

    entrypoint: tuple[str, ...] = ()
    command: tuple[str, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict)
    user: str = ""
    folder: str = ""

    def as_config(self) -> Mapping[str, object]:
        environment = {"PATH": PATH, **self.environment}
        values = {
            "Env": [f"{name}={value}" for name, value in environment.items()],
            "Entrypoint": list(self.entrypoint),
            "Cmd": list(self.command),
            "User": self.user,
            "WorkingDir": self.folder,
        }
        return {name: value for name, value in values.items() if value}


@dataclass(frozen=True, slots=True)
class Image:
    """`references` are its names; one layer holds all its files."""

    references: tuple[str, ...]
    layer: Layer
    settings: Settings = Settings()

    def config(self) -> bytes:
        """The image's JSON file; its own SHA-256 is the image's id."""
        about = {
            "architecture": architecture(),
            "os": "linux",
            "created": _EPOCH,
            "config": self.settings.as_config(),
            "rootfs": {"type": "layers", "diff_ids": [f"sha256:{self.layer.digest}"]},
            "history": [{"created": _EPOCH, "created_by": "chaoslat"}],
        }
        return json.dumps(about, sort_keys=True).encode()


def pack_layer(root: Path, tar: Path) -> Layer:
    """Pack the folder `root` as a layer. The same files give the same bytes, whenever it is done."""
    run(["tar", *_SAME_BYTES, *_CAPABILITIES, "-C", root, "-cf", tar, "."])
    return Layer(tar, _sha256(tar))


def write_archive(out: Path, images: Sequence[Image]) -> None:
    """Write the images to the new file `out`; layers that several of them have are written once."""
    with tarfile.open(out, "w", format=tarfile.USTAR_FORMAT) as archive:
        for layer in {image.layer.digest: image.layer for image in images}.values():
            archive.add(layer.tar, _layer_name(layer), filter=_plain)
        for image in images:
            _add(archive, _config_name(image), image.config())
        _add(archive, "manifest.json", json.dumps([_manifest(image) for image in images]).encode())


def compress(archive: Path) -> Path:
    """Replace the archive by a compressed one, and return that."""
    small = archive.with_name(f"{archive.name}.zst")
    run(["zstd", "-q", "-3", "-T0", "--long=27", "--rm", archive, "-o", small])
    return small


def _manifest(image: Image) -> Mapping[str, object]:
    return {
        "Config": _config_name(image),
        "RepoTags": list(image.references),
        "Layers": [_layer_name(image.layer)],
    }


def _config_name(image: Image) -> str:
    return f"{hashlib.sha256(image.config()).hexdigest()}.json"


def _layer_name(layer: Layer) -> str:
    return f"{layer.digest}/layer.tar"


def _add(archive: tarfile.TarFile, name: str, content: bytes) -> None:
    entry = tarfile.TarInfo(name)
    entry.size = len(content)
    entry.mode = 0o644
    archive.addfile(entry, io.BytesIO(content))


def _plain(entry: tarfile.TarInfo) -> tarfile.TarInfo:
    entry.mtime, entry.uid, entry.gid, entry.uname, entry.gname, entry.mode = 0, 0, 0, "", "", 0o644
    return entry


def _sha256(path: Path) -> str:
    digest = hashlib.sha256()
    with path.open("rb") as file:
        for block in _blocks(file):
            digest.update(block)
    return digest.hexdigest()


def _blocks(file: io.BufferedReader) -> Iterable[bytes]:
    while block := file.read(_BLOCK_BYTES):
        yield block
