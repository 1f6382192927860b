"""Recording, reading back, exact resumption and playback of simulated worlds."""

import os
import signal
import subprocess
import sys
import textwrap
from contextlib import contextmanager

import h5py
import numpy as np
import pytest

import kido
import kido.models
from kido.recording import RecordingError
from programs import Program, frames_on_disk, in_a_process

EDGE = 0.2


def falling_box(name="box", height=0.3, tilt=0.4):
    skeleton = kido.Skeleton(name)
    shape = kido.Box((EDGE, EDGE, EDGE))
    joint = kido.FreeJoint(initial_position=[tilt, 0.2, 0.1, 0.0, 0.0, height])
    skeleton.add_body("cube", joint, inertia=kido.Inertia.from_shape(shape, mass=2.0)).add_shape(shape)
    return skeleton


def pendulum(name="pendulum"):
    skeleton = kido.Skeleton(name)
    pose = np.eye(4)
    pose[:3, 3] = (1.0, 0.0, 1.0)
    joint = kido.RevoluteJoint("hinge", axis=(0.3, 1, 0), transform_from_parent=pose, damping=0.01)
    inertia = kido.Inertia.from_diagonal(1.0, [0.02, 0.02, 0.02], com=(0, 0, -0.3))
    skeleton.add_body("rod", joint, inertia=inertia).add_shape(kido.Sphere(0.05))
    return skeleton


def make_world():
    world = kido.World("test")
    world.add_ground(friction=0.6)
    world.add_skeleton(falling_box())
    world.add_skeleton(pendulum())
    return world


def bits(world):
    return b"".join(s.positions.tobytes() + s.velocities.tobytes() for s in world.skeletons)


def energy_of(world):
    return world.kinetic_energy, world.potential_energy


def test_a_run_comes_back(tmp_path):
    world, path = make_world(), tmp_path / "run.h5"
    seen = []
    with kido.Recorder(world, path, signals={"height": lambda w: w.skeleton("box").com[2]}) as recorder:
        remove = world.add_step_callback(
            lambda w: seen.append((w.time, bits(w), energy_of(w), len(w.contacts), w.contacts.forces.copy()))
        )
        world.step(400)
        remove()
        assert recorder.num_frames == 401 and not recorder.closed
    recording = kido.Recording.open(path)
    assert recording.finished and len(recording) == recording.num_frames == 401
    np.testing.assert_array_equal(recording.steps, np.arange(401))
    np.testing.assert_array_equal(recording.times[1:], [s[0] for s in seen])
    assert recording.dof_names[:2] == ("box/cube_joint_rx", "box/cube_joint_ry")
    assert recording.positions.shape == (401, 7)
    box, rod = recording.skeleton("box"), recording.skeleton("pendulum")
    assert rod.dof_names == ["hinge"]
    for k, (_, state, energy, contacts, forces) in enumerate(seen, start=1):
        parts = (box.positions[k], box.velocities[k], rod.positions[k], rod.velocities[k])
        assert b"".join(p.tobytes() for p in parts) == state
        # Energies are summed over the whole forest rather than by skeleton: equal but for rounding.
        found = recording.energies
        np.testing.assert_allclose((found.kinetic[k], found.potential[k]), energy, rtol=1e-12, atol=1e-12)
        assert recording.solver["contacts"][k] == contacts
        if k % 100 == 0:
            np.testing.assert_array_equal(recording.contacts(k).forces, forces)
    np.testing.assert_array_equal(recording.signals["height"][1:], box.positions[1:, 5])
    assert recording.solver["contacts"].max() > 0
    last = recording.contacts(-1)
    assert set(last.body_a) == {"ground/ground"} and set(last.body_b) == {"box/cube"}
    assert set(last.shape_a) == {"ground/ground/plane"} and set(last.shape_b) == {"box/cube/cube_shape_0"}
    assert [e.kind for e in recording.events] == ["start", "end"]
    assert recording.metadata["kido_version"] == kido.__version__
    np.testing.assert_array_equal(recording.metadata["gravity"], [0, 0, -9.81])


