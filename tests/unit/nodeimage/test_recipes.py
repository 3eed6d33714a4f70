"""The recipes agree with the files that they are made from, and each change of these is seen."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from chaoslat.errors import EnvironmentMissing, UsageError
from chaoslat.nodeimage import debian, inputs, rootfs, versions
from chaoslat.nodeimage.catalogue import build, catalogue, image, program, store
from chaoslat.nodeimage.go_programs import COREDNS, CRICTL, KIND, KUBE_NAMES, KUBEALL, TOXIPROXY, GoProgram
from chaoslat.nodeimage.images import reference
from chaoslat.nodeimage.rootfs import APP, KUBE, MYSQL, NODE, TOOLS, RootFs
from chaoslat.parts.apt_sources import Source

KEYS = "/usr/share/keyrings/debian-archive-keyring.gpg"
ARCHIVE = Source(("http://mirror.invalid/debian",), ("bookworm", "bookworm-updates"), ("main",), KEYS)
SECURITY = Source(("http://mirror.invalid/security",), ("bookworm-security",), ("main",), KEYS)
OTHER = Source(("http://other.invalid/node",), ("nodistro",), ("main",), "/etc/apt/other.gpg")
MODULES = {
    "sigs.k8s.io/kind": (KIND, versions.KIND),
    "k8s.io/kubernetes": (KUBEALL, versions.KUBERNETES),
    "github.com/coredns/coredns": (COREDNS, versions.COREDNS),
    "sigs.k8s.io/cri-tools": (CRICTL, versions.CRICTL),
    "github.com/Shopify/toxiproxy/v2": (TOXIPROXY, f"v{versions.TOXIPROXY}"),
    "go.etcd.io/etcd/server/v3": (KUBEALL, f"v{versions.ETCD.rpartition('-')[0]}"),
}


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the inputs that a test may change."""
    copy = tmp_path / "node-image"
    shutil.copytree(inputs.folder(), copy)
    monkeypatch.setattr(inputs, "folder", lambda *parts: copy.joinpath(*parts))
    for name in ("go_programs", "rootfs", "control_plane", "node", "workloads"):
        monkeypatch.setattr(f"chaoslat.nodeimage.{name}.folder", lambda *parts: copy.joinpath(*parts))
    return copy


@pytest.mark.parametrize("module", MODULES)
def test_versions_are_those_of_the_go_modules(module: str) -> None:
    of, version = MODULES[module]
    text = inputs.folder("go", of.module, "go.mod").read_text()
    assert re.search(rf"\s{re.escape(module)} {re.escape(version)}(\s|$)", text)


@pytest.mark.parametrize("folder", sorted(path.name for path in inputs.folder("go").iterdir()))
def test_every_module_pins_the_checksums_of_what_it_needs(folder: str) -> None:
    needed = re.search(r"^require|^\t\S+ v", inputs.folder("go", folder, "go.mod").read_text(), re.MULTILINE)
    sums = inputs.folder("go", folder, "go.sum")
    assert (needed is None) is not sums.exists()


def test_kubeall_knows_every_name_that_it_is_linked_under() -> None:
    source = inputs.folder("go", "kube", "main.go").read_text()
    assert sorted(re.findall(r'^\t"([a-z-]+)":', source, re.MULTILINE)) == sorted(KUBE_NAMES)


@pytest.mark.parametrize("of", [NODE, KUBE, APP, MYSQL, TOOLS], ids=lambda of: of.name)
def test_every_root_file_system_has_its_packages(of: RootFs) -> None:
    assert inputs.packages(of.name)
    assert of.artefact().name == f"rootfs-{of.name}"


def keys() -> dict[str, str]:
    return {name: artefact.key for name, artefact in catalogue().items()}


@pytest.mark.parametrize(
    ("path", "changed"),
    [
        ("go/kind/go.sum", {"kind"}),
        ("go/kube/main.go", {"kubeall", "node"}),
        ("go/toxiproxy/go.mod", {"toxiproxy"}),
        ("packages/node.txt", {"node"}),
        ("packages/app.txt", {"app"}),
        ("kube/rootfs/usr/local/bin/pod-network", {"node"}),
        ("node/setup.sh", {"node"}),
        ("app/setup.sh", {"app"}),
        ("mysql/mysql-start", {"mysql"}),
        ("tools/setup.sh", {"tools"}),
    ],
)
def test_a_change_makes_anew_what_is_made_from_it(path: str, changed: set[str], checkout: Path) -> None:
    before = keys()
    with (checkout / path).open("a") as file:
        file.write("\n")
    after = keys()
    assert {name for name in before if before[name] != after[name]} == changed


