"""What a person sees on the pages, in a headless Chromium: title, texts, keys, phones, light."""

from __future__ import annotations

import io
import shutil

import numpy as np
import pytest

import kido
from kido.viewer import Trajectory, Viewer, export_html
from kido.viewer.browser import PROGRAMS, Page
from programs import wait_until
from viewer_models import arm

pytest.importorskip("viser", reason="the extra 'viewer' is not installed")
pytestmark = [
    pytest.mark.skipif(not any(shutil.which(p) for p in PROGRAMS), reason="no Chromium or Chrome on PATH"),
    pytest.mark.chromium,
    pytest.mark.slow,
]


def picture(page: Page) -> np.ndarray:
    import imageio.v3 as iio

    return iio.imread(io.BytesIO(page.png()))[..., :3].astype(float)


def test_title_texts_and_keys_of_the_live_page():
    seen = []
    with Viewer(arm(), 0) as viewer:
        for key in ("?", "+", "é", "b"):
            viewer.add_key(key, lambda key=key: seen.append(key))
        text = viewer.add_text("first\nline <b>", "top right", size=31)
        viewer.start()
        with Page(viewer.url, (900, 600)) as page:
            wait_until(lambda: page.evaluate("document.querySelector('.kido-text')?.textContent"), "the text is shown")
            assert page.evaluate("document.title") == "KIDO · arm"
            assert page.evaluate("document.querySelector('.kido-text').textContent") == "first\nline <b>"
            # It stands in the picture, which ends where the panel begins.
            right = "document.querySelector('{}').getBoundingClientRect().right"
            assert page.evaluate(right.format(".kido-text")) <= page.evaluate(right.format("canvas"))
            text.text = "second"
            wait_until(
                lambda: page.evaluate("document.querySelector('.kido-text').textContent") == "second", "it changes"
            )
            text.remove()
            wait_until(lambda: page.evaluate("!document.querySelector('.kido-text')"), "it goes")
            page.key("?", "Slash", shift=True)
            page.key("+", "Equal", shift=True)
            page.key("é", "Digit2")
            page.key("b", "KeyB")
            page.key("B", "KeyB", shift=True)  # another key: Shift and B
            wait_until(lambda: len(seen) >= 4, "the keys arrive")
            assert seen == ["?", "+", "é", "b"]


def test_on_a_phone_the_whole_model_is_seen_above_the_controls():
    with Viewer(arm(), 0) as viewer:
        viewer.start()
        with Page(viewer.url, (390, 844)) as page:
            wait_until(lambda: page.evaluate("!!document.querySelector('.kido-sheet')"), "the sheet is there")
            top = "document.querySelector('.kido-sheet').getBoundingClientRect().top"
            wait_until(lambda: page.evaluate(top) > 780, "it is closed")
            assert page.evaluate("document.querySelector('.kido-sheet').getBoundingClientRect().width") == 390
            wait_until(lambda: viewer.num_clients, "the viewer knows the page")
            wait_until(
                lambda: np.allclose(viewer.camera.position, viewer.view.home(aspect=390 / 844).position), "it fits"
            )
            page.evaluate("document.querySelector(\".kido-sheet [style*='cursor: pointer']\").click()")
            wait_until(lambda: page.evaluate(top) < 600, "it opens")
            assert page.evaluate(top) > 0.5 * 844


def test_light_stays_when_a_motion_begins_anew(tmp_path):
    skeleton = kido.Skeleton("ball")
    body = skeleton.add_body("b", kido.FreeJoint("root"), inertia=kido.Inertia(1.0, moment=np.eye(3)))
    body.add_shape(kido.Sphere(0.5), color=(1, 1, 1))
    still = Trajectory.from_positions(skeleton, np.linspace(0.0, 0.6, 7), np.zeros((7, 6)), fps=None)
    path = export_html(skeleton, still, tmp_path / "ball.html")
    with Page(path.as_uri(), (320, 240)) as page:
        wait_until(lambda: page.evaluate("!!window.kido?.viser()"), "the page has begun")
        wait_until(lambda: page.evaluate("kido.viser().useEnvironment.get().enableDefaultLights") is False, "our light")
        page.evaluate(
            "window.other = 0; window.loops = 0; window.time = 0;"
            "kido.viser().useEnvironment.subscribe(() => {"
            "  window.other += kido.viser().useEnvironment.get().enableDefaultLights ? 1 : 0; });"
            "setInterval(() => { const now = +document.querySelector('input').value;"
            "  window.loops += now < window.time ? 1 : 0; window.time = now; }, 20); 0"
        )
        pictures = []
        for loop in (1, 3, 5):
            wait_until(lambda loop=loop: page.evaluate("window.loops") >= loop, "it begins anew")
            pictures.append(picture(page)[:190])
        assert page.evaluate("window.other") == 0
    means = [p.mean() for p in pictures]
    assert np.ptp(means) < 0.5
    # The white ball stands out from all that is around it: its middle is brighter than every corner.
    middle = pictures[0][80:110, 145:175].mean()
    corners = [pictures[0][y, x].mean() for y in (2, 187) for x in (2, 317)]
    assert middle > max(corners) + 25
