"""Surfaces of flexible bodies: where they are, what is strained, and how they are drawn."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import kido
from kido.cli import main
from kido.flexible import (
    FlexibleBody,
    Material,
    ModeNode,
    Modes,
    ModeSurface,
    Section,
    beam_modes,
    vibrations,
    write_modes,
)
from kido.rendering import Camera, Deformation, Pinhole, Renderer, look_at
from kido.viewer import Trajectory, TrajectorySampler, Viewer, export_html, mode_shape

ALUMINIUM = Material(7e10, 2700.0)
ALL_KINDS: dict[str, Any] = {"bending_y": 2, "bending_z": 2, "axial": 1, "torsion": 1}


def arm() -> tuple[kido.Skeleton, FlexibleBody]:
    """A beam on a hinge, with a box at its tip."""
    skeleton = kido.Skeleton("arm")
    body = skeleton.add_body("beam", kido.RevoluteJoint(axis=(0, 0, 1)))
    beam = FlexibleBody(body, beam_modes(1.0, Section.rectangle(0.1, 0.02), ALUMINIUM, bending_z=2, damping_ratio=0.1))
    load = skeleton.add_body("load", kido.WeldJoint(), beam.node("tip"), kido.Inertia(0.5, moment=1e-3 * np.eye(3)))
    load.add_shape(kido.Box((0.1, 0.1, 0.1)))
    return skeleton, beam


def modes_with(**surface: Any) -> Modes:
    """Three masses, two modes, and a triangle through them."""
    shapes = np.zeros((3, 3, 2))
    shapes[1:, 1, 0], shapes[1:, 2, 1] = (0.5, 1.0), (0.5, -1.0)
    places = np.array([[0, 0, 0], [1, 0, 0], [2, 1, 0.0]])
    given = {"positions": places, "translation": shapes, "faces": [[0, 1, 2]], **surface}
    return Modes([1.0, 1.0, 1.0], places, shapes, [10.0, 20.0], surface=ModeSurface(**given))


# Geometry ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("section", [Section.rectangle(0.1, 0.02), Section.tube(0.03, 0.025)])
def test_a_beams_surface_is_closed_and_ends_where_its_node_is(section: Section) -> None:
    beam = beam_modes(1.5, section, ALUMINIUM, **ALL_KINDS)
    surface = beam.surface
    assert surface is not None
    v, f = surface.vertices, surface.faces
    volume = np.einsum("fa,fa->", v[f[:, 0]], np.cross(v[f[:, 1]], v[f[:, 2]])) / 6.0
    y, z = section.corners.T
    area = 0.5 * np.sum(y * np.roll(z, -1) - z * np.roll(y, -1))
    assert np.isclose(volume, 1.5 * area, rtol=1e-12) and area > 0.0  # outward, and no hole
    edges = np.sort(np.concatenate([f[:, [0, 1]], f[:, [1, 2]], f[:, [2, 0]]]), axis=1)
    assert (np.unique(edges, axis=0, return_counts=True)[1] == 2).all()
    eta = 0.05 * np.array([1.0, -0.3, 0.6, 0.2, 0.01, 4.0])
    moved = v + surface.displacements(eta)
    X, k = beam.node("tip").pose(eta), len(y)
    corners = np.column_stack([np.zeros(k), y, z]) @ X[:3, :3].T + X[:3, 3]
    assert np.allclose(moved[-k:], corners, rtol=0.0, atol=1e-12)
    assert np.allclose(moved[:k], v[:k], rtol=0.0, atol=1e-15)


def test_a_rectangles_outline_has_its_sides() -> None:
    assert np.allclose(np.abs(Section.rectangle(0.1, 0.02).corners), [0.05, 0.01])
    assert np.allclose(np.hypot(*Section.tube(0.03, 0.025).corners.T), 0.03)


def test_strain_at_the_root_is_that_of_a_tip_force() -> None:
    """F L h / 2 E I above and below, F / E A from end to end: Craig-Bampton's modes bend as cubics."""
    section = Section.rectangle(0.05, 0.02)
    beam = beam_modes(2.0, section, ALUMINIUM, bending_z=2, axial=1, theory="euler-bernoulli", boundary="craig-bampton")
    node, force = beam.node("tip"), np.array([3e4, 0.0, 50.0])
    eta = node.translation.T @ force / beam.stiffness
    surface = beam.surface
    assert surface is not None
    strain = surface.values("strain", eta).reshape(-1, 4)
    bent = 50.0 * 2.0 * 0.01 / (7e10 * section.about_y)
    pulled = 3e4 / (7e10 * section.area)
    signs = np.sign(section.corners[:, 1])
    assert np.allclose(strain[0], pulled - signs * bent, rtol=1e-9)
    assert np.allclose(strain[16], pulled - signs * bent / 2.0, rtol=1e-9)
    assert np.allclose(strain[-1], pulled, rtol=1e-9)
    assert np.allclose(surface.values("stress", eta), 7e10 * strain.ravel())


