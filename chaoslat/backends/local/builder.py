"""Who builds a system's parts: in a thread, step by step, until told to stop."""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from chaoslat.backends.base import Progress
from chaoslat.backends.local.parts import Children
from chaoslat.backends.local.state import State
from chaoslat.cgroup.base import CgroupTree
from chaoslat.ledger import Ledger

S = TypeVar("S", bound=State)


class Cancelled(Exception):
    """Building was told to stop."""


@dataclass
class Builder(ABC, Generic[S]):
    """Builds one system in the thread that calls `build`; `cancel` may come from another one."""

    ledger: Ledger
    tree: CgroupTree
    children: Children
    progress: Progress
    _cancelled: threading.Event = field(default_factory=threading.Event)

    @abstractmethod
    def build(self) -> S:
        """All parts. What must be undone is promised first. Raises ChaoslatError, or `Cancelled`."""

    def cancel(self) -> None:
        """Stop before the next part is made."""
        self._cancelled.set()

    def _say(self, line: str) -> None:
        if self._cancelled.is_set():
            raise Cancelled
        self.progress(line)
