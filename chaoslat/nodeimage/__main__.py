"""`python -m chaoslat.nodeimage build [NAME...]`, `check [--json]`.

Exit codes: 0 all there, 2 usage, 3 something is missing or could not be built.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence

from chaoslat.errors import ChaoslatError
from chaoslat.nodeimage.catalogue import build, catalogue, store
from chaoslat.nodeimage.images import PREFIX, reference
from chaoslat.nodeimage.progress import Reporter

_MISSING = 3


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; errors are printed plainly and become the exit code."""
    asked = _parser().parse_args(argv)
    try:
        return _check(asked.json) if asked.command == "check" else _build(asked.names)
    except ChaoslatError as error:
        print(error, file=sys.stderr)
        return error.exit_code


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m chaoslat.nodeimage",
        description="The images of a cluster, built without an image registry.",
    )
    commands = parser.add_subparsers(dest="command", required=True)
    make = commands.add_parser("build", help="build what is missing")
    make.add_argument("names", nargs="*", metavar="NAME", help="what to build (all by default)")
    check = commands.add_parser("check", help="say what is built")
    check.add_argument("--json", action="store_true", help="for programs")
    return parser


def _build(names: Sequence[str]) -> int:
    report = Reporter()
    with report.alive():
        folders = build(names, report)
    for name in folders:
        artefact = catalogue()[name]
        report(name, reference(artefact) if artefact.name.startswith(PREFIX) else "ready")
    return 0


def _check(as_json: bool) -> int:
    rows = [
        {
            "name": name,
            "ready": artefact.ready(store()),
            "image": reference(artefact) if artefact.name.startswith(PREFIX) else None,
            "folder": str(artefact.folder(store())),
        }
        for name, artefact in catalogue().items()
    ]
    if as_json:
        print(json.dumps(rows, indent=2))
    else:
        for row in rows:
            print(
                f"{row['name']:<12} {'ready  ' if row['ready'] else 'missing'}  {row['image'] or row['folder']}"
            )
    return 0 if all(row["ready"] for row in rows) else _MISSING


if __name__ == "__main__":
    sys.exit(main())