def test_a_tensors_value_is_von_mises() -> None:
    tensor = np.zeros((3, 6, 2))
    tensor[0, 0, 0], tensor[1, 5, 0], tensor[2, :3, 0] = 2.0, 1.0, 5.0
    surface = modes_with(fields={"stress": tensor}).surface
    assert surface is not None
    assert np.allclose(surface.values("stress", np.array([3.0, 0.0])), [6.0, 3.0 * np.sqrt(3.0), 0.0])


# Pictures ----------------------------------------------------------------------------------------------------


def camera() -> Camera:
    return Camera(Pinhole(96, 64, fov=0.6), look_at((0.5, -3.0, 0.6), (0.5, 0.0, 0.0)))


def test_pictures_show_bodies_as_they_are_bent() -> None:
    """The box at the tip is as far up as the node is, amplified as well."""
    skeleton, _ = arm()
    box = [node.body.name for node in Renderer(skeleton).shapes].index("load")

    def height(amplification: float) -> float:
        seen = Renderer(skeleton, deformation=Deformation(amplification)).render(camera()).segmentation
        assert seen is not None and (seen == 1 - box).any()
        return float(np.argwhere(seen == box)[:, 0].mean())

    straight = height(1.0)
    skeleton.set_positions([0.03], ["beam.bending_z1"])
    bent, amplified = straight - height(1.0), straight - height(5.0)
    assert bent > 0.0 and np.isclose(amplified, 5.0 * bent, rtol=0.1)
    pixels = 0.03 * 64 / (2.0 * np.tan(0.3)) / 3.06
    assert np.isclose(bent, pixels, rtol=0.3)


def test_pictures_of_many_states_are_those_of_each() -> None:
    skeleton, _ = arm()
    states = np.array([[0.0, 0.02, 0.0], [0.4, -0.03, 0.005]])
    renderer = Renderer(skeleton, deformation=Deformation(2.0, "strain", limit=1e-3))
    many = renderer.render(camera(), positions=states)
    assert many.color is not None and many.depth is not None
    for k, q in enumerate(states):
        skeleton.positions = q
        one: Any = renderer.render(camera())
        assert np.array_equal(many.depth[k], one.depth) and np.array_equal(many.color[k], one.color)


def test_colours_say_where_it_is_strained() -> None:
    """Seen from above a beam bent up is pressed: blue; one bent down is pulled: red; and white where it is straight."""
    skeleton, _ = arm()
    above = Camera(Pinhole(96, 64, fov=0.6), look_at((0.3, 0.0, 3.0), (0.3, 0.01, 0.0)))
    tints = []
    for deflection in (0.05, -0.05, 0.0):
        skeleton.set_positions([deflection], ["beam.bending_z1"])
        look = Deformation(1.0, "strain", limit=2e-3)
        seen = Renderer(skeleton, deformation=look).render(above)
        assert seen.color is not None and seen.segmentation is not None
        tints.append(seen.color[seen.segmentation == 0].astype(float).mean(axis=0))
    blue, red, white = tints
    assert blue[2] - blue[0] > 20.0 and red[0] - red[2] > 20.0 and abs(white[0] - white[2]) < 8.0


def test_a_hidden_surface_is_not_drawn_and_a_coloured_one_is() -> None:
    skeleton, beam = arm()
    node = beam.surface
    assert node is not None
    node.color = (1.0, 0.0, 0.0)
    seen = Renderer(skeleton).render(camera())
    assert seen.color is not None and seen.segmentation is not None
    mean = seen.color[seen.segmentation == 0].astype(float).mean(axis=0)
    assert mean[0] > 3.0 * mean[1]
    node.remove()
    assert [n.body.name for n in Renderer(skeleton).shapes] == ["load"] and beam.surface is None


