"""Read the machine's own apt sources, so that packages come from where the machine's owner decided.

Both formats: one-line (`sources.list`, `*.list`) and deb822 (`*.sources`); see sources.list(5).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

_ONE_LINE = re.compile(
    r"deb\s+(?:\[(?P<options>[^]]*)]\s+)?(?P<uri>\S+)\s+(?P<suite>\S+)\s*(?P<components>.*)"
)


@dataclass(frozen=True, slots=True)
class Source:
    """One entry: where from, what of it, and which keys may sign it ("" is apt's trusted ones).

    `signed_by` is the value as apt reads it: key files, fingerprints, or an embedded key of several lines.
    """

    uris: tuple[str, ...]
    suites: tuple[str, ...]
    components: tuple[str, ...]
    signed_by: str = ""

    def for_suite(self, suite: str) -> Source:
        """The same mirror and keys with another suite, its free main component only."""
        return replace(self, suites=(suite,), components=("main",))

    def deb822(self) -> str:
        """As a stanza for a `.sources` file."""
        fields = {
            "Types": "deb",
            "URIs": " ".join(self.uris),
            "Suites": " ".join(self.suites),
            "Components": " ".join(self.components),
            "Signed-By": self.signed_by,
        }
        return "".join(f"{name}: {value}\n" for name, value in fields.items() if value)


def machine_sources(etc_apt: Path = Path("/etc/apt")) -> tuple[Source, ...]:
    """All enabled binary sources of this machine, in apt's order."""
    lists = [etc_apt / "sources.list", *sorted((etc_apt / "sources.list.d").glob("*.list"))]
    stanzas = sorted((etc_apt / "sources.list.d").glob("*.sources"))
    found = [source for path in lists for source in parse_one_line(_text(path))]
    return tuple(found + [source for path in stanzas for source in parse_deb822(_text(path))])


def of_release(sources: Iterable[Source], suite_names: Iterable[str]) -> tuple[Source, ...]:
    """Those that serve the distribution itself: component main of one of the `suite_names`."""
    wanted = set(suite_names)
    return tuple(s for s in sources if wanted & set(s.suites) and "main" in s.components)


def parse_one_line(text: str) -> list[Source]:
    """Entries of a `.list` file; comments, `deb-src` and media are left out."""
    found = []
    for line in text.splitlines():
        match = _ONE_LINE.fullmatch(line.partition("#")[0].strip())
        if match and _is_online(match["uri"]):
            options = dict(o.split("=", 1) for o in (match["options"] or "").split() if "=" in o)
            signed_by = options.get("signed-by", "").replace(",", " ")
            found.append(
                Source((match["uri"],), (match["suite"],), tuple(match["components"].split()), signed_by)
            )
    return found


def parse_deb822(text: str) -> list[Source]:
    """Entries of a `.sources` file; disabled ones, `deb-src` alone and media are left out."""
    return [source for fields in _stanzas(text) if (source := _from_fields(fields))]


def _from_fields(fields: dict[str, str]) -> Source | None:
    uris = tuple(uri for uri in fields.get("uris", "").split() if _is_online(uri))
    enabled = fields.get("enabled", "yes").strip().lower() not in ("no", "false", "0")
    if not (uris and enabled and "deb" in fields.get("types", "").split()):
        return None
    suites, components = fields.get("suites", "").split(), fields.get("components", "").split()
    return Source(uris, tuple(suites), tuple(components), fields.get("signed-by", ""))


def _stanzas(text: str) -> Iterator[dict[str, str]]:
    uncommented = "\n".join(line for line in text.splitlines() if not line.startswith("#"))
    for block in re.split(r"\n\s*\n", uncommented):
        fields: dict[str, str] = {}
        name = ""
        for line in block.splitlines():
            if line[:1].isspace() and name:
                fields[name] += "\n" + line
            elif ":" in line:
                name, _, value = line.partition(":")
                name = name.strip().lower()
                fields[name] = value.strip()
        if fields:
            yield fields


def _is_online(uri: str) -> bool:
    return re.match(r"(?!cdrom:)[\w+.-]+:", uri) is not None


def _text(path: Path) -> str:
    try:
        return path.read_text(errors="replace")
    except FileNotFoundError:
        return ""
