"""Called as `runc_shim.py RUNC ARGUMENTS...` in place of runc: takes CAP_SYS_RESOURCE out of what is asked for.

Runs as a script of its own and imports nothing of chaoslat. What is asked for is in config.json of the bundle (for
create and run) or in the file of a new process (for exec); see runc(8) and the OCI runtime specification.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

CAPABILITY = "CAP_SYS_RESOURCE"


def main(argv: Sequence[str]) -> None:
    runc, *arguments = argv
    for path in files(arguments):
        if path.is_file():
            rewrite(path)
    os.execv(runc, [runc, *arguments])


def files(arguments: Sequence[str]) -> Iterator[Path]:
    """The files that these arguments of runc name."""
    for bundle in values(arguments, "--bundle", "-b"):
        yield Path(bundle, "config.json")
    yield from map(Path, values(arguments, "--process", "-p"))


def values(arguments: Sequence[str], *names: str) -> Iterator[str]:
    for argument, following in zip(arguments, [*arguments[1:], ""], strict=True):
        name, equals, value = argument.partition("=")
        if name in names:
            yield value if equals else following


def rewrite(path: Path) -> None:
    asked = json.loads(path.read_text())
    process = asked.get("process", asked)  # the file of a process is the process itself
    sets: dict[str, Any] = process.get("capabilities") or {}
    for names in sets.values():
        if CAPABILITY in names:
            names.remove(CAPABILITY)
    path.write_text(json.dumps(asked))


if __name__ == "__main__":
    main(sys.argv[1:])
