"""The volumes probe, on folders made for it."""

from __future__ import annotations

from pathlib import Path

from chaoslat.probes import volumes


def test_counts_files_and_bytes_per_pod_and_asks_who_lives(tmp_path: Path) -> None:
    for pod, files in {"db": 0, "batch-1": 3}.items():
        (tmp_path / pod / "deep").mkdir(parents=True)
        for number in range(files):
            (tmp_path / pod / "deep" / str(number)).write_bytes(b"x" * 4096)
    (tmp_path / "a file is no volume").touch()
    orphan, own = volumes(tmp_path, lambda pod: pod == "db")
    assert (orphan.path, orphan.files, orphan.owner_alive) == (str(tmp_path / "batch-1"), 3, False)
    assert orphan.used_bytes >= 3 * 4096
    assert (own.files, own.used_bytes, own.owner_alive) == (0, 0, True)


def test_no_mount_means_no_volumes(tmp_path: Path) -> None:
    assert volumes(tmp_path / "missing", lambda _: True) == ()


def test_a_sparse_file_counts_what_it_holds(tmp_path: Path) -> None:
    (tmp_path / "pod").mkdir()
    with (tmp_path / "pod" / "sparse").open("wb") as file:
        file.truncate(1 << 30)
    assert volumes(tmp_path, lambda _: True)[0].used_bytes < 1 << 20
