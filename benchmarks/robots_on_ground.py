"""Robots that fall on the ground, and robots that a PD controller holds up: single steps in KIDO, dartpy and MuJoCo.

    python -m benchmarks.robots_on_ground [--quick] [--robot NAME] [--seconds S] [--program NAME]

All programs read one text: inertias, joint limits, boxes, cylinders, capsules and spheres as they are, meshes as the
boxes around them, no self-collision, friction 1, steps of 1 ms. The controller's forces are set between steps, outside
of what is timed. Programs repeat their steps exactly, so that each step's time is the least of some runs. "residual"
is the largest that KIDO reports of any step. Atlas needs DART's files: set KIDO_DART_DATA to their folder.
"""

from __future__ import annotations

import argparse
import os
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
from lxml import etree
from scipy.spatial.transform import Rotation

from benchmarks.robots import ROBOTS
from benchmarks.simulators import FRICTION, TIME_STEP, DartWorld
from benchmarks.timing import machine, table
from kido.models import path

HEADER = (
    *("robot", "control", "program", "median [us]", "99 % [us]", "99.9 % [us]", "99.9 % / median"),
    *("median / KIDO", "contacts", "height [m]", "residual"),
)
STIFFNESS = 1000.0  # [N m/rad] of the controller, less where a joint moves little inertia
EDGE, BOX_MASS = 0.06, 0.2  # [m, kg] of cubes
DAMPING = 0.1  # [s] beside its stiffness


@dataclass(frozen=True)
class Case:
    """A robot: its file, height of its base at the start, joints that are bent by a part of their names.

    Attributes:
        fixed: whether its base stays where it is.
        boxes: places (x, y) of cubes on the ground that are about it.
    """

    name: str
    file: Path
    height: float
    bent: tuple[tuple[str, float], ...] = ()
    fixed: bool = False
    boxes: tuple[tuple[float, float], ...] = ()

    def text(self) -> str:
        """What all programs read."""
        robot = etree.parse(str(self.file)).getroot()
        for child in list(robot):
            if child.tag not in ("link", "joint"):
                robot.remove(child)
        for visual in list(robot.iter("visual")):
            visual.getparent().remove(visual)
        for collision in list(robot.iter("collision")):
            _simplify(collision, self.file.parent)
        for inertial in list(robot.iter("inertial")):
            if float(inertial.find("mass").get("value")) < 1e-5:  # some are not positive definite
                inertial.getparent().remove(inertial)
        for dynamics in list(robot.iter("dynamics")):  # programs differ in what they make of joint friction
            dynamics.set("friction", "0")
        children = {joint.find("child").get("link") for joint in robot.findall("joint")}
        (root,) = [link.get("name") for link in robot.findall("link") if link.get("name") not in children]
        if root != "world":
            robot.insert(0, etree.fromstring('<link name="world"/>'))
            joint = etree.SubElement(robot, "joint", name="root", type="fixed" if self.fixed else "floating")
            etree.SubElement(joint, "parent", link="world")
            etree.SubElement(joint, "child", link=root)
        return etree.tostring(robot, encoding="unicode")

    def angle(self, joint: str) -> float:
        """Start and target of a joint."""
        return next((value for part, value in self.bent if part in joint), 0.0)


def _simplify(collision: Any, folder: Path) -> None:
    """The box around a mesh in its place; an origin with both its parts."""
    if collision.find("origin") is None:
        etree.SubElement(collision, "origin")
    for part in ("xyz", "rpy"):
        if collision.find("origin").get(part) is None:
            collision.find("origin").set(part, "0 0 0")
    mesh = collision.find("geometry/mesh")
    if mesh is None:
        return
    import trimesh

    name = mesh.get("filename").replace("package://example-robot-data/robots", str(ROBOTS))
    low, high = trimesh.load(folder / name, force="mesh").bounds
    origin = collision.find("origin")
    place = np.array(origin.get("xyz").split(), dtype=float)
    turn = Rotation.from_euler("xyz", np.array(origin.get("rpy").split(), dtype=float))
    origin.set("xyz", " ".join(f"{x:.6g}" for x in place + turn.apply(0.5 * (low + high))))
    collision.find("geometry").remove(mesh)
    size = " ".join(f"{x:.6g}" for x in high - low)
    collision.find("geometry").append(etree.fromstring(f'<box size="{size}"/>'))


