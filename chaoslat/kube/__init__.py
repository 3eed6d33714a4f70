"""Kubernetes as an engineer uses it: a client with deadlines and errors that say what to do, manifests, resizing."""
