"""What a real API server (1.34.4, one node of two cores) and its kubelet said; nothing here was written by hand."""

import json
from pathlib import Path

from kubernetes.client import ApiClient

DATA = Path(__file__).parent / "unit" / "kube" / "data"


def read(name):
    """A recording."""
    text = (DATA / name).read_text()
    return json.loads(text) if name.endswith(".json") else text


def typed(kind, value):
    """JSON as the client gives it to a caller."""
    return ApiClient().deserialize(json.dumps(value), kind, "application/json")
