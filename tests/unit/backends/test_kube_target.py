"""What somebody asks of a diagnosis of their workload: what cannot be asked is told before anything is done."""

from __future__ import annotations

import pytest
from kubernetes.client import V1LabelSelector, V1LabelSelectorRequirement

from chaoslat.backends.kube import diagnosing, workload
from chaoslat.backends.kube.target import Target
from chaoslat.errors import UsageError
from chaoslat.kube.access import Mode


def target(**given):
    return Target(**{"workload": "deployment/app", "url": "http://127.0.0.1:8080/q?id=1", **given})


class TestUrl:
    def test_path_and_query_are_asked(self):
        (shape,) = target().load().shapes
        assert shape.path == "/q?id=1"
        assert target().where().port == 8080

    def test_no_path_is_the_root(self):
        assert target(url="http://shop.example").load().shapes[0].path == "/"

    @pytest.mark.parametrize(
        "url", ["https://shop.example/", "shop.example", "http://:80/", "http://a:b/", ""]
    )
    def test_what_the_load_generator_cannot_ask_is_refused(self, url):
        with pytest.raises(UsageError, match="cannot be asked"):
            target(url=url).where()


class TestDatabase:
    def test_address_and_schema(self):
        asked = target(database="db.shop:3306/shop", user="me", password="secret")
        address = asked.database_address()
        assert (address.host, address.port, address.user) == ("db.shop", 3306, "me")
        assert asked.schema == "shop"

    def test_none_was_said(self):
        assert target().database_address() is None

    @pytest.mark.parametrize("text", ["db", "db:/shop", ":3306", "db:port/shop"])
    def test_a_bad_one_is_refused(self, text):
        with pytest.raises(UsageError, match="no address"):
            target(database=text).database_address()


class TestModes:
    def test_looking_asks_for_looking_only(self):
        assert diagnosing.modes(target()) == (Mode.READ,)

    def test_a_debug_container_and_interventions_ask_for_theirs(self):
        asked = target(database="db:3306", tools_image="tools", allow=True)
        assert diagnosing.modes(asked) == (Mode.READ, Mode.DEBUG, Mode.INTERVENE)


class TestWorkload:
    def test_kind_and_name(self):
        assert workload.parse("statefulset/db") == ("statefulset", "db")

    @pytest.mark.parametrize("text", ["app", "deployment/", "job/x", "deployment/a/b"])
    def test_a_bad_one_is_refused(self, text):
        with pytest.raises(UsageError, match="no workload"):
            workload.parse(text)

    def test_a_selector_in_words(self):
        def requirement(operator, *values):
            return V1LabelSelectorRequirement(key="tier", operator=operator, values=list(values))

        selector = V1LabelSelector(
            match_labels={"app": "a"},
            match_expressions=[
                requirement("In", "x", "y"),
                requirement("NotIn", "z"),
                requirement("Exists"),
                requirement("DoesNotExist"),
            ],
        )
        words = workload.selector_text(selector)
        assert words == "app=a,tier in (x,y),tier notin (z),tier,!tier"
