"""The cluster's API, through a kubeconfig of our own: every call has a deadline and one kind of error."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

import urllib3
from kubernetes import client, config
from kubernetes.client.exceptions import ApiException
from kubernetes.config.config_exception import ConfigException
from yaml import YAMLError  # type: ignore[import-untyped]

from chaoslat.errors import EnvironmentMissing, SystemLost

DEADLINE_S = 10.0
T = TypeVar("T")


@dataclass(frozen=True)
class KubeClient:
    """One namespace of one cluster. `kubeconfig` is never the user's own unless they named it."""

    kubeconfig: Path
    namespace: str
    context: str | None = None

    @cached_property
    def api(self) -> Any:
        """The generic client. Raises EnvironmentMissing when the kubeconfig cannot be used."""
        found = client.Configuration()
        found.retries = False  # a lost server is told at once; who waits, waits by a deadline
        try:
            config.load_kube_config(str(self.kubeconfig), self.context, client_configuration=found)  # type: ignore[no-untyped-call]
        except (ConfigException, YAMLError, OSError) as error:
            raise EnvironmentMissing(
                "The kubeconfig cannot be used", where=str(self.kubeconfig), why=str(error)
            ) from error
        return client.ApiClient(found)

    @cached_property
    def core(self) -> Any:
        return client.CoreV1Api(self.api)

    @cached_property
    def apps(self) -> Any:
        return client.AppsV1Api(self.api)

    def call(self, act: Callable[..., T], *args: Any, **named: Any) -> T:
        """`act(*args, **named)` with the deadline. Raises SystemLost when the API refuses or does not answer."""
        try:
            return act(*args, _request_timeout=DEADLINE_S, **named)
        except ApiException as error:
            raise SystemLost(
                f"The cluster refused {act.__name__}",
                where=f"{', '.join(map(str, args))} ({self.namespace})",
                why=reason(error),
            ) from error
        except (urllib3.exceptions.HTTPError, OSError) as error:
            raise SystemLost(
                "The API server does not answer",
                where=str(self.api.configuration.host),
                why=str(error),
                fix=f"kubectl --kubeconfig {self.kubeconfig} get --raw /readyz",
            ) from error

    def close(self) -> None:
        """Drop the connections."""
        if "api" in self.__dict__:
            self.api.close()


def reason(error: ApiException) -> str:
    """What the API server says in its answer, else the status."""
    try:
        return str(json.loads(error.body or "")["message"])
    except (TypeError, ValueError, KeyError):
        return f"{error.status} {error.reason}"
