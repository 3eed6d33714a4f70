"""A program of another distribution release that runs here: with its own loader and libraries."""

from __future__ import annotations

import re
import shutil
from collections.abc import Sequence
from pathlib import Path

from chaoslat.errors import EnvironmentMissing
from chaoslat.parts.run import run

_LISTED = re.compile(r"^\s*(?P<soname>\S+) => (?P<path>/\S+)", re.MULTILINE)


def carry_program(root: Path, program: str, into: Path) -> None:
    """Copy `root/program` and its closure of libraries from the unpacked tree `root` to `into`.

    Afterwards `launch_argv(into, NAME)` starts it. Raises EnvironmentMissing when a library is missing.
    """
    loader = _only(root, "ld-linux*.so.[0-9]*")
    libraries = _library_path(root)
    listed = run([loader, "--library-path", libraries, "--list", root / program])
    name = Path(program).name
    for folder in ("lib", "libexec", "loader"):
        (into / folder).mkdir(exist_ok=True)
    for match in _LISTED.finditer(listed):
        shutil.copy2(_inside(root, match["path"]), into / "lib" / Path(match["soname"]).name)
    shutil.copy2(loader.resolve(), into / "lib" / "ld.so")
    shutil.copy2(root / program, into / "libexec" / name)
    # The kernel names a process after the path that was executed: through this link it is the program's name.
    (into / "loader" / name).symlink_to("../lib/ld.so")


def launch_argv(prefix: Path, name: str) -> tuple[str, ...]:
    """What to put before the program's own arguments."""
    return (
        str(prefix / "loader" / name),
        "--library-path",
        str(prefix / "lib"),
        str(prefix / "libexec" / name),
    )


def carry_folder(root: Path, patterns: Sequence[str], into: Path) -> None:
    """Copy what the glob `patterns` match below `root` into the folder `into`."""
    into.mkdir(parents=True, exist_ok=True)
    for match in (path for pattern in patterns for path in root.glob(pattern)):
        if match.is_dir():
            shutil.copytree(match, into / match.name)
        else:
            shutil.copy2(match, into / match.name)


def _library_path(root: Path) -> str:
    folders = {
        path.parent for path in root.glob("**/lib/*-linux-*/*.so*") if path.parent.parent.name == "lib"
    }
    return ":".join(sorted(str(folder) for folder in folders))


def _only(root: Path, pattern: str) -> Path:
    found = sorted(path for path in root.glob(f"**/lib/*/{pattern}"))
    if not found:
        raise EnvironmentMissing(
            "The fetched packages hold no program loader", where=str(root), why=f"no {pattern}"
        )
    return found[0]


def _inside(root: Path, path: str) -> Path:
    if not Path(path).resolve().is_relative_to(root.resolve()):
        raise EnvironmentMissing(
            "A library is missing from the fetched packages", where=path, why=f"not below {root}"
        )
    return Path(path)
