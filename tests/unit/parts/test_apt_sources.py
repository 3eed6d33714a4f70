"""Both formats of apt's sources, with what people have in them."""

from __future__ import annotations

from pathlib import Path

from chaoslat.parts.apt_sources import Source, machine_sources, of_release, parse_deb822, parse_one_line

ONE_LINE = """
# deb http://ignored.example/debian bookworm main
deb http://one.example/debian bookworm main contrib
deb-src http://one.example/debian bookworm main
deb [arch=amd64 signed-by=/keys/a.gpg,/keys/b.gpg] https://two.example/debian bookworm main # note
deb [ trusted=no ] mirror+file:/etc/apt/mirrors.txt bookworm-security main
deb cdrom:[Debian 12]/ bookworm main
nonsense
"""

DEB822 = """
# a comment
Types: deb deb-src
URIs: http://one.example/debian http://two.example/debian
Suites: bookworm bookworm-updates
Components: main
Signed-By: /usr/share/keyrings/a.gpg

Types: deb
URIs: http://off.example/debian
Suites: bookworm
Components: main
Enabled: no

Types: deb-src
URIs: http://source.example/debian
Suites: bookworm
Components: main

types: deb
uris:
 http://three.example/debian
# a comment between
 cdrom:[Debian 12]/
suites: ./
Signed-By:
 -----BEGIN PGP PUBLIC KEY BLOCK-----
 .
 mQINBF
 -----END PGP PUBLIC KEY BLOCK-----
"""


def test_one_line_entries_with_options_comments_and_media() -> None:
    found = parse_one_line(ONE_LINE)
    keys = "/keys/a.gpg /keys/b.gpg"
    assert found == [
        Source(("http://one.example/debian",), ("bookworm",), ("main", "contrib")),
        Source(("https://two.example/debian",), ("bookworm",), ("main",), keys),
        Source(("mirror+file:/etc/apt/mirrors.txt",), ("bookworm-security",), ("main",)),
    ]


def test_deb822_keeps_all_mirrors_and_leaves_out_disabled_and_source_only() -> None:
    found = parse_deb822(DEB822)
    assert [source.uris for source in found] == [
        ("http://one.example/debian", "http://two.example/debian"),
        ("http://three.example/debian",),
    ]
    assert found[0].suites == ("bookworm", "bookworm-updates")
    assert found[0].signed_by == "/usr/share/keyrings/a.gpg"


def test_deb822_keeps_an_embedded_key_line_by_line() -> None:
    key = parse_deb822(DEB822)[1].signed_by
    assert key.splitlines()[1:3] == [" -----BEGIN PGP PUBLIC KEY BLOCK-----", " ."]


def test_what_is_written_reads_back_the_same() -> None:
    for source in [*parse_one_line(ONE_LINE), *parse_deb822(DEB822)]:
        assert parse_deb822(source.deb822()) == [source]


def test_a_machine_has_both_formats_at_once(tmp_path: Path) -> None:
    (tmp_path / "sources.list.d").mkdir()
    (tmp_path / "sources.list").write_text("deb http://one.example/debian bookworm main\n")
    (tmp_path / "sources.list.d/b.sources").write_text(DEB822)
    (tmp_path / "sources.list.d/a.list").write_text("deb http://four.example/debian bookworm main\n")
    (tmp_path / "sources.list.d/c.list.disabled").write_text("deb http://no.example/debian bookworm main\n")
    first_uris = [source.uris[0].split("/")[2] for source in machine_sources(tmp_path)]
    assert first_uris == ["one.example", "four.example", "one.example", "three.example"]


def test_a_machine_without_apt_has_no_sources(tmp_path: Path) -> None:
    assert machine_sources(tmp_path / "nothing") == ()


def test_only_the_main_archive_of_the_release_counts_as_the_distribution() -> None:
    own = Source(("http://one.example/debian",), ("bookworm", "bookworm-updates"), ("main",), "k")
    others = [
        Source(("http://sec.example/debian-security",), ("bookworm-security",), ("main",), "k"),
        Source(("http://vendor.example/apt",), ("bookworm",), ("stable",)),
    ]
    assert of_release([*others, own], ["bookworm"]) == (own,)
