"""Starting a process inside a cgroup from its first instruction on."""

from __future__ import annotations

from collections.abc import Sequence

# The shell enters the cgroups and then becomes the program: no code runs between fork and exec in a process that has
# threads, and the pid that the caller sees is the program's own. "0" means the writer itself.
_ENTER = 'while [ "$1" != -- ]; do echo 0 >"$1" || exit 125; shift; done; shift; exec "$@"'


def launcher(procs_files: Sequence[str]) -> list[str]:
    """An argv prefix that puts what follows into the cgroups of these files. Exit code 125: it could not enter."""
    return ["/bin/sh", "-c", _ENTER, "chaoslat-launch", *procs_files, "--"]
