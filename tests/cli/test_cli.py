"""The `kido` command as a shell sees it: exit codes, streams, files, interruption.

What concerns the process (its start, exit code, streams and signals) runs as a program. To start one takes seconds, so
what a command does with its arguments runs within the tests' own process, by the same `main` on the same streams.
"""

import json
import os
import re
import signal
import subprocess
import sys
import time
import urllib.request

import numpy as np
import pytest

import kido
from kido import models
from kido.cli import main
from programs import PATIENCE, Program, frames_on_disk

pytestmark = pytest.mark.usefixtures("warm_kernels")

KIDO = [sys.executable, "-m", "kido"]


def run(*arguments, **options):
    done = subprocess.run([*KIDO, *map(str, arguments)], capture_output=True, text=True, timeout=PATIENCE, **options)
    assert "Traceback" not in done.stderr
    return done


@pytest.fixture
def here(capfd, monkeypatch):
    """Runs a command within this process."""

    def run_here(*arguments, check=False):
        monkeypatch.setenv("KIDO_QUIET", os.environ.get("KIDO_QUIET", ""))  # commands may set it
        capfd.readouterr()
        code = main([*map(str, arguments)])
        done = subprocess.CompletedProcess(arguments, code, *capfd.readouterr())
        if check:
            done.check_returncode()
        return done

    return run_here


def test_version_help_and_start_up_time():
    assert run("--version").stdout == f"kido {kido.__version__}\n"
    before = os.times()
    done = run("--help")
    after = os.times()
    took = sum(after[2:4]) - sum(before[2:4])  # processor time: that of the clock is a busy machine's
    assert done.returncode == 0
    for command in ("simulate", "view", "info", "replay", "analyze", "convert", "warmup", "models"):
        assert f"• {command}" in done.stdout
    assert "kido --version the version" in " ".join(done.stdout.split())
    assert took < 1.0  # 0.2 s; a module that compiles kernels takes more than a second
    assert run().stdout == done.stdout


