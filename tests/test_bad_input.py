"""Every public method and setter refuses what it cannot use by a `KidoError`, and then has changed nothing."""

from __future__ import annotations

import inspect
import traceback
import warnings

import numpy as np
import pytest

import kido
import trees

SIZE = 13  # bodies; one joint of each kind
BAD = {
    "none": None,
    "text": "abc",
    "nan": np.nan,
    "object": object(),
    "empty": [],
    "ragged": [[1, 2], [3]],
    "nan vector": np.full(3, np.nan),
    "complex": np.zeros(3) + 1j,
    "vector of nothing": np.array([None, None]),
    "dictionary": {"a": 1},
    "huge": 10**400,
    "class": int,
    "frame": kido.WORLD_FRAME,
}
NUMBERS = ("positions", "velocities", "accelerations", "forces", "from_positions", "start", "end", "values", "value")
VECTORS = ("offset", "force", "impulse", "torque", "point", "about", "wrench")


def skeleton() -> kido.Skeleton:
    made = trees.random_skeleton(5, SIZE)
    made.positions, made.velocities, made.accelerations, made.forces = trees.random_state(made, 1)
    return made


def carrier(kind: str) -> tuple[object, kido.Skeleton]:
    """An object of a kind and the skeleton that it is part of."""
    s = skeleton()
    body = s.bodies[4]
    match kind:
        case "skeleton":
            return s, s
        case "body":
            return body, s
        case "dof":
            return s.dofs[2], s
        case "shape":
            return body.add_shape(kido.Box((1, 1, 1)), name="box"), s
        case "marker":
            return body.create_node(kido.Marker, "marker"), s
        case "end effector":
            return body.create_node(kido.EndEffector, "hand"), s
        case "frame":
            return kido.SimpleFrame(body, "frame"), s
        case "group":
            return kido.Group(s.bodies[2:5]), s
        case "subgraph":
            return kido.Subgraph(s.bodies[1].subtree), s
        case "world":
            world = kido.World()
            world.add_skeleton(s)
            return world, s
    return next(j for j in s.joints if type(j).__name__ == kind), s


def good(name: str, dofs: int) -> object:
    if name in NUMBERS:
        return np.zeros(dofs)
    if name in VECTORS:
        return np.ones(3)
    return {"bodies": [0], "prescribed": [0], "name": "name", "time_step": 1e-3, "share": 0.5}.get(name, 0)


def held(s: kido.Skeleton) -> list:
    state = (s.positions, s.velocities, s.accelerations, s.forces, s.commands, s.mass_matrix)
    bodies = [(b.name, b.parent and b.parent.name, b.parent_joint.name, type(b.parent_joint)) for b in s.bodies]
    return [bodies, [x.tobytes() for x in state], str(s.state.applied), [d.name for d in s.dofs]]


def calls(thing: object, dofs: int):
    """(what, function of the thing) for each setter and argument, with each bad value."""
    for name in dir(type(thing)):
        static = inspect.getattr_static(type(thing), name)
        if name.startswith("_") or name in ("transform", "restored", "rotation_about"):  # of users' own joints
            continue
        if isinstance(static, property):
            if static.fset is not None:
                for what, bad in BAD.items():
                    yield f"{name} = {what}", lambda x, name=name, bad=bad: setattr(x, name, bad)
            continue
        if not callable(getattr(thing, name, None)):
            continue
        parameters = [p for p in inspect.signature(getattr(thing, name)).parameters.values() if p.kind in (0, 1)]
        for place, parameter in enumerate(parameters):
            for what, bad in BAD.items():
                if (name, what) in (("step", "huge"), ("add_step_callback", "class")):  # are as they should be
                    continue
                given = [
                    good(p.name, dofs) if p.default is inspect.Parameter.empty else p.default
                    for p in parameters[: max(place + 1, sum(p.default is p.empty for p in parameters))]
                ]
                given[place] = bad
                label = f"{name}({parameter.name}: {what})"
                yield label, lambda x, name=name, given=given: getattr(x, name)(*given)


@pytest.mark.parametrize(
    "kind",
    [
        "skeleton", "body", "dof", "shape", "marker", "end effector", "frame", "group", "subgraph", "world",
        "RevoluteJoint", "ScrewJoint", "EulerJoint", "FreeJoint", "CompoundJoint",
    ],
)  # fmt: skip
def test_bad_arguments_raise_kido_errors_and_change_nothing(kind: str) -> None:
    thing, s = carrier(kind)
    before, raw = held(s), []
    for what, call in calls(thing, s.num_dofs):
        refused = False
        with warnings.catch_warnings():
            warnings.simplefilter("error", np.exceptions.ComplexWarning)
            try:
                call(thing)
            except kido.KidoError:
                refused = True
            except Exception as error:
                raw.append(f"{what}: {error!r} at {traceback.extract_tb(error.__traceback__)[-1]}")
        after = held(s)
        if after != before:
            if refused:
                raw.append(f"{what}: refused, and something changed")
            thing, s = carrier(kind)
            before = held(s)
    assert raw == []


def test_flags_take_nothing_but_true_and_false() -> None:
    s = skeleton()
    s.mobile, s.bodies[0].gravity = np.False_, 1
    assert s.mobile is False and s.bodies[0].gravity is True
    with pytest.raises(kido.ModelError, match="mobile: expected True or False, got 'false'"):
        s.mobile = "false"


def test_an_option_that_shapes_do_not_have_is_named() -> None:
    with pytest.raises(
        kido.ArgumentError,
        match=r"unexpected argument 'colour'; did you mean color.* it takes .*visual, collision, color",
    ):
        skeleton().bodies[0].add_shape(kido.Box((1, 1, 1)), name="box", colour=(1, 0, 0))


