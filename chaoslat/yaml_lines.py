"""YAML for people: plain data, with the line of every key, and a plain error for every bad file.

Only what an experiment or a runbook needs: mappings with text keys, lists, and scalars of YAML 1.2's core
schema. No anchors, aliases, tags or second documents: that is where YAML surprises (or bombs).
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from chaoslat.errors import ExperimentError

MAX_BYTES = 100_000
MAX_DEPTH = 20
MAX_DIGITS = 30

Location = tuple[str | int, ...]
"""Where a value is: keys and list positions from the top."""


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that is wrong in a file: line (from 1), key, and what was found and is allowed."""

    line: int
    key: str
    says: str


class BadFile(ExperimentError):
    """A file that cannot be used, with all that is wrong with it."""

    def __init__(
        self, path: str, problems: list[Problem], *, kind: str = "experiment", fix: str = ""
    ) -> None:
        self.path, self.problems = path, tuple(problems)
        count = f" ({len(problems)} problems)" if len(problems) > 1 else ""
        lines = [f"{path}:{p.line}: {p.key + ': ' if p.key else ''}{p.says}" for p in problems]
        super().__init__(f"{path} is not a valid {kind}{count}", where="\n         ".join(lines), fix=fix)


@dataclass(frozen=True, slots=True)
class Document:
    """The data of one file, and the line on which each value's key (or list item) stands."""

    data: Any
    lines: Mapping[Location, int] = field(default_factory=dict)

    def line_of(self, location: Location) -> int:
        """The line of a value, or of the nearest thing around it that the file has."""
        for end in range(len(location), -1, -1):
            if location[:end] in self.lines:
                return self.lines[location[:end]]
        return 1


def read_text(path: Path, kind: str = "experiment") -> str:
    """The text of a file. Raises ExperimentError when it is missing, huge, empty, not UTF-8 or not a file."""
    raw = _read_bytes(path, kind)
    if len(raw) > MAX_BYTES:
        raise _bad(path, kind, f"is larger than {MAX_BYTES:,} bytes: no {kind} is")
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        raise _bad(path, kind, f"is not UTF-8 (byte {error.start})", line) from error
    if not text.strip():
        raise _bad(path, kind, "is empty")
    return text


def _read_bytes(path: Path, kind: str) -> bytes:
    if path.is_dir():
        raise _bad(path, kind, f"is a directory; name the {kind}'s file")
    try:
        if not path.is_file():
            raise FileNotFoundError(f"no such {kind} file")
        with path.open("rb") as file:
            return file.read(MAX_BYTES + 1)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise ExperimentError(f"{path} cannot be read", where=f"{path}:1", why=reason) from error


def _bad(path: Path, kind: str, says: str, line: int = 1) -> BadFile:
    return BadFile(str(path), [Problem(line, "", says)], kind=kind)


class Unreadable(Exception):
    """The text is not YAML that we take. Internal: callers of `parse` turn it into a `BadFile`."""

    def __init__(self, line: int, says: str, key: str = "") -> None:
        super().__init__(says)
        self.problem = Problem(line, key, says)


def parse(text: str) -> Document:
    """The data and its lines. Raises `Unreadable`."""
    builder = _Builder()
    for event in _events(text):
        builder.take(event)
    return Document(builder.top, builder.lines)


def _events(text: str) -> Iterator[Any]:
    from ruamel.yaml import YAML
    from ruamel.yaml.error import MarkedYAMLError, YAMLError

    line = 1
    try:
        for event in YAML(typ="safe", pure=True).parse(text):
            line = event.start_mark.line + 1
            yield event
    except MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = 1 if mark is None else mark.line + 1
        raise Unreadable(line, f"not YAML: {_one_line(error)}{_hint(error)}") from error
    except YAMLError as error:
        raise Unreadable(_line_of_reader_error(text, error), f"not YAML: {_one_line(error)}") from error
    except (ValueError, OverflowError) as error:  # the parser does not check what it hands to chr()
        raise Unreadable(line, "not YAML: an escape in double quotes is no character") from error


def _one_line(error: Exception) -> str:
    said = getattr(error, "problem", None) or getattr(error, "reason", None) or str(error)
    return str(said).strip().splitlines()[0] if str(said).strip() else "the text breaks off"


def _hint(error: Exception) -> str:
    return " (indent with spaces, not with tabs)" if r"\t" in _one_line(error) else ""