def test_help_imports_nothing_heavy():
    code = (
        "import sys; from kido.cli import main; main(['simulate', '--help']); "
        "print([m for m in ('numpy', 'numba', 'h5py', 'scipy', 'viser') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip().endswith("[]")


def test_simulate_prints_a_summary(tmp_path):
    done = run("simulate", "quadruped", "--ground", "--duration", 0.3, "--record", tmp_path / "run.h5")
    assert done.returncode == 0, done.stderr
    lines = dict(line.split(None, 1) for line in done.stdout.splitlines())
    assert lines["simulated"] == "0.300 s in 300 steps of 1 ms"
    assert "steps/s" in lines["speed"] and "times real time" in lines["speed"]
    assert set(lines) == {"simulated", "speed", "contacts", "penetration", "energy", "solver", "recorded"}
    assert lines["recorded"].startswith(f"{tmp_path / 'run.h5'} (301 frames, ")
    assert "0.30/0.30 s" in done.stderr
    recording = kido.Recording.open(tmp_path / "run.h5")
    assert recording.finished and len(recording) == 301
    assert recording.skeleton_names == ("quadruped", "ground")


def test_the_bundled_arm_moves_and_what_does_not_is_said(tmp_path, here):
    path = tmp_path / "run.h5"
    done = here("simulate", "arm7", "--duration", 0.5, "--record", path)
    assert "motion" not in done.stdout
    arm = kido.Recording.open(path).skeleton("arm7")
    start = dict(zip(arm.dof_names, arm.positions[0]))
    assert start == {**dict.fromkeys(arm.dof_names, 0.0), **models.start_positions("arm7")}
    assert np.abs(arm.positions[-1] - arm.positions[0]).max() > 0.5
    done = here("simulate", "arm7", "--duration", 0.5, "--set", "elbow=0")
    assert "motion       none: what moves is in balance; start elsewhere with --set JOINT=VALUE" in done.stdout


def test_quiet_and_streams(tmp_path):
    done = run("simulate", "arm7", "--duration", 0.05, "--quiet")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_options_reach_the_world(tmp_path, here):
    path = tmp_path / "run.h5"
    done = here(
        *("simulate", "arm7", "arm7", "--dt", 0.002, "--duration", 0.02, "--record", path, "--every", 5),
        *(
            "--set",
            "arm7/elbow=0.5",
            "arm7_2/elbow=-0.25",
            "--set",
            "arm7/wrist_roll=1e-1",
            "--at",
            0,
            0,
            0.5,
        ),
    )
    assert done.returncode == 0, done.stderr
    recording = kido.Recording.open(path)
    np.testing.assert_array_equal(recording.steps, [0, 5, 10])
    np.testing.assert_allclose(recording.times, [0, 0.01, 0.02])
    first, second = recording.skeleton("arm7"), recording.skeleton("arm7_2")
    assert first.positions[0][first.dof_names.index("elbow")] == 0.5
    assert first.positions[0][first.dof_names.index("wrist_roll")] == 0.1
    assert second.positions[0][second.dof_names.index("elbow")] == -0.25


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (
            ["simulate", "arm7", "--set", "elbow=nan"],
            1,
            "kido: error: --set elbow=nan: expected a finite number, got nan",
        ),
        (
            ["simulate", "arm7", "--set", "elbow=inf"],
            1,
            "kido: error: --set elbow=inf: expected a finite number",
        ),
        (["simulate", "arm7", "--set", "elbow=x"], 1, "kido: error: --set elbow=x: 'x' is not a number"),
        (
            ["simulate", "arm7", "--set", "elbow=1,2"],
            1,
            "kido: error: --set elbow=1,2: expected 1 number, got 2",
        ),
        (["simulate", "arm7", "--set", "elbow"], 1, "kido: error: --set elbow: expected JOINT=VALUE"),
        (
            ["simulate", "arm7", "--set", "elbo=1"],
            1,
            "no joint 'elbo' (did you mean elbow?); expected one of: shoulder_yaw, shoulder_pitch, ",
        ),
        (["simulate", "arm7", "arm7", "--set", "elbow=1"], 1, "write one of: arm7/elbow, arm7_2/elbow"),
        (["simulate", "os"], 1, "kido: error: os: no such file, nor a bundled model; those are: arm7, "),
        (
            ["simulate", "gone/robot.urdf"],
            1,
            "kido: error: gone/robot.urdf: no such file (bundled models, by name: arm7, ",
        ),
        (
            ["simulate", "arm7", "--world", "humanoid"],
            1,
            "--world humanoid: holds a single model, expected a world",
        ),
        (["simulate", "arm7", "stack"], 1, "kido: error: stack: is a whole world; give it as --world"),
        (
            ["simulate", "arm7", "--record", "gone/a.h5"],
            1,
            "gone/a.h5: cannot be written: directory gone does not exist",
        ),
        (["simulate", "arm7", "--html", "gone/a.html"], 1, "gone/a.html"),
        (["simulate"], 2, "kido: error: nothing to simulate: name a model"),
        (
            ["simulate", "arm7", "--duration", "-1"],
            2,
            "kido: error: --duration -1: expected seconds, not below 0",
        ),
        (
            ["simulate", "arm7", "--duration", "nan"],
            2,
            "kido: error: --duration nan: expected seconds, not below 0",
        ),
        (
            ["simulate", "arm7", "--dt", "10", "--duration", "5"],
            2,
            "kido: error: --duration 5: shorter than one step of 10 s; expected a longer time, or",
        ),
        (["simulate", "arm7", "--dt", "10"], 2, "kido: error: --duration 5: shorter than one step of 10 s"),
        (
            ["simulate", "arm7", "--record", "x.txt"],
            2,
            "kido: error: --record x.txt: expected a name that ends in .h5 or .hdf5",
        ),
        (
            ["simulate", "arm7", "--html", "x.pdf"],
            2,
            "kido: error: --html x.pdf: expected a name that ends in .html or .htm",
        ),
        (["view", "arm7", "--html", "page"], 2, "kido: error: --html page: expected a name that ends in .html or .htm"),
        (["replay", "a.h5", "--film", "a.avi"], 2, "kido: error: --film a.avi: expected a name that ends in .mp4"),
        (["replay", "a.h5", "--html", "a"], 2, "kido: error: --html a: expected a name that ends in .html"),
        (["simulate", "arm7", "--dt", "0"], 2, "kido: error: --dt 0: expected seconds above 0"),
        (["simulate", "arm7", "--every", "0"], 2, "kido: error: --every 0: expected a whole number above 0"),
        (["simulate", "arm7", "--duration", "soon"], 2, "could not convert string to float: 'soon'"),
        (["simulate", "arm7", "--os"], 2, "Unrecognized options: --os"),
        (["simulate", "arm7", *["--at", "0", "0", "0"] * 2], 2, "--at is given 2 times for 1 models"),
        (["replay"], 2, "Missing from kido replay"),
        (["replay", "gone.h5"], 1, "kido: error: gone.h5: no such file"),
        (["replay", "gone.h5", "--fps", "0"], 2, "kido: error: --fps 0: expected a number above 0"),
        (["info", "gone.h5"], 1, "kido: error: gone.h5: no such file"),
        (["warmup", "--processes", "0"], 2, "kido: error: --processes 0: expected a whole number above 0"),
        (["fly"], 2, "fly"),
    ],
)
def test_mistakes_in_process(arguments, code, message, capfd, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    assert main(arguments) == code
    out, err = capfd.readouterr()
    assert message in err and out == ""
    assert not list(tmp_path.iterdir())


def test_an_existing_recording_is_kept_unless_told(tmp_path, here):
    path = tmp_path / "run.h5"
    path.write_text("precious")
    done = run("simulate", "arm7", "--duration", 0.01, "--record", path)
    assert done.returncode == 1 and path.read_text() == "precious" and done.stdout == ""
    assert done.stderr == f"kido: error: {path}: exists already; choose another name, or replace it with --overwrite\n"
    assert here("simulate", "arm7", "--duration", 0.01, "--record", path, "--overwrite").returncode == 0
    assert len(kido.Recording.open(path)) == 11


def test_rubbish_files(tmp_path, here):
    for name in ("rubbish.urdf", "rubbish.skel", "rubbish.h5"):
        (tmp_path / name).write_bytes(os.urandom(500))
        done = here("info", tmp_path / name)
        assert done.returncode == 1 and done.stdout == ""
        assert done.stderr.startswith(f"kido: error: {tmp_path / name}")


@pytest.mark.parametrize("extra", [["--record", "run.h5"], ["--record", "run.h5", "--html", "run.html"]])
def test_ctrl_c_ends_cleanly_with_files_intact(tmp_path, extra):
    if "--html" in extra:
        pytest.importorskip("viser")
    command = [*KIDO, "simulate", "quadruped", "--ground", "--duration", "1000", *extra]
    path = tmp_path / "run.h5"
    with Program(command, tmp_path, cwd=tmp_path) as program:
        program.wait_until(lambda: frames_on_disk(path) > 10, "10 frames are on disk")
        assert program.end(signal.SIGINT) == 130, program.err
    assert "Traceback" not in program.err
    assert ", interrupted" in program.out and "\nrecorded" in program.out and "solver" in program.out
    recording = kido.Recording.open(path)
    assert recording.finished and len(recording) > 10
    assert "interrupted" in [e.text for e in recording.events]
    resumed = recording.resume()
    assert resumed.num_steps == recording.steps[-1]
    if "--html" in extra:
        assert (tmp_path / "run.html").read_text().lstrip().lower().startswith("<!doctype html")


def test_termination_closes_the_file(tmp_path):
    command = [*KIDO, "simulate", "quadruped", "--ground", "--duration", "1000", "--record", "run.h5"]
    with Program(command, tmp_path, cwd=tmp_path) as program:
        program.wait_until(lambda: frames_on_disk(tmp_path / "run.h5") > 10, "10 frames are on disk")
        assert program.end(signal.SIGTERM) == 143, program.err
    assert "kido: terminated" in program.err and "Traceback" not in program.err
    assert kido.Recording.open(tmp_path / "run.h5").finished


def test_broken_pipe_is_silent():
    process = subprocess.Popen([*KIDO, "info", "humanoid"], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.stdout is not None and process.stderr is not None
    process.stdout.close()
    err = process.stderr.read()
    assert process.wait(PATIENCE) == 0 and err == b""


def test_info_of_a_model(here):
    done = run("info", "arm7")
    assert done.returncode == 0 and done.stderr == ""
    assert done.stdout.startswith("arm7: 9 bodies, 7 degrees of freedom, 23.5 kg\n")
    assert "└─ hand" in done.stdout and "wrist_roll" in done.stdout
    data = json.loads(here("info", models.path("arm7"), "--json").stdout)
    assert data["mass"] == pytest.approx(23.5) and data["num_dofs"] == 7
    assert data["bodies"][-1] == {
        **data["bodies"][-1],
        "name": "hand",
        "parent": "wrist",
        "joint_type": "revolute",
    }
    assert data["dofs"][0]["position_upper_limit"] == pytest.approx(2.967, abs=1e-3)
    assert json.loads(here("info", "humanoid", "--json").stdout)["dofs"][0]["position_upper_limit"] is None


def test_info_of_a_world_and_warnings(tmp_path, here):
    done = here("info", "stack")
    assert done.stdout.startswith("world stack: 11 skeletons, time step 0.001 s, gravity 0 0 -9.81 m/s^2\n")
    model = tmp_path / "odd.urdf"
    model.write_text('<robot><link name="a"><inertial><mass value="1"/></inertial></link></robot>')
    done = here("info", model)
    assert done.returncode == 0
    assert "warning: " in done.stdout


def test_info_of_loops(example_robots, tmp_path, here):
    (path,) = example_robots.rglob("cassie_v2.sdf")
    loops = json.loads(here("info", path, "--json").stdout)["skeletons"][0]["loops"]
    assert [j["joint_type"] for j in loops["joints"]] == ["ball"] * 4 and loops["mimics"] == []
    # 22 hinges and the floating base less 10 equations: each foot's four-bar is planar, where one of three follows
    assert (loops["equations"], loops["rank"], loops["independent_coordinates"]) == (12, 10, 18)
    assert len(loops["redundant"]) == 2 and loops["largest_error"] < 1e-8
    text = here("info", path).stdout
    assert "12 equations, 10 independent: 18 independent coordinates" in text

    inertia = '<mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/>'
    link = f'<link name="{{}}"><inertial>{inertia}</inertial></link>'
    joint = '<joint name="{0}" type="continuous"><parent link="a"/><child link="{0}"/>{1}</joint>'
    gripper = "".join(link.format(name) for name in ("a", "left", "right"))
    gripper += joint.format("left", "") + joint.format("right", '<mimic joint="left" multiplier="-1"/>')
    model = tmp_path / "gripper.urdf"
    model.write_text(f'<robot name="gripper">{gripper}</robot>')
    done = here("info", model, "--base", "fixed")
    assert "1 equations, 1 of mimics, 1 independent: 1 independent coordinates" in done.stdout
    assert here("info", "arm7", "--json").stdout.count('"loops": null') == 1


def test_simulate_by_a_solver_of_closed_loops(tmp_path, here):
    from kido.recording import Recording
    from linkages import CLOSING, parallelogram

    model, record = tmp_path / "bar.urdf", tmp_path / "turn.h5"
    model.write_text(parallelogram(CLOSING))
    options = ("--base", "fixed", "--set", "j1=0.3", "--duration", "0.02")
    done = here("simulate", model, "--solver", "TA", *options, "--record", record)
    assert done.returncode == 0, done.stderr
    with Recording.open(record) as recording:
        world = recording.world()
        assert world.loop_solver == "TA" and isinstance(world.integrator, kido.integrators.RK4)
        q = recording.resume().skeletons[0].positions
        assert q == pytest.approx([q[0], -q[0], q[0]], abs=1e-9) and abs(q[0]) > 0.05  # closed from an open start
    done = here("simulate", "humanoid", "--solver", "auto", "--ground", "--duration", "0.2")
    assert done.returncode == 1 and "is for smooth motion, but" in done.stderr
    done = here("simulate", "humanoid", "--solver", "quick")
    assert done.returncode == 1 and "no loop solver 'quick'; expected one of: auto, " in done.stderr


def test_recording_info_replay_and_page(tmp_path, here):
    pytest.importorskip("viser")
    path = tmp_path / "run.h5"
    here("simulate", "stack", "--duration", 0.2, "--record", path, check=True)
    told = here("info", path)
    assert told.stdout == here("replay", path).stdout
    assert "frames       201, from 0 s to 0.2 s" in told.stdout and "end: recording ended" in told.stdout
    data = json.loads(here("info", path, "--json").stdout)
    assert data["frames"] == 201 and data["finished"] and data["skeletons"]["box_0"] == 6
    page = tmp_path / "run.html"
    done = here("replay", path, "--html", page, check=True)
    assert done.stdout.startswith(f"page         {page} (0.2 s, ")
    assert page.stat().st_size > 50_000


def test_models_lists_files_that_exist(here):
    listed = json.loads(here("models", "--json").stdout)
    assert list(listed) == models.names() and all(os.path.isfile(path) for path in listed.values())
    assert [line.split()[0] for line in here("models").stdout.splitlines()] == models.names()


def test_the_installed_command_is_the_same():
    command = os.path.join(os.path.dirname(sys.executable), "kido")
    if not os.path.exists(command):
        pytest.skip("the package is not installed in this environment")
    assert subprocess.run([command, "--version"], capture_output=True).stdout == f"kido {kido.__version__}\n".encode()


@pytest.mark.parametrize(
    "command",
    [["view", "arm7"], ["simulate", "arm7", "--view"], ["replay", "run.h5", "--view"], ["view", "run.h5"]],
)
def test_pages_are_served_until_ctrl_c(tmp_path, command):
    pytest.importorskip("viser")
    if "run.h5" in command:
        world = kido.World()
        world.add_skeleton(kido.load(models.path("arm7")))
        with kido.Recorder(world, tmp_path / "run.h5"):
            world.step(30)
    with Program([*KIDO, *command, "--port", "0"], tmp_path, cwd=tmp_path) as program:
        said = program.wait_until(
            lambda: re.search(r"^kido: (http.*) \(Ctrl-C ends\)$", program.err, re.M), "an address"
        )
        assert said[1].startswith(("http://127.0.0.1:", "http://localhost:"))
        with urllib.request.urlopen(said[1], timeout=PATIENCE) as page:
            assert page.status == 200
        time.sleep(0.3)  # well into the loop, though any moment will do
        assert program.end(signal.SIGINT) == 130, program.err
    assert "Traceback" not in program.err


def test_warns_of_what_starts_in_the_ground(here):
    clear = here("simulate", "arm7", "--ground", "--duration", 0.01)
    assert "warning" not in clear.stderr
    sunk = here("simulate", "arm7", "--ground", "--duration", 0.01, "--at", 0, 0, -1)
    assert "kido: warning: arm7 starts " in sunk.stderr and "mm deep in the ground" in sunk.stderr


def test_warns_of_positions_outside_of_limits(here):
    done = here("simulate", "arm7", "--duration", 0.01, "--set", "elbow=3")
    assert done.returncode == 0
    assert (
        "kido: warning: skeleton 'arm7': positions: 'elbow' = 3 is outside of its limits, -2.0944 to 2.0944 rad"
        in done.stderr
    )


def test_a_model_loads_without_its_missing_visuals(tmp_path, here):
    text = """<robot name="r"><link name="base"><inertial><mass value="1"/>
      <inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>
      <visual><geometry><mesh filename="no_such.stl"/></geometry></visual></link></robot>"""
    path = tmp_path / "r.urdf"
    path.write_text(text)
    refused = here("info", path, "--strict") if "--strict" in here("info", "--help").stdout else None
    assert refused is None or (refused.returncode == 1 and "no_such.stl" in refused.stderr)
    remarked = here("info", path)
    assert remarked.returncode == 0 and "no_such.stl" in remarked.stdout
    accepted = here("info", path, "--no-visuals")
    assert accepted.returncode == 0 and "base" in accepted.stdout


def test_a_run_without_end_is_refused(here):
    done = here("simulate", "arm7", "--dt", "1e-300", "--duration", "1")
    assert done.returncode == 2 and "10,000,000,000 steps" in done.stderr
    assert "name is empty" in here("info", "").stderr