def test_functions_that_do_not_take_the_world_are_refused_at_once(tmp_path) -> None:
    world = kido.World()
    with pytest.raises(kido.KidoError, match=r"signal 'none' is .* expected a function of the world alone"):
        kido.Recorder(world, tmp_path / "run.h5", signals={"none": lambda: 0.0})
    assert not (tmp_path / "run.h5").exists()
    with pytest.raises(kido.ModelError, match="step callback: expected a function of the world alone"):
        world.add_step_callback(lambda world, more: None)


def test_limits_of_one_coordinate_leave_those_of_the_others() -> None:
    """Also where the limits of the others differ by side, and a symmetric one is set."""
    s = kido.Skeleton()
    body = s.add_body("body", kido.UniversalJoint("joint"), inertia=kido.Inertia.from_diagonal(1.0, (1, 1, 1)))
    joint = body.parent_joint
    joint.velocity_lower_limit, joint.velocity_upper_limit = (-1.0, -2.0), (3.0, 4.0)
    joint.dofs[0].velocity_limit = 5.0
    assert joint.velocity_lower_limit.tolist() == [-5.0, -2.0] and joint.velocity_upper_limit.tolist() == [5.0, 4.0]
    group = kido.Group(dofs=[joint.dofs[1]])
    assert group.velocity_limit.tolist() == [4.0]
    group.velocity_limit = 6.0
    assert joint.velocity_lower_limit.tolist() == [-5.0, -6.0] and joint.velocity_upper_limit.tolist() == [5.0, 6.0]
    with pytest.raises(kido.ModelError, match="not below 0"):
        group.force_limit = -1.0
    assert joint.force_upper_limit.tolist() == [np.inf, np.inf]


def test_a_joint_that_another_follows_is_not_replaced_by_one_that_it_cannot_follow() -> None:
    s = kido.Skeleton("arm")
    inertia = kido.Inertia.from_diagonal(1.0, (1, 1, 1))
    upper = s.add_body("upper", kido.RevoluteJoint("shoulder"), inertia=inertia)
    s.add_body("lower", kido.RevoluteJoint("elbow", mimic=kido.Mimic("shoulder", 2.0)), upper, inertia)
    world = kido.World()
    world.add_skeleton(s)
    for kind in (kido.BallJoint, kido.WeldJoint, kido.FreeJoint(), kido.FreeJoint):
        with pytest.raises(kido.ModelError, match="in place of joint 'shoulder': joint 'elbow': mimic"):
            upper.change_parent_joint_type(kind)
    assert type(upper.parent_joint) is kido.RevoluteJoint and s.num_dofs == 2
    upper.change_parent_joint_type(kido.PrismaticJoint)
    world.step(2)


def test_a_world_goes_on_refusing_a_mimic_that_cannot_be() -> None:
    s = kido.Skeleton("arm")
    body = s.add_body("arm", kido.RevoluteJoint("joint"), inertia=kido.Inertia.from_diagonal(1.0, (1, 1, 1)))
    world = kido.World()
    world.add_skeleton(s)
    world.step()
    body.parent_joint.mimic = kido.Mimic("nobody")
    for _ in range(2):
        with pytest.raises(kido.NameLookupError, match="nobody"):
            world.step()
    body.parent_joint.mimic = None
    world.step()
    assert world.num_steps == 2


def test_a_damaged_state_of_a_world_is_refused_and_changes_nothing() -> None:
    world = kido.World()
    s = world.add_skeleton(skeleton())
    s.bodies[3].add_external_force((0.0, 0.0, 1.0))
    world.step(2, reset_command=False)
    good_one = world.snapshot()
    now = [s.positions.tolist(), s.velocities.tolist(), s.external_forces.tolist(), world.time, world.time_step]
    world.step(reset_command=False)
    after = s.positions.tolist()
    world.restore(good_one)
    for key in good_one._data:
        for bad in (None, "abc", 1.5, [], np.full(3, np.nan), {"a": 1}):
            may_be = isinstance(bad, float) or (key == "pushes" and isinstance(bad, list))
            if key == "carried" or may_be:
                continue
            with pytest.raises(kido.StateError, match="world"):
                world.set_state({**good_one._data, key: bad})
            held_now = [s.positions.tolist(), s.velocities.tolist(), s.external_forces.tolist(), world.time]
            assert [*held_now, world.time_step] == now
    world.step(reset_command=False)
    assert s.positions.tolist() == after


def test_configurations_layouts_and_batches_refuse_what_they_cannot_use() -> None:
    from kido import integrators, layouts
    from kido.batch import Batch

    s = skeleton()
    for names in (None, 1.0, [[1]], [np.zeros(2)], ["a", "a"]):
        with pytest.raises(kido.StateError, match="expected different names of dofs"):
            kido.Configuration(names)
    for layout in (layouts.DartpyLayout, layouts.MujocoLayout, layouts.PinocchioLayout):
        with pytest.raises(kido.ModelError, match="layout of skeleton 'random': expected a"):
            layout(s, None)
        with pytest.raises(kido.ModelError, match=r"expected a kido\.Skeleton, got None"):
            layout(None, s)
    for device in (np.zeros(2), None, "tpu"):
        with pytest.raises(kido.StateError, match="device: expected 'cpu' or 'cuda'"):
            Batch(s, device=device)
    with pytest.raises(kido.StateError, match="forces"):
        Batch(s, threads=1).simulate(s.positions, s.velocities, [[1, 2], [3]])
    with pytest.raises(kido.ModelError, match="expected a function of the time and the skeleton"):
        integrators.simulate(s, integrators.RK4(), 1e-3, forces=lambda: 0.0)
