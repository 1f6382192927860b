"""What `kido info` says of a recording: as data, and as lines of text."""

from __future__ import annotations

from typing import Any

import numpy as np

from kido.recording import Recording


def recording_to_dict(recording: Recording) -> dict[str, Any]:
    """All that is printed."""
    solver, energies = recording.solver, recording.energies
    meta = {k: v.tolist() if isinstance(v, (np.ndarray, np.generic)) else v for k, v in recording.metadata.items()}
    return {
        "file": str(recording.path),
        "kind": "recording",
        "finished": recording.finished,
        "frames": recording.num_frames,
        "time": [float(recording.times[0]), float(recording.times[-1])],
        "steps": [int(recording.steps[0]), int(recording.steps[-1])],
        "metadata": meta,
        "skeletons": {s["name"]: len(recording.skeleton(s["name"]).dof_names)
                      for s in recording.description(0)["skeletons"]},
        "signals": {name: list(values.shape[1:]) for name, values in recording.signals.items()},
        "energy": [float(energies.total[0]), float(energies.total[-1])],
        "most_contacts": int(solver["contacts"].max()),
        "max_penetration": float(solver["max_penetration"].max()),
        "max_residual": float(solver["residual"].max()),
        "events": [event._asdict() for event in recording.events],
    }  # fmt: skip


def recording_lines(data: dict[str, Any]) -> list[str]:
    """The same as text."""
    (start, end), steps, meta = data["time"], data["steps"], data["metadata"]
    state = "" if data["finished"] else " (not finished: still being written, or its writer died)"
    skeletons = ", ".join(f"{name} ({dofs})" for name, dofs in data["skeletons"].items())
    found = [
        f"recording of world {meta['world']}{state}",
        f"{'file':<12} {data['file']}",
        f"{'written by':<12} KIDO {meta['kido_version']}, {meta['created']}",
        f"{'frames':<12} {data['frames']}, from {start:g} s to {end:g} s",
        f"{'steps':<12} {steps[0]} to {steps[1]}, every {meta['every']}, of {meta['time_step']:g} s",
        f"{'skeletons':<12} {skeletons} (degrees of freedom)",
        f"{'energy':<12} {data['energy'][0]:.6g} J at the start, {data['energy'][1]:.6g} J at the end",
        f"{'contacts':<12} at most {data['most_contacts']}",
        f"{'penetration':<12} at most {1e3 * data['max_penetration']:.3g} mm",
        f"{'solver':<12} residual at most {data['max_residual']:.2g}",
    ]
    if data["signals"]:
        found.append(f"{'signals':<12} {', '.join(data['signals'])}")
    found += [f"{e['time']:>10.4f} s  {e['kind']}: {e['text']}" for e in data["events"]]
    return found
