"""The JSON schema of an experiment file, with the faults, causes and capabilities that are installed here."""

from __future__ import annotations

from typing import Any

from chaoslat.capabilities import CAPABILITIES
from chaoslat.experiment_file import known_causes
from chaoslat.experiment_model import ExperimentModel
from chaoslat.faults import Fault, catalogue


def experiment_schema() -> dict[str, Any]:
    """JSON Schema, draft 2020-12."""
    faults = catalogue()
    schema = ExperimentModel.model_json_schema()
    properties = schema["properties"]
    properties["faults"]["items"] = {
        "oneOf": [{"enum": list(faults)}, *(_with_params(fault) for fault in faults.values())]
    }
    properties["expect"]["items"] = {"enum": list(known_causes(faults.values()))}
    properties["needs"]["items"] = {"enum": list(CAPABILITIES)}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **schema,
        "title": "chaoslat experiment",
    }


def _with_params(fault: Fault) -> dict[str, Any]:
    params = fault.params.model_json_schema() | {"description": fault.doc}
    return {
        "type": "object",
        "properties": {fault.name: {"anyOf": [params, {"type": "null"}]}},
        "required": [fault.name],
        "additionalProperties": False,
    }
