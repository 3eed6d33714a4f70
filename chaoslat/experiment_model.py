"""The keys of an experiment file, with their types, limits and defaults (pydantic)."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from chaoslat.experiment import DEFAULT_RUNBOOK, DEFAULT_SLO_MS, DEFAULT_WORKLOAD, SYMPTOMS
from chaoslat.load.schedule import Shape, Workload


class Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, allow_inf_nan=False)


class RequestModel(Strict):
    """One kind of request."""

    name: Annotated[str, Field(min_length=1, max_length=40)]
    weight: Annotated[float, Field(gt=0, le=1e6)] = 1.0
    path: Annotated[
        str, Field(pattern=r"^/[!-~]*$", description="{hot} is a random hot row, {any} a random row of all")
    ]


def _default_requests() -> list[RequestModel]:
    return [RequestModel(name=s.name, weight=s.weight, path=s.path) for s in DEFAULT_WORKLOAD.shapes]


class WorkloadModel(Strict):
    """Open-loop load: Poisson arrivals."""

    rate_rps: Annotated[float, Field(gt=0, le=5000, description="mean arrivals per second")] = (
        DEFAULT_WORKLOAD.rate_rps
    )
    busy_connections: Annotated[
        float | None,
        Field(
            gt=0,
            le=100,
            description="instead of a rate: as many arrivals as keep so many database connections busy on "
            "average (arrival rate x hold time, Little's law), measured in the steady state",
        ),
    ] = None
    requests: Annotated[list[RequestModel], Field(min_length=1, max_length=20)] = Field(
        default_factory=_default_requests
    )

    def workload(self) -> Workload:
        """The workload as the load generator takes it. Raises ChaoslatError for an unknown placeholder."""
        shapes = tuple(Shape(r.name, r.weight, r.path) for r in self.requests)
        return Workload(self.rate_rps, shapes, DEFAULT_WORKLOAD.rows, DEFAULT_WORKLOAD.hot_rows)


class ExperimentModel(Strict):
    """One fault-injection test of a diagnosis."""

    apiVersion: Literal["chaoslat/v1"]
    kind: Literal["Experiment"]
    name: Annotated[
        str, Field(pattern=r"^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$", description="a-z, 0-9 and hyphens")
    ]
    description: Annotated[str, Field(max_length=2000)] = ""
    slo_ms: Annotated[float, Field(ge=1, le=60_000, description="the SLO of a request, in milliseconds")] = (
        DEFAULT_SLO_MS
    )
    workload: WorkloadModel = Field(default_factory=WorkloadModel)
    faults: Annotated[
        list[Any],
        Field(max_length=10, description="names, or {name: {parameter: value}}; no parameters: calibrated"),
    ] = Field(default_factory=list)
    symptom: Annotated[
        Literal["classic", "broken", "none"],
        Field(description="; ".join(f"{k}: {v}" for k, v in SYMPTOMS.items())),
    ] = "classic"
    runbook: Annotated[str, Field(min_length=1, description="a runbook's name or file")] = DEFAULT_RUNBOOK
    expect: Annotated[list[str], Field(max_length=10, description="causes to be found; [none] for none")]
    needs: Annotated[list[str], Field(max_length=20, description="what the machine must offer")] = Field(
        default_factory=list
    )
