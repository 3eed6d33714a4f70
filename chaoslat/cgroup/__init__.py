"""cgroup v1 and v2 behind one protocol."""

from chaoslat.cgroup.base import CgroupTree, MemoryReading

__all__ = ["CgroupTree", "MemoryReading"]
