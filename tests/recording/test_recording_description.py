"""A skeleton survives becoming plain data: same structure, same properties, same bits."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import kido
from kido.recording.codec import RecordingError, decode, encode
from kido.recording.description import skeleton_from_dict, skeleton_to_dict, source_text
from kido.skeleton import JOINT_TYPES
from trees import EllipsoidJoint

RNG = np.random.default_rng(7)


def pose():
    X = np.eye(4)
    X[:3, :3] = Rotation.random(rng=RNG).as_matrix()
    X[:3, 3] = RNG.normal(size=3)
    return X


def skeleton_with_everything():
    skeleton = kido.Skeleton("everything")
    mesh = kido.Mesh(
        [[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]],
        [[0, 2, 1], [0, 1, 3], [1, 2, 3], [0, 3, 2]],
        uri="tetra.stl",
        color=(0.1, 0.2, 0.3),
        vertex_colors=RNG.uniform(size=(4, 4)),
        textures=[RNG.integers(0, 256, (3, 2, 3))],
        texture_coordinates=RNG.uniform(size=(4, 3, 2)),
        texture_of_face=[0, -1, 0, 0],
        collide_as="box",
    )
    geometry = {
        "RevoluteJoint": {"axis": RNG.normal(size=3)},
        "PrismaticJoint": {"axis": RNG.normal(size=3)},
        "ScrewJoint": {"axis": RNG.normal(size=3), "pitch": 0.3},
        "UniversalJoint": {"axis1": RNG.normal(size=3), "axis2": RNG.normal(size=3)},
        "PlanarJoint": {"axis1": RNG.normal(size=3), "axis2": RNG.normal(size=3)},
        "EulerJoint": {"order": "zxz"},
        "CompoundJoint": {
            "hinges": [
                kido.Hinge.screw(RNG.normal(size=3), 0.3, offset=pose()),
                kido.Hinge.prismatic(RNG.normal(size=3)),
            ]
        },
        "user": {"radii": RNG.uniform(size=3)},
    }
    shapes = [
        kido.Box((1, 2, 3)),
        kido.Sphere(0.3),
        kido.Capsule(0.1, 0.7),
        kido.Cylinder(0.2, 0.5),
        kido.Ellipsoid((0.1, 0.2, 0.3)),
        kido.Cone(0.3, 0.4),
        kido.Plane((0.3, 0.2, 1.0), 0.5),
        mesh,
        mesh,
        kido.Box((0.1, 0.1, 0.1)),
        kido.Sphere(0.1),
        kido.Sphere(0.2),
    ]
    parent = None
    for (name, kind), shape in zip({**JOINT_TYPES, "user": EllipsoidJoint}.items(), shapes, strict=True):
        n = {"CompoundJoint": 2, "user": 3}.get(name, kind.kind.num_dofs)
        joint = kind(
            name.lower(),
            transform_from_parent=pose(),
            transform_from_child=pose(),
            dof_names=[f"{name}.{k}" for k in range(n)],
            mimic=kido.Mimic("revolutejoint", 2.0, 0.1) if name == "PrismaticJoint" else None,
            position_lower_limit=-RNG.uniform(size=n),
            position_upper_limit=np.inf,
            damping=RNG.uniform(size=n),
            spring_stiffness=RNG.uniform(size=n),
            rest_position=RNG.normal(size=n),
            initial_position=RNG.normal(size=n),
            initial_velocity=RNG.normal(size=n),
            **geometry.get(name, {}),
        )
        A = RNG.normal(size=(3, 3))
        inertia = kido.Inertia(RNG.uniform(1, 2), RNG.normal(size=3), A @ A.T)
        body = skeleton.add_body(f"body {name}", joint, parent, inertia)
        body.add_shape(shape, pose(), friction=0.3, restitution=0.4, color=(0.5, 0.1, 0.2), visual=False)
        parent = body
    parent.gravity = False
    parent.collidable = False
    skeleton.self_collision = True
    skeleton.adjacent_body_collision = True
    skeleton.warnings.append("a remark")
    skeleton.positions = RNG.normal(size=skeleton.num_dofs)
    skeleton.velocities = RNG.normal(size=skeleton.num_dofs)
    skeleton.forces = RNG.normal(size=skeleton.num_dofs)
    return skeleton


def test_everything_survives_text_and_back():
    first = skeleton_with_everything()
    data = skeleton_to_dict(first)
    second = skeleton_from_dict(decode(encode(data)))
    again = skeleton_to_dict(second)
    np.testing.assert_equal(again, data)
    meshes = [s.shape for b in second.bodies for s in b.shapes if isinstance(s.shape, kido.Mesh)]
    assert len(meshes) == 2 and meshes[0] is meshes[1]  # sharing survives too


def test_dynamics_agree_to_the_last_bit():
    first = skeleton_with_everything()
    second = skeleton_from_dict(skeleton_to_dict(first))
    q, u, tau = (RNG.normal(size=first.num_dofs) for _ in range(3))
    assert first.forward_dynamics(q, u, tau).tobytes() == second.forward_dynamics(q, u, tau).tobytes()
    assert first.forward_kinematics(q).tobytes() == second.forward_kinematics(q).tobytes()


def test_unknown_classes_are_refused():
    class MyJoint(kido.RevoluteJoint):
        pass

    skeleton = kido.Skeleton("s")
    skeleton.add_body("b", MyJoint("mine"), inertia=kido.Inertia.from_diagonal(1, [1, 1, 1]))
    with pytest.raises(RecordingError, match=r"joint 'mine' is of class MyJoint, expected a kido.UserJoint or one"):
        skeleton_to_dict(skeleton)


@pytest.mark.parametrize(
    "damage",
    [
        lambda d: d.pop("bodies"),
        lambda d: d["bodies"][1].update(parent=99),
        lambda d: d["bodies"][1].update(parent=-1),
        lambda d: d["bodies"][0]["joint"].update(type="Os"),
        lambda d: d["bodies"][0].update(mass=float("nan")),
        lambda d: d["bodies"][0]["shapes"][0].update(shape=77),
        lambda d: d["shapes"][0].update(type="Shape"),
        lambda d: d["positions"].pop(),
    ],
)
def test_damaged_descriptions_are_refused(damage):
    data = skeleton_to_dict(skeleton_with_everything())
    damage(data)
    with pytest.raises(RecordingError):
        skeleton_from_dict(data)


def test_source_text(tmp_path):
    file = tmp_path / "robot.urdf"
    file.write_text("<robot/>", encoding="utf-8")
    assert source_text(str(file)) == "<robot/>"
    assert source_text(f"file://{file}") == "<robot/>"
    assert source_text(None) is None and source_text(str(tmp_path)) is None
    assert source_text(str(tmp_path / "gone.urdf")) is None
    (tmp_path / "binary").write_bytes(b"\xff\xfe\x00\xff")
    assert source_text(str(tmp_path / "binary")) is None


def test_user_joints_need_their_class_to_come_back():
    class Slider(kido.UserJoint):
        def __init__(self, name=None, steepness=1.0, **options):
            self.steepness = steepness
            super().__init__(name, **options)

        def transform(self, q):
            return np.eye(3), np.array([q[0], 0.0, self.steepness * q[0] ** 2])

    skeleton = kido.Skeleton()
    skeleton.add_body("body", Slider("slide", 0.7), inertia=kido.Inertia.from_diagonal(1.0, [1, 1, 1]))
    data = skeleton_to_dict(skeleton)
    again = skeleton_from_dict(decode(encode(data))).joint(0)
    assert type(again) is Slider and again.parameters == {"steepness": 0.7}
    data["bodies"][0]["joint"]["type"] = "elsewhere.Knee"
    with pytest.raises(RecordingError, match=r"'slide' is of the user's class elsewhere\.Knee, which is not defined"):
        skeleton_from_dict(data)
    skeleton.joint(0).__dict__["steepness"] = object()
    with pytest.raises(RecordingError, match="joint 'slide': steepness is of class object"):
        skeleton_to_dict(skeleton)
