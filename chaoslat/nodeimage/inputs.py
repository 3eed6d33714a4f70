"""The files that an artefact is made from, and a key that changes with any of them."""

from __future__ import annotations

import stat
from collections.abc import Iterator
from pathlib import Path

from chaoslat import paths
from chaoslat.parts.store import key


def folder(*parts: str) -> Path:
    """A folder or file of clusters/node-image. Raises EnvironmentMissing without a checkout."""
    return paths.repo_root().joinpath("clusters", "node-image", *parts)


def tree_key(*roots: Path, leave_out: tuple[str, ...] = ()) -> str:
    """Changes with the name, the content and the executable bit of any file below `roots`; not with times or owners.

    A root may be a file. Folders named in `leave_out` are passed over.
    """
    return key(*(item for root in roots for item in _items(root, leave_out)))


def packages(name: str) -> tuple[str, ...]:
    """The packages that packages/NAME.txt lists, one a line, comments after #."""
    lines = folder("packages", f"{name}.txt").read_text().splitlines()
    return tuple(word for line in lines if (word := line.partition("#")[0].strip()))


def _items(root: Path, leave_out: tuple[str, ...]) -> Iterator[bytes]:
    for path in sorted(_files(root, leave_out)):
        yield str(path.relative_to(root)).encode()
        if path.is_symlink():
            yield b"link"
            yield str(path.readlink()).encode()
        else:
            yield b"executable" if path.stat().st_mode & stat.S_IXUSR else b"file"
            yield path.read_bytes()


def _files(root: Path, leave_out: tuple[str, ...]) -> Iterator[Path]:
    if not root.is_dir():
        yield root
        return
    for path in root.iterdir():
        if path.is_dir() and not path.is_symlink():
            if path.name not in leave_out:
                yield from _files(path, leave_out)
        else:
            yield path