# The viewer --------------------------------------------------------------------------------------------------


def shown(viewer: Any) -> np.ndarray:
    """All vertices of the beam on the page, world axes."""
    handles = viewer.server.scene._handle_from_node_name
    found = [h for name, h in handles.items() if name.startswith("/flexible/") and h.visible]
    turns = [_matrix(h.wxyz) for h in found]
    return np.concatenate([h.vertices @ R.T + h.position for h, R in zip(found, turns, strict=True)])


def _matrix(wxyz: Any) -> np.ndarray:
    from kido.rendering.rotations import matrix_from_wxyz

    return matrix_from_wxyz(np.asarray(wxyz, float))


def test_the_page_shows_bodies_as_they_are_bent() -> None:
    skeleton, _ = arm()
    skeleton.positions = [0.3, 0.04, -0.002]
    world = kido.World(gravity=(0, 0, 0))
    world.add_skeleton(skeleton)
    with Viewer(world, 0, paused=True) as viewer:
        viewer.spin()
        # The middle of the last section is the node.
        tip = skeleton.body("beam_tip").world_transform[:3, 3]
        far = shown(viewer)[-4:].mean(axis=0)
        assert np.allclose(far, tip, atol=1e-6)
        assert viewer._deformation_panel is not None
        viewer.view.deformation = Deformation(5.0, "stress")
        viewer.spin()
        load = viewer.view.positions[[b.name for b in viewer.view.bodies].index("load")]
        assert np.isclose(load[2], 5.0 * 0.038, rtol=1e-6)  # both modes are 1 and 1 at the tip, whose load is amplified
        assert viewer.view.deforming.limit > 1e6
        with pytest.raises(kido.NameLookupError, match="no field of the flexible bodies 'heat'; expected one of: st"):
            viewer.view.deformation = Deformation(1.0, "heat")


def test_motions_and_recordings_have_the_modes(tmp_path: Path) -> None:
    skeleton, _ = arm()
    world = kido.World(time_step=1e-3)
    world.add_skeleton(skeleton)
    path = tmp_path / "run.h5"
    with kido.Recorder(world, path):
        motion = TrajectorySampler(world, fps=50.0).run(0.2)
    assert motion.modes is not None and motion.modes.shape == (motion.num_frames, 2)
    assert np.allclose(motion.modes[-1], skeleton.positions[1:]) and np.abs(motion.modes[-1]).max() > 1e-4
    recording = kido.Recording.open(path)
    again = Trajectory.from_recording(recording, fps=50.0)
    assert again.modes is not None and np.allclose(again.modes[-1], motion.modes[-1])
    model = recording.display_world()
    page = export_html(model, again, tmp_path / "run.html", deformation=Deformation(3.0, "strain"))
    assert page.stat().st_size > 100_000
    q = np.array([np.zeros(3), [0.1, 0.01, 0.0]])
    assert np.array_equal(Trajectory.from_positions(world, [0.0, 1.0], q).modes, q[:, 1:])  # type: ignore[arg-type]
    with pytest.raises(kido.StateError, match=r"Trajectory modes have shape \(1, 2\); expected \(2, n\)"):
        Trajectory(np.arange(2.0), np.zeros((2, 1, 3)), np.tile([1.0, 0, 0, 0], (2, 1, 1)), modes=np.zeros((1, 2)))


# Vibrations --------------------------------------------------------------------------------------------------