def test_an_image_is_named_by_its_key() -> None:
    artefact = catalogue()["app"]
    assert reference(artefact) == f"chaoslat/app:{artefact.key}"


def test_what_is_not_built_is_named_with_the_command_that_builds_it(tmp_path: Path) -> None:
    for look in (lambda: image("node", tmp_path), lambda: program("kind", tmp_path)):
        with pytest.raises(EnvironmentMissing, match="is not built") as raised:
            look()
        assert "make node-image" in raised.value.fix


def test_what_is_built_is_found(tmp_path: Path) -> None:
    artefact = catalogue()["app"]
    artefact.folder(store(tmp_path)).mkdir(parents=True)
    name, archive = image("app", tmp_path)
    assert name == reference(artefact)
    assert archive == artefact.folder(tmp_path / "node-image") / "image.tar.zst"


def test_an_unknown_name_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="nothing-such"):
        build(["nothing-such"], lambda *_: None, tmp_path)


class TestMirror:
    def test_the_machine_s_own_with_its_keys_and_security_updates(self) -> None:
        assert debian.lines("bookworm", [OTHER, ARCHIVE, SECURITY], mirror="") == [
            f"deb [signed-by={KEYS}] http://mirror.invalid/debian bookworm main",
            f"deb [signed-by={KEYS}] http://mirror.invalid/security bookworm-security main",
        ]

    def test_another_suite_of_the_same_mirror(self) -> None:
        assert debian.lines("trixie", [ARCHIVE, SECURITY], mirror="") == [
            f"deb [signed-by={KEYS}] http://mirror.invalid/debian trixie main"
        ]

    def test_a_named_one_wins(self) -> None:
        line = f"deb [signed-by={debian.KEYRING}] http://named.invalid/debian trixie main"
        assert debian.lines("trixie", [ARCHIVE], mirror="http://named.invalid/debian") == [line]

    def test_a_key_inside_the_sources_is_replaced_by_the_keyring(self) -> None:
        inline = Source(ARCHIVE.uris, ARCHIVE.suites, ARCHIVE.components, "\n -----BEGIN PGP PUBLIC KEY-----")
        assert debian.lines("trixie", [inline], mirror="")[0].startswith(f"deb [signed-by={debian.KEYRING}] ")

    def test_a_machine_without_debian_is_told_what_to_name(self) -> None:
        ubuntu = Source(("http://mirror.invalid/ubuntu",), ("noble",), ("main",), "")
        with pytest.raises(EnvironmentMissing, match="No mirror of Debian") as raised:
            debian.lines("bookworm", [ubuntu, OTHER], mirror="")
        assert debian.VARIABLE in raised.value.fix


def test_nothing_of_this_machine_is_left_in_a_root_file_system() -> None:
    hooks = [word for word in NODE.command(Path("/x.tar"), []) if word.startswith("--customize-hook")]
    assert len(hooks) == 1
    assert all(f'"$1"{path}' in hooks[0] for path in ("/etc/resolv.conf", "/etc/hostname"))


def test_a_root_file_system_takes_root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rootfs.os, "geteuid", lambda: 1000)
    with pytest.raises(EnvironmentMissing, match="as root"):
        NODE.artefact().build(tmp_path, {}, lambda _: None)


def test_the_toolchain_s_flags_of_the_user_stay(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[dict[str, str]] = []
    monkeypatch.setenv("GOFLAGS", "-p=1")
    monkeypatch.setattr("chaoslat.nodeimage.go_programs.run", lambda _, env, **__: calls.append(env))
    monkeypatch.setattr(
        "chaoslat.nodeimage.go_programs.go_for_build", lambda *_: type("Go", (), {"program": Path("go")})
    )
    GoProgram("pause", "pause").artefact().build(tmp_path, {}, lambda _: None)
    assert calls[0]["GOFLAGS"] == "-p=1 -mod=readonly"


@pytest.mark.parametrize(
    "script",
    sorted(
        str(path.relative_to(inputs.folder()))
        for path in inputs.folder().rglob("*")
        if path.is_file() and path.read_bytes().startswith(b"#!/bin/sh")
    ),
)
def test_every_script_can_be_parsed_and_run(script: str) -> None:
    path = inputs.folder(*script.split("/"))
    assert path.stat().st_mode & 0o111
    done = subprocess.run(["sh", "-n", path], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
