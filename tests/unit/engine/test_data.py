"""An engine's folder keeps images from one run to the next, and nothing that an engine would start again."""

from __future__ import annotations

import multiprocessing
import os
from pathlib import Path

import pytest

from chaoslat.engine import data
from chaoslat.errors import Busy, EnvironmentMissing


def used(root: Path) -> Path:
    """The folder of an engine that was killed while a container ran."""
    for folder in (
        "containers/c1",
        "network/files",
        "volumes/v1/_data",
        "containerd/daemon",
        "image/overlay2/imagedb",
    ):
        (root / folder).mkdir(parents=True)
    (root / "engine-id").write_text("x")
    (root / "network/files/local-kv.db").write_text("networks")
    for layer in ("image1", "rw1", "rw1-init"):
        (root / "overlay2" / layer / "diff").mkdir(parents=True)
        (root / "overlay2" / layer / "link").write_text(layer.upper())
        (root / "overlay2/l").mkdir(exist_ok=True)
        (root / "overlay2/l" / layer.upper()).symlink_to(f"../{layer}/diff")
    mount = root / "image/overlay2/layerdb/mounts/c1"
    mount.mkdir(parents=True)
    (mount / "mount-id").write_text("rw1")
    (mount / "init-id").write_text("rw1-init")
    return root


def test_only_images_stay(tmp_path: Path) -> None:
    root = used(tmp_path / "engine")
    data.keep_only_images(root)
    assert sorted(path.name for path in root.iterdir()) == ["image", "overlay2"]
    assert sorted(path.name for path in (root / "overlay2").iterdir()) == ["image1", "l"]
    assert [path.name for path in (root / "overlay2/l").iterdir()] == ["IMAGE1"]
    assert list((root / "image/overlay2/layerdb/mounts").iterdir()) == []
    assert (root / "image/overlay2/imagedb").is_dir()


def test_a_second_time_changes_nothing(tmp_path: Path) -> None:
    root = used(tmp_path / "engine")
    data.keep_only_images(root)
    data.keep_only_images(root)
    assert (root / "overlay2/image1").is_dir()


@pytest.mark.parametrize("written", ["../../outside", "/etc", "", "."])
def test_a_layer_that_is_named_elsewhere_is_left_alone(written: str, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    root = used(tmp_path / "engine")
    (root / "image/overlay2/layerdb/mounts/c1/mount-id").write_text(written)
    data.keep_only_images(root)
    assert outside.is_dir()
    assert (root / "overlay2/image1").is_dir()


def test_the_lock_stays_with_a_process_that_inherited_it(tmp_path: Path) -> None:
    root = tmp_path / "engine"
    gate = multiprocessing.get_context("fork").Event()
    with data.locked(root):
        child = os.fork()
        if child == 0:
            gate.wait(30)
            os._exit(0)
    with pytest.raises(Busy, match="runs already"), data.locked(root):
        pass
    gate.set()
    os.waitpid(child, 0)
    with data.locked(root):
        assert (root / "lock").exists()


def test_an_unfit_disk_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(data, "filesystem_of", lambda _: "overlay")
    with pytest.raises(EnvironmentMissing, match="cannot keep its images"), data.locked(tmp_path / "engine"):
        pass