def test_contact_forces_at_rest_carry_the_weight(tmp_path):
    """Newton: once at rest, the vertical contact forces sum to m g = 2 * 9.81 N."""
    world = kido.World()
    world.add_ground()
    world.add_skeleton(falling_box(height=EDGE / 2, tilt=0.0)).positions = [0, 0, 0, 0, 0, EDGE / 2]
    with kido.Recorder(world, tmp_path / "run.h5"):
        world.step(300)
    forces = kido.Recording.open(tmp_path / "run.h5").contacts(-1).forces
    assert len(forces) == 4
    np.testing.assert_allclose(forces.sum(axis=0), [0, 0, 2 * 9.81], atol=1e-6)


def test_recording_does_not_change_the_motion(tmp_path):
    plain, recorded = make_world(), make_world()
    plain.step(500)
    with kido.Recorder(recorded, tmp_path / "run.h5", every=3, checkpoint_every=20):
        recorded.step(500)
    assert bits(plain) == bits(recorded)


def drive(world, steps, start):
    """A controller whose commands differ from step to step."""
    for k in range(start, start + steps):
        world.skeleton("pendulum").forces = [0.5 * np.sin(0.05 * k)]
        if 40 <= k < 90:
            world.skeleton("box").body("cube").add_external_force([3.0, 0, 0.5], offset=(0.1, 0, 0))
        if 60 <= k < 70:
            world.skeleton("pendulum").body("rod").add_external_torque([0.1, 0.4, 0], is_local=True)
        world.step()


def test_resumes_bit_for_bit(tmp_path):
    world, path = make_world(), tmp_path / "run.h5"
    with kido.Recorder(world, path, checkpoint_every=50):
        drive(world, 230, 0)
    at_end = bits(world)
    drive(world, 200, 230)
    recording = kido.Recording.open(path)
    resumed = recording.resume()
    assert bits(resumed) == at_end and resumed.time == recording.times[-1] and resumed.num_steps == 230
    drive(resumed, 200, 230)
    assert bits(resumed) == bits(world)
    # Frames between complete states are reached by doing their steps again with the recorded forces.
    for frame in (0, 1, 49, 77, 100, 163, -2):
        resumed = recording.resume(frame)
        start = resumed.num_steps
        drive(resumed, 430 - start, start)
        assert bits(resumed) == bits(world), frame


def test_held_commands_are_kept_on_request(tmp_path):
    world, path = make_world(), tmp_path / "run.h5"
    world.skeleton("pendulum").forces = [0.7]
    with kido.Recorder(world, path, checkpoint_every=1000):
        world.step(100)
    recording = kido.Recording.open(path)
    np.testing.assert_array_equal(recording.skeleton("pendulum").commands, np.full((101, 1), 0.7))
    held = recording.resume(60, hold_commands=True)
    held.step(40)
    assert bits(held) == bits(world)
    np.testing.assert_array_equal(recording.resume(60).skeleton("pendulum").forces, [0.0])


def test_applied_forces_are_recorded(tmp_path):
    world, path = make_world(), tmp_path / "run.h5"
    with kido.Recorder(world, path):
        world.step(2)
        world.skeleton("pendulum").body("rod").add_external_force([1, 2, 3], offset=(0, 0, -0.5), offset_is_local=True)
        world.step(1)
        X = world.skeleton("pendulum").body("rod").world_transform
        world.step(1)
    recording = kido.Recording.open(path)
    assert list(recording.external_forces(2).bodies) == [] and list(recording.external_forces(4).bodies) == []
    applied = recording.external_forces(3)
    assert list(applied.bodies) == ["pendulum/rod"]
    torque = np.cross(X[:3, :3] @ [0, 0, -0.5], [1, 2, 3])
    np.testing.assert_allclose(applied.wrenches, [[*torque, 1, 2, 3]], atol=1e-12)


