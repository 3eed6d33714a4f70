"""Parsers of the probes: recorded text as the tools print it, and garbage, which must not get past as a figure."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chaoslat.errors import SystemLost
from chaoslat.model import PoolState, StatementStats
from chaoslat.probes.app_metrics import parse as parse_metrics
from chaoslat.probes.db_process import cpu_times_s
from chaoslat.probes.fresh_connect import min_rtt_ms
from chaoslat.probes.node_cpu import parse as parse_stat
from chaoslat.probes.noop import parse as parse_reply
from chaoslat.probes.noop import server_mean_ms
from chaoslat.probes.pool import parse as parse_pool
from chaoslat.probes.sockets import parse as parse_sockets

DATA = Path(__file__).parent / "data"
GARBAGE = st.text() | st.binary().map(lambda data: data.decode(errors="replace"))
SS = (DATA / "ss-tinp.txt").read_text()  # of a real run: node with pid 16241, and the prober
METRICS = (DATA / "metrics.txt").read_text()
NODE_PID = 16241


class TestSockets:
    def test_reads_the_app_sockets_and_not_the_provers(self) -> None:
        found = parse_sockets(SS, NODE_PID)
        assert [info.local.rpartition(":")[2] for info in found] == ["40938", "40946", "40966", "40980"]
        assert {info.peer for info in found} == {"127.0.0.1:44399"}

    def test_reads_each_figure(self) -> None:
        info = parse_sockets(SS, NODE_PID)[0]
        assert (info.rtt_ms, info.rttvar_ms, info.minrtt_ms) == (0.284, 0.071, 0.029)
        assert (info.cwnd, info.retrans) == (18, 0)

    def test_retransmissions_are_the_total_that_ss_prints_when_there_are_any(self) -> None:
        assert (
            parse_sockets(SS.replace("delivered:414", "retrans:0/3 delivered:414"), NODE_PID)[0].retrans == 3
        )

    def test_a_pid_that_only_begins_alike_is_another_process(self) -> None:
        assert parse_sockets(SS, NODE_PID // 10) == ()

    @given(GARBAGE)
    def test_garbage_gives_no_socket(self, text: str) -> None:
        assert parse_sockets(text, NODE_PID) == ()

    @given(st.integers(0, 600))
    def test_a_line_cut_anywhere_never_raises(self, length: int) -> None:
        line = SS.splitlines()[0]
        assert len(parse_sockets(line[:length], NODE_PID)) <= 1


class TestAppMetrics:
    def test_reads_the_recorded_scrape(self) -> None:
        seen = parse_metrics(METRICS)
        assert (seen.acquire_count, seen.query_count) == (291, 993)
        assert seen.acquire_sum_ms == pytest.approx(33.126, abs=0.001)
        assert seen.query_sum_ms == pytest.approx(611.065, abs=0.001)
        assert seen.loop_delay_p99_ms == pytest.approx(1.3935, abs=0.0001)
        assert seen.loop_delay_max_ms == pytest.approx(1.8461, abs=0.0001)
        assert seen.gc_sum_ms == pytest.approx(35.942 + 2.512 + 0.441, abs=0.001)
        assert seen.heap_bytes == 17_320_080

    @pytest.mark.parametrize(
        "name",
        [
            "db_pool_acquire_seconds_count",
            "db_query_seconds_sum",
            "event_loop_lag_seconds",
            "process_memory_bytes",
        ],
    )
    def test_a_missing_figure_is_named(self, name: str) -> None:
        lines = METRICS.splitlines(keepends=True)
        with pytest.raises(SystemLost, match=name):
            parse_metrics("".join(line for line in lines if not line.startswith(name)))

    def test_not_a_number_is_no_figure(self) -> None:
        with pytest.raises(SystemLost, match="db_query_seconds_sum"):
            parse_metrics(re.sub(r"db_query_seconds_sum \S+", "db_query_seconds_sum NaN", METRICS))

    @given(GARBAGE)
    def test_garbage_is_refused(self, text: str) -> None:
        with pytest.raises(SystemLost):
            parse_metrics(text)


class TestPool:
    def test_reads_the_state(self) -> None:
        body = json.dumps({"max": 10, "open": 4, "in_use": 2, "idle": 2, "waiting": 0})
        assert parse_pool(body) == PoolState(max=10, open=4, in_use=2, waiting=0)

    @pytest.mark.parametrize(
        "body", ["", "[]", "{}", "null", '{"max": "many", "open": 1, "in_use": 1, "waiting": 0}']
    )
    def test_something_else_is_refused(self, body: str) -> None:
        with pytest.raises(SystemLost, match="not a pool's state"):
            parse_pool(body)

    @given(GARBAGE)
    def test_garbage_is_refused(self, text: str) -> None:
        with pytest.raises(SystemLost):
            parse_pool(text)


class TestFreshConnect:
    def test_min_rtt_is_the_field_that_the_kernel_writes(self) -> None:
        tcp_info = bytes(148) + (20_400).to_bytes(4, "little") + bytes(80)
        assert min_rtt_ms(tcp_info) == 20.4

    @pytest.mark.parametrize("tcp_info", [b"", bytes(151), bytes(148) + b"\xff" * 4])
    def test_a_kernel_that_does_not_know_it_gives_zero(self, tcp_info: bytes) -> None:
        assert min_rtt_ms(tcp_info) == 0.0


class TestNodeCpu:
    TEXT = "cpu  100 10 50 1000 20 3 7 40 5 0\ncpu0 50 5 25 500 10 1 3 20 2 0\ncpu1 50 5 25 500 10 2 4 20 3 0\nintr 1\n"

    def test_sums_busy_idle_and_stolen_time(self) -> None:
        seen = parse_stat(self.TEXT)
        assert (seen.busy_s, seen.idle_s, seen.steal_s, seen.cores) == (1.70, 10.20, 0.40, 2)

    @given(GARBAGE)
    def test_garbage_is_refused(self, text: str) -> None:
        with pytest.raises(SystemLost):
            parse_stat(text)


class TestDbProcess:
    def test_the_name_may_hold_brackets_and_spaces(self) -> None:
        stat = "4242 (my (sql) d 1) S 1 4242 4242 0 -1 4194304 9 0 0 0 250 75 0 0 20 0 26 0 12345 0"
        assert cpu_times_s(stat) == (2.5, 0.75)

    @given(GARBAGE)
    def test_garbage_is_refused(self, text: str) -> None:
        with pytest.raises(SystemLost):
            cpu_times_s(text)


class TestNoop:
    def stats(self, count: int, wait_ms: float) -> StatementStats:
        return StatementStats("DO ?", count, wait_ms, 0.0, 0.0, 0)

    def test_server_time_is_the_mean_of_the_difference(self) -> None:
        assert server_mean_ms(self.stats(100, 5.0), self.stats(150, 7.0)) == pytest.approx(0.04)

    def test_the_first_noop_ever_has_no_reading_before(self) -> None:
        assert server_mean_ms(None, self.stats(10, 1.0)) == pytest.approx(0.1)

    @pytest.mark.parametrize(("count", "wait_ms"), [(100, 5.0), (50, 2.0), (150, 4.0)])
    def test_counters_that_stood_still_or_were_reset_give_zero(self, count: int, wait_ms: float) -> None:
        assert server_mean_ms(self.stats(100, 5.0), self.stats(count, wait_ms)) == 0.0

    def test_not_counted_gives_zero(self) -> None:
        assert server_mean_ms(None, None) == 0.0

    def test_the_provers_error_is_passed_on(self) -> None:
        with pytest.raises(ValueError, match="connection refused"):
            parse_reply(b'{"error": "connection refused"}\n')
