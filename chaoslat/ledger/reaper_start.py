"""Runs the reaper in an interpreter of its own, started with -I -S: small, and without any of its caller's settings."""

import sys
from pathlib import Path
from types import ModuleType

# A bare package of the same name and place: chaoslat's own __init__ may grow imports that a reaper has no use for.
package = ModuleType("chaoslat")
package.__path__ = [str(Path(__file__).resolve().parents[1])]
sys.modules["chaoslat"] = package

from chaoslat.ledger.reaper import main  # noqa: E402

main(sys.argv[1:])
