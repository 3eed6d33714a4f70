"""Files that are no runbook are refused in words, whatever is in them; and no load is no symptom to speak of."""

import os
from types import SimpleNamespace

import pytest

from chaoslat.errors import ChaoslatError
from chaoslat.model import Outcome
from chaoslat.runbooks import load
from chaoslat.runbooks.base import Case
from chaoslat.runbooks.symptom import STEP, SymptomParams
from tests.doubles import VirtualTime, requests

HEAD = "apiVersion: chaoslat/v1\nkind: Runbook\nname: x\nsteps:\n"


@pytest.mark.parametrize(
    "text",
    [
        "[" * 50_000,
        'a: "\\UFFFFFFFF"',
        "a: 2026-13-45",
        "a: " + "9" * 6000,
        "a: !!int zz",
        HEAD.replace("v1", "v999") + "  - symptom\n",
        HEAD + "  - symptom: {window_s: -1}\n",
        HEAD + "  - symptom: {window_s: .nan}\n",
        HEAD + "  - symptom: {window_s: 1.0e308}\n",
        HEAD + "  - symptom: {window_s: 20, at_most_s: 5}\n",
        "",
    ],
)
def test_a_bad_runbook_is_refused(tmp_path, text):
    path = tmp_path / "runbook.yaml"
    path.write_text(text)
    with pytest.raises(ChaoslatError):
        load(str(path))


def test_what_is_no_file_is_refused_at_once(tmp_path):
    os.mkfifo(tmp_path / "pipe.yaml")
    (tmp_path / "zero.yaml").symlink_to("/dev/zero")
    for name in ("pipe.yaml", "zero.yaml"):
        with pytest.raises(ChaoslatError):
            load(str(tmp_path / name))


class Silent(VirtualTime):
    """Unit-test double: an operator of a system whose load is gone."""

    async def requests(self, since_s, until_s):
        return requests([])


class Watching(Case):
    async def observe(self, duration_s):
        start_s = self.operator.now_s()
        await self.operator.sleep(duration_s)

        seen = await self.operator.requests(start_s, self.operator.now_s())
        self.windows.append(SimpleNamespace(requests=seen, since_s=start_s, until_s=self.operator.now_s()))
        return self.window


async def test_without_load_the_symptom_is_inconclusive_and_ends_the_ladder():
    case = Watching(Silent(), 30.0, None, lambda _line: None, lambda _kind, _data: None)
    found = await STEP.run(case, SymptomParams())
    assert found.outcome is Outcome.INCONCLUSIVE
    assert found.settles
