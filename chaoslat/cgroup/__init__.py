"""cgroup v1 and v2 behind one protocol."""

from chaoslat.cgroup.base import CgroupTree, MemoryReading
from chaoslat.cgroup.detect import detect

__all__ = ["CgroupTree", "MemoryReading", "detect"]
