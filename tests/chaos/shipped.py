"""The faults that have an experiment of their own name. Decoys take the same undo (tests/contract/test_decoys)."""

from chaoslat.faults import FAULTS
from chaoslat.paths import repo_root

SHIPPED = [fault.name for fault in FAULTS if (repo_root() / "experiments" / f"{fault.name}.yaml").exists()]
