"""`kido convert`."""

from __future__ import annotations

import sys
from pathlib import Path

from kido.cli.loading import load_model
from kido.cli.main import UsageError
from kido.cli.options import Convert
from kido.cli.summary import file_line
from kido.errors import KidoError
from kido.io import save
from kido.skeleton import Skeleton


def run(options: Convert) -> int:
    """Write a model as a file of another format."""
    target = Path(options.to)
    if target.exists() and not options.overwrite:
        raise KidoError(f"{target}: exists; replace it with --overwrite")
    if not target.absolute().parent.is_dir():
        raise KidoError(f"{target}: no such folder: {target.absolute().parent}")
    model = load_model(options.file, options.base, options.package_dir, not options.no_visuals)
    if options.skeleton is not None:
        if isinstance(model, Skeleton):
            raise UsageError(f"--skeleton {options.skeleton}: {options.file} is no world")
        model = model.skeleton(options.skeleton)
    meshes = "reference" if options.reference_meshes else "copy"
    remarks = save(model, target, approximate=options.approximate, meshes=meshes)
    if not options.quiet:
        for text in remarks:
            print(f"kido: warning: {text}", file=sys.stderr)
        print(file_line("written", target))
    return 0
