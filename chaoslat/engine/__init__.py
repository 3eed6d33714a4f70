"""A container engine that a cluster can run on, and the fence that keeps the cluster on this machine.

`ground.lay` lays engine, bridge, fence and network; `kind.Kind` makes a cluster on them; `images` brings images in.
Every change is promised to a ledger first; its undo is in `chaoslat.ledger.undo_engine`.
"""
