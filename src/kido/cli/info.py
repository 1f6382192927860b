"""`kido info`."""

from __future__ import annotations

import json
from typing import Any

from kido.cli.options import Info


def run(options: Info) -> int:
    """Print what a model or a recording holds."""
    if is_recording(options.file):
        from kido.cli.recording_info import recording_lines, recording_to_dict
        from kido.recording import Recording

        with Recording.open(options.file) as recording:
            data = recording_to_dict(recording)
        text = recording_lines(data)
    else:
        from kido.cli.loading import find, load_model
        from kido.cli.model_info import model_lines, model_to_dict

        path = find(options.file)
        data = model_to_dict(
            load_model(options.file, options.base, options.package_dir, not options.no_visuals), str(path)
        )
        text = model_lines(data)
    print(json.dumps(finite(data), indent=2, allow_nan=False) if options.json else "\n".join(text))
    return 0


def is_recording(path: str) -> bool:
    """Whether a file is to be read as a recording: by its extension."""
    return path.lower().endswith((".h5", ".hdf5"))


def finite(value: Any) -> Any:
    """The value with None in place of infinities and NaN, which JSON does not have."""
    if isinstance(value, dict):
        return {key: finite(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [finite(item) for item in value]
    if isinstance(value, float) and not (abs(value) < float("inf")):
        return None
    return value
