"""Cables and winches: what pulls, and never pushes. Ports fit those of `BodyPort` and `JointPort`."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from kido.errors import ModelError
from kido.math.transform import as_vector
from kido.skeleton import BodyNode
from kido.systems import Assembly, BodyPort, Crossing, Input, JointPort, Model, Output, Parameter

SHORTEST = 0.01  # share of the free length that is not wound in
_TINY = 1e-24  # [m^2] keeps the direction between two points in one place a number


class Cable(Model):
    """An elastic cable that runs freely through points, one after the other, and may come from a drum.

        tension = max(0, E A (l - l_0) / l_0 + c (dl/dt - dl_0/dt)) where l > l_0, else 0

    with l the length of the line through its points and l_0 that of the cable without tension, `free_length` +
    `paid_out`, but no less than a hundredth of `free_length`: more is not wound in. Each point is pulled towards its
    neighbours: at the ends by the tension, between by that on both sides, as a pulley without friction is. In a world
    the force holds for a step: with the stretch taken `ahead`, by half of the time step, a cable keeps energy, as it
    does not with that at the start of the step.

    Where it becomes taut or slack is a crossing, at which integration of continuous models stops; bodies of worlds see
    it at their next step.

    Ports are `position_0`, `velocity_0`, `force_0` and so on.

    Args:
        points: how many, from 2 on; or a sequence with None for points that move and (3,) for those that stay [m].
        values: name and others as of models.

    Raises:
        ModelError: fewer than two points, or no three numbers.

    Source: H. Irvine, Cable Structures (1981), section 1, of cables whose weight is small.
    """

    stiffness = Parameter(1e5, "N", low=0.0, doc="E A: tension at twice the free length")
    damping = Parameter(0.0, "N s/m", low=0.0, doc="c")
    free_length = Parameter(1.0, "m", low=1e-9)
    ahead = Parameter(0.0, "s", low=0.0, doc="half of the time step of the world")
    paid_out, pay_speed = Input("m", default=0.0), Input("m/s", default=0.0)
    length = Output("m", doc="of the line through its points, l")
    tension = Output("N")
    taut = Crossing()

    def __init__(self, points: int | Sequence[ArrayLike | None] = 2, name: str | None = None, **values: Any):
        super().__init__(name, **values)
        what = f"model {self.name!r}: points"
        whole = isinstance(points, int | np.integer) and not isinstance(points, bool)
        given: Any = [None] * int(points) if whole else points  # type: ignore[call-overload]
        if not isinstance(given, list | tuple) or len(given) < 2:
            raise ModelError(f"{what}: expected at least 2, or a sequence of None and places (3,), got {points!r}")
        self._count = len(given)
        for k, place in enumerate(given):
            at = None if place is None else as_vector(place, f"{what}[{k}]")
            self.redeclare(**{
                f"position_{k}": Input("m", 3, default=at),
                f"velocity_{k}": Input("m/s", 3, default=0.0),
                f"force_{k}": Output("N", 3, doc="world axes"),
            })  # fmt: skip

    @property
    def num_points(self) -> int:
        """How many it runs through."""
        return self._count

    def _line(self) -> tuple[list[Any], Any, Any]:
        """Unit vectors from each point to the next, length, and its rate."""
        assert self.inside is not None
        at = [(self.inside[f"position_{k}"], self.inside[f"velocity_{k}"]) for k in range(self._count)]
        ways, length, rate = [], 0.0, 0.0
        for (p, v), (q, w) in pairwise(at):
            d = np.sqrt((q - p) @ (q - p) + _TINY)
            ways.append((q - p) / d)
            length, rate = length + d, rate + ways[-1] @ (w - v)
        return ways, length, rate

    def _free(self) -> tuple[Any, Any]:
        """Length without tension, and its rate."""
        least, free = SHORTEST * self.free_length, self.free_length + self.paid_out
        return np.maximum(free, least), np.where(free > least, self.pay_speed, 0.0)

    def outputs(self):
        ways, length, rate = self._line()
        free, pays = self._free()
        growth = rate - pays
        stretch = length - free + self.ahead * growth
        pull = np.maximum(self.stiffness * stretch / free + self.damping * growth, 0.0)
        tension = np.where(stretch > 0.0, pull, 0.0)
        found = {"length": length, "tension": tension}
        for k in range(self._count):
            on = ways[k] if k < len(ways) else 0.0
            back = ways[k - 1] if k > 0 else 0.0
            found[f"force_{k}"] = tension * (on - back)
        return found

    def crossings(self):
        return {"taut": self._line()[1] - self._free()[0]}


class Winch(Model):
    """A drum that pays out cable as it turns: radius times angle, and is turned that way by the tension.

    Ports fit those of `JointPort` and `Cable`; a motor, a gear or a brake turns the same joint.
    """

    radius = Parameter(0.1, "m", doc="of the drum; negative: the cable is on its other side")
    angle, speed = Input("rad"), Input("rad/s")
    tension = Input("N")
    paid_out, pay_speed = Output("m"), Output("m/s")
    torque = Output("N m", doc="on the drum")

    def outputs(self):
        r = self.radius
        return {"paid_out": r * self.angle, "pay_speed": r * self.speed, "torque": r * self.tension}


class Rigging(Assembly):
    """A cable through points of bodies and of the world, and the winch that it comes from, if there is one.

    `cable.tension` and `cable.length` say how it is. A motor drives the drum's joint by a `JointPort` of its own: their
    torques add.

    Args:
        name: in its assembly.
        points: one after the other, (body, offset in its axes [m]), or (3,) for points that stay in the world [m].
        drum: joint or coordinate of the winch; None: the cable is as long as it is.
        radius: of the drum [m].
        **values: parameters of the `Cable`.

    Raises:
        ModelError: fewer than two points, or something else than points.
    """

    def __init__(self, name: str, points: Sequence[Any], drum: Any = None, radius: float = 0.1, **values: Any):
        super().__init__(name)
        if not isinstance(points, list | tuple):
            raise ModelError(f"assembly {name!r}: points: expected a sequence of points, got {points!r:.100}")
        on_body = [isinstance(p, list | tuple) and len(p) == 2 and isinstance(p[0], BodyNode) for p in points]
        places = [None if on else p for on, p in zip(on_body, points, strict=True)]
        cable = self.add(Cable(places, "cable", **values))
        for k, (on, p) in enumerate(zip(on_body, points, strict=True)):
            if on:
                port = self.add(BodyPort(p[0], p[1], f"point_{k}"))
                self.connect(port.position, cable.port(f"position_{k}"))
                self.connect(port.velocity, cable.port(f"velocity_{k}"))
                self.connect(cable.port(f"force_{k}"), port.force)
        if drum is not None:
            joint, winch = self.add(JointPort(drum, "drum")), self.add(Winch("winch", radius=radius))
            for source, target in (
                (joint.position, winch.angle), (joint.velocity, winch.speed), (winch.paid_out, cable.paid_out),
                (winch.pay_speed, cable.pay_speed), (cable.tension, winch.tension), (winch.torque, joint.force),
            ):  # fmt: skip
                self.connect(source, target)
