"""An artefact is built once, after what it needs, and is whole or not there."""

from __future__ import annotations

from pathlib import Path

import pytest

from chaoslat.errors import EnvironmentMissing
from chaoslat.nodeimage.artefact import Artefact, Made, make
from chaoslat.parts.base import Progress


class Workshop:
    """Builds artefacts, and remembers the order."""

    def __init__(self) -> None:
        self.built: list[str] = []
        self.made: dict[str, Made] = {}

    def artefact(self, name: str, inputs: str = "1", needs: tuple[Artefact, ...] = ()) -> Artefact:
        def build(into: Path, made: Made, progress: Progress) -> None:
            progress(f"building {name}")
            self.built.append(name)
            self.made[name] = made
            (into / "content").write_text(name)

        return Artefact(name, inputs, build, needs)


def silent(name: str, message: str) -> None:
    pass


@pytest.fixture
def workshop() -> Workshop:
    return Workshop()


def test_it_is_built_once(workshop: Workshop, tmp_path: Path) -> None:
    artefact = workshop.artefact("program")
    assert not artefact.ready(tmp_path)
    assert make(artefact, tmp_path, silent) == make(artefact, tmp_path, silent) == artefact.folder(tmp_path)
    assert workshop.built == ["program"]
    assert artefact.ready(tmp_path)


def test_what_it_needs_is_built_first_and_handed_over(workshop: Workshop, tmp_path: Path) -> None:
    base = workshop.artefact("base")
    left, right = (workshop.artefact(name, needs=(base,)) for name in ("left", "right"))
    make(workshop.artefact("image", needs=(left, right)), tmp_path, silent)
    assert workshop.built == ["base", "left", "right", "image"]
    assert workshop.made["image"] == {"left": left.folder(tmp_path), "right": right.folder(tmp_path)}
    assert (workshop.made["image"]["left"] / "content").read_text() == "left"


def test_what_it_needs_is_left_alone_when_it_is_there(workshop: Workshop, tmp_path: Path) -> None:
    image = workshop.artefact("image", needs=(workshop.artefact("base"),))
    image.folder(tmp_path).mkdir()
    make(image, tmp_path, silent)
    assert workshop.built == []


def test_its_key_changes_with_what_it_needs(workshop: Workshop) -> None:
    keys = {
        workshop.artefact("image", needs=(workshop.artefact("base", inputs),)).key
        for inputs in ("1", "2", "1")
    }
    assert len(keys) == 2


def test_its_key_changes_with_name_and_inputs(workshop: Workshop) -> None:
    assert len({workshop.artefact(*about).key for about in (("a", "1"), ("b", "1"), ("a", "2"))}) == 3


def test_a_build_that_fails_leaves_nothing(tmp_path: Path) -> None:
    def fail(into: Path, _: Made, __: Progress) -> None:
        (into / "half").write_text("half")
        raise EnvironmentMissing("no disk")

    artefact = Artefact("program", "1", fail)
    with pytest.raises(EnvironmentMissing):
        make(artefact, tmp_path, silent)
    assert not artefact.ready(tmp_path)
    assert [path for path in tmp_path.iterdir() if path.is_dir()] == []


def test_old_versions_go_but_not_the_last_but_one(workshop: Workshop, tmp_path: Path) -> None:
    other = make(workshop.artefact("image-other"), tmp_path, silent)
    folders = [make(workshop.artefact("program", inputs), tmp_path, silent) for inputs in "123"]
    assert [folder.exists() for folder in folders] == [False, True, True]
    assert other.exists()


def test_progress_names_the_artefact(workshop: Workshop, tmp_path: Path) -> None:
    said: list[tuple[str, str]] = []
    needed = workshop.artefact("base")
    make(workshop.artefact("image", needs=(needed,)), tmp_path, lambda name, text: said.append((name, text)))
    assert said == [("base", "building base"), ("image", "building image")]
