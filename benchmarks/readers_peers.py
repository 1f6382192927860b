"""Model files that KIDO and Bullet or Pinocchio read: the same mass, and the same places of all links?

    python -m benchmarks.readers_peers [--peer bullet|pinocchio] [--all] [folders ...]

Reads every URDF (with Bullet every SDF too) of the folders, or else of the package `example-robot-data`. Compares,
skeleton by skeleton, the mass of the whole and, at three random states, the poses of all links relative to the root
link's. Prints who reads how many, and each difference, with its reason where that accounts for it in numbers. The peer
runs in a process of its own, which may crash.
"""

from __future__ import annotations

import argparse
import contextlib
import os
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from lxml import etree
from scipy.spatial.transform import Rotation
from tqdm import tqdm

import kido
from benchmarks.readers import example_robots
from benchmarks.timing import table

TOLERANCE = 1e-5  # of poses [m, rad] and relative of masses: Bullet gives poses in single precision
STATES = 3
Positions = dict[str, np.ndarray]  # by joint


@dataclass(frozen=True)
class Told:
    """What a reader says of one model: mass [kg], poses (4, 4) of links relative to the root's, state by state."""

    name: str
    mass: float
    poses: list[dict[str, np.ndarray]]


@dataclass
class Comparison:
    """What became of one file; `differences` are those of its models."""

    path: str
    ours: str = ""
    theirs: str = ""
    differences: list[str] = field(default_factory=list)


# -- the peers, in a process of their own ------------------------------------------------------------------


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """Nothing that libraries print reaches the terminal."""
    saved = os.dup(1), os.dup(2)
    with open(os.devnull, "w") as sink:
        for number in (1, 2):
            os.dup2(sink.fileno(), number)
    try:
        yield
    finally:
        for number, old in zip((1, 2), saved, strict=True):
            os.dup2(old, number)
            os.close(old)


def of_bullet(path: Path, states: list[list[Positions]]) -> list[Told]:
    """What Bullet says of the models of a file; `states` has three for each."""
    import pybullet

    if not pybullet.isConnected():
        pybullet.connect(pybullet.DIRECT)
    with quiet():
        pybullet.resetSimulation()
        flags = pybullet.URDF_USE_INERTIA_FROM_FILE
        bodies = [pybullet.loadURDF(str(path), flags=flags)] if path.suffix == ".urdf" else pybullet.loadSDF(str(path))
        return [_told(pybullet, body, states[k] if k < len(states) else []) for k, body in enumerate(bodies)]


def _told(bullet: Any, body: int, states: list[Positions]) -> Told:
    links = range(bullet.getNumJoints(body))
    infos = [bullet.getJointInfo(body, k) for k in links]
    root, name = (text.decode() for text in bullet.getBodyInfo(body))
    mass = sum(bullet.getDynamicsInfo(body, k)[0] for k in (-1, *links))
    poses = []
    for state in states:
        for k, info in zip(links, infos, strict=True):
            values = state.get(info[1].decode())
            if values is not None and len(values) == 1 and info[2] in (bullet.JOINT_REVOLUTE, bullet.JOINT_PRISMATIC):
                bullet.resetJointState(body, k, values[0])
            elif values is not None and len(values) == 3 and info[2] == bullet.JOINT_SPHERICAL:
                bullet.resetJointStateMultiDof(body, k, Rotation.from_rotvec(values).as_quat())
        com = _pose(*bullet.getBasePositionAndOrientation(body))
        base = com @ np.linalg.inv(_pose(*bullet.getDynamicsInfo(body, -1)[3:5]))
        placed = {root: base}
        for k, info in zip(links, infos, strict=True):
            placed[info[12].decode()] = _pose(*bullet.getLinkState(body, k, computeForwardKinematics=True)[4:6])
        poses.append({link: np.linalg.inv(base) @ X for link, X in placed.items()})
    return Told(name, mass, poses)


def _pose(position: Any, quaternion: Any) -> np.ndarray:
    X = np.eye(4)
    X[:3, :3], X[:3, 3] = Rotation.from_quat(quaternion).as_matrix(), position
    return X


def of_pinocchio(path: Path, states: list[list[Positions]]) -> list[Told]:
    """What Pinocchio says of the robot of a URDF."""
    import pinocchio

    with quiet():
        model = pinocchio.buildModelFromUrdf(str(path))
    data, poses = model.createData(), []
    frames = [(k, f.name) for k, f in enumerate(model.frames) if f.type == pinocchio.FrameType.BODY]
    for state in states[0]:
        q = pinocchio.neutral(model)
        for name, values in state.items():
            joint = model.joints[model.getJointId(name)] if model.existJointName(name) else None
            if joint is not None and (joint.nq, len(values)) == (1, 1):
                q[joint.idx_q] = values[0]
            elif joint is not None and (joint.nq, len(values)) == (2, 1):
                q[joint.idx_q : joint.idx_q + 2] = np.cos(values[0]), np.sin(values[0])
        pinocchio.framesForwardKinematics(model, data, q)
        poses.append({name: data.oMf[k].homogeneous for k, name in frames if name != "universe"})
    return [Told(model.name, sum(inertia.mass for inertia in model.inertias), poses)]


PEERS = {"bullet": (of_bullet, (".urdf", ".sdf")), "pinocchio": (of_pinocchio, (".urdf",))}


# -- comparison --------------------------------------------------------------------------------------------


