"""The process that leaks memory cgroups and lives only for that. Reads its order as JSON from standard input.

Imports next to nothing, so that little of its own memory is charged on the way.
"""

import json
import os
import sys

PAGE = b"\0" * 4096


def main() -> None:
    order = json.load(sys.stdin)
    numbers = range(order["first"], order["first"] + order["count"])
    previous = ""
    for number in numbers:
        cgroup = f"{order['nursery']}/{number}"
        os.mkdir(cgroup)
        enter(f"{cgroup}/cgroup.procs")
        if previous:
            os.rmdir(previous)
        write_page(order["volume"], number, order["pods_per_volume"])
        previous = cgroup
    enter(order["home"])
    if previous:
        os.rmdir(previous)


def enter(procs_file: str) -> None:
    """ "0" stands for the process that writes."""
    fd = os.open(procs_file, os.O_WRONLY)
    os.write(fd, b"0")
    os.close(fd)


def write_page(volume: str, number: int, pods_per_volume: int) -> None:
    folder = f"{volume}/{number // pods_per_volume:04d}"
    if number % pods_per_volume == 0:
        os.makedirs(folder, exist_ok=True)
    fd = os.open(f"{folder}/{number:06d}", os.O_WRONLY | os.O_CREAT, 0o600)
    os.write(fd, PAGE)
    os.close(fd)


main()
