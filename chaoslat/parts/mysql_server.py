"""A database server that can be started: which one, and with what arguments."""

from __future__ import annotations

import os
import pwd
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from chaoslat.errors import EnvironmentMissing
from chaoslat.parts.prefix import launch_argv
from chaoslat.parts.run import run

Flavour = Literal["mysql", "mariadb"]
PROGRAM: dict[Flavour, str] = {"mysql": "mysqld", "mariadb": "mariadbd"}
OLDEST: dict[Flavour, tuple[int, int]] = {"mysql": (8, 0), "mariadb": (10, 6)}

_VERSION = re.compile(r"Ver (?P<version>\d+\.\d+\.\d+)(?P<rest>\S*)")
_UNPRIVILEGED = "nobody"


@dataclass(frozen=True, slots=True)
class MysqlServer:
    """A server: `argv_prefix` starts it, `base_args` tell it where its own files are.

    `share` holds its messages, character sets and, for MariaDB, the SQL that makes the system tables.
    """

    flavour: Flavour
    version: str
    argv_prefix: tuple[str, ...]
    base_args: tuple[str, ...]
    share: Path

    def command(
        self,
        *,
        config: Path,
        datadir: Path,
        socket: Path,
        port: int,
        bind: str = "127.0.0.1",
        user: str = "",
        extra: Sequence[str] = (),
    ) -> list[str]:
        """The command that runs it in the foreground, its log on stderr; SIGTERM shuts it down cleanly.

        `datadir` must belong to the user it runs as, by default `run_as()`; `socket` has at most 107 bytes.
        Started as root it reads its own files before it gives root up, so only `datadir` and the socket's
        folder need be open to that user. `extra` goes last and wins over `config`.
        """
        return [
            *self.argv_prefix,
            f"--defaults-file={config}",
            *self.base_args,
            *([f"--user={user or run_as()}"] if os.geteuid() == 0 else []),
            f"--datadir={datadir}",
            f"--socket={socket}",
            f"--pid-file={datadir / 'server.pid'}",
            f"--port={port}",
            f"--bind-address={bind}",
            *extra,
        ]


def run_as() -> str:
    """The user that a server runs as: an unprivileged one when we are root, else ourselves."""
    return _UNPRIVILEGED if os.geteuid() == 0 else pwd.getpwuid(os.geteuid()).pw_name


def run_as_ids() -> tuple[int, int]:
    """Numeric user and group of `run_as()`, for the owner of a data directory."""
    if os.geteuid() != 0:
        return os.geteuid(), os.getegid()
    entry = pwd.getpwnam(_UNPRIVILEGED)
    return entry.pw_uid, entry.pw_gid


def from_prefix(prefix: Path, flavour: Flavour, version: str) -> MysqlServer:
    """The server that the mysql part unpacked into `prefix`."""
    args = (
        f"--basedir={prefix}",
        f"--plugin-dir={prefix / 'plugin'}",
        f"--character-sets-dir={prefix / 'share/charsets'}",
        f"--lc-messages-dir={prefix / 'share'}",
    )
    return MysqlServer(
        flavour,
        version,
        launch_argv(prefix, PROGRAM[flavour]),
        args + _no_file_access(flavour),
        prefix / "share",
    )


def from_program(program: Path) -> MysqlServer:
    """A server of the system. Raises EnvironmentMissing when the program cannot be run or is too old."""
    flavour, version = read_version(run([program, "--version"], timeout_s=20.0))
    if tuple(map(int, version.split(".")[:2])) < OLDEST[flavour]:
        oldest = ".".join(map(str, OLDEST[flavour]))
        raise EnvironmentMissing(f"{program} is {flavour} {version}", why=f"{oldest} or newer is needed")
    return MysqlServer(flavour, version, (str(program),), _no_file_access(flavour), Path("/usr/share/mysql"))


def read_version(text: str) -> tuple[Flavour, str]:
    """Flavour and version from what `--version` prints. Raises EnvironmentMissing when it is neither."""
    match = _VERSION.search(text)
    if match is None:
        raise EnvironmentMissing("Not a MySQL or MariaDB server", why=f"it says: {text.strip()[:200]}")
    return ("mariadb" if "MariaDB" in match["rest"] else "mysql"), match["version"]


def _no_file_access(flavour: Flavour) -> tuple[str, ...]:
    # MySQL stops at start when the directory it was built with does not exist.
    return ("--secure-file-priv=NULL",) if flavour == "mysql" else ()
