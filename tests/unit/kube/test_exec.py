"""Why an exec failed, as real streams ended; what a container shows of its CPU limit."""

from __future__ import annotations

import pytest

from chaoslat.kube.exec import failure, refusal
from chaoslat.kube.inside import CpuLimit, parse, parse_cpu
from chaoslat.model import CgroupCpu
from tests.kube_recordings import read

ENDED = read("exec.json")


class TestFailure:
    def test_none_when_the_program_succeeded(self) -> None:
        assert failure(**ENDED["cat /etc/passwd"]) == ""

    def test_the_programs_own_words(self) -> None:
        why = failure(**ENDED["sh -c echo oh no >&2; exit 3"])
        assert "exit code" in why
        assert why.endswith("; oh no")

    def test_a_program_that_is_not_there(self) -> None:
        assert "executable file not found" in failure(**ENDED["nosuch"])

    def test_a_program_that_was_killed(self) -> None:
        assert "137" in failure(**ENDED["sh -c kill -9 $$"])

    @pytest.mark.parametrize("status", ["", "{", "null"])
    def test_a_stream_that_was_cut(self, status: str) -> None:
        assert "cut" in failure(status, "half a line")


class TestRefusal:
    def test_the_api_servers_sentence(self) -> None:
        text = (
            "Handshake status 400 Bad Request -+-+- {'content-type': 'application/json'} -+-+- "
            '{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"container x is not valid '
            'for pod app-1","reason":"BadRequest","code":400}\n'
        )
        assert refusal(text) == "container x is not valid for pod app-1"

    def test_anything_else_as_it_is(self) -> None:
        assert refusal("[Errno 111] Connection refused\n") == "[Errno 111] Connection refused"


class TestCpuLimit:
    def test_of_a_real_container(self) -> None:
        assert parse(read("inside.json")["v1"]) == CpuLimit(150_000, 100_000)

    @pytest.mark.parametrize(
        ("text", "limit", "cores"),
        [
            ("max 100000\n", CpuLimit(None, 100_000), None),
            ("20000 100000\n", CpuLimit(20_000, 100_000), 0.2),
            ("-1\n100000\n", CpuLimit(None, 100_000), None),
            ("5000\n10000\n", CpuLimit(5_000, 10_000), 0.5),
        ],
    )
    def test_of_both_versions(self, text: str, limit: CpuLimit, cores: float | None) -> None:
        assert parse(text) == limit
        assert limit.cores == cores

    @pytest.mark.parametrize("text", ["", "20000", "a b", "1 2 3"])
    def test_anything_else_is_refused(self, text: str) -> None:
        with pytest.raises(ValueError):
            parse(text)


class TestCountersInside:
    def test_version_1(self):
        text = "15000\n100000\nnr_periods 50\nnr_throttled 7\nthrottled_time 2500000000\n12000000000\n"
        assert parse_cpu(text, "pod/app") == CgroupCpu("pod/app", 15_000, 100_000, 50, 7, 2.5, 12.0)

    def test_version_2(self):
        text = (
            "max 100000\nusage_usec 1500000\nuser_usec 1000000\nsystem_usec 500000\n"
            "nr_periods 0\nnr_throttled 0\nthrottled_usec 0\nnr_bursts 0\nburst_usec 0\n"
        )
        assert parse_cpu(text, "pod/app") == CgroupCpu("pod/app", None, 100_000, 0, 0, 0.0, 1.5)

    def test_a_limit_of_version_2(self):
        text = "20000 100000\nusage_usec 1500000\nnr_periods 9\nnr_throttled 3\nthrottled_usec 250000\n"
        assert parse_cpu(text, "pod/app") == CgroupCpu("pod/app", 20_000, 100_000, 9, 3, 0.25, 1.5)

    @pytest.mark.parametrize("text", ["", "cat: no such file", "20000 100000\nnr_periods 1\n"])
    def test_something_else_is_told(self, text):
        with pytest.raises((ValueError, KeyError)):
            parse_cpu(text, "pod/app")