def test_pushes_are_recorded_and_go_on(tmp_path):
    """`World.push`: among the external forces of its steps; resumed in the middle of it, the rest of it still acts."""
    plain, world = make_world(), make_world()
    path, states = tmp_path / "run.h5", []

    def push(w, k):
        if k == 30:
            w.push(w.skeleton("box").body("cube"), (0, 6.0, 1.0), 0.04, offset=(0.1, 0, 0))
        if k == 50:
            w.push(w.skeleton("pendulum").body("rod"), (0.5, 0, 0), 0.015)
        w.skeleton("box").body("cube").add_external_force([1.0, 0, 0])

    with kido.Recorder(world, path, checkpoint_every=1000):
        for k in range(100):
            push(plain, k)
            push(world, k)
            plain.step()
            world.step()
            states.append(bits(world))
    assert bits(plain) == bits(world)
    recording = kido.Recording.open(path)
    for k in range(1, 101):
        wrench = dict(zip(*recording.external_forces(k)))
        pushed = 30 < k <= 70
        np.testing.assert_allclose(wrench["box/cube"][3:], [1.0, 6.0 * pushed, 1.0 * pushed], atol=1e-12)
        assert ("pendulum/rod" in wrench) == (50 < k <= 65)
    for frame in (25, 33, 52, 68, 80):
        resumed = recording.resume(frame)
        assert bits(resumed) == states[frame - 1]
        for k in range(frame, 100):
            push(resumed, k)
            resumed.step()
        assert bits(resumed) == states[-1]
    with kido.Recorder(world, tmp_path / "held.h5"):
        world.push(world.skeleton("box").body("cube"), (0, 6.0, 1.0), 0.04)
        world.skeleton("pendulum").forces = [0.5]
        world.step(60)
    held = kido.Recording.open(tmp_path / "held.h5").resume(20, hold_commands=True)
    held.step(40)
    assert bits(held) == bits(world)


def test_what_was_not_recorded_is_noticed(tmp_path):
    world, path = make_world(), tmp_path / "run.h5"
    with kido.Recorder(world, path, checkpoint_every=100):
        world.step(30)
        world.skeleton("box").positions = [0, 0, 0, 0, 0, 1.0]
        world.step(30)
    recording = kido.Recording.open(path)
    assert bits(recording.resume(30)) != b""
    with pytest.raises(RecordingError, match=r"frame 40 cannot be restored exactly: something .* nearest .*: 0 and 60"):
        recording.resume(40)


def test_every_nth_step_and_the_last(tmp_path):
    world, path = make_world(), tmp_path / "run.h5"
    with kido.Recorder(world, path, every=10, checkpoint_every=3):
        world.step(45)
    recording = kido.Recording.open(path)
    np.testing.assert_array_equal(recording.steps, [0, 10, 20, 30, 40, 45])
    assert bits(recording.resume()) == bits(world)
    recording.resume(0)
    with pytest.raises(RecordingError, match=r"frame 1 cannot be restored exactly: not every step was recorded"):
        recording.resume(1)


def test_structure_may_change_while_recording(tmp_path):
    world, path = make_world(), tmp_path / "run.h5"
    with kido.Recorder(world, path) as recorder:
        world.step(20)
        world.add_skeleton(falling_box("second", height=0.8))
        recorder.event("second box", kind="user")
        world.step(20)
        world.remove_skeleton("box")
        world.gravity = (0, 0, -1.62)
        world.step(20)
        world.time_step = 2e-3
        world.skeleton("pendulum").body("rod").inertia = kido.Inertia.from_diagonal(3.0, [1, 1, 1])
        world.step(20)
    recording = kido.Recording.open(path)
    texts = [e.text for e in recording.events]
    assert texts == [
        "recording started",
        "second box",
        "skeleton added: second",
        "skeleton removed: box",
        "gravity changed to [0.0, 0.0, -1.62] m/s^2",
        "time step changed to 0.002 s",
        "recording ended",
    ]
    assert recording.skeleton_names == ("ground", "box", "pendulum", "second")
    box, second = recording.skeleton("box").positions, recording.skeleton("second").positions
    np.testing.assert_array_equal(np.isfinite(box).all(axis=1), np.arange(81) <= 40)
    np.testing.assert_array_equal(np.isfinite(second).all(axis=1), np.arange(81) > 20)
    assert np.isfinite(recording.skeleton("pendulum").positions).all()
    assert recording.positions.shape == (81, 13)
    resumed = recording.resume()
    assert [s.name for s in resumed.skeletons] == ["ground", "pendulum", "second"]
    for w in (resumed, world):
        w.step(50)
    assert bits(resumed) == bits(world) and resumed.time == world.time
    motion = recording.trajectory(None)
    assert motion.transforms.shape == (81, 4, 4, 4) and np.isfinite(motion.transforms).all()
    assert tuple(s.name for s in recording.display_world().skeletons) == recording.skeleton_names
    assert len(list(recording.play())) == 81