def cases() -> list[Case]:
    """The robots whose files are there."""
    dart = Path(os.environ.get("KIDO_DART_DATA", ""), "sdf", "atlas", "atlas_v3_no_head.urdf")
    anymal = ROBOTS / "anymal_b_simple_description" / "robots" / "anymal.urdf"
    legs = (("F_HFE", 0.7), ("H_HFE", -0.7), ("F_KFE", -1.2), ("H_KFE", 1.2))
    found = [Case("humanoid", path("humanoid"), 0.0), Case("Atlas", dart, 0.95), Case("ANYmal", anymal, 0.55, legs)]
    return [case for case in found if case.file.is_file()]


class Kido:
    """KIDO with its defaults."""

    name = "KIDO"

    def __init__(self, case: Case) -> None:
        import kido

        self.world = kido.World()
        self.world.time_step = TIME_STEP
        self.world.add_ground(friction=FRICTION)
        self.robot = self.world.add_skeleton(kido.load(case.text()))
        self.robot.self_collision = False
        q = np.array([case.angle(dof.name) for dof in self.robot.dofs])
        self.free = next(k for k, dof in enumerate(self.robot.dofs) if dof.joint.num_dofs == 1)
        q[: self.free] = 0.0
        if self.free:
            q[5] += case.height
        self.robot.positions = q
        for k, (x, y) in enumerate(case.boxes):
            box = kido.Skeleton(f"box {k}")
            shape = kido.shapes.Box((EDGE, EDGE, EDGE))
            body = box.add_body("box", kido.FreeJoint("free"), inertia=kido.Inertia.from_shape(shape, mass=BOX_MASS))
            body.add_shape(shape, friction=FRICTION)
            self.world.add_skeleton(box).positions = [0.0, 0.0, 0.0, x, y, 0.5 * EDGE]
        self.target = q[self.free :]
        self.names = [dof.name for dof in self.robot.dofs][self.free :]
        self.inertia = 1.0 / np.diag(np.linalg.inv(self.robot.mass_matrix))[self.free :]  # with the others loose
        self.forces = np.zeros(self.robot.num_dofs)

    def step(self) -> None:
        self.world.step()

    def control(self, kp: np.ndarray, kd: np.ndarray) -> None:
        q, u = self.robot.positions[self.free :], self.robot.velocities[self.free :]
        self.forces[self.free :] = kp * (self.target - q) - kd * u
        self.robot.forces = self.forces

    def contacts(self) -> int:
        return len(self.world.contacts)

    def height(self) -> float:
        return float(self.robot.com[2])


class Dart(DartWorld):
    """dartpy with its default solver and ODE's collisions."""

    def __init__(self, case: Case) -> None:
        self.text = case.text()
        super().__init__(None, "ODE")
        self.robot = self.world.getSkeleton(self.world.getNumSkeletons() - 1)
        names = [self.robot.getDof(k).getName() for k in range(self.robot.getNumDofs())]
        q = np.array([case.angle(name) for name in names])
        q[:6] = 0.0
        q[5] = case.height
        self.robot.setPositions(q)
        self.target, self.names = q[6:], names[6:]
        self.forces = np.zeros(len(q))

    def _humanoid(self) -> None:
        self._robot(etree.fromstring(self.text))

    def step(self, count: int = 1) -> None:
        self.world.step()

    def control(self, kp: np.ndarray, kd: np.ndarray) -> None:
        q, u = self.robot.getPositions()[6:], self.robot.getVelocities()[6:]
        self.forces[6:] = kp * (self.target - q) - kd * u
        self.robot.setForces(self.forces)

    def contacts(self) -> Any:
        return self.num_contacts()

    def height(self) -> float:
        return float(self.robot.getCOM()[2])


