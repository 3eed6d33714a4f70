"""In the place of this machine's cgroups, for a system whose cgroups are on the nodes of a cluster."""

from __future__ import annotations

from typing import NoReturn, cast

from chaoslat.cgroup.base import CgroupTree
from chaoslat.errors import NotHere


class _NoCgroups:
    """Has none to show."""

    def __getattr__(self, name: str) -> NoReturn:
        if name.startswith("__"):
            raise AttributeError(name)
        raise NotHere("the cgroups are those of a node, which is not looked at from here")


NO_CGROUPS = cast(CgroupTree, _NoCgroups())
