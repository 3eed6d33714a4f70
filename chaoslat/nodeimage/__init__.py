"""The node image and the workload images of a cluster, built from package registries only; cached by their inputs.

`python -m chaoslat.nodeimage build` makes what is missing, `check` says what is there. What goes into them is in
clusters/node-image.
"""

from chaoslat.nodeimage.catalogue import build, catalogue, image, program, store

__all__ = ["build", "catalogue", "image", "program", "store"]
