"""Every demo in a headless Chromium: it opens, tells what it shows, and its keys and sliders do what they say."""

from __future__ import annotations

import shutil

import pytest

from kido import demos
from kido.viewer.browser import PROGRAMS, Page
from programs import wait_until

pytest.importorskip("viser", reason="the extra 'viewer' is not installed")
pytestmark = [
    pytest.mark.skipif(not any(shutil.which(p) for p in PROGRAMS), reason="no Chromium or Chrome on PATH"),
    pytest.mark.chromium,
    pytest.mark.slow,
]

TEXTS = "[...document.querySelectorAll('.kido-text')].map(e => e.textContent).join('\\n')"


@pytest.mark.parametrize("name", demos.names())
def test_a_demo_opens_and_its_keys_work(name):
    demo = demos.load(name)
    pressed = []
    for key, entry in demo.keys.items():

        def press(key=key, f=entry.f):
            pressed.append(key)
            f()

        entry.f = press
    with demo.open(0) as viewer:
        if demo.camera is not None:
            assert viewer.camera.target == pytest.approx(demo.camera.target)
        viewer.start()
        with Page(viewer.url, (800, 500)) as page:
            wait_until(
                lambda: demo.description.partition("\n")[0] in (page.evaluate(TEXTS) or ""), "it says what it is"
            )
            text = page.evaluate(TEXTS)
            assert all(label in text for label in demo.numbers)
            assert all(f"{key.upper()}  {entry.label}" in text for key, entry in demo.keys.items())
            panel = page.evaluate("document.body.innerText")
            assert all(label in panel for label in demo.sliders)
            for key in demo.keys:
                code = f"Digit{key}" if key.isdigit() else f"Key{key.upper()}" if key.isalpha() else "Minus"
                page.key(key.lower(), code)
                wait_until(lambda key=key: key in pressed, f"key {key} is heard", 60.0)
            assert pressed == list(demo.keys)
            wait_until(lambda: page.evaluate(TEXTS) != text, "the numbers change", 60.0)
        assert not viewer.closed
