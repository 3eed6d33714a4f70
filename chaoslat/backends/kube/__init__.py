"""A cluster that exists: a system of ours in a namespace of it, or somebody's workload, through its API alone."""

from chaoslat.backends.kube.backend import KubeBackend

__all__ = ["KubeBackend"]
