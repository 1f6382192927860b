"""Dynamics of motions: what moves, with which forces, momenta, energies and powers, and when it touches the ground."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import field, fields
from typing import Any, NamedTuple

import numpy as np
import scipy.integrate
from numpy.typing import ArrayLike, NDArray

from kido.arrays import fixed
from kido.attributes import dataclass, named_arguments
from kido.batch import Batch
from kido.errors import NameLookupError, StateError
from kido.math.transform import as_numbers, number_or_nan
from kido.motions.analysis_files import write
from kido.motions.analysis_plot import draw
from kido.motions.motion import Motion
from kido.motions.splines import spline_through
from kido.motions.steps import read_steps, simulated
from kido.motions.touching import ContactPhase, lowest_points, phases_of, shapes_of, touching
from kido.motions.whole_body import floating, joint_forces_of, moved_to, pressure_point, whole_body
from kido.recording import Recording
from kido.reprs import brief
from kido.skeleton import BodyNode, Skeleton

__all__ = ["Analysis", "Series", "analyze"]

Array = NDArray[np.float64]
LEAST_FRAMES = 3
LEAST_FORCE = 0.02  # share of the weight below which the ground carries nothing
XYZ = ("x", "y", "z")
WRENCH = ("mx", "my", "mz", "fx", "fy", "fz")


class Series(NamedTuple):
    """One quantity of an analysis: values (T,) or (T, n), names of the n columns, unit, what it is."""

    values: NDArray[Any]
    columns: tuple[str, ...]
    unit: str
    text: str

    __repr__ = brief


def _series(unit: str, columns: str, text: str) -> Any:
    return field(metadata={"unit": unit, "columns": columns, "text": text})


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Analysis:
    """Dynamics of a motion, frame by frame; what `analyze` gives. World axes.

    Attributes:
        skeleton: what moves.
        cutoff: of the smoothing [Hz]; None: there was none.
        normal, height: of the ground, the plane normal . x = height.
        floating: coordinates that say where the whole skeleton is; their forces are what nothing else explains.
        phases: when bodies touch the ground.
    """

    skeleton: Skeleton
    cutoff: float | None
    normal: Array
    height: float
    floating: tuple[str, ...]
    phases: tuple[ContactPhase, ...]
    times: Array = _series("s", "", "times of the frames (T,)")
    positions: Array = _series("m, rad", "dofs", "positions")
    velocities: Array = _series("m/s, rad/s", "dofs", "velocities of the skeleton")
    accelerations: Array = _series("m/s^2, rad/s^2", "dofs", "their rates")
    forces: Array = _series("N, N m", "dofs", "joint forces by inverse dynamics, less what contacts and pushes explain")
    powers: Array = _series("W", "dofs", "of the coordinates, force times velocity")
    joint_powers: Array = _series("W", "joints", "of the joints")
    work: Array = _series("J", "joints", "of the joints since the first frame")
    com: Array = _series("m", "xyz", "centre of mass")
    com_velocity: Array = _series("m/s", "xyz", "its velocity")
    com_acceleration: Array = _series("m/s^2", "xyz", "its acceleration")
    momentum: Array = _series("kg m^2/s, kg m/s", "wrench", "[angular about the centre of mass; linear]")
    momentum_rate: Array = _series("N m, N", "wrench", "its rate")
    kinetic_energy: Array = _series("J", "", "kinetic energy (T,)")
    potential_energy: Array = _series("J", "", "of gravity and joint springs (T,)")
    total_energy: Array = _series("J", "", "sum of both (T,)")
    ground_reaction: Array = _series(
        "N m, N",
        "wrench",
        "[moment about the world origin; force] from outside that the motion takes: rate of momentum less weight",
    )
    zmp: Array = _series("m", "xyz", "zero-moment point: where it acts on the ground without tipping; NaN in flight")
    contact_wrench: Array | None = _series(
        "N m, N", "wrench", "[moment about the world origin; force] of known contacts with the ground"
    )
    cop: Array | None = _series("m", "xyz", "centre of pressure: where that acts; NaN in flight")
    residual: Array = _series(
        "N m, N",
        "wrench",
        "[moment about the centre of mass; force] of the ground reaction that no known contact or push explains",
    )
    clearance: Array = _series("m", "bodies", "heights of the lowest points of bodies above the ground")
    touching: NDArray[np.bool_] = _series("", "bodies", "whether they touch it")
    bodies: tuple[str, ...]

    def __repr__(self) -> str:
        return f"Analysis({len(self.times)} frames of {self.skeleton.name!r}, {len(self.phases)} contact phases)"

    @property
    def joints(self) -> tuple[str, ...]:
        """Names of joints that have coordinates."""
        return tuple(joint.name for joint in self.skeleton.joints if joint.num_dofs)

    @property
    def series(self) -> dict[str, Series]:
        """All quantities by name, times first; contacts with the ground only where they are known."""
        columns = {"": (), "dofs": tuple(dof.name for dof in self.skeleton.dofs), "joints": self.joints}
        columns |= {"xyz": XYZ, "wrench": WRENCH, "bodies": self.bodies}
        found: dict[str, Series] = {}
        for f in fields(self):
            values, about = getattr(self, f.name), f.metadata
            if about and values is not None:
                found[f.name] = Series(values, columns[about["columns"]], about["unit"], about["text"])
        return found

    def save(self, path: str | os.PathLike[str], *, overwrite: bool = False) -> None:
        """Write all series to a file.

        HDF5 (`.h5`, `.hdf5`) has a data set for each, with attributes `unit`, `columns` and `description`, and the
        table `phases`; CSV (`.csv`) a row for each frame and columns such as `forces/left_knee`.

        Raises:
            StateError: another ending, the file exists, or it cannot be written.
        """
        write(self, path, overwrite)

    def plot(self, path: str | os.PathLike[str] | None = None) -> Any:
        """A figure (`matplotlib.figure.Figure`) of forces, powers, momenta, energies and contacts; saved to a path if
        one is given.

        Raises:
            MissingExtraError: matplotlib is not installed (extra `plot`).
            StateError: the file cannot be written.
        """
        return draw(self, path)


_about = ((f.name, f.metadata["text"], f.metadata["unit"] or "no unit") for f in fields(Analysis) if f.metadata)
Analysis.__doc__ = f"{Analysis.__doc__}".rstrip() + "".join(
    f"\n        {name}: {text} [{unit}]." for name, text, unit in _about
)


@named_arguments
def analyze(
    motion: Motion | Recording,
    *,
    skeleton: str | None = None,
    cutoff: float | None = None,
    wrenches: Mapping[str, ArrayLike] | None = None,
    ground: float | None = None,
    bodies: Iterable[str] | None = None,
    height: float = 0.02,
    speed: float = 0.5,
) -> Analysis:
    """Inverse dynamics, momenta, energies, powers, pressure on the ground and contact phases of a motion.

    Of a `Motion`, velocities and accelerations are those of its smoothing splines (`Motion.derivatives`). Of a
    `Recording`, frames are the middles of the recorded steps, velocities the means over them and accelerations the
    differences, which is what forces of worlds act on; contacts, external forces and pushes are the recorded ones. Of
    steps that `every` left out, the forces of the last stand for all. A skeleton that was not simulated
    (`Motion.record`) is taken as a `Motion`.

    Joint forces are tau = M udot + C(q, u) u + g(q) - sum J^T W over known wrenches W: what motors, springs, dampers,
    friction and limits do together; closed loops count as cut. Up is against gravity. What the outside does follows
    from d'Alembert's principle; the zero-moment point is p = o + n x M_o / (n . F) of that, and the centre of pressure
    of known contact wrenches. On one plane they are the same if the motion fits the contacts (Sardain and Bessonnet,
    IEEE Transactions on Systems, Man, and Cybernetics A 34, 2004).

    Args:
        motion: with a skeleton; or a recording.
        skeleton: name of the one that is meant, of a recording with several.
        cutoff: frequency [Hz] above which the motion, and forces of a recording, are smoothed away.
        wrenches: known contacts of a motion with the ground, by body: (T, 6) [moment about the body's origin; force].
        ground: its height [m]; None for that of a recording's plane, or the lowest point of all bodies and frames.
        bodies: that may touch the ground; None for all with colliding shapes, or none if the skeleton is fixed to the
            world and no ground is known.
        height, speed: clearance [m] and speed [m/s] of its lowest point below which a body touches the ground; it
            does until it is twice as high or fast. Where contacts are known, it does while it carries a fiftieth of
            the weight.

    Raises:
        StateError: the motion has no skeleton, no coordinates or fewer than three frames, or numbers that do not fit.
        NameLookupError: there is no such body.
        ModelError: the skeleton has no mass.

    Example:
        >>> found = kido.motions.analyze(kido.load_motion("walk.bvh"), cutoff=6.0)
        >>> found.forces, found.zmp, found.phases
        >>> found.save("walk.h5")
    """
    for name, value in (("height", height), ("speed", speed)):
        if not 0.0 < number_or_nan(value) < np.inf:
            raise StateError(f"analyze: {name} is {value!r}; expected a number above 0")
    if ground is not None and not np.isfinite(number_or_nan(ground)):
        raise StateError(f"analyze: ground is {ground!r}; expected a height [m]")
    plane = None
    if isinstance(motion, Recording) and not simulated(motion, skeleton):
        motion = Motion.from_recording(motion, skeleton)
    if isinstance(motion, Recording):
        if wrenches is not None:
            raise StateError("analyze: wrenches: a recording has its own contacts")
        steps = read_steps(motion, skeleton)
        moved, times, plane = steps.skeleton, steps.times, steps.plane
        q, u, udot = steps.positions, steps.velocities, steps.accelerations
        pressing, others = steps.ground, steps.others
        if cutoff is not None:
            q, u, udot, pressing, others = _smoothed(moved, times, q, pressing, others, cutoff)
    elif isinstance(motion, Motion):
        if motion.skeleton is None:
            raise StateError("analyze: the motion has no skeleton: Motion.on() gives it one")
        if skeleton not in (None, motion.skeleton.name):
            raise NameLookupError("skeleton of the motion", skeleton, [motion.skeleton.name])
        moved, times = motion.skeleton, motion.times
        q, u, udot = motion.derivatives(cutoff)
        pressing = None if wrenches is None else _checked(moved, len(times), wrenches)
        others = np.zeros((len(times), moved.num_bodies, 6)) if pressing is not None else None
    else:
        raise StateError(f"analyze: expected a Motion or a Recording, got {type(motion).__name__}")
    if len(times) < LEAST_FRAMES:
        raise StateError(
            f"analyze: {len(times)} frames; expected at least {LEAST_FRAMES}, of which accelerations are known"
        )
    if moved.num_dofs == 0:
        raise StateError(f"analyze: skeleton {moved.name!r} has no coordinates that could move")
    q, u, udot = (np.ascontiguousarray(x) for x in (q, u, udot))
    batch, mass = Batch(moved), moved.mass
    X, com, found = batch.forward_kinematics(q), batch.com(q), whole_body(moved, q, u, udot)
    gravity = np.asarray(moved.gravity, dtype=float)
    size = float(np.linalg.norm(gravity))
    normal, level = plane or (-gravity / size if size > 0.0 else np.array([0.0, 0.0, 1.0]), 0.0)
    least = LEAST_FORCE * mass * (size or 1.0)

    loose = floating(moved)
    names = _candidates(moved, () if bodies is ground is plane is None and not loose else bodies)
    heights, speeds = lowest_points(batch, names, q, u, X, normal)
    if ground is not None:
        level = float(ground)
    elif plane is None and heights.size:
        level = float(heights.min())
    clearance = heights - level
    on, contact, cop, forces, known = touching(clearance, speeds, height, speed), None, None, found.forces, 0.0
    if pressing is not None and others is not None:
        forces = forces - joint_forces_of(batch, q, pressing + others)
        contact = moved_to(pressing, X[..., :3, 3]).sum(axis=1)
        cop = pressure_point(contact, normal, level, least)
        known = contact + moved_to(others, X[..., :3, 3]).sum(axis=1)
        on = pressing[:, [body.index for body in names], 3:] @ normal >= least

    momentum, rate = moved_to(found.momentum, -com), moved_to(found.wrench, -com)
    rate[:, 3:] += mass * gravity
    powers = forces * u
    joints = [[dof.index for dof in joint.dofs] for joint in moved.joints if joint.num_dofs]
    joint_powers = np.column_stack([powers[:, own].sum(axis=1) for own in joints])
    potential = batch.potential_energy(q)
    arrays: dict[str, Any] = {
        "normal": normal, "times": times, "positions": q, "velocities": u, "accelerations": udot, "forces": forces,
        "powers": powers, "joint_powers": joint_powers,
        "work": scipy.integrate.cumulative_trapezoid(joint_powers, times, axis=0, initial=0.0),
        "com": com, "com_velocity": momentum[:, 3:] / mass, "com_acceleration": rate[:, 3:] / mass,
        "momentum": momentum, "momentum_rate": rate,
        "kinetic_energy": found.kinetic_energy, "potential_energy": potential,
        "total_energy": found.kinetic_energy + potential,
        "ground_reaction": found.wrench, "zmp": pressure_point(found.wrench, normal, level, least),
        "contact_wrench": contact, "cop": cop, "residual": moved_to(found.wrench - known, -com),
        "clearance": clearance, "touching": on,
    }  # fmt: skip
    kept: dict[str, Any] = {name: None if array is None else fixed(np.array(array)) for name, array in arrays.items()}
    own = [body.name for body in names]
    kept |= {"skeleton": moved, "cutoff": cutoff, "height": level, "floating": loose, "bodies": tuple(own)}
    return Analysis(**kept, phases=phases_of(on, own, times))


def _candidates(skeleton: Skeleton, names: Iterable[str] | None) -> list[BodyNode]:
    """Bodies with shapes that may touch the ground: those of names, or all."""
    shaped = {body.name: body for body in skeleton.bodies if shapes_of(body)}
    chosen = list(shaped) if names is None else [names] if isinstance(names, str) else list(names)
    for name in chosen:
        if name not in shaped:
            raise NameLookupError(f"body of skeleton '{skeleton.name}' with a colliding shape", name, list(shaped))
    return [shaped[name] for name in chosen]


def _checked(skeleton: Skeleton, frames: int, wrenches: Mapping[str, ArrayLike]) -> Array:
    """Wrenches (T, bodies, 6) of all bodies."""
    found = np.zeros((frames, skeleton.num_bodies, 6))
    known = {body.name: body.index for body in skeleton.bodies}
    for name, values in wrenches.items():
        if name not in known:
            raise NameLookupError(f"body of skeleton '{skeleton.name}'", name, list(known))
        try:
            given = np.array(as_numbers(values), dtype=float)
        except (TypeError, ValueError):
            raise StateError(f"analyze: wrenches of '{name}' are no numbers") from None
        if given.shape != (frames, 6) or not np.isfinite(given).all():
            raise StateError(f"analyze: wrenches of '{name}' have shape {given.shape}; expected finite ({frames}, 6)")
        found[:, known[name]] = given
    return found


def _smoothed(skeleton: Skeleton, times: Array, q: Array, pressing: Array, others: Array, cutoff: float) -> Any:
    """Positions and their derivatives, and wrenches, by the same filter."""
    interval = float(times[-1] - times[0]) / max(len(times) - 1, 1)
    if not np.allclose(np.diff(times), interval, rtol=1e-6):
        raise StateError("analyze: cutoff: the recording's frames are at uneven times")
    q, u, udot = Motion(None, q, 1.0 / interval, skeleton=skeleton).derivatives(cutoff)
    k = np.arange(len(times))
    wrenches = (
        spline_through(W.reshape(len(k), -1), cutoff * interval)(k).reshape(W.shape) for W in (pressing, others)
    )
    return q, u, udot, *wrenches
