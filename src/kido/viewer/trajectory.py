"""Motions: poses of all bodies over time, what the viewer plays and exports."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import field, replace
from typing import Any, NamedTuple

import numpy as np

from kido.arrays import fixed
from kido.attributes import FixedAttributes, dataclass
from kido.errors import StateError
from kido.motions import Motion
from kido.rendering.deforming import modal_columns
from kido.rendering.model import Model, bodies_of, body_labels, contacts_of, model_poses, skeletons_of
from kido.rendering.rotations import matrix_from_wxyz, wxyz_from_matrix
from kido.reprs import brief
from kido.viewer.batches import displacements_of

Contacts = tuple[np.ndarray, np.ndarray]
"""Points (n, 3) [m] and forces (n, 3) [N] of one frame, world axes."""


@dataclass(frozen=True)
class Trajectory:
    """World poses of bodies at sampled times.

    Attributes:
        times: (T,) seconds, rising.
        positions: (T, nb, 3) body origins in the world [m].
        wxyz: (T, nb, 4) unit quaternions [w, x, y, z] from body to world axes.
        names: body names, in the order of ``kido.rendering.model.bodies_of``; empty if not known.
        contacts: per frame the contact points and forces; empty if there are none.
        skins: per frame the displacements (n, 3) of the points of all soft bodies, in their bodies' axes [m]; empty if
            there are none.
        modes: (T, n) modal coordinates of all flexible bodies, in the order of their bodies; None: not known, and they
            are shown as they are in the model.

    Raises:
        StateError: shapes that do not fit, no frame, numbers that are not finite, or times that do not rise.
    """

    times: np.ndarray
    positions: np.ndarray
    wxyz: np.ndarray
    names: Sequence[str] = ()
    contacts: Sequence[Contacts] = field(default=(), repr=False)
    skins: Sequence[np.ndarray] = field(default=(), repr=False)
    modes: np.ndarray | None = field(default=None, repr=False)

    __repr__ = brief

    def __post_init__(self) -> None:
        times = np.array(self.times, dtype=float)
        positions = np.array(self.positions, dtype=float)
        wxyz = np.array(self.wxyz, dtype=float)
        if times.ndim != 1 or len(times) == 0:
            raise StateError(f"Trajectory times have shape {times.shape}; expected (T,) with at least one frame.")
        if positions.ndim != 3 or positions.shape[0] != len(times) or positions.shape[2] != 3:
            raise StateError(f"Trajectory positions have shape {positions.shape}; expected ({len(times)}, bodies, 3).")
        if wxyz.shape != (*positions.shape[:2], 4):
            raise StateError(f"Trajectory quaternions have shape {wxyz.shape}; expected {(*positions.shape[:2], 4)}.")
        for name, array in (("times", times), ("positions", positions), ("quaternions", wxyz)):
            if not np.all(np.isfinite(array)):
                frame = int(np.argwhere(~np.isfinite(array))[0][0])
                raise StateError(f"Trajectory {name} are not finite at frame {frame}.")
        if np.any(np.diff(times) <= 0):
            frame = int(np.flatnonzero(np.diff(times) <= 0)[0])
            pair = f"{times[frame]} s, then {times[frame + 1]} s"
            raise StateError(f"Trajectory times must rise; frames {frame} and {frame + 1} are at {pair}.")
        norm = np.linalg.norm(wxyz, axis=-1, keepdims=True)
        if np.any(np.abs(norm - 1.0) > 1e-6):
            frame = int(np.argwhere(np.abs(norm - 1.0) > 1e-6)[0][0])
            raise StateError(f"Trajectory quaternions must have length 1; frame {frame} holds one that has not.")
        if self.contacts and len(self.contacts) != len(times):
            raise StateError(f"Trajectory has contacts for {len(self.contacts)} frames; expected {len(times)}.")
        if self.skins is not None and len(self.skins) not in (0, len(times)):
            raise StateError(f"Trajectory has skins for {len(self.skins)} frames; expected {len(times)}.")
        given = [("times", times), ("positions", positions), ("wxyz", wxyz)]
        if self.modes is not None:
            modes = np.array(self.modes, dtype=float)
            if modes.ndim != 2 or len(modes) != len(times) or not np.isfinite(modes).all():
                raise StateError(f"Trajectory modes have shape {modes.shape}; expected ({len(times)}, n), finite.")
            given.append(("modes", modes))
        for name, array in given:
            array.setflags(write=False)
            object.__setattr__(self, name, array)
        object.__setattr__(self, "names", tuple(self.names))
        object.__setattr__(self, "contacts", tuple(self.contacts))

    @classmethod
    def from_transforms(
        cls,
        times: Any,
        transforms: Any,
        names: Sequence[str] = (),
        contacts: Sequence[Contacts] = (),
        modes: Any = None,
    ) -> Trajectory:
        """Trajectory of world transforms (T, nb, 4, 4)."""
        X = np.asarray(transforms, dtype=float)
        if X.ndim != 4 or X.shape[2:] != (4, 4):
            raise StateError(f"Trajectory transforms have shape {X.shape}; expected (T, bodies, 4, 4).")
        if not np.all(np.isfinite(X)):
            raise StateError(
                f"Trajectory transforms are not finite at frame {int(np.argwhere(~np.isfinite(X))[0][0])}."
            )
        wxyz = wxyz_from_matrix(X[..., :3, :3])
        return cls(np.asarray(times, float), X[..., :3, 3], wxyz, names, contacts, modes=modes)

    @classmethod
    def from_positions(
        cls,
        model: Model,
        times: Any,
        positions: Any,
        *,
        set_positions: Callable[[np.ndarray], None] | None = None,
        fps: float | None = 60.0,
        contacts: Sequence[Contacts] = (),
    ) -> Trajectory:
        """Trajectory of a model whose generalized positions are given over time.

        Args:
            model: a world or skeleton; it is moved through the frames and then set back.
            times: (T,) seconds.
            positions: (T, n) positions: of the skeleton, or of all skeletons of the world one after another.
            set_positions: sets one row, if not as said above.
            fps: keep about this many frames per second; None keeps all.
        """
        t = np.asarray(times, dtype=float)
        q = np.asarray(positions, dtype=float)
        skeletons = skeletons_of(model)
        n = sum(s.num_dofs for s in skeletons)
        if q.ndim != 2 or q.shape[0] != len(t) or (set_positions is None and q.shape[1] != n):
            raise StateError(f"Positions over time have shape {q.shape}; expected ({len(t)}, {n}).")
        keep = frames_at(t, fps)
        before = [np.array(s.positions) for s in skeletons]
        splits = np.cumsum([s.num_dofs for s in skeletons])[:-1]

        def spread(row: np.ndarray) -> None:
            for skeleton, part in zip(skeletons, np.split(row, splits), strict=True):
                if skeleton.num_dofs:
                    skeleton.positions = part

        put = set_positions or spread
        frames = []
        try:
            for k in keep:
                put(q[k])
                frames.append((*model_poses(model), modes_of(model)))
        finally:
            spread(np.concatenate(before) if before else np.zeros(0))
        return cls(
            t[keep],
            np.stack([f[0] for f in frames]),
            np.stack([f[1] for f in frames]),
            body_labels(model),
            [contacts[k] for k in keep] if contacts else (),
            modes=np.stack([f[2] for f in frames]),
        )

    @classmethod
    def from_recording(cls, recording: Any, fps: float | None = 60.0) -> Trajectory:
        """Trajectory of a :class:`kido.Recording`, for ``recording.display_world()``."""
        poses = cls.from_transforms(*recording.trajectory(fps))
        skins = recording.displacements[recording.frames_at(fps)]
        return replace(poses, skins=list(skins)) if skins.shape[1] else poses

    @classmethod
    def from_motion(cls, motion: Motion, fps: float | None = 60.0) -> Trajectory:
        """Trajectory of a `kido.Motion`, for its skeleton, which is not moved.

        Raises:
            StateError: the motion has no skeleton.
        """
        skeleton = motion.skeleton
        if skeleton is None:
            raise StateError("The motion has no skeleton to show; Motion.on(skeleton) gives it one.")
        keep = frames_at(motion.times, fps)
        transforms = [skeleton.forward_kinematics(q) for q in motion.positions[keep]]
        modes = motion.positions[keep][:, modal_columns([skeleton])]
        return cls.from_transforms(motion.times[keep], transforms, body_labels(skeleton), modes=modes)

    @classmethod
    def still(cls, model: Model) -> Trajectory:
        """The present pose as a trajectory of one frame."""
        p, q = model_poses(model)
        modes = modes_of(model)[None]
        return cls(np.zeros(1), p[None], q[None], body_labels(model), [contacts_of(model)], skins_of(model), modes)

    @property
    def num_frames(self) -> int:
        """Number of frames T."""
        return len(self.times)

    @property
    def num_bodies(self) -> int:
        """Number of bodies."""
        return self.positions.shape[1]

    @property
    def duration(self) -> float:
        """Time from the first to the last frame [s]."""
        return float(self.times[-1] - self.times[0])

    @property
    def transforms(self) -> np.ndarray:
        """World transforms (T, nb, 4, 4)."""
        X = np.zeros((*self.positions.shape[:2], 4, 4))
        X[..., :3, :3] = matrix_from_wxyz(self.wxyz)
        X[..., :3, 3] = self.positions
        X[..., 3, 3] = 1.0
        return fixed(X)

    def at_rate(self, fps: float) -> Trajectory:
        """The frames nearest to an even grid of ``fps`` frames per second."""
        keep = frames_at(self.times, fps)
        contacts = [self.contacts[k] for k in keep] if self.contacts else ()
        skins = [self.skins[k] for k in keep] if len(self.skins) else ()
        modes = None if self.modes is None else self.modes[keep]
        return Trajectory(self.times[keep], self.positions[keep], self.wxyz[keep], self.names, contacts, skins, modes)

    def frame(self, k: int) -> tuple[np.ndarray, np.ndarray, Contacts | None, np.ndarray | None, np.ndarray | None]:
        """Positions and quaternions of a frame, its contacts, the displacements (n, 3) of all points of soft bodies,
        and the modal coordinates of all flexible bodies; None for what is not known."""
        contacts, skin = self.contacts[k] if self.contacts else None, self.skins[k] if len(self.skins) else None
        return self.positions[k], self.wxyz[k], contacts, skin, None if self.modes is None else self.modes[k]


def skins_of(model: Model) -> list[np.ndarray]:
    """Displacements (n, 3) of the points of all soft bodies of a model, as the only item; empty if it has none."""
    points = displacements_of(bodies_of(model))
    return [points] if len(points) else []


def modes_of(model: Model) -> np.ndarray:
    """Modal coordinates (n,) of all flexible bodies of a model."""
    skeletons = skeletons_of(model)
    positions = np.concatenate([np.zeros(0), *(s.positions for s in skeletons)])
    return positions[modal_columns(skeletons)]


def frames_at(times: np.ndarray, fps: float | None) -> np.ndarray:
    """Indices of the samples to keep for ``fps`` frames per second; all for None. The last one is kept."""
    if fps is None or len(times) < 2:
        return np.arange(len(times))
    if not np.isfinite(fps) or fps <= 0:
        raise StateError(f"Frames per second are {fps!r}; expected a number above 0.")
    grid = np.arange(times[0], times[-1] + 1e-9, 1.0 / fps)
    right = np.clip(np.searchsorted(times, grid), 1, len(times) - 1)
    index = np.where(grid - times[right - 1] <= times[right] - grid, right - 1, right)
    return np.unique(np.append(index, len(times) - 1))


class _Frame(NamedTuple):
    """A moment of a world: time [s], poses of its bodies, its contacts, `skins_of` it, and `modes_of` it."""

    time: float
    positions: np.ndarray
    wxyz: np.ndarray
    contacts: Contacts
    skins: list[np.ndarray]
    modes: np.ndarray


class TrajectorySampler(FixedAttributes):
    """Collects a :class:`Trajectory` of a world while it is simulated.

    Let it drive (``sampler.run(5.0)`` steps the world in compiled chunks between two frames), or add it as a
    step callback (``world.add_step_callback(sampler)``), or call ``sampler.sample()``.

    Args:
        world: the world.
        fps: frames per second of simulated time.
    """

    def __init__(self, world: Any, fps: float = 60.0) -> None:
        if not np.isfinite(fps) or fps <= 0:
            raise StateError(f"TrajectorySampler fps is {fps!r}; expected a number above 0.")
        self.world = world
        self.fps = float(fps)
        self._labels = body_labels(world)
        self._frames: list[_Frame] = []
        self.sample()

    def __call__(self, world: Any = None) -> None:
        """Step callback: samples when a frame is due."""
        due = self._frames[0].time + len(self._frames) / self.fps
        if self.world.time >= due - 1e-9:
            self.sample()

    def sample(self) -> None:
        """Take a frame now."""
        time = float(self.world.time)
        if self._frames and time <= self._frames[-1].time:
            return
        p, q = model_poses(self.world)
        contacts, skins = contacts_of(self.world), skins_of(self.world)
        # In one piece: Ctrl-C comes before it or after it, never in the middle of a frame.
        poses = p.astype(np.float32), q.astype(np.float32)
        self._frames.append(_Frame(time, *poses, contacts, skins, modes_of(self.world)))

    def run(self, duration: float, progress: Callable[[float], None] | None = None) -> Trajectory:
        """Step the world for ``duration`` seconds of simulated time and return the trajectory.

        Args:
            duration: simulated seconds.
            progress: called with the simulated time after each frame.
        """
        world = self.world
        steps = round(duration / world.time_step)
        start, done = len(self._frames), 0
        t0 = float(world.time)
        while done < steps:
            due = t0 + (len(self._frames) - start + 1) / self.fps
            n = max(1, round((due - float(world.time)) / world.time_step))
            n = min(n, steps - done)
            world.step(n, reset_command=False)
            done += n
            self.sample()
            if progress is not None:
                progress(float(world.time))
        return self.trajectory

    @property
    def trajectory(self) -> Trajectory:
        """What has been collected so far."""
        times, positions, quaternions, contacts, skins, modes = zip(*self._frames, strict=True)
        wxyz = np.array(quaternions, dtype=float)
        wxyz /= np.linalg.norm(wxyz, axis=-1, keepdims=True)
        points = [skin for frame in skins for skin in frame]
        return Trajectory(
            np.array(times), np.array(positions), wxyz, self._labels, list(contacts), points, np.array(modes)
        )
