"""Values in JSON types. JSON knows no NaN and no infinity: what was not measured is null."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any


def plain(value: Any) -> Any:
    """The same value of dicts, lists, texts, finite numbers, booleans and None."""
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: plain(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, Mapping):
        return {str(key): plain(inner) for key, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(inner) for inner in value]
    return _scalar(value)


def _scalar(value: Any) -> Any:
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return str(value) if isinstance(value, (str, Path)) else value


def to_json(data: Any) -> str:
    """Strict JSON. Raises TypeError for what has no JSON form."""
    return json.dumps(plain(data), indent=2, allow_nan=False)
