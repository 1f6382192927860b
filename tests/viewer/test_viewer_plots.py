"""Plots of a system's signals on the page."""

from __future__ import annotations

import io
import shutil

import numpy as np
import pytest

import kido
from kido.systems import JointPort, Model, Output, System
from kido.viewer import Viewer
from kido.viewer.browser import PROGRAMS, Page
from programs import wait_until

pytest.importorskip("viser", reason="the extra 'viewer' is not installed")


class Waves(Model):
    wave = Output("N", 2)

    def outputs(self):
        return {"wave": np.array([np.sin(20.0 * self.time), np.cos(20.0 * self.time)])}


def pendulum() -> tuple[kido.World, System]:
    world = kido.World(time_step=1e-3)
    rod = world.add_skeleton(kido.Skeleton("arm"))
    rod.add_body("rod", kido.RevoluteJoint("hinge", axis=(0, 1, 0)), inertia=kido.Inertia(2.0, com=(0, 0, -0.4)))
    rod.positions = [0.5]
    system = System(world=world)
    system.add(JointPort(rod.joint("hinge"), "joint"))
    system.add(Waves())
    system.run(0.0)
    return world, system


def test_a_plot_has_the_signals_of_the_last_seconds() -> None:
    world, system = pendulum()
    with Viewer(world, 0) as viewer:
        plot = viewer.add_plot(system, ["joint.position", "waves.wave"], seconds=0.5)
        assert plot.labels == ("joint.position [rad]", "waves.wave[0] [N]", "waves.wave[1] [N]")
        seen = []
        for _ in range(40):
            viewer.step(20)
            viewer.update()
            seen.append((world.time, *world.skeletons[0].positions))
        times, values = plot.data
        shown = [row for row in seen if row[0] >= world.time - 0.5 - 1e-9]
        assert 24 <= len(times) <= len(shown)
        expected = dict(shown)
        for t, (q, one, two) in zip(times, values, strict=True):
            assert q == pytest.approx(expected[min(expected, key=lambda key: abs(key - t))], abs=1e-12)
            assert (one, two) == pytest.approx((np.sin(20.0 * t), np.cos(20.0 * t)), abs=1e-12)
        viewer.reset()
        system.reset()
        viewer.step(1)
        viewer.update()
        assert plot.data[0].max() <= 0.1
        plot.remove()
        plot.remove()
        viewer.step(200)
        viewer.update()
        assert plot.data[0].max() <= 0.1


def test_what_cannot_be_plotted_is_refused() -> None:
    world, system = pendulum()
    with Viewer(world, 0) as viewer:
        with pytest.raises(kido.NameLookupError, match="power"):
            viewer.add_plot(system, "joint.power")
        with pytest.raises(kido.ModelError, match="plot: expected at least one port, and each once"):
            viewer.add_plot(system, ["joint.position", "joint"])
        with pytest.raises(kido.StateError, match="expected a System"):
            viewer.add_plot(world, "joint.position")
        with pytest.raises(kido.ModelError, match="seconds: expected a positive"):
            viewer.add_plot(system, "joint.position", seconds=0.0)


@pytest.mark.skipif(not any(shutil.which(p) for p in PROGRAMS), reason="no Chromium or Chrome on PATH")
@pytest.mark.chromium
@pytest.mark.slow
def test_it_is_drawn_on_the_page() -> None:
    """Each line has its name in the legend and pixels of its colour in the plot."""
    import imageio.v3 as iio

    world, system = pendulum()
    with Viewer(world, 0) as viewer:
        plot = viewer.add_plot(system, ["waves.wave"], title="Two waves", seconds=2.0)
        viewer.start()
        with Page(viewer.url, (1000, 1100)) as page:
            wait_until(lambda: page.evaluate("document.querySelectorAll('.uplot canvas').length"), "the plot is there")
            wait_until(lambda: np.ptp(plot.data[0]) > 1.0, "it has something to show")
            viewer.pause()  # what is drawn again and again is late in pictures of a busy machine
            text = page.evaluate("document.querySelector('.uplot').textContent")
            assert "Two waves" in text and all(label in text for label in plot.labels)
            box = page.evaluate(
                "(() => { const r = document.querySelector('.uplot canvas').getBoundingClientRect();"
                " return [r.left, r.top, r.right, r.bottom]; })()"
            )

            def drawn() -> bool:
                pixels = iio.imread(io.BytesIO(page.png()))[..., :3].astype(int)
                scale = pixels.shape[1] / 1000.0
                left, top, right, low = (int(scale * x) for x in box)
                plotted = pixels[top:low, left:right]
                colors = [(0x1F, 0x77, 0xB4), (0xD6, 0x27, 0x28)]
                return all((np.abs(plotted - color).max(axis=-1) < 40).sum() > 100 for color in colors)

            wait_until(drawn, "both lines are drawn")
