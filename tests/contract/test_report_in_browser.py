"""The HTML report in a real browser: no complaint, nothing from elsewhere, every figure there, light, dark, narrow."""

from pathlib import Path

import pytest

from chaoslat.report.html import write
from chaoslat.score import check, parse_gate, read, scores
from tests.browser import CHROMIUM, page

RECORDED = Path(__file__).parents[2] / "fixtures" / "recordings" / "trials"

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no chromium is installed (Debian: chromium)")

SIZES = """[...document.querySelectorAll("svg")].map(svg => {
  const box = svg.getBoundingClientRect();
  return [box.width, box.height, svg.querySelectorAll("path, line, rect, circle").length];
})"""
HOLLOW_LINES = (
    """[...document.querySelectorAll("svg path")].filter(path => path.getTotalLength() < 5).length"""
)
DEAD_LINKS = """[...document.querySelectorAll('a[href^="#"]')]
  .filter(link => !document.getElementById(link.getAttribute("href").slice(1))).length"""
CONTRASTS = """(() => {
  const luminance = colour => {
    const parts = colour.match(/[\\d.]+/g).slice(0, 3).map(Number)
      .map(part => part / 255).map(part => part <= 0.03928 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4);
    return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2];
  };
  const ground = luminance(getComputedStyle(document.body).backgroundColor);
  return ["p", ".note", "figcaption", "a", "thead th"].map(name => {
    const ink = luminance(getComputedStyle(document.querySelector(name)).color);
    return (Math.max(ink, ground) + 0.05) / (Math.min(ink, ground) + 0.05);
  });
})()"""


@pytest.fixture(scope="module")
def url(tmp_path_factory):
    """The report of the recorded trials, as a file."""
    found = read([RECORDED])
    path = tmp_path_factory.mktemp("report") / "report.html"
    write(found, path, check(parse_gate("recall=0.9,false-alarms=5%"), scores(found.trials)))
    return path.as_uri()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 390])
async def test_no_complaint_nothing_from_elsewhere_and_every_figure(url, scheme, width):
    async with page(url, width=width, scheme=scheme) as seen:
        sizes = await seen.run(SIZES)
        assert seen.complaints == []
        assert {address.partition(":")[0] for address in seen.requested} <= {"file", "data"}
        assert len(sizes) >= 5 * 2 + 2  # a timeline and the phases of each trial, and the settings of some
        assert all(wide > 50 and high > 10 and marks for wide, high, marks in sizes)
        assert await seen.run(HOLLOW_LINES) == 0
        assert await seen.run(DEAD_LINKS) == 0
        assert await seen.run("document.documentElement.scrollWidth <= innerWidth")


@pytest.mark.parametrize("scheme", ["light", "dark"])
async def test_words_stand_out_from_their_ground(url, scheme):
    """WCAG 2.1, level AA: a contrast of 4.5 for text."""
    async with page(url, scheme=scheme) as seen:
        assert min(await seen.run(CONTRASTS)) >= 4.5
        ground = await seen.run("getComputedStyle(document.body).backgroundColor")
        assert (ground == "rgb(255, 255, 255)") == (scheme == "light")


async def test_print_is_light_and_shows_what_is_folded(url):
    async with page(url, scheme="dark", media="print") as seen:
        assert await seen.run("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
        folded = "[...document.querySelectorAll('details table')].map(t => t.getBoundingClientRect().height)"
        assert all(height > 20 for height in await seen.run(folded))
