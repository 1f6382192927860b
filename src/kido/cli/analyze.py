"""`kido analyze`."""

from __future__ import annotations

from typing import Any

import numpy as np

from kido.cli.commands import is_recording
from kido.cli.main import OK, UsageError, check_ending
from kido.cli.options import Analyze
from kido.cli.progress import file_line, hush
from kido.errors import KidoError
from kido.skeleton.joints.coordinates import CoordinateKind

LARGEST = 3  # joint forces that are printed
MOST_PHASES = 12


def analyze(options: Analyze) -> int:
    """Analyse a motion or a recording, print what stands out, write what is asked for. Returns the exit code."""
    hush(options.quiet)
    from kido.libraries import library
    from kido.motions import analyze as analysis_of
    from kido.recording.tables import check_writable

    check_ending("--out", options.out, ".h5", ".hdf5", ".csv")
    check_ending("--plot", options.plot, ".png", ".svg", ".pdf")
    if options.plot is not None:
        library("matplotlib", "kido analyze --plot", "plot")
    for path in (options.out, options.plot):
        if path is not None:
            check_writable(path, options.overwrite)
    settings: dict[str, Any] = {"cutoff": options.cutoff, "ground": options.ground, "bodies": options.body or None}
    if is_recording(options.file):
        if options.model is not None or options.gravity is not None:
            what = "MODEL" if options.gravity is None else "--gravity"
            raise UsageError(f"{what}: {options.file} is a recording, which has its own")
        from kido.recording import Recording

        with Recording.open(options.file) as recording:
            found = analysis_of(recording, skeleton=options.skeleton, **settings)
    else:
        found = analysis_of(_motion(options), **settings)
    lines = summary(found)
    if options.out is not None:
        found.save(options.out, overwrite=options.overwrite)
        lines.append(file_line("written", options.out, f"{len(found.times)} frames"))
    if options.plot is not None:
        found.plot(options.plot)
        lines.append(file_line("plot", options.plot))
    if not options.quiet:
        print("\n".join(lines))
    return OK


def _motion(options: Analyze) -> Any:
    """The motion of the file on the model, if one is named."""
    from kido.io import load_motion
    from kido.skeleton import Skeleton

    motion = load_motion(options.file)
    if options.model is not None:
        model = options.load(options.model)
        if not isinstance(model, Skeleton):
            if options.skeleton is None and len(model.skeletons) != 1:
                names = ", ".join(s.name for s in model.skeletons)
                raise KidoError(f"{options.model}: a world; --skeleton says which moves: {names}")
            model = model.skeleton(options.skeleton or model.skeletons[0].name)
        motion = motion.on(model, partial=options.partial)
    if motion.skeleton is None:
        raise KidoError(f"{options.file}: has no skeleton; name the MODEL that moves")
    if options.gravity is not None:
        motion.skeleton.gravity = options.gravity
    return motion


def summary(a: Any) -> list[str]:
    """What stands out, line by line."""
    t, mass = a.times, a.skeleton.mass
    up = " ".join(f"{x + 0.0:.3g}" for x in a.normal)
    smoothed = "not smoothed" if a.cutoff is None else f"smoothed at {a.cutoff:g} Hz"
    weight = mass * float(np.linalg.norm(a.skeleton.gravity))
    pressed = a.ground_reaction[:, 3:] @ a.normal
    found = [
        ("motion", f"{a.skeleton.name}: {len(t)} frames from {t[0]:.4g} to {t[-1]:.4g} s, {smoothed}"),
        ("mass", f"{mass:.4g} kg, weight {weight:.4g} N"),
        ("ground", f"{a.height:.4g} m along {up}; it carries {pressed.min():.4g} to {pressed.max():.4g} N"),
    ]
    kinds = [joint.coordinate_kind(k) for joint in a.skeleton.joints for k in range(joint.num_dofs)]
    own = [dof.index for dof in a.skeleton.dofs if dof.name not in a.floating]
    for k in sorted(own, key=lambda k: -float(np.abs(a.forces[:, k]).max()))[:LARGEST]:
        frame, unit = int(np.abs(a.forces[:, k]).argmax()), "N" if kinds[k] is CoordinateKind.LENGTH else "N m"
        found.append(("largest", f"{a.skeleton.dofs[k].name} {a.forces[frame, k]:.4g} {unit} at {t[frame]:.4g} s"))
    if a.cop is not None:
        force, moment = (float(np.linalg.norm(a.residual[:, part], axis=1).max()) for part in (slice(3, 6), slice(3)))
        found.append(("unexplained", f"at most {force:.3g} N, {moment:.3g} N m"))
    for phase in a.phases[:MOST_PHASES]:
        found.append(("touches", f"{phase.body} {phase.start:.4g} to {phase.end:.4g} s"))
    if len(a.phases) > MOST_PHASES:
        found.append(("touches", f"and {len(a.phases) - MOST_PHASES} times more"))
    return [f"{name:<12} {text}" for name, text in found]
