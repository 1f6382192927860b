"""Descriptions of actuators and tendons as tables for kernels."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kido.actuation import schema
from kido.actuation.description import AROUND, Actuator, Around, Ball, Linear, Path, Place, Pulley, Tendon, Wrench
from kido.actuation.schema import CHAIN, PROGRAM
from kido.errors import ModelError
from kido.skeleton import BodyNode, Skeleton
from kido.tree.schema import data_for

Array = NDArray[np.float64]


class Layout:
    """Transmissions, places and coordinates of descriptions, each once and in order; numbers that do not change.

    Args:
        tendons, actuators: descriptions.
        force_ranges: within which actuators drive coordinates (dofs, 2), by skeleton.
    """

    def __init__(
        self, tendons: Sequence[Tendon], actuators: Sequence[Actuator], force_ranges: Mapping[Skeleton, Array]
    ):
        self.tendons, self.actuators, self.force_ranges = tendons, actuators, force_ranges
        self.rows: list[Any] = [t.transmission for t in tendons]
        of_tendon = {id(t): k for k, t in enumerate(tendons)}
        self.row_of: list[int] = []
        self.tendon_of: list[int] = []
        for a in actuators:
            if isinstance(a.transmission, Tendon):
                if id(a.transmission) not in of_tendon:
                    raise ModelError(f"actuator {a.name!r}: tendon {a.transmission.name!r} is none of those given")
                self.tendon_of.append(of_tendon[id(a.transmission)])
                self.row_of.append(self.tendon_of[-1])
            else:
                self.tendon_of.append(-1)
                self.row_of.append(len(self.rows))
                self.rows.append(a.transmission)
        self.places: list[Place] = []
        self._place_number: dict[int, int] = {}
        self.items: list[list[tuple[int, int, float, int]]] = [self._items(row) for row in self.rows]
        self._frames = [self._frame(row) for row in self.rows]
        self.skeletons: list[Skeleton] = list(
            dict.fromkeys(
                [p.body.skeleton for p in self.places if p.body is not None and p.body.skeleton.num_dofs]
                + [s for row in self.rows for s in _direct_skeletons(row)]
            )
        )

    def _place(self, place: Place | None) -> int:
        if place is None:
            return -1
        if id(place) not in self._place_number:
            self._place_number[id(place)] = len(self.places)
            self.places.append(place)
        return self._place_number[id(place)]

    def _items(self, row: Any) -> list[tuple[int, int, float, int]]:
        """Kind, place, number and side of each item of a path."""
        made = []
        for item in row.items if isinstance(row, Path) else ():
            if isinstance(item, Place):
                made.append((schema.THROUGH, self._place(item), 0.0, -1))
            elif isinstance(item, Pulley):
                made.append((schema.PULLEY, -1, float(item.divisor), -1))
            elif isinstance(item, Around) and item.shape in AROUND:
                made.append((AROUND[item.shape], self._place(item.place), float(item.radius), self._place(item.side)))
            else:
                raise ModelError(f"path: expected places, pulleys, and spheres or cylinders to go around, got {item!r}")
        return made

    def _frame(self, row: Any) -> tuple[int, int, int, int]:
        """Place, reference, and places whose axes force and torque are in."""
        if not isinstance(row, Wrench):
            return (int(isinstance(row, Ball) and row.in_parent), -1, -1, -1)
        own = {"place": self._place(row.place), "reference": self._place(row.reference), "world": -1}
        return own["place"], own["reference"], own[row.force_axes], own[row.torque_axes]

    # For present skeletons -------------------------------------------------------------------------------------

    def make(self, memory: Array, time: float) -> tuple[PROGRAM, list[CHAIN]]:
        """Tables for the skeletons as they are.

        Args:
            memory: (2 actuators,) controls and activations, which are shared.
            time: for which forces are held [s].
        """
        first, total = {}, 0
        for s in self.skeletons:
            first[s], total = total, total + s.num_dofs
        columns = [self._columns(row, items, first) for row, items in zip(self.rows, self.items, strict=True)]
        n = len(self.actuators)
        p = PROGRAM(
            chains=len(self.skeletons), dofs=total, places=len(self.places), rows=len(self.rows),
            rows1=len(self.rows) + 1, columns=sum(map(len, columns)), items=sum(map(len, self.items)),
            tendons=len(self.tendons), actuators=n, control=memory[:n], activation=memory[n:], time=time, enabled=1,
        )  # fmt: skip
        chains = self._chains(p, first)
        self._write_places(p)
        self._write_rows(p, columns)
        self._write_tendons(p)
        self._write_actuators(p)
        p.least_force[:], p.greatest_force[:] = -np.inf, np.inf
        for s, bounds in self.force_ranges.items():
            if s in first:
                part = slice(first[s], first[s] + s.num_dofs)
                p.least_force[part], p.greatest_force[part] = bounds.T
        return p, chains

    def _chains(self, p: PROGRAM, first: Mapping[Skeleton, int]) -> list[CHAIN]:
        placed = {place.body.skeleton for place in self.places if place.body is not None}
        chains = []
        for k, s in enumerate(self.skeletons):
            plant, tree = s.current_state.compiled(), s.current_state.tree
            chains.append(
                CHAIN(
                    tree=tree, data=data_for(tree, q=plant.q, u=plant.u), first=first[s], places=int(s in placed),
                    program=p, leads=int(k == 0),
                )
            )  # fmt: skip
        p.chain[:] = [c.address for c in chains]
        return chains

    def _write_places(self, p: PROGRAM) -> None:
        for k, place in enumerate(self.places):
            X = np.asarray(place.pose, float)
            p.place_chain[k] = -1
            if place.body is not None and place.body.skeleton.num_dofs:
                tree, index = place.body.skeleton.current_state.tree, place.body.index
                p.place_chain[k], p.place_body[k] = self.skeletons.index(place.body.skeleton), tree.member_link[index]
                X = np.vstack([np.asarray(tree.member_pose[index]).reshape(3, 4), [0.0, 0.0, 0.0, 1.0]]) @ X
            elif place.body is not None:
                X = place.body.world_transform @ X
            p.place[k] = [*X[:3, :3].ravel(), *X[:3, 3]]

    def _columns(self, row: Any, items: Sequence[Any], first: Mapping[Skeleton, int]) -> list[int]:
        """Coordinates that a transmission depends on."""
        if isinstance(row, Linear):
            return [first[dof.joint.child.skeleton] + dof.index for dof, _ in row.terms]
        if isinstance(row, Ball):
            return [first[row.joint.child.skeleton] + dof.index for dof in row.joint.dofs]
        if isinstance(row, Wrench):
            one = _above(row.place.body, first)
            other = [] if row.reference is None else _above(row.reference.body, first)
            return sorted(set(one) ^ set(other))
        bodies = [self.places[place].body for _, place, _, _ in items if place >= 0]
        return sorted({k for body in bodies for k in _above(body, first)})

    def _write_rows(self, p: PROGRAM, columns: list[list[int]]) -> None:
        p.first_column[1:] = np.cumsum([len(c) for c in columns])
        p.first_item[1:] = np.cumsum([len(items) for items in self.items])
        p.column[:] = [k for c in columns for k in c]
        for j, item in enumerate(item for items in self.items for item in items):
            p.item[j], p.item_place[j], p.item_number[j], p.item_side[j] = item
        kinds = {Linear: schema.LINEAR, Ball: schema.BALL, Wrench: schema.WRENCH, Path: schema.PATH}
        for r, row in enumerate(self.rows):
            p.kind[r] = kinds[type(row)]
            p.frame[r], p.reference[r], p.force_axes[r], p.torque_axes[r] = self._frames[r]
            if isinstance(row, Linear):
                p.coefficient[p.first_column[r] : p.first_column[r + 1]] = [factor for _, factor in row.terms]
            elif isinstance(row, Ball | Wrench):
                p.gear[r, : len(row.gear)] = row.gear

    def _write_tendons(self, p: PROGRAM) -> None:
        for k, t in enumerate(self.tendons):
            p.tendon_row[k], p.stiffness[k], p.damping[k] = k, t.stiffness, t.damping
            p.least_rest[k], p.greatest_rest[k] = t.rest
            p.least_total[k], p.greatest_total[k] = t.force_range

    def _write_actuators(self, p: PROGRAM) -> None:
        for k, a in enumerate(self.actuators):
            p.row[k], p.on_tendon[k], p.ratio[k] = self.row_of[k], self.tendon_of[k], a.gear
            p.active[k], p.early[k], p.period[k] = int(a.active), int(a.early), a.period
            p.least_control[k], p.greatest_control[k] = a.control_range
            p.least_activation[k], p.greatest_activation[k] = a.activation_range
            p.least_own[k], p.greatest_own[k] = a.force_range
            p.least_length[k], p.greatest_length[k] = a.length_range
            p.dynamics[k], p.gain[k], p.bias[k] = a.kinds
            for target, values in (
                (p.dynamics_number, a.dynamics_parameters),
                (p.gain_number, a.gain_parameters),
                (p.bias_number, a.bias_parameters),
            ):
                target[k, : len(values)] = values


def _direct_skeletons(row: Any) -> Iterable[Skeleton]:
    if isinstance(row, Linear):
        return [dof.joint.child.skeleton for dof, _ in row.terms]
    return [row.joint.child.skeleton] if isinstance(row, Ball) else []


def _above(body: BodyNode | None, first: Mapping[Skeleton, int]) -> list[int]:
    """Coordinates of the joints at a body and above it."""
    found = []
    while body is not None:
        found += [first[body.skeleton] + dof.index for dof in body.parent_joint.dofs]
        body = body.parent
    return found
