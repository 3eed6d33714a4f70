"""Seeds: one for a session, and one for each trial that follows from it."""

from __future__ import annotations

import hashlib
import secrets

MAX_SEED = 2**31 - 1


def fresh_seed() -> int:
    """A seed that nobody has chosen; print it, so that the run can be repeated."""
    return secrets.randbelow(MAX_SEED) + 1


def trial_seed(seed: int, experiment: str, occurrence: int) -> int:
    """The seed of the `occurrence`-th trial (from 0) of an experiment in a session.

    It depends on the name and not on the place in the list, so that one experiment of a long session can be
    repeated alone with the session's seed.
    """
    digest = hashlib.sha256(f"{seed}/{experiment}/{occurrence}".encode()).digest()
    return int.from_bytes(digest[:4], "big") % MAX_SEED + 1