def test_changed_properties_are_noticed_at_the_next_complete_state(tmp_path):
    world, path = make_world(), tmp_path / "run.h5"
    with kido.Recorder(world, path, checkpoint_every=10):
        world.step(20)
        world.skeleton("pendulum").joint("hinge").damping = 0.5
        world.step(25)
    recording = kido.Recording.open(path)
    assert ("structure", "properties of bodies or joints changed") in [(e.kind, e.text) for e in recording.events]
    resumed = recording.resume()
    for w in (resumed, world):
        w.step(50)
    assert bits(resumed) == bits(world)


def test_needs_neither_model_files_nor_pickle(tmp_path):
    model = tmp_path / "robot.urdf"
    model.write_text(kido.models.path("arm7").read_text())
    world = kido.World()
    world.add_skeleton(kido.load(model))
    with kido.Recorder(world, tmp_path / "run.h5"):
        world.step(50)
    model.unlink()
    recording = kido.Recording.open(tmp_path / "run.h5")
    resumed = recording.resume()
    for w in (resumed, world):
        w.step(50)
    assert bits(resumed) == bits(world)
    assert recording.description()["sources"][str(model)].startswith("<?xml")
    with h5py.File(tmp_path / "run.h5") as file:
        kinds = []
        file.visititems(lambda name, item: kinds.append(item.dtype.kind) if isinstance(item, h5py.Dataset) else None)
    assert set(kinds) <= {"i", "u", "f"}  # numbers alone: nothing that reading could run


def test_playback_and_trajectory(tmp_path):
    world, path = make_world(), tmp_path / "run.h5"
    poses = [world.skeleton("box").body("cube").world_transform]
    with kido.Recorder(world, path):
        world.add_step_callback(lambda w: poses.append(w.skeleton("box").body("cube").world_transform))
        world.step(100)
    recording = kido.Recording.open(path)
    motion = recording.trajectory(fps=None)
    assert motion.names == ["ground/ground", "box/cube", "pendulum/rod"]
    np.testing.assert_allclose(motion.transforms[:, 1], poses, atol=1e-14)
    assert len(motion.contacts) == 101
    sparse = recording.trajectory(fps=50)
    np.testing.assert_allclose(sparse.times, [0, 0.02, 0.04, 0.06, 0.08, 0.1], atol=1e-12)
    shown = recording.world()
    for frame in recording.play(shown):
        np.testing.assert_array_equal(shown.skeleton("box").body("cube").world_transform, poses[frame.index])
    other = kido.World()
    with pytest.raises(RecordingError, match="frame 0 has 7 degrees of freedom, world 'world' has 0"):
        next(recording.play(other))


def test_open_while_running(tmp_path):
    world = make_world()
    recorder = kido.Recorder(world, tmp_path / "run.h5", flush_interval=1e9)
    world.step(10)
    recorder.flush()
    world.step(10)
    code = "import sys, kido; r = kido.Recording.open(sys.argv[1]); print(len(r), r.finished)"
    done = subprocess.run([sys.executable, "-c", code, str(tmp_path / "run.h5")], capture_output=True, check=True)
    assert done.stdout.split() == [b"11", b"False"]
    recorder.close()
    recorder.close()
    world.step(5)  # no longer recorded
    assert len(kido.Recording.open(tmp_path / "run.h5")) == 21
    with pytest.raises(RecordingError, match="recording has ended"):
        recorder.event("late")


