"""Steps of a control loop by inverse differential kinematics: KIDO, pink and mink on the same robots and targets.

    python -m benchmarks.differential_ik [--rounds 20] [--steps 50]

A step takes positions, tasks and limits of positions and velocities, and gives velocities and the next positions, by
each program's public functions. UR5 has two tasks, a pose of its tool and a posture; Talos (38 coordinates, base free)
has poses of both feet and both hands, the centre of mass, and a posture. Hands and centre of mass are to move some
centimetres. pink and mink solve with daqp. All walk the same way from the same start, in turns; the best round counts.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

import kido
from benchmarks.robots import CASES
from benchmarks.timing import interleaved, machine, table
from kido.ik import DifferentialIK, Task

DT = 1e-3  # [s]
GAIN = 0.02  # share of a task's error that a step takes away
DAMPING = 1e-9
WEIGHT_OF_POSTURE = 1e-2


@dataclass
class Scene:
    """A robot, where it begins, and what it is to reach.

    Attributes:
        urdf: text for all programs.
        skeleton: at its start.
        targets: pose (4, 4) by body.
        com: target (3,) of the centre of mass, if there is one.
    """

    urdf: str
    skeleton: kido.Skeleton
    targets: dict[str, np.ndarray] = field(default_factory=dict)
    com: np.ndarray | None = None


def scenes() -> dict[str, Scene]:
    """The robots at their starts, with targets."""
    texts = {robot.name: robot.urdf() for robot in CASES}
    ur5 = Scene(texts["ur5"], kido.load(texts["ur5"]))
    ur5.skeleton.positions = [0.3, -1.2, 1.1, -0.8, 0.5, 0.2]
    X = ur5.skeleton.body("tool0").world_transform.copy()
    X[:3, 3] += [0.05, -0.1, 0.05]
    ur5.targets["tool0"] = X
    talos = Scene(texts["talos"], kido.load(texts["talos"]))
    start = {"leg_{}_3_joint": -0.41, "leg_{}_4_joint": 0.86, "leg_{}_5_joint": -0.45, "arm_{}_4_joint": -1.2}
    for side in ("left", "right"):
        for name, value in start.items():
            talos.skeleton.dof(name.format(side)).position = value
        talos.skeleton.dof(f"arm_{side}_2_joint").position = 0.3 if side == "left" else -0.3
    for body, move in (
        ("left_sole_link", (0, 0, 0)), ("right_sole_link", (0, 0, 0)),
        ("gripper_left_base_link", (0.1, 0, 0.05)), ("gripper_right_base_link", (0.05, -0.05, 0.1)),
    ):  # fmt: skip
        X = talos.skeleton.body(body).world_transform.copy()
        X[:3, 3] += move
        talos.targets[body] = X
    talos.com = talos.skeleton.com + [0.01, 0.02, -0.02]
    return {"UR5": ur5, "Talos": talos}


Walk = Callable[[], np.ndarray]  # from the start, some steps on; poses of the targets' bodies at the end


def kido_walk(scene: Scene, steps: int, hard_feet: bool = False) -> Walk:
    """Steps of KIDO; with feet as constraints instead of tasks, if asked for."""
    skeleton = scene.skeleton.clone()
    start = skeleton.positions
    tasks = {name: Task.pose(skeleton.body(name), X, gain=GAIN / DT) for name, X in scene.targets.items()}
    feet = [tasks.pop(name) for name in list(tasks) if hard_feet and "sole" in name]
    rest = [Task.posture(start, WEIGHT_OF_POSTURE, gain=GAIN / DT)]
    if scene.com is not None:
        X = np.eye(4)
        X[:3, 3] = scene.com
        rest.append(Task.com(X, gain=GAIN / DT))
    ik = DifferentialIK(skeleton, [*tasks.values(), *rest], feet, damping=DAMPING)

    def walk() -> np.ndarray:
        skeleton.positions = start
        for _ in range(steps):
            ik.step(DT)
        return np.array([skeleton.body(name).world_transform for name in scene.targets])

    return walk


def pink_walk(scene: Scene, steps: int) -> Walk:
    """Steps of pink."""
    import pink
    import pink.tasks
    import pinocchio as pin

    from kido.layouts import PinocchioLayout

    model = pin.buildModelFromXML(scene.urdf)
    start = PinocchioLayout(scene.skeleton, model).positions(scene.skeleton.positions)
    tasks: list = []
    for name, X in scene.targets.items():
        task = pink.FrameTask(name, position_cost=1.0, orientation_cost=1.0, gain=GAIN)
        task.set_target(pin.SE3(X))
        tasks.append(task)
    if scene.com is not None:
        task = pink.tasks.ComTask(cost=1.0, gain=GAIN)
        task.set_target(scene.com)
        tasks.append(task)
    posture = pink.PostureTask(cost=WEIGHT_OF_POSTURE, gain=GAIN)
    posture.set_target(start)
    tasks.append(posture)
    configuration = pink.Configuration(model, model.createData(), start)

    def walk() -> np.ndarray:
        configuration.update(start)
        for _ in range(steps):
            velocity = pink.solve_ik(configuration, tasks, DT, "daqp", damping=DAMPING)
            configuration.integrate_inplace(velocity, DT)
        return np.array([configuration.get_transform_frame_to_world(n).homogeneous for n in scene.targets])

    return walk


def mink_walk(scene: Scene, steps: int) -> Walk:
    """Steps of mink."""
    import mink
    import mujoco

    from kido.layouts import MujocoLayout

    mended = (
        '<mujoco><compiler fusestatic="false" balanceinertia="true" boundmass="1e-9" boundinertia="1e-12"/></mujoco>'
    )
    model = mujoco.MjModel.from_xml_string(scene.urdf.replace("</robot>", f"{mended}</robot>"))
    start = MujocoLayout(scene.skeleton, model).positions(scene.skeleton.positions)
    tasks: list = []
    for name, X in scene.targets.items():
        task = mink.FrameTask(name, "body", position_cost=1.0, orientation_cost=1.0, gain=GAIN)
        task.set_target(mink.SE3.from_matrix(X))
        tasks.append(task)
    if scene.com is not None:
        task = mink.ComTask(cost=1.0, gain=GAIN)
        task.set_target(scene.com)
        tasks.append(task)
    posture = mink.PostureTask(model, cost=WEIGHT_OF_POSTURE, gain=GAIN)
    posture.set_target(start)
    tasks.append(posture)
    velocities = {
        dof.name.removesuffix("_pos"): float(dof.velocity_limit)
        for dof in scene.skeleton.dofs
        if np.isfinite(dof.velocity_limit) and dof.joint.num_dofs == 1
    }
    limits = [mink.ConfigurationLimit(model), mink.VelocityLimit(model, velocities)]
    configuration = mink.Configuration(model, start)

    def walk() -> np.ndarray:
        configuration.update(start)
        for _ in range(steps):
            velocity = mink.solve_ik(configuration, tasks, DT, "daqp", damping=DAMPING, limits=limits)
            configuration.integrate_inplace(velocity, DT)
        return np.array([configuration.get_transform_frame_to_world(n, "body").as_matrix() for n in scene.targets])

    return walk


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--steps", type=int, default=50)
    options = parser.parse_args()
    print(machine())
    rows = []
    for name, scene in scenes().items():
        walks = {"KIDO": kido_walk(scene, options.steps)}
        if scene.com is not None:
            walks["KIDO, feet as constraints"] = kido_walk(scene, options.steps, hard_feet=True)
        walks |= {"pink": pink_walk(scene, options.steps), "mink": mink_walk(scene, options.steps)}
        ends = {program: walk() for program, walk in walks.items()}
        times = interleaved(walks, options.rounds, 30.0)
        targets = np.array(list(scene.targets.values()))
        for program, time in times.items():
            missing = np.linalg.norm(ends[program][:, :3, 3] - targets[:, :3, 3], axis=1).max()
            apart = np.abs(ends[program] - ends["KIDO"])[:, :3, 3].max()
            microseconds = 1e6 * time / options.steps
            rows.append(
                [name, program, f"{microseconds:.1f}", f"{time / times['KIDO']:.1f}", f"{1e3 * missing:.2f}"]
                + [f"{1e3 * apart:.3f}"]
            )
    print(table(["robot", "program", "us a step", "of KIDO", "mm from targets", "mm from KIDO"], rows))


if __name__ == "__main__":
    main()
