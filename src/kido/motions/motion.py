"""Motions: positions of coordinates in frames at an even rate."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kido.arrays import fixed
from kido.attributes import FixedAttributes
from kido.batch import Batch
from kido.errors import NameLookupError, StateError
from kido.math.transform import as_numbers, number_or_nan
from kido.motions.fitting import fit
from kido.motions.markers import MarkerMotion
from kido.motions.matching import matched
from kido.motions.recordings import read_series, write_series
from kido.motions.splines import Development
from kido.reprs import brief
from kido.skeleton.joints.coordinates import CoordinateKind

if TYPE_CHECKING:
    from kido.recording import Recording
    from kido.skeleton import Skeleton

__all__ = ["Derivatives", "Motion"]

Array = NDArray[np.float64]
HUGE = 1e100  # numbers whose products are numbers
MANY = 16  # rows that are moved together sooner than one by one
SLOWEST, FASTEST = 500.0, 2.0  # frames in the time of one oscillation of a cutoff


class Derivatives(NamedTuple):
    """Positions, velocities and accelerations of all frames, each (T, dofs).

    Velocities are those of the skeleton: of a ball joint the angular velocity, of a free joint the twist.
    """

    positions: Array
    velocities: Array
    accelerations: Array

    __repr__ = brief


class Motion(FixedAttributes):
    """Positions of named coordinates over time, in frames at an even rate; it does not change.

    With a skeleton, positions are on its manifold: between frames, smoothed and blended, rotations stay rotations, as
    `Skeleton.integrate_positions` and `Skeleton.position_differences` have it. Without one, as files give motions, they
    are plain numbers, until `on` gives them a skeleton.

    Args:
        names: names of the coordinates; with a skeleton, its own in order (None for them).
        positions: (T, n) [m, rad], at least one frame.
        frame_rate: frames per second.
        skeleton: whose positions they are.
        start: time of the first frame [s].

    Raises:
        StateError: numbers that are not finite or do not fit, names given twice or not those of the skeleton.

    Example:
        >>> motion = kido.load("walk.dof").on(skeleton)
        >>> skeleton.positions = motion.at(0.5)
        >>> q, u, udot = motion.derivatives(cutoff=6.0)
    """

    def __init__(
        self,
        names: Iterable[str] | None,
        positions: ArrayLike,
        frame_rate: float,
        *,
        skeleton: Skeleton | None = None,
        start: float = 0.0,
    ) -> None:
        own = None if skeleton is None else tuple(dof.name for dof in skeleton.dofs)
        self.names = own if names is None and own is not None else tuple(names or ())
        self.frame_rate = number_or_nan(frame_rate)
        self.start = number_or_nan(start)
        self.skeleton = skeleton
        if not all(isinstance(name, str) for name in self.names) or len(set(self.names)) != len(self.names):
            twice = [name for k, name in enumerate(self.names) if name in self.names[:k]]
            raise StateError(f"motion: expected different names of coordinates, got {twice[:1] or list(self.names)}")
        if own is not None and self.names != own:
            raise StateError(
                f"motion: the names are not those of skeleton '{skeleton.name if skeleton else ''}' in order: "  # own
                f"expected {', '.join(own[:8])}...; Motion.on() finds them by name"
            )
        if not 0.0 < self.frame_rate < np.inf:
            raise StateError(f"motion: frame_rate is {frame_rate!r}; expected frames per second, above 0")
        if not np.isfinite(self.start):
            raise StateError(f"motion: start is {start!r}; expected a time [s]")
        try:
            values = np.array(as_numbers(positions), dtype=float)
        except (TypeError, ValueError):
            raise StateError("motion: positions are no numbers") from None
        if values.ndim != 2 or values.shape[0] == 0 or values.shape[1] != len(self.names):
            raise StateError(f"motion: positions have shape {values.shape}; expected (frames, {len(self.names)})")
        if not (sound := np.abs(values) < HUGE).all():
            frame, column = np.argwhere(~sound)[0]
            where = f"'{self.names[column]}' is {values[frame, column]:g} in frame {frame}"
            raise StateError(f"motion: {where}; expected a number below {HUGE:g}")
        self.positions = fixed(values)
        self._curve: tuple[Any, Development] | None = None  # through all frames, and of which structure of the skeleton

    def __repr__(self) -> str:
        of = "" if self.skeleton is None else f" of {self.skeleton.name!r}"
        return f"Motion({self.num_frames} frames at {self.frame_rate:g} Hz{of}, {len(self.names)} coordinates)"

    # -- what it has ---------------------------------------------------------------------------------------

    @property
    def num_frames(self) -> int:
        """Number of frames T."""
        return len(self.positions)

    @property
    def duration(self) -> float:
        """Time from the first to the last frame [s]."""
        return (self.num_frames - 1) / self.frame_rate

    @property
    def times(self) -> Array:
        """Times of the frames (T,) [s]."""
        return fixed(self.start + np.arange(self.num_frames) / self.frame_rate)

    def __getitem__(self, key: str | slice) -> Any:
        """`motion["knee"]`: one coordinate in all frames (T,); `motion[10:20]`: a motion of these frames.

        Raises:
            NameLookupError: there is no such coordinate.
            StateError: a slice of no frame, or with steps.
        """
        if isinstance(key, str):
            if key not in self.names:
                raise NameLookupError("coordinate of the motion", key, self.names)
            return fixed(np.array(self.positions[:, self.names.index(key)]))
        if not isinstance(key, slice) or key.step not in (None, 1):
            raise StateError(f"motion: expected a name or a slice of frames without steps, got {key!r}")
        first, last, _ = key.indices(self.num_frames)
        if last <= first:
            raise StateError(f"motion: {key} holds none of its {self.num_frames} frames")
        return self._like(self.positions[first:last], start=self.start + first / self.frame_rate)

    def _like(self, positions: Array, frame_rate: float | None = None, start: float | None = None) -> Motion:
        rate = self.frame_rate if frame_rate is None else frame_rate
        begin = self.start if start is None else start
        return Motion(self.names, positions, rate, skeleton=self.skeleton, start=begin)

    # -- the manifold --------------------------------------------------------------------------------------

    def _checked(self) -> Skeleton | None:
        """Its skeleton, which must not have other coordinates by now."""
        skeleton = self.skeleton
        if skeleton is not None and tuple(dof.name for dof in skeleton.dofs) != self.names:
            raise StateError(
                f"motion: skeleton '{skeleton.name}' has other coordinates now; Motion.on() finds them anew"
            )
        return skeleton

    def differences(self, after: Array, before: Array) -> Array:
        """Velocities (n, dofs) that move rows of `before` to those of `after` in unit time."""
        skeleton = self._checked()
        if skeleton is None or not len(after):
            return np.asarray(after) - np.asarray(before)
        return np.array([skeleton.position_differences(q, p) for q, p in zip(after, before, strict=True)])

    def moved(self, positions: Array, velocities: Array) -> Array:
        """Positions (n, dofs) after unit time with given velocities."""
        skeleton = self._checked()
        if skeleton is None or not len(positions):
            return np.asarray(positions) + np.asarray(velocities)
        if len(positions) >= MANY:
            return Batch(skeleton).integrate(positions, velocities, 1.0)
        return np.array([skeleton.integrate_positions(q, u) for q, u in zip(positions, velocities, strict=True)])

    def _developed(self, cutoff: float | None = None) -> Development:
        joints = () if self.skeleton is None else self.skeleton.joints
        curved = any(CoordinateKind.ROTATION in joint.coordinate_kinds for joint in joints)
        if cutoff is None:  # kept, as it is asked for at one time after the other
            version = None if self.skeleton is None else self.skeleton.structure_version
            if self._curve is None or self._curve[0] != version:
                self._curve = version, Development(self, self.positions, curved)
            return self._curve[1]
        number = number_or_nan(cutoff)
        lowest, highest = self.frame_rate / SLOWEST, self.frame_rate / FASTEST
        if not lowest <= number <= highest:
            raise StateError(f"motion: cutoff is {cutoff!r}; expected {lowest:g} to {highest:g} Hz, or None")
        return Development(self, self.positions, curved, number / self.frame_rate)

    # -- between frames, and how fast ----------------------------------------------------------------------

    def at(self, times: ArrayLike, *, smooth: bool = False) -> Array:
        """Positions (dofs,) at a time, or (n, dofs) at some.

        Between frames they move at constant velocity (along geodesics); with `smooth` on a quintic spline through all
        frames.

        Raises:
            StateError: a time that is not within the motion.
        """
        given = np.asarray(times, dtype=float)
        t = np.atleast_1d(given).ravel()
        places = (t - self.start) * self.frame_rate
        slack = 1e-6  # of a frame: rounding of times
        if not (np.isfinite(t).all() and (places >= -slack).all() and (places <= self.num_frames - 1 + slack).all()):
            end = self.start + self.duration
            raise StateError(f"motion: time {times!r} is not within {self.start:g} to {end:g} s")
        places = np.clip(places, 0.0, self.num_frames - 1)
        if smooth:
            found = self._developed().positions(places)
        else:
            k = np.clip(np.floor(places).astype(int), 0, max(self.num_frames - 2, 0))
            before, after = self.positions[k], self.positions[np.minimum(k + 1, self.num_frames - 1)]
            found = self.moved(before, (places - k)[:, None] * self.differences(after, before))
        return found[0] if given.ndim == 0 else found

    def resampled(self, frame_rate: float, *, smooth: bool = False) -> Motion:
        """The motion at another rate, from the first frame to the last that fits; `smooth` as in `at`.

        What is faster than half of a lower rate should be taken out first, by `smoothed`.
        """
        rate = number_or_nan(frame_rate)
        if not 0.0 < rate < np.inf:
            raise StateError(f"motion: frame_rate is {frame_rate!r}; expected frames per second, above 0")
        if not (count := self.duration * rate) < 1e9:
            raise StateError(f"motion: {self.duration:g} s at {rate:g} Hz are too many frames")
        times = self.start + np.arange(int(count + 1e-6) + 1) / rate
        return self._like(self.at(times, smooth=smooth), frame_rate=rate)

    def derivatives(self, cutoff: float | None = None) -> Derivatives:
        """Positions, velocities and accelerations in all frames, by a quintic smoothing spline on the manifold.

        Args:
            cutoff: frequency [Hz] at which half of an oscillation is left; None: the spline goes through all frames.

        Source: Craven and Wahba 1979 (smoothing splines as filters), Jupp and Kent 1987 (on manifolds).

        Raises:
            StateError: a cutoff beyond half of the frame rate or below a 500th of it, or with fewer than 6 frames.
        """
        rolled = self._developed(cutoff)
        k, rate = np.arange(self.num_frames), self.frame_rate
        nothing = np.zeros_like(self.positions)
        degree = rolled.spline.k
        velocities = rate * rolled.spline(k, nu=1) if degree > 0 else nothing
        accelerations = rate * rate * rolled.spline(k, nu=2) if degree > 1 else nothing
        return Derivatives(fixed(rolled.poses), fixed(velocities), fixed(accelerations))

    def smoothed(self, cutoff: float) -> Motion:
        """The motion without what oscillates faster than a cutoff [Hz]; see `derivatives`."""
        return self._like(self.derivatives(cutoff).positions)

    # -- two motions ---------------------------------------------------------------------------------------

    def blended(self, other: Motion, weight: ArrayLike) -> Motion:
        """What lies between this motion (weight 0) and another (1), frame by frame.

        Args:
            other: of the same coordinates, frames and rate.
            weight: a number, or one for each frame (T,).

        Raises:
            StateError: another number of frames, rate or coordinates, or weights that do not fit.
        """
        self._check_alike(other)
        if other.num_frames != self.num_frames:
            raise StateError(f"motion: blended with one of {other.num_frames} frames; expected {self.num_frames}")
        shares = np.asarray(weight, dtype=float)
        if shares.shape not in ((), (self.num_frames,)) or not np.isfinite(shares).all():
            raise StateError(f"motion: weight has shape {shares.shape}; expected a number or ({self.num_frames},)")
        shares = np.broadcast_to(shares, (self.num_frames,))[:, None]
        return self._like(self.moved(self.positions, shares * self.differences(other.positions, self.positions)))

    def followed_by(self, other: Motion, overlap: float = 0.0) -> Motion:
        """This motion and then another, which begins `overlap` seconds before this one ends and takes over smoothly.

        Raises:
            StateError: another rate or other coordinates, or an overlap longer than one of both.
        """
        self._check_alike(other)
        longest = min(self.num_frames, other.num_frames) / self.frame_rate
        if not 0.0 <= number_or_nan(overlap) <= longest:
            raise StateError(f"motion: overlap is {overlap!r}; expected 0 to {longest:g} s")
        n = round(overlap * self.frame_rate)
        s = (np.arange(n) + 1.0) / (n + 1.0)
        first, second = self.positions[self.num_frames - n :], other.positions[:n]
        mixed = self.moved(first, (s * s * (3 - 2 * s))[:, None] * self.differences(second, first))
        return self._like(np.concatenate([self.positions[: self.num_frames - n], mixed, other.positions[n:]]))

    def _check_alike(self, other: Motion) -> None:
        if not isinstance(other, Motion) or other.names != self.names:
            raise StateError(f"motion: expected a motion of the same coordinates in the same order, got {other!r}")
        if abs(other.frame_rate - self.frame_rate) > 1e-9 * self.frame_rate:
            rates = f"{other.frame_rate:g} Hz; expected {self.frame_rate:g} Hz"
            raise StateError(f"motion: the other has {rates}: resampled({self.frame_rate:g}) gives it")

    # -- other skeletons, recordings -----------------------------------------------------------------------

    def on(self, skeleton: Skeleton, names: Mapping[str, str] | None = None, *, partial: bool = False) -> Motion:
        """The same numbers as positions of a skeleton, whose coordinates are found by their names.

        A coordinate is the one of the same name; or of the same with the name of a file and an underscore before it, as
        in files of RTQL8; or "joint.index", as in those of DART. If none is found and there are as many, their order
        counts.

        Args:
            skeleton: whose motion it is to be.
            names: which coordinate of this motion is which of the skeleton's, for those that differ.
            partial: coordinates that are not found stay as the skeleton has them now.

        Raises:
            StateError: a coordinate of the skeleton is not found.
            NameLookupError: `names` has one that is not there.
        """
        columns = np.array(matched(self.names, skeleton, names, partial), dtype=int)
        whole = np.tile(np.asarray(skeleton.positions, dtype=float), (self.num_frames, 1))
        whole[:, columns >= 0] = self.positions[:, columns[columns >= 0]]
        return Motion(None, whole, self.frame_rate, skeleton=skeleton, start=self.start)

    def retargeted(
        self, skeleton: Skeleton, points: Mapping[str, str], *, scale: float = 1.0, start: ArrayLike | None = None
    ) -> Motion:
        """The motion of another skeleton whose points go where points of this one go, by inverse kinematics.

        Args:
            skeleton: whose motion it is to be.
            points: markers or bodies of this motion's skeleton, and those of the other that follow them: three or more.
            scale: of their places, about the origin of the world: the size of the other by that of this one.
            start: positions at which the search for the first frame begins; None for the present ones.

        Raises:
            StateError: the motion has no skeleton, too few points, or a scale that is no number above 0.
            NameLookupError: there is no such marker or body.
        """
        factor = number_or_nan(scale)
        if not 0.0 < factor < np.inf:
            raise StateError(f"motion: scale is {scale!r}; expected a number above 0")
        seen = MarkerMotion.of(self, points)
        places = MarkerMotion(seen.names, factor * seen.places, self.frame_rate, start=self.start)
        return Motion.from_markers(skeleton, places, points, start=start)

    @classmethod
    def from_markers(
        cls,
        skeleton: Skeleton,
        markers: MarkerMotion,
        names: Mapping[str, str] | None = None,
        *,
        start: ArrayLike | None = None,
    ) -> Motion:
        """The motion of a skeleton whose points are nearest to markers, by least squares within limits of joints.

        Each frame is searched for from the one before (`kido.IkSolver`); markers that are not seen do not count. What
        noise they have the motion has: `smoothed` takes it out. `MarkerMotion.of` tells where the points come to be.

        Args:
            skeleton: what moves.
            markers: places of markers.
            names: which of them is which marker or body of the skeleton; None for the markers (`kido.Marker`) of the
                same name, after a colon or not. At least three.
            start: positions at which the search for the first frame begins; None for the present ones.

        Raises:
            StateError: too few markers, or a start that does not fit.
            NameLookupError: there is no such marker or body.
        """
        found = fit(skeleton, markers, names, start)
        return cls(None, found, markers.frame_rate, skeleton=skeleton, start=markers.start)

    def record(self, path: str | os.PathLike[str], *, overwrite: bool = False) -> None:
        """Write it as a recording, to be replayed, read and analysed like those of worlds (`kido.Recording`).

        Velocities are those of `derivatives`; nothing is simulated. Its time begins at 0.

        Args:
            path: HDF5 file to create.
            overwrite: replace an existing file.

        Raises:
            StateError: the motion has no skeleton.
            RecordingError: the file cannot be written.
        """
        skeleton = self._checked()
        if skeleton is None:
            raise StateError("motion: it has no skeleton to record: Motion.on() gives it one")
        velocities = self.derivatives().velocities
        write_series(skeleton, self.positions, velocities, 1.0 / self.frame_rate, path, overwrite)

    @classmethod
    def from_recording(cls, recording: Recording, name: str | None = None, frame_rate: float | None = None) -> Motion:
        """The motion of one skeleton of a recording.

        Args:
            recording: a recording, or what `kido.Recording.open` gives.
            name: the skeleton; None for the only one.
            frame_rate: frames per second; None for as many as there are. Frames that are recorded at uneven times are
                found between those.

        Raises:
            StateError: several skeletons and no name, one that is in no frame, or a rate that is none.
        """
        if frame_rate is not None and not 0.0 < number_or_nan(frame_rate) < np.inf:
            raise StateError(f"motion: frame_rate is {frame_rate!r}; expected frames per second, above 0")
        times, positions, skeleton = read_series(recording, name)
        span = float(times[-1] - times[0])
        natural = (len(times) - 1) / span if span > 0.0 else frame_rate or 1.0
        motion = cls(None, positions, natural, skeleton=skeleton, start=float(times[0]))
        if np.allclose(motion.times, times, rtol=0.0, atol=1e-6 / natural):
            return motion if frame_rate is None else motion.resampled(frame_rate)
        even = times[0] + np.arange(int(span * (frame_rate or natural) + 1e-6) + 1) / (frame_rate or natural)
        k = np.clip(np.searchsorted(times, even, side="right") - 1, 0, len(times) - 2)
        share = ((even - times[k]) / (times[k + 1] - times[k]))[:, None]
        steps = motion.differences(positions[k + 1], positions[k])
        return motion._like(motion.moved(positions[k], share * steps), frame_rate=frame_rate or natural)
