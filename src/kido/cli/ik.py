"""`kido ik`."""

from __future__ import annotations

import sys

from kido.cli.main import INTERRUPTED, OK
from kido.cli.options import Ik
from kido.errors import KidoError, NameLookupError


def run(options: Ik) -> int:
    """Show a model whose end effectors follow their targets, until Ctrl-C."""
    from kido.cli.effectors import hierarchy
    from kido.cli.loading import load_model, set_positions
    from kido.simulation import World
    from kido.viewer.server import require_viser

    require_viser()
    model = load_model(options.file, options.base, options.package_dir, not options.no_visuals)
    skeletons = model.skeletons if isinstance(model, World) else [model]
    for remark in set_positions(skeletons, options.set):
        print(f"kido: warning: {remark}", file=sys.stderr)
    able = [s for s in skeletons if s.num_dofs]
    if options.skeleton is not None:
        able = [s for s in skeletons if s.name == options.skeleton]
        if not able:
            raise NameLookupError("skeleton", options.skeleton, [s.name for s in skeletons])
    if len(able) > 1:
        names = ", ".join(s.name for s in able)
        raise KidoError(f"{options.file}: has several skeletons; choose one with --skeleton: {names}")
    if not able or not able[0].num_dofs:
        raise KidoError(f"{options.file}: nothing in it can move: no degrees of freedom")
    whole = hierarchy(able[0], options.effector)
    from kido.viewer import Viewer

    with Viewer(model, port=options.port, paused=True) as viewer:
        viewer.add_targets(whole)
        names = ", ".join(f"{ik.node.name} (priority {ik.priority})" for ik in whole.modules)
        print(f"kido: targets: {names}", file=sys.stderr)
        print(f"kido: {viewer.url} (Ctrl-C ends)", file=sys.stderr, flush=True)
        return OK if viewer.run() else INTERRUPTED