SCRIPT = textwrap.dedent("""
    import sys
    sys.path[:0] = [sys.argv[2], sys.argv[2] + '/..']
    from test_recording import *
    world = make_world()
    with kido.Recorder(world, sys.argv[1], flush_interval=0.05, checkpoint_every=200):
        print("go", flush=True)
        world.step(10_000_000)
""")


@contextmanager
def recording_program(path):
    """A program in the midst of a recording of which more than 300 frames are on disk."""
    with Program([sys.executable, "-c", SCRIPT, str(path), os.path.dirname(__file__)], path.parent) as program:
        program.wait_until(lambda: "go" in program.out, "the recording begins")
        program.wait_until(lambda: frames_on_disk(path) > 300, "300 frames are on disk")
        yield program


def test_survives_kill(tmp_path):
    """kill -9 in the midst of a run: what was flushed reads back and resumes exactly."""
    path = tmp_path / "run.h5"
    with recording_program(path) as program:
        assert program.end(signal.SIGKILL) == -signal.SIGKILL
    recording = kido.Recording.open(path)
    assert not recording.finished and len(recording) > 300
    assert np.isfinite(recording.positions).all()
    frame = len(recording) - 1
    resumed, again = recording.resume(), make_world()
    again.step(frame)
    assert bits(resumed) == bits(again)


def test_interrupt_closes_the_file(tmp_path):
    path = tmp_path / "run.h5"
    with recording_program(path) as program:
        program.end(signal.SIGINT)
        assert "KeyboardInterrupt" in program.err
    recording = kido.Recording.open(path)
    assert recording.finished
    assert recording.events[-1].text == "stopped by KeyboardInterrupt"
    again = make_world()
    again.step(len(recording) - 1)
    assert bits(recording.resume()) == bits(again)


def _ctrl_c_while_an_object_is_freed(tmp_path):
    class Freed:
        def __del__(self):
            signal.raise_signal(signal.SIGINT)  # what it raises is dropped here

    world, hook, left = make_world(), sys.unraisablehook, [Freed()]
    world.add_step_callback(lambda w: left.clear())
    with pytest.raises(KeyboardInterrupt), kido.Recorder(world, tmp_path / "run.h5"):
        world.step(10_000_000)
    recording = kido.Recording.open(tmp_path / "run.h5")
    assert recording.finished and recording.events[-1].text == "stopped by KeyboardInterrupt"
    assert sys.unraisablehook is hook


def test_ctrl_c_that_comes_while_an_object_is_freed_is_heard(tmp_path):
    in_a_process(_ctrl_c_while_an_object_is_freed, tmp_path)


def test_bad_paths_and_arguments_before_anything_moves(tmp_path):
    world = make_world()
    with pytest.raises(
        RecordingError, match=r"/nowhere/run.h5: cannot be written: directory .*/nowhere does not exist"
    ):
        kido.Recorder(world, tmp_path / "nowhere" / "run.h5")
    taken = tmp_path / "taken.h5"
    taken.write_text("precious")
    with pytest.raises(
        RecordingError, match=r"taken.h5: exists already; choose another name, or replace it with overwrite=True"
    ):
        kido.Recorder(world, taken)
    assert taken.read_text() == "precious"
    with pytest.raises(RecordingError, match=r"is a directory"):
        kido.Recorder(world, tmp_path)
    good = tmp_path / "run.h5"
    for arguments, message in [
        ({"every": 0}, r"every is 0, expected a whole number above 0"),
        ({"every": 1.5}, r"every is 1.5"),
        ({"checkpoint_every": True}, r"checkpoint_every is True"),
        ({"flush_interval": float("nan")}, r"flush_interval is nan"),
        ({"signals": {"a/b": len}}, r"signal name 'a/b', expected a text without '/'"),
        ({"signals": {"a": 3}}, r"signal 'a' is 3, expected a function of the world"),
        ({"signals": {"a": lambda w: []}}, r"signal 'a' gave an empty array, expected numbers"),
        ({"signals": {"a": lambda w: "text"}}, r"signal 'a' gave 'text', expected a number or an array"),
    ]:
        with pytest.raises(RecordingError, match=message):
            kido.Recorder(world, good, **arguments)
        assert not good.exists()
    assert world.num_steps == 0 and not world.hooks