class Mujoco:
    """MuJoCo with its default solver (Newton) and a pyramidal (its default) or elliptic friction cone."""

    def __init__(self, case: Case, cone: str) -> None:
        import mujoco

        self.mujoco, self.name = mujoco, f"MuJoCo {cone}"
        text = case.text().replace("<link", '<mujoco><compiler fusestatic="true"/></mujoco><link', 1)
        spec = mujoco.MjSpec.from_string(text)
        for geom in spec.geoms:
            geom.contype, geom.conaffinity, geom.friction = 0, 1, [FRICTION, 0, 0]
        for x, y in case.boxes:
            body = spec.worldbody.add_body(pos=[x, y, 0.5 * EDGE])
            body.add_freejoint()
            half = [0.5 * EDGE] * 3
            body.add_geom(type=mujoco.mjtGeom.mjGEOM_BOX, size=half, mass=BOX_MASS, friction=[FRICTION, 0, 0])
        spec.worldbody.add_geom(
            type=mujoco.mjtGeom.mjGEOM_PLANE, size=[0, 0, 1], friction=[FRICTION, 0, 0], contype=1, conaffinity=0
        )
        spec.option.timestep = TIME_STEP
        spec.option.cone = mujoco.mjtCone.mjCONE_ELLIPTIC if cone == "elliptic" else mujoco.mjtCone.mjCONE_PYRAMIDAL
        self.model = spec.compile()
        self.data = mujoco.MjData(self.model)
        joints = [self.model.joint(k) for k in range(self.model.njnt) if self.model.jnt_type[k] != 0]
        self.names = [joint.name for joint in joints]
        self.at = np.array([joint.qposadr[0] for joint in joints])
        self.dof = np.array([joint.dofadr[0] for joint in joints])
        self.target = np.array([case.angle(name) for name in self.names])
        self.data.qpos[self.at] = self.target
        if not case.fixed:
            self.data.qpos[2] += case.height

    def step(self) -> None:
        self.mujoco.mj_step(self.model, self.data)

    def control(self, kp: np.ndarray, kd: np.ndarray) -> None:
        q, u = self.data.qpos[self.at], self.data.qvel[self.dof]
        self.data.qfrc_applied[self.dof] = kp * (self.target - q) - kd * u

    def contacts(self) -> int:
        return self.data.ncon

    def height(self) -> float:
        return float(self.data.subtree_com[0][2])


def gains(case: Case) -> dict[str, tuple[float, float]]:
    """Stiffness and damping of the controller for each joint by name, stable at the time step."""
    world = Kido(case)
    kp = np.minimum(STIFFNESS, 0.02 * world.inertia / TIME_STEP**2)
    kd = np.minimum(DAMPING * kp, 0.1 * world.inertia / TIME_STEP)
    return {name: (float(p), float(d)) for name, p, d in zip(world.names, kp, kd, strict=True)}


def measure(case: Case, controlled: bool, programs: list[str], seconds: float, repeats: int) -> list[list[str]]:
    """Rows of one robot, with or without control."""
    gain = gains(case)
    makers: dict[str, list[Any]] = {
        "kido": [lambda: Kido(case)],
        "dartpy": [lambda: Dart(case)],
        "mujoco": [lambda: Mujoco(case, "pyramidal"), lambda: Mujoco(case, "elliptic")],
    }
    chosen = [make for name in programs for make in makers[name]]
    steps = round(seconds / TIME_STEP)
    least = np.full((len(chosen), steps), np.inf)
    worlds: list[Any] = []
    residual = 0.0
    for _ in range(repeats):
        worlds = [make() for make in chosen]
        for j, world in enumerate(worlds):
            kp, kd = (np.array([gain[name][i] for name in world.names]) for i in range(2))
            for k in range(steps):
                if controlled:
                    world.control(kp, kd)
                start = perf_counter()
                world.step()
                least[j, k] = min(least[j, k], perf_counter() - start)
                if isinstance(world, Kido):
                    residual = max(residual, world.world.report.residual)
    rows = []
    for world, times in zip(worlds, 1e6 * least, strict=True):
        median, slow, slowest = np.percentile(times, (50.0, 99.0, 99.9))
        rows.append(
            [
                *(case.name, "PD" if controlled else "none", world.name),
                *(f"{x:.1f}" for x in (median, slow, slowest)),
                *(f"{slowest / median:.1f}", f"{median / np.median(1e6 * least[0]):.2f}"),
                *(str(world.contacts()), f"{world.height():.3f}"),
                f"{residual:.0e}" if isinstance(world, Kido) else "-",
            ]
        )
    return rows


def main(arguments: list[str] | None = None) -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="fewer repeats")
    parser.add_argument("--robot", action="append", help="only these")
    parser.add_argument("--seconds", type=float, default=3.0, help="simulated")
    parser.add_argument("--program", choices=["kido", "dartpy", "mujoco"], action="append", help="only these")
    options = parser.parse_args(arguments)
    rows = []
    for case in cases():
        if options.robot and case.name not in options.robot:
            continue
        for controlled in (False, True):
            programs = options.program or ["kido", "dartpy", "mujoco"]
            rows += measure(case, controlled, programs, options.seconds, 2 if options.quick else 4)
    print(f"{machine()}\n\nTime step {1e3 * TIME_STEP:g} ms, microseconds per single step\n")
    print(table(HEADER, rows))


if __name__ == "__main__":
    main()
