"""The backends that the contract is tested on."""

import os

import pytest

from chaoslat import backends, nodeimage
from chaoslat.errors import EnvironmentMissing


@pytest.fixture(scope="module", params=[backend.name for backend in backends.BACKENDS])
def backend(request):
    if request.param == "kube":
        pytest.skip("needs a cluster that exists, and sees no node: tests/chaos/test_kube.py")
    if request.param == "kind":
        _need_images()
    return backends.get(request.param)


def _need_images():
    if os.environ.get("CHAOSLAT_KIND") != "1":
        pytest.skip("makes clusters: run with CHAOSLAT_KIND=1 (make kind-test)")
    try:
        for name in ("node", "app", "mysql", "toxiproxy"):
            nodeimage.image(name)
    except EnvironmentMissing as error:
        pytest.skip(str(error))
