"""Equalities of a compiled model, and limits and friction of its tendons, as constraints of a world."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.polynomial import Polynomial
from numpy.typing import NDArray

from kido.actuation import Actuators, Linear, TendonLimits
from kido.constraints import (
    BallJointConstraint,
    BallLimit,
    CouplerConstraint,
    CouplerForces,
    UserConstraint,
    WeldJointConstraint,
)
from kido.io.mjcf.actuators import ActuatorReader
from kido.io.mjcf.shapes import DEFAULT_SOLIMP, DEFAULT_SOLREF
from kido.io.mjcf.trees import BALL, NO_CONSTRAINTS, NO_FRICTION, NO_LIMITS, pose
from kido.simulation import World
from kido.skeleton import BodyNode, DegreeOfFreedom

__all__ = ["CurveCoupling", "EqualityReader"]

Array = NDArray[np.float64]
CONNECT, WELD, OF_JOINTS, OF_TENDONS = range(4)  # mjtEq
ON_BODIES = 1  # mjOBJ_BODY
NO_EQUALITIES = 1 << 1  # of mjtDisableBit


class CurveCoupling(UserConstraint):
    """A coordinate that follows another along a polynomial: q_a = p(q_b).

    Args:
        dof_a, dof_b: coordinates.
        curve: p.
        name: for messages and reports.
    """

    def __init__(self, dof_a: DegreeOfFreedom, dof_b: DegreeOfFreedom, curve: Polynomial, name: str):
        self._dofs, self._curve = (dof_a, dof_b), curve
        super().__init__(*dict.fromkeys(dof.joint.child.skeleton for dof in self._dofs), name=name)

    @property
    def error(self) -> Array:
        """q_a - p(q_b)."""
        a, b = self._dofs
        return np.array([a.position - self._curve(b.position)])

    def rows(self) -> Array:
        first, total = {}, 0
        for s in self.skeletons:
            first[s], total = total, total + s.num_dofs
        row, (a, b) = np.zeros((1, total)), self._dofs
        row[0, first[a.joint.child.skeleton] + a.index] += 1.0
        row[0, first[b.joint.child.skeleton] + b.index] -= self._curve.deriv()(b.position)
        return row


class EqualityReader:
    """Puts equalities, and limits and friction of tendons, into a world.

    Args:
        reader: of actuators and tendons.
        world: with skeletons and actuators.
        actuators: of the world, if it has any.
    """

    def __init__(self, reader: ActuatorReader, world: World, actuators: Actuators | None):
        self.model, self.trees, self.left_out = reader.model, reader.trees, reader.left_out
        self.reader, self.world, self.actuators = reader, world, actuators

    def add_equalities(self) -> None:
        """Add what is active."""
        m = self.model
        for e in range(int(m.neq)):
            name = m.equality(e).name
            if not m.eq_active0[e] or not self.trees.switched(NO_EQUALITIES | NO_CONSTRAINTS):
                self.left_out.add("equalities that are not active are left out", name)
                continue
            if not np.allclose(m.eq_solref[e], DEFAULT_SOLREF) or not np.allclose(m.eq_solimp[e], DEFAULT_SOLIMP):
                self.left_out.add("solref and solimp of equalities are left out: they hold rigidly", name)
            kind = int(m.eq_type[e])
            if kind in (CONNECT, WELD):
                made = self._between_bodies(e, kind, name)
            elif kind in (OF_JOINTS, OF_TENDONS):
                made = self._coupling(e, kind, name)
            else:
                made = None
                self.left_out.add("equalities of flexes and distances are left out", name)
            if made is not None:
                self.world.add_constraint(made)

    def _between_bodies(self, e: int, kind: int, name: str) -> Any:
        m, data = self.model, np.asarray(self.model.eq_data[e], float)
        ids = int(m.eq_obj1id[e]), int(m.eq_obj2id[e])
        if int(m.eq_objtype[e]) == ON_BODIES:
            bodies = [self.trees.bodies[k] for k in ids]
            if kind == CONNECT:
                frames = [pose(data[0:3]), pose(data[3:6])]
            else:
                frames = [pose(data[3:6], data[6:10]), pose(data[0:3])]
        else:
            places = [self.reader.place(k) for k in ids]
            bodies, frames = [_body(place.body) for place in places], [place.pose for place in places]
        if not any(body.skeleton.mobile for body in bodies):
            return None
        if bodies[0] is bodies[1]:
            self.left_out.add("equalities of a body with itself are left out", name)
            return None
        build = BallJointConstraint if kind == CONNECT else WeldJointConstraint
        return build(*bodies, frame_a=frames[0], frame_b=frames[1], name=name)

    def _coupling(self, e: int, kind: int, name: str) -> Any:
        """q_a - q_a0 = c_0 + c_1 (q_b - q_b0) + ... of joints, or of lengths of tendons."""
        m = self.model
        one, other = int(m.eq_obj1id[e]), int(m.eq_obj2id[e])
        curve = Polynomial(np.asarray(m.eq_data[e, :5], float))
        rest_a, terms_a = self._length(kind, one)
        if terms_a is None:
            self.left_out.add("equalities of tendons that are strings are left out", name)
            return None
        if other < 0:
            return CouplerConstraint(terms_a, rest_a + float(curve.coef[0]), name=name)
        rest_b, terms_b = self._length(kind, other)
        whole = curve(Polynomial([-rest_b, 1.0])) + rest_a
        if terms_b is not None and not np.any(curve.coef[2:]):
            slope = float(curve.coef[1])
            terms = dict(terms_a)
            for dof, factor in terms_b.items():
                terms[dof] = terms.get(dof, 0.0) - slope * factor
            terms = {dof: factor for dof, factor in terms.items() if factor}
            return CouplerConstraint(terms, float(whole(0.0)), name=name)
        if kind == OF_JOINTS and terms_b is not None:
            return CurveCoupling(next(iter(terms_a)), next(iter(terms_b)), whole, name)
        self.left_out.add("equalities of tendons that are strings or follow curves are left out", name)
        return None

    def _length(self, kind: int, k: int) -> tuple[float, dict[DegreeOfFreedom, float] | None]:
        """Value in the reference positions, and its terms; None: it is the length of a string."""
        m = self.model
        if kind == OF_JOINTS:
            return float(m.qpos0[m.jnt_qposadr[k]]), {self.trees.dofs[int(m.jnt_dofadr[k])]: 1.0}
        transmission = self.reader.tendons[k].transmission
        terms = dict(transmission.terms) if isinstance(transmission, Linear) else None
        return float(m.tendon_length0[k]), terms

    def add_ball_limits(self) -> None:
        """Add the limits of ball joints' angles."""
        m = self.model
        for j in np.flatnonzero((m.jnt_type == BALL) & m.jnt_limited.astype(bool)).tolist():
            limit = float(m.jnt_range[j].max() - m.jnt_margin[j])
            if self.trees.switched(NO_LIMITS | NO_CONSTRAINTS) and limit < np.pi:
                joint = self.trees.dofs[int(m.jnt_dofadr[j])].joint
                self.world.add_constraint(BallLimit(joint, limit))

    def add_tendons(self) -> None:
        """Add limits and friction."""
        m = self.model
        for k, tendon in self.reader.tendons.items():
            limited = bool(m.tendon_limited[k]) and self.trees.switched(NO_LIMITS | NO_CONSTRAINTS)
            lower, upper = (float(x) for x in m.tendon_range[k]) if limited else (-np.inf, np.inf)
            dry = float(m.tendon_frictionloss[k]) * self.trees.switched(NO_FRICTION | NO_CONSTRAINTS)
            lower, upper = lower + float(m.tendon_margin[k]), upper - float(m.tendon_margin[k])
            if not limited and not dry:
                continue
            if isinstance(tendon.transmission, Linear):
                terms = dict(tendon.transmission.terms)
                self.world.add_constraint(CouplerForces(terms, lower, upper, dry, name=tendon.name))
                continue
            if dry:
                self.left_out.add("friction of tendons that are strings is left out", tendon.name)
            if limited and self.actuators is not None and self.actuators.skeletons:
                self.world.add_constraint(TendonLimits(self.actuators, tendon.name, lower, upper))


def _body(body: BodyNode | None) -> BodyNode:
    assert body is not None
    return body
