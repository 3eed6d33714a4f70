"""What nft says that the kernel has is compared with what a fence wants: nothing else passes for it."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from typing import Any

import pytest

from chaoslat.engine.rules import DROPPED, REFUSED, Rule, read, script, wanted

BRIDGE, MAC, SUBNET = "cl0a1b2c3db", "02:63:0a:1b:2c:3d", "198.18.61.0/24"
TABLE = "chaoslat-0a1b2c3d"


def match(left: dict[str, Any], right: Any, op: str = "==") -> dict[str, Any]:
    return {"match": {"op": op, "left": left, "right": right}}


IN, OUT = {"meta": {"key": "iifname"}}, {"meta": {"key": "oifname"}}
TO_US = match({"payload": {"protocol": "ether", "field": "daddr"}}, MAC)
COUNTER = {"counter": {"packets": 3, "bytes": 180}}
REJECT = {"reject": {"type": "icmpx", "expr": "admin-prohibited"}}
FOREIGN = match(
    {"payload": {"protocol": "ip", "field": "saddr"}}, {"prefix": {"addr": "198.18.61.0", "len": 24}}, "!="
)
ANSWERS = match({"ct": {"key": "state"}}, ["established", "related"], "in")
RULES = [
    ("arriving", [match(IN, BRIDGE), match({"meta": {"key": "nfproto"}}, "ipv6"), COUNTER, {"drop": None}]),
    ("arriving", [match(IN, BRIDGE), TO_US, FOREIGN, COUNTER, {"drop": None}]),
    ("arriving", [match(IN, BRIDGE), TO_US, ANSWERS, COUNTER, {"accept": None}]),
    ("arriving", [match(IN, BRIDGE), TO_US, COUNTER, REJECT]),
    ("passing", [match(IN, BRIDGE), match(OUT, BRIDGE, "!="), COUNTER, {"drop": None}]),
    ("passing", [match(IN, BRIDGE, "!="), match(OUT, BRIDGE), COUNTER, {"drop": None}]),
]


def listing() -> dict[str, Any]:
    """As nft 1.0.6 prints a fence."""
    about = {"family": "inet", "table": TABLE}
    chain = {"type": "filter", "policy": "accept", **about}
    return {
        "nftables": [
            {"metainfo": {"version": "1.0.6", "json_schema_version": 1}},
            {"table": {"family": "inet", "name": TABLE, "handle": 1}},
            {"chain": {"name": "arriving", "handle": 1, "hook": "prerouting", "prio": 0, **chain}},
            {"chain": {"name": "passing", "handle": 2, "hook": "forward", "prio": -10, **chain}},
            *(
                {"rule": {"chain": name, "handle": n, "expr": expr, **about}}
                for n, (name, expr) in enumerate(RULES, 3)
            ),
        ]
    }


def kinds(spoilt: dict[str, Any], kind: str) -> list[dict[str, Any]]:
    return [item[kind] for item in spoilt["nftables"] if kind in item]


def test_a_fence_as_nft_prints_it_is_what_we_want() -> None:
    assert read(json.dumps(listing())) == wanted(BRIDGE, MAC, SUBNET)


def test_the_order_of_a_set_does_not_matter() -> None:
    turned = listing()
    kinds(turned, "rule")[2]["expr"][2]["match"]["right"].reverse()
    assert read(json.dumps(turned)) == wanted(BRIDGE, MAC, SUBNET)


def test_counters_are_read_but_not_compared() -> None:
    packets = [rule.packets for chain in read(json.dumps(listing())).values() for rule in chain.rules]
    assert packets == [3] * 6
    assert Rule(frozenset(), DROPPED, 1) == Rule(frozenset(), DROPPED, 2)


def drop_the_refusal(spoilt: dict[str, Any]) -> None:
    spoilt["nftables"] = [item for item in spoilt["nftables"] if item.get("rule", {}).get("handle") != 6]


def accept_first(spoilt: dict[str, Any]) -> None:
    rule = {"chain": "arriving", "expr": [{"accept": None}]}
    spoilt["nftables"].insert(4, {"rule": rule})


def jump_away(spoilt: dict[str, Any]) -> None:
    kinds(spoilt, "rule")[3]["expr"][-1] = {"jump": {"target": "elsewhere"}}


def accept_instead(spoilt: dict[str, Any]) -> None:
    kinds(spoilt, "rule")[3]["expr"][-1] = {"accept": None}


def another_bridge(spoilt: dict[str, Any]) -> None:
    kinds(spoilt, "rule")[3]["expr"][0] = match(IN, "docker0")


def only_tcp(spoilt: dict[str, Any]) -> None:
    kinds(spoilt, "rule")[3]["expr"].insert(2, match({"meta": {"key": "l4proto"}}, "tcp"))


def answers_to_anything(spoilt: dict[str, Any]) -> None:
    kinds(spoilt, "rule")[2]["expr"][2]["match"]["right"].append("new")


def another_hook(spoilt: dict[str, Any]) -> None:
    kinds(spoilt, "chain")[0]["hook"] = "output"


def no_hook(spoilt: dict[str, Any]) -> None:
    del kinds(spoilt, "chain")[0]["hook"]


def late(spoilt: dict[str, Any]) -> None:
    kinds(spoilt, "chain")[1]["prio"] = 10


def asleep(spoilt: dict[str, Any]) -> None:
    kinds(spoilt, "table")[0]["flags"] = ["dormant"]


def without_the_second_chain(spoilt: dict[str, Any]) -> None:
    spoilt["nftables"] = spoilt["nftables"][:3] + spoilt["nftables"][4:]


@pytest.mark.parametrize(
    "spoil",
    [
        drop_the_refusal,
        accept_first,
        jump_away,
        accept_instead,
        another_bridge,
        only_tcp,
        answers_to_anything,
        another_hook,
        no_hook,
        late,
        asleep,
        without_the_second_chain,
    ],
)
def test_what_was_changed_is_not_taken_for_a_fence(spoil: Callable[[dict[str, Any]], None]) -> None:
    spoilt = copy.deepcopy(listing())
    spoil(spoilt)
    assert read(json.dumps(spoilt)) != wanted(BRIDGE, MAC, SUBNET)


@pytest.mark.parametrize("text", ["", "no json", "{}", '{"nftables": [{"chain": {}}]}'])
def test_what_nft_does_not_print_is_an_error(text: str) -> None:
    with pytest.raises((ValueError, KeyError)):
        read(text)


def test_the_script_names_all_that_is_wanted() -> None:
    text = script(TABLE, BRIDGE, MAC, SUBNET)
    assert text.count("add rule") == sum(len(chain.rules) for chain in wanted(BRIDGE, MAC, SUBNET).values())
    assert all(word in text for word in (TABLE, BRIDGE, MAC, SUBNET, "reject with icmpx admin-prohibited"))


def test_a_fence_refuses_and_drops_and_accepts_only_answers() -> None:
    verdicts = {rule.then for chain in wanted(BRIDGE, MAC, SUBNET).values() for rule in chain.rules}
    accepted = [
        rule
        for chain in wanted(BRIDGE, MAC, SUBNET).values()
        for rule in chain.rules
        if rule.then == "accept"
    ]
    assert verdicts == {REFUSED, DROPPED, "accept"}
    assert [sorted(rule.when)[0] for rule in accepted] == ["ct state in established,related"]
