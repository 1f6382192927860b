"""Skeletons with flexible bodies and rigid ones that move in just the same way, whose quantities are thus known.

A flexible body here is a hub that does not deform, with point masses on two lines that modes shift along themselves. A
node on such a line shifts with it, and turns about it. So a mode is a screw joint: the rigid twin has a slider on one,
whose mass is on the line, so that it does not notice that it turns. Nothing is approximated by that.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

import kido
from kido.flexible import FlexibleBody, ModeNode, Modes
from trees import random_inertia, random_joint

LEAD = 0.3  # metres per radian of the screws
ROOTS = {"floating": "free", "clamped": "weld", "hinged": "universal"}


@dataclass
class Twins:
    """A skeleton with flexible bodies and its rigid twin; bodies and coordinates have the same names.

    Attributes:
        sliders: names of what are nodes without mass in one, and bodies with mass in the other, by the flexible body's.
    """

    flexible: kido.Skeleton
    rigid: kido.Skeleton
    sliders: dict[str, list[str]]

    @property
    def both(self) -> tuple[kido.Skeleton, kido.Skeleton]:
        return self.flexible, self.rigid

    @property
    def common(self) -> list[str]:
        """Names of bodies that are the same in both."""
        apart = {name for names in self.sliders.values() for name in names}
        return [b.name for b in self.rigid.bodies if b.name not in apart]

    def chosen(self, skeleton: kido.Skeleton, names: list[str]) -> list[str]:
        """Bodies, flexible ones with their sliders."""
        if skeleton is self.flexible:
            return names
        return [*names, *(slider for name in names for slider in self.sliders.get(name, ()))]

    def set_state(self, seed: int) -> None:
        rng, n = np.random.default_rng(seed), self.rigid.num_dofs
        numbers = 0.4 * rng.normal(size=n), rng.normal(size=n), rng.normal(size=n), rng.normal(size=n)
        for skeleton in self.both:
            skeleton.positions, skeleton.velocities, skeleton.accelerations, skeleton.forces = numbers


def point_inertia(masses: np.ndarray, x: np.ndarray) -> kido.Inertia:
    m = masses.sum()
    com = masses @ x / m
    r = x - com
    J = np.einsum("p,pa,pa->", masses, r, r) * np.eye(3) - np.einsum("p,pa,pb->ab", masses, r, r)
    return kido.Inertia(m, com, J)


def add_flexible(twins: Twins, rng: np.random.Generator, name: str, kind: str, parent: str | None) -> None:
    """A flexible body with nodes a and b; in the twin a hub with sliders."""
    hub_mass, hub_points = rng.uniform(0.2, 1.0, 5), 0.3 * rng.normal(size=(5, 3))
    lines = []
    for _ in range(2):
        axis = rng.normal(size=3)
        lines.append(
            (0.3 * rng.normal(size=3), axis / np.linalg.norm(axis), rng.uniform(0.2, 0.6, 3), [-0.2, 0.1, 0.4])
        )
    points, masses, shapes, nodes = [hub_points], [hub_mass], [np.zeros((5, 3, 2))], []
    for k, (origin, axis, m, s) in enumerate(lines):
        column = np.zeros((3, 2))
        column[:, k] = axis
        points.append(origin + np.outer(s, axis))
        masses.append(m)
        shapes.append(np.repeat(LEAD * column[None], 3, axis=0))
        nodes.append(ModeNode("ab"[k], origin, LEAD * column, column))
    stiffness = rng.uniform(2.0, 5.0, 2)
    modes = Modes(
        np.concatenate(masses), np.vstack(points), np.concatenate(shapes), stiffness, nodes, damping_ratio=0.05
    )
    seed = int(rng.integers(1 << 30))
    for skeleton in twins.both:
        joint = random_joint(np.random.default_rng(seed), kind, f"{name}_hinge")
        above = None if parent is None else skeleton.body(parent)
        if skeleton is twins.flexible:
            FlexibleBody(skeleton.add_body(name, joint, above), modes)
            continue
        hub = skeleton.add_body(name, joint, above, point_inertia(hub_mass, hub_points))
        for k, (origin, axis, m, s) in enumerate(lines):
            screw = kido.ScrewJoint(
                axis=axis, pitch=2.0 * np.pi * LEAD, transform_from_parent=origin, dof_names=[f"{name}.mode{k + 1}"],
                spring_stiffness=stiffness[k], damping=modes.damping[k],
            )  # fmt: skip
            skeleton.add_body(f"{name}_{'ab'[k]}", screw, hub, point_inertia(m, np.outer(s, axis)))
    twins.sliders[name] = [f"{name}_a", f"{name}_b"]


def add_rigid(twins: Twins, rng: np.random.Generator, name: str, kind: str, parent: str | None) -> None:
    seed, inertia = int(rng.integers(1 << 30)), random_inertia(rng, float(rng.uniform(0.5, 2.0)))
    for skeleton in twins.both:
        joint = random_joint(np.random.default_rng(seed), kind, f"{name}_joint")
        skeleton.add_body(name, joint, None if parent is None else skeleton.body(parent), inertia)


def make_twins(root: str = "floating", seed: int = 0) -> Twins:
    """A branched tree with two flexible bodies, one on a node of the other, joints of many kinds, and rotors."""
    rng = np.random.default_rng(seed)
    twins = Twins(kido.Skeleton("flexible"), kido.Skeleton("rigid"), {})
    add_rigid(twins, rng, "base", ROOTS[root], None)
    add_flexible(twins, rng, "hub", "revolute", "base")
    add_rigid(twins, rng, "arm", "ball", "hub_a")
    add_rigid(twins, rng, "tool", "revolute", "arm")
    add_flexible(twins, rng, "wing", "universal", "hub_b")
    add_rigid(twins, rng, "flap", "prismatic", "wing_a")
    add_rigid(twins, rng, "load", "weld", "wing_b")
    add_rigid(twins, rng, "tail", "planar", "hub")
    add_rigid(twins, rng, "plate", "weld", "hub")
    add_rigid(twins, rng, "mast", "weld", "base")
    for skeleton in twins.both:
        for name in ("tool_joint", "hub.mode2"):
            skeleton.dof(name).armature = 0.1
        skeleton.gravity = (0.5, -1.0, -9.81)
    assert [d.name for d in twins.flexible.dofs] == [d.name for d in twins.rigid.dofs]
    twins.set_state(seed)
    return twins
