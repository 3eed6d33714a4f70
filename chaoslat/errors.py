"""Every error that a user can meet: what happened, where, why, and the command that helps."""

from __future__ import annotations


class ChaoslatError(Exception):
    """Base of all errors shown to a user. Printed in full, never as a traceback.

    `what` is one sentence; `where` a file, line, path or address; `why` the cause as far as it is known;
    `fix` a command or a change that helps.
    """

    exit_code = 3

    def __init__(self, what: str, *, where: str = "", why: str = "", fix: str = "") -> None:
        super().__init__(what)
        self.what, self.where, self.why, self.fix = what, where, why, fix

    def __str__(self) -> str:
        parts = [self.what]
        parts += [f"  where: {self.where}"] if self.where else []
        parts += [f"  why:   {self.why}"] if self.why else []
        parts += [f"  fix:   {self.fix}"] if self.fix else []
        return "\n".join(parts)


class UsageError(ChaoslatError):
    """The command line or an option is wrong."""

    exit_code = 2


class ExperimentError(ChaoslatError):
    """An experiment or runbook file is wrong; `where` is FILE:LINE and the key."""

    exit_code = 2


class EnvironmentMissing(ChaoslatError):
    """This machine lacks something that the call needs (a tool, a privilege, a kernel feature)."""


class Busy(ChaoslatError):
    """Another run holds this machine; timing trials do not share one."""


class SystemLost(ChaoslatError):
    """A part of the system under test died or stopped answering in the middle of a trial."""

    exit_code = 4


class NotHere(ChaoslatError):
    """Something cannot be seen or changed where the system runs; `what` is the reason, in words for a finding.

    No failure: what else there is goes on, and a step that needs it is inconclusive.
    """


class NotRecorded(ChaoslatError):
    """A replay was asked for something that the recording does not hold."""

    exit_code = 4