def test_a_signal_may_not_change_its_shape(tmp_path):
    world = make_world()
    signals = {"n": lambda w: np.zeros(w.num_steps + 1)}
    with (
        pytest.raises(RecordingError, match=r"signal 'n' has shape \(2,\), expected \(1,\) as at the start"),
        kido.Recorder(world, tmp_path / "run.h5", signals=signals),
    ):
        world.step(1)
    assert kido.Recording.open(tmp_path / "run.h5").finished


def test_bad_frames_and_names(tmp_path):
    world, path = make_world(), tmp_path / "run.h5"
    with kido.Recorder(world, path):
        world.step(3)
    recording = kido.Recording.open(path)
    for frame in (4, -5, 1.0, True):
        with pytest.raises(RecordingError, match=r"no frame .*; there are 4, from 0 to 3"):
            recording.contacts(frame)
    with pytest.raises(RecordingError, match="no skeleton 'os'; expected one of: ground, box, pendulum"):
        recording.skeleton("os")
    with pytest.raises(RecordingError, match="fps is -1, expected a number above 0"):
        recording.trajectory(-1)
    with pytest.raises(RecordingError, match="no structure 1; there are 1"):
        recording.world(1)


def test_another_format_is_refused(tmp_path):
    path = tmp_path / "run.h5"
    kido.Recorder(make_world(), path).close()
    with h5py.File(path, "r+") as file:
        file.attrs["format_version"] = 99
    with pytest.raises(RecordingError, match="recording of format 99, expected 1"):
        kido.Recording.open(path)


def test_a_file_that_is_being_read_is_not_overwritten(tmp_path):
    path = tmp_path / "run.h5"
    kido.Recorder(make_world(), path).close()
    with (
        kido.Recording.open(path) as recording,
        pytest.raises(RecordingError, match=r"run.h5: cannot be written: it is open elsewhere"),
    ):
        kido.Recorder(make_world(), path, overwrite=True)
    with kido.Recording.open(path) as recording:
        assert len(recording) == 1


def test_contacts_of_shapes_that_are_not_described_are_refused(tmp_path):
    path = tmp_path / "run.h5"
    world = make_world()
    with kido.Recorder(world, path):
        world.step(1000)
    with h5py.File(path, "r+") as file:
        assert len(file["contacts/shape_a"])
        file["contacts/shape_a"][-1] = 99
    with kido.Recording.open(path) as recording, pytest.raises(RecordingError, match="names shape 99 of"):
        recording.contacts(-1)


def test_a_damaged_state_is_refused(tmp_path):
    path = tmp_path / "run.h5"
    world = make_world()
    with kido.Recorder(world, path):
        world.step(5)
    with h5py.File(path, "r+") as file:
        text = file["text/bytes"]
        text[:] = np.frombuffer(bytes(text[:]).replace(b'"warm"', b'"cold"'), np.uint8)
    with pytest.raises(RecordingError, match="complete state of frame 5 is damaged"):
        kido.Recording.open(path).resume()


def test_arguments_of_the_wrong_kind(tmp_path):
    path = tmp_path / "r.h5"
    world = kido.World()
    for act, message in (
        (lambda: kido.Recorder(None, path), "world is None, expected a kido.World"),
        (lambda: kido.Recorder(world, None), "path is None, expected the name of a file to write"),
        (lambda: kido.Recorder(world, path, flush_interval="often"), "flush_interval is 'often'; expected seconds"),
        (lambda: kido.Recorder(world, path, signals=["com"]), r"signals is \['com'\], expected functions of the world"),
        (lambda: kido.Recording(None), "path is None, expected the name of a recording"),
    ):
        with pytest.raises(RecordingError, match=message):
            act()
    assert not path.exists()
