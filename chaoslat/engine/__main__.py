"""`python -m chaoslat.engine check` and `install`: what clusters need of the system.

Exit codes: 0 all there, 3 something is missing.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from chaoslat.engine.packages import install, missing
from chaoslat.errors import ChaoslatError

_MISSING = 3


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; errors are printed plainly and become the exit code."""
    parser = argparse.ArgumentParser(
        prog="python -m chaoslat.engine", description="What clusters need of the system."
    )
    parser.add_argument("command", choices=("check", "install"))
    asked = parser.parse_args(argv)
    try:
        if asked.command == "install":
            install(lambda message: print(message, flush=True))
    except ChaoslatError as error:
        print(error, file=sys.stderr)
        return error.exit_code
    for program, package in missing().items():
        print(f"{program:<12} missing: apt-get install {package}")
    return _MISSING if missing() else 0


if __name__ == "__main__":
    sys.exit(main())
