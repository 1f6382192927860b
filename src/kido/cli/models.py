"""`kido models`."""

from __future__ import annotations

import json

from kido import models
from kido.cli.options import Models


def run(options: Models) -> int:
    """List the bundled models."""
    paths = {name: str(models.path(name)) for name in models.names()}
    if options.json:
        print(json.dumps(paths, indent=2))
    else:
        width = max(map(len, paths))
        for name, path in paths.items():
            print(f"{name:<{width}}  {path}")
    return 0
