"""`chaoslat doctor`: what this machine can do."""

from __future__ import annotations

from dataclasses import asdict

from chaoslat.cli import app as frame
from chaoslat.cli import exits
from chaoslat.cli.output import print_result, progress
from chaoslat.doctor import Check, Status, examine, verdict
from chaoslat.report.machine import machine_line


@frame.command(frame.app, "doctor")
def doctor(as_json: frame.Json = False) -> int:
    """Say what this machine can do, what is missing, and the command that helps. Takes a few seconds.

    Exit code 3 when the local backend cannot run here.
    """
    with progress() as show:
        checks = list(examine(show))
    data = {
        "machine": machine_line(),
        "verdict": verdict(checks),
        "checks": [asdict(check) for check in checks],
    }
    print_result(data, _text(checks), as_json=as_json)
    missing = any(check.status is Status.MISSING for check in checks)
    return exits.MISSING if missing else exits.AS_EXPECTED


def _text(checks: list[Check]) -> str:
    width = max(len(check.name) for check in checks)
    lines = [machine_line()]
    for check in checks:
        lines.append(f"{check.status:8}{check.name:{width}}  {check.found}")
        if check.fix and check.status is not Status.OK:
            lines.append(f"{'':8}{'':{width}}  fix: {check.fix}")
    return "\n".join([*lines, "", verdict(checks)])