def test_vibrations_of_two_inertias_on_a_spring_and_of_a_clamped_beam() -> None:
    """omega = sqrt(k (1 / J1 + 1 / J2)) of a free pair; a clamped beam has its own modes."""
    pair = kido.Skeleton("pair")
    first = pair.add_body("first", kido.RevoluteJoint(axis=(0, 0, 1)), None, kido.Inertia(1.0, moment=2.0 * np.eye(3)))
    second = kido.RevoluteJoint(axis=(0, 0, 1), spring_stiffness=8.0)
    pair.add_body("second", second, first, kido.Inertia(1.0, moment=0.5 * np.eye(3)))
    found = vibrations(pair)
    assert np.allclose(found.frequencies, [0.0, np.sqrt(8.0 * (1 / 2.0 + 1 / 0.5))], rtol=1e-12)
    assert np.allclose(found.shapes[:, 1], [-0.2, 1.0], rtol=1e-12)
    clamped = kido.Skeleton("clamped")
    beam = beam_modes(1.0, Section.tube(0.02), ALUMINIUM, **ALL_KINDS)
    FlexibleBody(clamped.add_body("beam", kido.WeldJoint()), beam)
    assert np.allclose(vibrations(clamped).frequencies, np.sort(beam.frequencies), rtol=1e-9)
    with pytest.raises(kido.ModelError, match="skeleton 'none' has no coordinates"):
        vibrations(kido.Skeleton("none"))


# Mistakes ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("surface", "message"),
    [
        ({"faces": [[0, 1, 3]]}, "surface: faces: expected whole numbers from 0 to below 3, got 3"),
        ({"faces": [[0, 1, 0.5]]}, r"surface: faces: expected whole numbers from 0 to below 3, got 0\.5"),
        ({"faces": [0, 1, 2]}, r"surface: faces: expected an array \(any x 3\)"),
        ({"station": [0, 1, -1]}, "surface: station: expected whole numbers from 0 to below 3, got -1"),
        ({"translation": np.zeros((2, 3, 2))}, r"surface: translation: expected an array \(3 x 3 x any\)"),
        ({"translation": np.full((3, 3, 2), np.nan)}, "surface: translation: expected finite numbers"),
        ({"rotation": np.zeros((3, 3, 1))}, r"surface: rotation: expected an array \(3 x 3 x 2\)"),
        ({"arms": np.zeros((2, 3))}, r"surface: arms: expected an array \(3 x 3\)"),
        ({"fields": {"heat": np.zeros((2, 2))}}, r"surface: field 'heat': expected an array \(3 x 2\)"),
        ({"translation": np.zeros((3, 3, 1))}, "surface: expected 2 modes, got 1"),
    ],
)
def test_surfaces_that_cannot_be(surface: dict[str, Any], message: str) -> None:
    with pytest.raises(kido.ModelError, match=message):
        modes_with(**surface)


def test_other_mistakes() -> None:
    with pytest.raises(kido.ModelError, match="surface: expected a ModeSurface, got 'skin'"):
        Modes([1.0], [[1, 0, 0]], np.ones((1, 3, 1)), [1.0], surface="skin")  # type: ignore[arg-type]
    surface = modes_with().surface
    assert surface is not None
    with pytest.raises(kido.NameLookupError, match="no field of the surface 'heat'"):
        surface.values("heat", np.zeros(2))
    with pytest.raises(kido.ModelError, match="surface: there is no 'faces'"):
        ModeSurface.from_dict({"positions": [], "translation": []})
    with pytest.raises(kido.ModelError, match="section: outline: expected at least 3 corners"):
        Section(1.0, 1.0, 1.0, outline=((0.0, 0.0), (1.0, 0.0)))
    for value in (0.0, -1.0, np.nan, "much"):
        with pytest.raises(kido.StateError, match="Deformation amplification is"):
            Deformation(value)  # type: ignore[arg-type]
    with pytest.raises(kido.StateError, match="Deformation limit is 0"):
        Deformation(1.0, "strain", 0)
    skeleton, _ = arm()
    with pytest.raises(kido.NameLookupError, match="no field of the flexible bodies 'heat'"):
        Renderer(skeleton, deformation=Deformation(1.0, "heat"))


