"""The firewall rules of a fence: written for nft, and read back from what nft says that the kernel has.

`Rule` is a rule without what does not matter (its handle, its counter), so that written and read can be compared.
JSON: libnftables-json(5).
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

REFUSED = "refused"
DROPPED = "dropped"


@dataclass(frozen=True, slots=True)
class Rule:
    """`when` are its conditions, all of which must hold, as text; `then` its verdict. `packets`: how many it met."""

    when: frozenset[str]
    then: str
    packets: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class Chain:
    """A base chain: `hook` says which packets come by, `priority` who sees them first; its rules in order."""

    hook: str
    priority: int
    rules: tuple[Rule, ...]
    policy: str = "accept"


def script(table: str, bridge: str, mac: str, subnet: str) -> str:
    """What nft is told. Added in one transaction: all rules are there or none.

    A packet of the bridge that is addressed to this machine's own MAC wants to get out, or into this machine: it is
    refused, unless it answers one that came from here. An address that is not of the subnet is not even answered,
    for the answer would look for it outside; nor is IPv6, which the network does not have. Packets between nodes
    carry the MAC of a node, and pass. The second chain stands behind the first, for what is routed all the same.
    """
    to_us = f'iifname "{bridge}" ether daddr {mac}'
    return f"""
add table inet {table}
add chain inet {table} arriving {{ type filter hook prerouting priority 0; policy accept; }}
add rule inet {table} arriving iifname "{bridge}" meta nfproto ipv6 counter drop
add rule inet {table} arriving {to_us} ip saddr != {subnet} counter drop
add rule inet {table} arriving {to_us} ct state established,related counter accept
add rule inet {table} arriving {to_us} counter reject with icmpx admin-prohibited
add chain inet {table} passing {{ type filter hook forward priority -10; policy accept; }}
add rule inet {table} passing iifname "{bridge}" oifname != "{bridge}" counter drop
add rule inet {table} passing iifname != "{bridge}" oifname "{bridge}" counter drop
"""


def wanted(bridge: str, mac: str, subnet: str) -> Mapping[str, Chain]:
    """What `script` makes, as `read` reads it."""
    on_bridge, to_us = f"meta iifname == {bridge}", f"ether daddr == {mac}"
    arriving = (
        Rule(frozenset({on_bridge, "meta nfproto == ipv6"}), DROPPED),
        Rule(frozenset({on_bridge, to_us, f"ip saddr != {subnet}"}), DROPPED),
        Rule(frozenset({on_bridge, to_us, "ct state in established,related"}), "accept"),
        Rule(frozenset({on_bridge, to_us}), REFUSED),
    )
    passing = (
        Rule(frozenset({on_bridge, f"meta oifname != {bridge}"}), DROPPED),
        Rule(frozenset({f"meta iifname != {bridge}", f"meta oifname == {bridge}"}), DROPPED),
    )
    return {"arriving": Chain("prerouting", 0, arriving), "passing": Chain("forward", -10, passing)}


def read(text: str) -> Mapping[str, Chain]:
    """The chains of what `nft -j list table` printed. A table that is dormant has none.

    Raises ValueError when it is not what nft prints.
    """
    items = json.loads(text)["nftables"]
    if any("dormant" in str(item["table"].get("flags", "")) for item in items if "table" in item):
        return {}
    chains = [item["chain"] for item in items if "chain" in item]
    rules = [item["rule"] for item in items if "rule" in item]
    return {
        chain["name"]: Chain(
            chain.get("hook", ""),
            int(chain.get("prio", 0)),
            tuple(_rule(rule["expr"]) for rule in rules if rule["chain"] == chain["name"]),
            chain.get("policy", ""),
        )
        for chain in chains
    }


def _rule(expressions: Sequence[Mapping[str, Any]]) -> Rule:
    conditions = frozenset(_condition(one["match"]) for one in expressions if "match" in one)
    packets = sum(one["counter"]["packets"] for one in expressions if "counter" in one)
    return Rule(conditions, ", ".join(_verdicts(expressions)), packets)


def _verdicts(expressions: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """What is no condition and no counter; an unknown one shows, and so is never taken for one of ours."""
    names = {"reject": REFUSED, "drop": DROPPED}
    for one in expressions:
        yield from (names.get(name, name) for name in one if name not in ("match", "counter"))


def _condition(match: Mapping[str, Any]) -> str:
    return f"{_left(match['left'])} {match['op']} {_right(match['right'])}"


def _left(left: Mapping[str, Any]) -> str:
    kind, what = next(iter(left.items()))
    if kind == "payload":
        return f"{what['protocol']} {what['field']}"
    return f"{kind} {what['key']}"


def _right(right: Any) -> str:
    if isinstance(right, list):
        return ",".join(sorted(str(one) for one in right))
    if isinstance(right, dict) and "prefix" in right:
        return f"{right['prefix']['addr']}/{right['prefix']['len']}"
    return str(right)