def _line_of_reader_error(text: str, error: Exception) -> int:
    position = getattr(error, "position", 0)
    return text.count("\n", 0, position if isinstance(position, int) else 0) + 1


class _Builder:
    """Builds data from parser events without recursion: no depth of nesting can overflow the stack."""

    def __init__(self) -> None:
        self.top: Any = None
        self.lines: dict[Location, int] = {}
        self._open: list[_Open] = []
        self._documents = 0

    def take(self, event: Any) -> None:
        handler = getattr(self, f"_{type(event).__name__}", None)
        if handler is not None:
            handler(event, event.start_mark.line + 1)

    def _DocumentStartEvent(self, _event: Any, line: int) -> None:
        self._documents += 1
        if self._documents > 1:
            raise Unreadable(line, "a second document (---) begins here; one file holds one")

    def _AliasEvent(self, event: Any, line: int) -> None:
        raise Unreadable(line, f"aliases (*{event.anchor}) are not supported; write the value out")

    def _MappingStartEvent(self, event: Any, line: int) -> None:
        self._begin(event, line, {})

    def _SequenceStartEvent(self, event: Any, line: int) -> None:
        self._begin(event, line, [])

    def _MappingEndEvent(self, _event: Any, _line: int) -> None:
        self._open.pop()

    _SequenceEndEvent = _MappingEndEvent

    def _ScalarEvent(self, event: Any, line: int) -> None:
        _refuse_decoration(event, line)
        if self._open and self._open[-1].wants_key:
            self._open[-1].set_key(event.value, line)
        else:
            self._place(_scalar(event, line), line)

    def _begin(self, event: Any, line: int, container: Any) -> None:
        _refuse_decoration(event, line)
        if self._open and self._open[-1].wants_key:
            raise Unreadable(line, "a key has to be a word, not a list or a mapping")
        if len(self._open) >= MAX_DEPTH:
            raise Unreadable(line, f"nested more than {MAX_DEPTH} deep")
        location = self._place(container, line)
        self._open.append(_Open(container, location))

    def _place(self, value: Any, line: int) -> Location:
        if not self._open:
            self.top = value
            self.lines[()] = line
            return ()
        location, line = self._open[-1].put(value, line)
        self.lines[location] = line
        return location


@dataclass(slots=True)
class _Open:
    """A mapping or list that is not finished yet."""

    container: Any
    location: Location
    key: str | None = None
    key_line: int = 0

    @property
    def wants_key(self) -> bool:
        return isinstance(self.container, dict) and self.key is None

    def set_key(self, key: str, line: int) -> None:
        if key in self.container:
            raise Unreadable(line, "this key is given twice", key)
        self.key, self.key_line = key, line

    def put(self, value: Any, line: int) -> tuple[Location, int]:
        """Where the value went, and the line of its key or item."""
        if isinstance(self.container, list):
            self.container.append(value)
            return (*self.location, len(self.container) - 1), line
        key, self.key = self.key, None
        assert key is not None
        self.container[key] = value
        return (*self.location, key), self.key_line


def _refuse_decoration(event: Any, line: int) -> None:
    if getattr(event, "anchor", None):
        raise Unreadable(line, f"anchors (&{event.anchor}) are not supported; write the value out")
    if getattr(event, "tag", None):
        raise Unreadable(line, f"tags ({event.tag}) are not supported")


_INT = re.compile(r"[-+]?[0-9]+")
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
_WORDS = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL"), None),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
    **dict.fromkeys((".nan", ".NaN", ".NAN"), math.nan),
    **dict.fromkeys((".inf", ".Inf", ".INF", "+.inf"), math.inf),
    "-.inf": -math.inf,
}


def _scalar(event: Any, line: int) -> Any:
    """The value of a scalar by YAML 1.2's core schema (decimal numbers only)."""
    text = str(event.value)
    if event.style is not None:  # quoted or a block: text, whatever it looks like
        return text
    if text in _WORDS:
        return _WORDS[text]
    if _INT.fullmatch(text):
        return int(_bounded(text, line))
    return float(_bounded(text, line)) if _FLOAT.fullmatch(text) else text


def _bounded(number: str, line: int) -> str:
    if len(number) > MAX_DIGITS:
        raise Unreadable(line, f"a number of {len(number)} characters; at most {MAX_DIGITS} make sense")
    return number