def of_kido(skeleton: kido.Skeleton, rng: np.random.Generator) -> tuple[Told, list[Positions]]:
    """What KIDO says of a skeleton at random states, and these; joints of several coordinates but balls at zero."""
    states, poses = [], []
    for _ in range(STATES):
        state = {j.name: np.zeros(j.num_dofs) for j in skeleton.joints if j.num_dofs and j is not skeleton.joints[0]}
        for joint in skeleton.joints:
            if joint.name in state and (joint.num_dofs == 1 or isinstance(joint, kido.BallJoint)):
                state[joint.name] = rng.uniform(-1.0, 1.0, joint.num_dofs)
                joint.positions = state[joint.name]
        root = np.linalg.inv(skeleton.root_bodies[0].world_transform)
        poses.append({body.name: root @ body.world_transform for body in skeleton.bodies})
        states.append(state)
    return Told(skeleton.name, skeleton.mass, poses), states


def without_inertial(path: Path) -> int:
    """Links of a file that have no <inertial>, but those called world."""
    root = etree.parse(str(path), etree.XMLParser(recover=True)).getroot()
    return sum(link.find("inertial") is None and link.get("name") != "world" for link in root.iter("link"))


def differences(path: Path, skeleton: kido.Skeleton, ours: Told, theirs: Told) -> list[str]:
    """In words how two models that should be the same differ, and why where that is known."""
    found = []
    gap = theirs.mass - ours.mass
    if abs(gap) > TOLERANCE * max(1.0, ours.mass):
        reason = ""
        bare = without_inertial(path)
        if bare and abs(gap - bare) <= TOLERANCE * max(1.0, ours.mass):
            reason = f" (it takes {bare} links without <inertial> for 1 kg each)"
        found.append(f"mass {ours.mass:.6g} kg, peer {theirs.mass:.6g} kg{reason}")
    worst, where = 0.0, ""
    for own, other in zip(ours.poses, theirs.poses, strict=False):
        for name in own.keys() & other.keys():
            error = float(np.abs(own[name] - other[name]).max()) / max(1.0, float(np.abs(own[name]).max()))
            worst, where = max((worst, where), (error, name))
    if worst > TOLERANCE:
        chain, body = [], skeleton.body(where)
        while body is not None:
            chain.append(type(body.parent_joint).__name__)
            body = body.parent
        kinds = sorted({kind for kind in chain if kind in ("FreeJoint", "PlanarJoint")})
        found.append(f"pose of '{where}' differs by {worst:.2g}" + (f" (below a {', '.join(kinds)})" if kinds else ""))
    names = set(ours.poses[0]), set(theirs.poses[0] if theirs.poses else ())
    if names[0] != names[1]:
        more, less = sorted(names[0] - names[1]), sorted(names[1] - names[0])
        found.append(f"links that only one has: KIDO {', '.join(more[:4]) or '-'}; peer {', '.join(less[:4]) or '-'}")
    return found


class Peer:
    """A peer in a process that is started again after a crash."""

    def __init__(self, name: str) -> None:
        self._tell, self.suffixes = PEERS[name]
        self._pool = ProcessPoolExecutor(1)

    def tell(self, path: Path, states: list[list[Positions]]) -> list[Told]:
        """What it says of a file; RuntimeError if it refuses it or crashes."""
        try:
            return self._pool.submit(self._tell, path, states).result()
        except BrokenProcessPool:
            self._pool = ProcessPoolExecutor(1)
            raise RuntimeError("crashes") from None
        except Exception as error:
            raise RuntimeError(str(error).strip() or type(error).__name__) from None


def compare(path: Path, peer: Peer, folder: Path) -> Comparison:
    """One file."""
    row = Comparison(str(path.relative_to(folder)))
    skeletons: list[kido.Skeleton] = []
    try:
        model = kido.load(path, package_dirs=[folder])
        skeletons = list(model.skeletons) if isinstance(model, kido.World) else [model]
    except kido.KidoError as error:
        row.ours = str(error).splitlines()[0]
    rng = np.random.default_rng(5)
    told = [of_kido(skeleton, rng) for skeleton in skeletons]
    try:
        theirs = peer.tell(path, [states for _, states in told] or [[]])
    except RuntimeError as error:
        row.theirs = str(error)
        return row
    if not row.ours and len(theirs) != len(told):
        row.differences.append(f"{len(told)} models, peer {len(theirs)}")
    for skeleton, (ours, _), other in zip(skeletons, told, theirs, strict=False):
        row.differences += differences(path, skeleton, ours, other)
    return row


def compare_all(files: list[tuple[Path, Path]], peer: Peer) -> list[Comparison]:
    """Files, each with the folder that it may read."""
    return [compare(path, peer, folder) for path, folder in tqdm(files, unit="file", mininterval=5.0)]


def main() -> int:
    """Run it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--peer", choices=PEERS, default="bullet")
    parser.add_argument("--all", action="store_true", help="list files that both refuse, too")
    parser.add_argument("folders", nargs="*", type=Path)
    options = parser.parse_args()
    folders = options.folders or [folder for folder in [example_robots()] if folder]
    peer = Peer(options.peer)
    files = [(p, f) for f in folders for p in sorted(f.rglob("*")) if p.suffix in peer.suffixes]
    rows = compare_all(files, peer)
    counts = Counter((not row.ours, not row.theirs) for row in rows)
    same = sum(not (row.ours or row.theirs or row.differences) for row in rows)
    lines = [["both, the same", same], ["both, with differences", counts[True, True] - same]]
    lines += [["KIDO alone", counts[True, False]], [f"{options.peer} alone", counts[False, True]]]
    lines += [["neither", counts[False, False]]]
    print(table(["read by", "files"], [[str(cell) for cell in line] for line in lines]), "\n")
    for row in rows:
        if row.ours and (options.all or not row.theirs):
            print(f"- `{row.path}`: KIDO refuses: {row.ours[:200]}")
        if row.theirs and (options.all or not row.ours):
            print(f"- `{row.path}`: {options.peer} refuses: {row.theirs[:100]}")
        for text in row.differences:
            print(f"- `{row.path}`: {text}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
