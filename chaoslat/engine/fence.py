"""The fence round a cluster's network: nothing of it leaves this machine.

Three things, each enough by itself for most of what could go wrong: the bridge has no physical port, nothing
masquerades its addresses (which are from the range for benchmarks, so that no router would know the way back), and a
table of firewall rules of its own refuses every packet that wants out. The table stands beside whatever an engine or
an administrator has there, and is removed in one piece. No node is started before it was read back.
"""

from __future__ import annotations

from dataclasses import dataclass

from chaoslat.engine import rules
from chaoslat.engine.run import run_tool
from chaoslat.errors import ChaoslatError, EnvironmentMissing


class Unfenced(ChaoslatError):
    """The rules that keep a cluster on this machine are not there; no node may run."""


@dataclass(frozen=True, slots=True)
class Fence:
    """`table` is the name of the firewall's table; `mac` the bridge's own address; `subnet` as 198.18.7.0/24."""

    table: str
    bridge: str
    mac: str
    subnet: str

    def put_up(self) -> None:
        """Add the rules and read them back; up already is fine. Raises EnvironmentMissing, Unfenced."""
        if self.missing() == "":
            return
        self.take_down()
        run_tool("nft", "-f", "-", stdin=rules.script(self.table, self.bridge, self.mac, self.subnet))
        self.verify()

    def verify(self) -> None:
        """Raises Unfenced unless the kernel has exactly the rules that we want."""
        missing = self.missing()
        if missing:
            raise Unfenced(
                "The cluster's network is not fenced, so no node is started",
                where=f"nft list table inet {self.table}",
                why=missing,
                fix="look who changes the firewall, then run again",
            )

    def missing(self) -> str:
        """What is wrong with the rules as the kernel has them; "" when nothing is."""
        try:
            found = rules.read(run_tool("nft", "-j", "list", "table", "inet", self.table))
        except EnvironmentMissing as error:
            return error.why or error.what
        except (ValueError, KeyError, TypeError) as error:
            return f"nft's answer was not understood: {error!r}"
        wanted = rules.wanted(self.bridge, self.mac, self.subnet)
        wrong = [name for name in wanted.keys() | found.keys() if wanted.get(name) != found.get(name)]
        return f"not as they should be: {', '.join(sorted(wrong))}" if wrong else ""

    def stopped_packets(self) -> int:
        """How many packets the fence has refused or dropped so far. Raises EnvironmentMissing when it is not up."""
        chains = rules.read(run_tool("nft", "-j", "list", "table", "inet", self.table))
        verdicts = (rules.REFUSED, rules.DROPPED)
        return sum(one.packets for chain in chains.values() for one in chain.rules if one.then in verdicts)

    def take_down(self) -> None:
        """Remove the rules; none there is fine."""
        take_down(self.table)


def take_down(table: str) -> None:
    """Remove a fence's table; none there is fine. Raises EnvironmentMissing when nft refuses."""
    if table in tables():
        run_tool("nft", "delete", "table", "inet", table)


def tables() -> list[str]:
    """The firewall tables of the family that fences are made in, whoever made them."""
    words = [line.split() for line in run_tool("nft", "list", "tables").splitlines()]
    return [row[2] for row in words if row[:2] == ["table", "inet"]]