def test_a_node_may_have_axes_of_its_own() -> None:
    """What hangs on it is turned; and what is no rotation is named."""
    R = np.array([[0.0, -1, 0], [1, 0, 0], [0, 0, 1]])
    turn = np.array([[0.0, 0.0], [0.0, -0.4], [0.3, 0.0]])
    shapes = np.zeros((2, 3, 2))
    shapes[1, 1, 0], shapes[1, 2, 1] = 1.0, 1.0
    node = ModeNode("tip", (2, 0, 0), shapes[1], turn, orientation=R)
    made = Modes([1.0, 1.0], [[0, 0, 0], [2, 0, 0]], shapes, [10.0, 20.0], [node])
    skeleton = kido.Skeleton("s")
    body = FlexibleBody(skeleton.add_body("body", kido.RevoluteJoint(axis=(0, 0, 1))), made)
    skeleton.positions = [0.5, 0.1, -0.2]
    X = body.body.world_transform @ node.pose([0.1, -0.2])
    assert np.allclose(body.node("tip").world_transform, X, rtol=0.0, atol=1e-14)
    assert np.allclose(Modes.from_dict(made.to_dict()).node("tip").orientation, R)
    h, J = 1e-6, skeleton.jacobian(body.node("tip"))
    for k in range(3):
        ends = []
        for s in (1.0, -1.0):
            skeleton.positions = np.array([0.5, 0.1, -0.2]) + s * h * np.eye(3)[k]
            ends.append(body.node("tip").world_transform)
        spin = (ends[0] - ends[1])[:3, :3] @ X[:3, :3].T / (2.0 * h)
        rate = np.array([spin[2, 1], spin[0, 2], spin[1, 0], *((ends[0] - ends[1])[:3, 3] / (2.0 * h))])
        assert np.allclose(J[:, k], rate, atol=1e-8)
    for wrong in (2.0 * np.eye(3), np.diag([1.0, 1.0, -1.0]), np.ones((3, 3))):
        with pytest.raises(kido.ModelError, match="node 'n': orientation: expected a rotation matrix, R R"):
            ModeNode("n", (0, 0, 0), np.zeros((3, 1)), orientation=wrong)
    with pytest.raises(kido.ModelError, match="node 'n': orientation: expected finite numbers"):
        ModeNode("n", (0, 0, 0), np.zeros((3, 1)), orientation=np.full((3, 3), np.nan))
    with pytest.raises(kido.ModelError, match="node 'n': position: expected finite numbers"):
        ModeNode("n", (0, np.nan, 0), np.zeros((3, 1)))


# Mode shapes -------------------------------------------------------------------------------------------------


def test_mode_shapes_are_motions_about_where_it_is() -> None:
    skeleton, _ = arm()
    skeleton.positions = [0.4, 0.0, 0.0]
    motion = mode_shape(skeleton, "beam.bending_z1", duration=1.0, fps=20.0)
    assert motion.modes is not None and motion.num_frames == 21
    wave = np.sin(2.0 * np.pi * motion.times)
    assert np.allclose(motion.modes, 0.1 * wave[:, None] * [1.0, 0.0], rtol=0.1, atol=1e-12)  # a tenth of its extent
    assert np.array_equal(skeleton.positions, [0.4, 0.0, 0.0])
    given = mode_shape(skeleton, 1, amplitude=0.01, duration=1.0, fps=20.0)
    shape = vibrations(skeleton).shapes[:, 1]
    assert given.modes is not None
    assert np.allclose(given.modes[5], 0.01 * shape[1:], rtol=1e-9)
    with pytest.raises(kido.NameLookupError, match=r"no coordinate 'beam\.bending_x1'"):
        mode_shape(skeleton, "beam.bending_x1")
    for wrong in (0, 3, True, 1.5):
        with pytest.raises(kido.StateError, match="expected a whole number from 1 to 2"):
            mode_shape(skeleton, wrong)  # type: ignore[arg-type]
    for option in ({"amplitude": -1.0}, {"duration": np.nan}, {"fps": 0.0}):
        with pytest.raises(kido.StateError, match=f"mode shape: {next(iter(option))} is"):
            mode_shape(skeleton, 1, **option)


def test_the_command_shows_a_file_of_modes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "beam.h5"
    write_modes(path, beam_modes(1.0, Section.tube(0.02), ALUMINIUM, bending_z=2))
    page = tmp_path / "mode.html"
    assert main(["view", str(path), "--mode", "2", "--html", str(page)]) == 0
    assert page.stat().st_size > 100_000
    assert main(["view", str(path), "--mode", "3", "--html", str(page)]) != 0
    assert "--mode 3: expected a whole number from 1 to 2" in capsys.readouterr().err
    assert main(["view", "arm7", "--mode", "1", "--html", str(page)]) != 0
    assert "--mode 1: arm7 is no file of modes" in capsys.readouterr().err
