"""Where a run's folder goes, and why not elsewhere."""

from __future__ import annotations

from pathlib import Path

import pytest

from chaoslat.backends.local import folder
from chaoslat.errors import EnvironmentMissing

RUN = "0a1b2c3d"


@pytest.fixture
def mounts(tmp_path: Path) -> Path:
    """/proc/self/mounts of a machine with memory and disks at several places."""
    path = tmp_path / "mounts"
    path.write_text(
        "/dev/vda / ext4 rw,relatime 0 0\n"
        "tmpfs /var/tmp tmpfs rw 0 0\n"
        "/dev/vdb /var/tmp/a\\040disk xfs rw 0 0\n"
        "overlay /over overlay rw 0 0\n"
        "tmpfs /over tmpfs rw 0 0\n"
    )
    return path


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("/var/lib", "ext4"),
        ("/var/tmp/x", "tmpfs"),
        ("/var/tmp2", "ext4"),
        ("/var/tmp/a disk/x", "xfs"),
        ("/over/x", "tmpfs"),
    ],
)
def test_the_nearest_mount_that_shows_decides(mounts: Path, path: str, kind: str) -> None:
    assert folder.file_system(Path(path), mounts) == kind


def test_the_first_fit_base_is_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "second").mkdir()
    monkeypatch.setattr(folder, "IN_MEMORY", frozenset())
    chosen = folder.choose(RUN, (tmp_path / "missing", tmp_path / "second"), needed_bytes=1)
    assert chosen == tmp_path / "second" / f"chaoslat-{RUN}"


def test_memory_is_refused_and_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(folder, "IN_MEMORY", frozenset({folder.file_system(tmp_path)}))
    with pytest.raises(EnvironmentMissing, match="is memory, not a disk"):
        folder.choose(RUN, (tmp_path,))


def test_too_little_room_says_how_much_there_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(folder, "IN_MEMORY", frozenset())
    with pytest.raises(EnvironmentMissing, match=r"\d+ MB free"):
        folder.choose(RUN, (tmp_path,), needed_bytes=1 << 60)
