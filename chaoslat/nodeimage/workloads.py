"""The images that run on the nodes: app, database, proxy and tools."""

from __future__ import annotations

import shutil
from pathlib import Path

from chaoslat import paths
from chaoslat.nodeimage.archive import Settings
from chaoslat.nodeimage.artefact import Artefact, Made
from chaoslat.nodeimage.go_programs import TOXIPROXY
from chaoslat.nodeimage.images import pack_image, reference
from chaoslat.nodeimage.inputs import folder, tree_key
from chaoslat.nodeimage.rootfs import APP, MYSQL, TOOLS, unpack
from chaoslat.parts.base import Progress
from chaoslat.parts.mysql import Mysql
from chaoslat.parts.mysql_seed import config
from chaoslat.parts.node import Node
from chaoslat.parts.run import run
from chaoslat.parts.store import key

APP_USER = "10001:10001"
_RECIPE = "1"
_APP_FILES = ("src", "package.json", "package-lock.json", ".npmrc")


def app() -> Artefact:
    """The demo application with the packages of its lock file; not root, and no `ss` inside."""
    source = [paths.fixtures() / "node-app" / name for name in _APP_FILES]
    return Artefact(
        "image-app", key(_RECIPE, tree_key(folder("app"), *source)), _build_app, (APP.artefact(),)
    )


def mysql() -> Artefact:
    """The server that the local backend installs, to the byte: a seed that one has filled fits the other.

    The seed is not in the image: it is mounted at /seed, see clusters/node-image/mysql/mysql-start.
    """
    server = _mysql().prefix("mysql").name
    inputs = key(_RECIPE, server, config().read_text(), tree_key(folder("mysql")))
    return Artefact("image-mysql", inputs, _build_mysql, (MYSQL.artefact(),))


def toxiproxy() -> Artefact:
    """The proxy and nothing else: one static program."""
    return Artefact("image-toxiproxy", key(_RECIPE), _build_toxiproxy, (TOXIPROXY.artefact(),))


def tools() -> Artefact:
    """ip, ss, curl, ps, Python with PyMySQL: what is attached to pods and nodes to look at them."""
    return Artefact("image-tools", key(_RECIPE, tree_key(folder("tools"))), _build_tools, (TOOLS.artefact(),))


def _build_app(into: Path, made: Made, progress: Progress) -> None:
    root = _base(into, made["rootfs-app"], "app")
    home = root / "app"
    home.mkdir()
    for name in _APP_FILES:
        run(["cp", "-r", paths.fixtures() / "node-app" / name, home / name])
    progress("npm ci")
    _npm_ci(home, progress)
    progress("packing the image")
    environment = {"NODE_ENV": "production", "HOST": "0.0.0.0", "PORT": "8080"}
    settings = Settings(("node", "/app/src/main.js"), (), environment, APP_USER, "/app")
    pack_image(root, into, reference(app()), settings)


def _npm_ci(home: Path, progress: Progress) -> None:
    Node(paths.cache_root()).install(progress)
    npm = Node(paths.cache_root()).runtime().npm
    run([*npm, "ci", "--omit=dev", "--no-audit", "--no-fund", "--loglevel=error"], cwd=home)
    run(["chown", "-R", "0:0", home])


def _build_mysql(into: Path, made: Made, progress: Progress) -> None:
    _mysql().install(progress)
    progress("packing the image")
    root = _base(into, made["rootfs-mysql"], "mysql")
    shutil.copytree(_mysql().prefix("mysql"), root / "opt/mysql", symlinks=True)
    shutil.copy2(config(), root / "etc/my.cnf")
    start = root / "usr/local/bin/mysql-start"
    start.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy2(folder("mysql", "mysql-start"), start)
    pack_image(root, into, reference(mysql()), Settings(("/usr/local/bin/mysql-start",)))


def _build_toxiproxy(into: Path, made: Made, progress: Progress) -> None:
    progress("packing the image")
    root = into / "root"
    root.mkdir()
    shutil.copy2(made["toxiproxy"] / "toxiproxy", root / "toxiproxy-server")
    settings = Settings(("/toxiproxy-server",), ("-host=0.0.0.0",), user="65534:65534")
    pack_image(root, into, reference(toxiproxy()), settings)


def _build_tools(into: Path, made: Made, progress: Progress) -> None:
    progress("packing the image")
    root = _base(into, made["rootfs-tools"], "tools")
    pack_image(root, into, reference(tools()), Settings(command=("sh",)))


def _base(into: Path, rootfs: Path, name: str) -> Path:
    """Packages unpacked in a scratch folder, and set up by the script of the image."""
    root = into / "root"
    unpack(rootfs, root)
    run([folder(name, "setup.sh"), root])
    return root


def _mysql() -> Mysql:
    return Mysql(paths.cache_root(), system=False)
