"""Asking again until it is so, or a deadline has passed."""

from __future__ import annotations

import tenacity


def retrying(kind: type[BaseException], deadline_s: float, pause_s: float) -> tenacity.Retrying:
    """Calls again after that kind of error, `pause_s` later, until `deadline_s`; then the last one is raised."""
    return tenacity.Retrying(
        retry=tenacity.retry_if_exception_type(kind),
        wait=tenacity.wait_fixed(pause_s),
        stop=tenacity.stop_after_delay(deadline_s),
        reraise=True,
    )
