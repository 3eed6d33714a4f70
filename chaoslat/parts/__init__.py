"""The real parts that the local backend starts: found on this machine, or installed into a cache.

`python -m chaoslat.parts check` says what is here, `python -m chaoslat.parts install` gets the rest.
"""

from __future__ import annotations

from pathlib import Path

from chaoslat import paths
from chaoslat.parts.base import Found, Missing, Part, Progress
from chaoslat.parts.iproute2 import Iproute2
from chaoslat.parts.mysql import Mysql
from chaoslat.parts.mysql_seed import MysqlSeed
from chaoslat.parts.node import Node
from chaoslat.parts.node_app import NodeApp
from chaoslat.parts.toxiproxy import Toxiproxy

__all__ = ["PARTS", "Found", "Missing", "Part", "Progress", "all_parts", "check_all"]

PARTS = (Iproute2, Mysql, MysqlSeed, Toxiproxy, Node, NodeApp)


def all_parts(cache: Path | None = None) -> tuple[Part, ...]:
    """Every part, in the order to install them; `cache` is `paths.cache_root()` by default."""
    root = cache or paths.cache_root()
    return tuple(part(root) for part in PARTS)


def check_all(cache: Path | None = None) -> tuple[Found | Missing, ...]:
    """What each part's `find` says."""
    return tuple(part.find() for part in all_parts(cache))
