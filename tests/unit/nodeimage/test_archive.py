"""Images are written as engines read them, the same bytes for the same files."""

from __future__ import annotations

import hashlib
import json
import os
import tarfile
from pathlib import Path

import pytest

from chaoslat.nodeimage.archive import Image, Layer, Settings, compress, pack_layer, write_archive
from chaoslat.nodeimage.versions import architecture
from chaoslat.parts.run import run


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "root"
    (folder / "bin").mkdir(parents=True)
    (folder / "bin/run").write_text("#!/bin/sh\n")
    (folder / "bin/run").chmod(0o755)
    (folder / "bin/sh").symlink_to("run")
    return folder


@pytest.fixture
def layer(root: Path, tmp_path: Path) -> Layer:
    return pack_layer(root, tmp_path / "layer.tar")


def read(archive: Path) -> dict[str, bytes]:
    with tarfile.open(archive) as tar:
        return {entry.name: content.read() for entry in tar if (content := tar.extractfile(entry))}


def test_a_layer_is_named_by_its_content(layer: Layer) -> None:
    assert layer.digest == hashlib.sha256(layer.tar.read_bytes()).hexdigest()
    with tarfile.open(layer.tar) as tar:
        assert sorted(tar.getnames()) == [".", "./bin", "./bin/run", "./bin/sh"]
        assert tar.getmember("./bin/run").mode & 0o111
        assert tar.getmember("./bin/sh").linkname == "run"


def test_the_same_files_give_the_same_layer(layer: Layer, root: Path, tmp_path: Path) -> None:
    os.utime(root / "bin/run", (1, 1))
    assert pack_layer(root, tmp_path / "again.tar").digest == layer.digest


def test_an_archive_holds_what_its_manifest_names(layer: Layer, tmp_path: Path) -> None:
    settings = Settings(("run",), ("fast",), {"MODE": "x"}, "10001:10001", "/app")
    write_archive(tmp_path / "image.tar", [Image(("chaoslat/app:1",), layer, settings)])
    content = read(tmp_path / "image.tar")
    (about,) = json.loads(content["manifest.json"])
    assert about["RepoTags"] == ["chaoslat/app:1"]
    assert hashlib.sha256(content[about["Layers"][0]]).hexdigest() == layer.digest
    assert about["Config"] == hashlib.sha256(content[about["Config"]]).hexdigest() + ".json"
    config = json.loads(content[about["Config"]])
    assert config["rootfs"]["diff_ids"] == [f"sha256:{layer.digest}"]
    assert (config["architecture"], config["os"]) == (architecture(), "linux")
    assert config["config"]["Entrypoint"] == ["run"]
    assert config["config"]["Cmd"] == ["fast"]
    assert config["config"]["User"] == "10001:10001"
    assert config["config"]["WorkingDir"] == "/app"
    assert "MODE=x" in config["config"]["Env"]
    assert any(value.startswith("PATH=") for value in config["config"]["Env"])


def test_what_is_not_set_is_not_written(layer: Layer) -> None:
    config = json.loads(Image(("chaoslat/tools:1",), layer).config())["config"]
    assert set(config) == {"Env"}


def test_a_layer_of_several_images_is_written_once(layer: Layer, tmp_path: Path) -> None:
    images = [
        Image(("one:1", "two:1"), layer),
        Image(("three:1",), layer, Settings(entrypoint=("/coredns",))),
    ]
    write_archive(tmp_path / "image.tar", images)
    content = read(tmp_path / "image.tar")
    assert sorted(name for name in content if name.endswith("layer.tar")) == [f"{layer.digest}/layer.tar"]
    tags = [entry["RepoTags"] for entry in json.loads(content["manifest.json"])]
    assert tags == [["one:1", "two:1"], ["three:1"]]


def test_the_same_images_give_the_same_archive(layer: Layer, tmp_path: Path) -> None:
    for name in ("a.tar", "b.tar"):
        write_archive(tmp_path / name, [Image(("one:1",), layer)])
    assert (tmp_path / "a.tar").read_bytes() == (tmp_path / "b.tar").read_bytes()


def test_a_compressed_archive_takes_the_place_of_the_other(layer: Layer, tmp_path: Path) -> None:
    write_archive(tmp_path / "image.tar", [Image(("one:1",), layer)])
    before = (tmp_path / "image.tar").read_bytes()
    small = compress(tmp_path / "image.tar")
    assert not (tmp_path / "image.tar").exists()
    run(["zstd", "-dq", "--long=27", small, "-o", tmp_path / "back.tar"])
    assert (tmp_path / "back.tar").read_bytes() == before
