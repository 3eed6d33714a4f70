"""Which cluster a run of trials goes to, and what it may do there: from the environment, or the plugin's options."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from chaoslat import nodeimage
from chaoslat.errors import EnvironmentMissing

IMAGES = ("app", "mysql", "toxiproxy", "tools")
PREFIX = "CHAOSLAT_KUBE_"


@dataclass(frozen=True, slots=True)
class Settings:
    """`context`: empty for the current one; `namespace`: empty for one named after the run; `images`: overrides."""

    context: str = ""
    namespace: str = ""
    kubeconfig: Path | None = None
    images: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, env: Mapping[str, str] = os.environ) -> Settings:
        """CHAOSLAT_KUBE_CONTEXT, _NAMESPACE, _CONFIG, _APP_IMAGE, _MYSQL_IMAGE, ..."""
        given = {name: env.get(f"{PREFIX}{name.upper()}_IMAGE", "") for name in IMAGES}
        config = env.get(f"{PREFIX}CONFIG", "")
        return cls(
            context=env.get(f"{PREFIX}CONTEXT", ""),
            namespace=env.get(f"{PREFIX}NAMESPACE", ""),
            kubeconfig=Path(config) if config else None,
            images={name: image for name, image in given.items() if image},
        )

    def image(self, name: str) -> str:
        """The reference that a node pulls, or has. Raises EnvironmentMissing when it is neither given nor built."""
        if name in self.images:
            return self.images[name]
        try:
            return nodeimage.image(name)[0]
        except EnvironmentMissing as error:
            variable = f"{PREFIX}{name.upper()}_IMAGE"
            raise EnvironmentMissing(
                f"It is not known which image {name} has",
                why=error.what,
                fix=f"make node-image, have the cluster know the image, and say its name in {variable}",
            ) from error
