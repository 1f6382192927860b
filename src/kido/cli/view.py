"""`kido view`."""

from __future__ import annotations

import sys

from kido.cli.info import is_recording
from kido.cli.main import INTERRUPTED, OK
from kido.cli.options import Replay, View


def run(options: View) -> int:
    """Show a model or a recording in the browser until Ctrl-C."""
    if is_recording(options.file):
        from kido.cli import replay

        shown = options.html is None
        return replay.run(Replay(options.file, html=options.html, view=shown, port=options.port))
    from kido.cli.loading import load_model
    from kido.viewer.server import require_viser

    require_viser()
    model = load_model(options.file, options.base, options.package_dir, not options.no_visuals)
    if options.html is not None:
        from kido.cli.summary import file_line
        from kido.viewer import export_html

        export_html(model, None, options.html)
        print(file_line("page", options.html))
        return OK
    from kido.viewer import Viewer

    with Viewer(model, port=options.port, paused=True) as viewer:
        print(f"kido: {viewer.url} (Ctrl-C ends)", file=sys.stderr, flush=True)
        return OK if viewer.run() else INTERRUPTED
