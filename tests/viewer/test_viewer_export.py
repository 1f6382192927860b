"""Offline pages, pictures and film. What a page holds is read back with msgpack, without a browser."""

from __future__ import annotations

import base64
import html
import os
import re
import shutil
import subprocess
import sys

import numpy as np
import pytest

import kido
from kido.viewer import (
    Trajectory,
    TrajectorySampler,
    Viewer,
    ViewerError,
    embed_html,
    export_film,
    export_html,
    screenshot_html,
)
from kido.viewer.browser import PROGRAMS
from kido.viewer.film import Film
from viewer_models import arm, boxes

viser = pytest.importorskip("viser", reason="the extra 'viewer' is not installed")

BROWSER = next((p for p in PROGRAMS if shutil.which(p)), None)
chromium = pytest.mark.skipif(BROWSER is None, reason="no Chromium or Chrome on PATH")
ffmpeg = pytest.mark.skipif(shutil.which("ffmpeg") is None, reason="no ffmpeg on PATH")


def motion_of(world: kido.World, duration: float = 0.5) -> Trajectory:
    return TrajectorySampler(world, fps=30).run(duration)


def recorded(page: str) -> dict:
    """What viser's page plays: messages with their times, and the arrays they name."""
    import msgspec
    import zstandard

    data = base64.b64decode(re.search(r'__VISER_EMBED_DATA__="([^"]*)"', page).group(1))  # type: ignore[union-attr]
    inner = zstandard.ZstdDecompressor().decompressobj().decompress(data[8:])
    length = int.from_bytes(inner[:8], "little")
    return msgspec.msgpack.decode(inner[8 : 8 + length])


def test_the_page_holds_every_frame_at_its_time(tmp_path):
    world = boxes(2, gravity=(0.0, 0.0, -9.81))
    world.skeletons[1].positions = [0, 0, 0, 0, 0, 3.0]
    motion = motion_of(world, 0.5)
    path = export_html(world, motion, tmp_path / "page.html", fps=30)
    content = recorded(path.read_text())
    times = sorted({t for t, m in content["messages"] if m["type"] == "SceneNodeUpdateMessage" and t > 0})
    np.testing.assert_allclose(times, motion.times[1:], atol=1e-9)
    assert motion.duration < content["durationSeconds"] < motion.duration + 0.6
    kinds = [m["type"] for _, m in content["messages"]]
    assert kinds.count("GridMessage") == 1
    names = [m["name"] for _, m in content["messages"] if m["type"] == "BatchedMeshesMessage"]
    assert "/model/box" in names
    assert "/contacts/shaft" in names


def test_the_page_fetches_nothing_and_is_small(tmp_path):
    world = boxes(3)
    text = export_html(world, motion_of(world), tmp_path / "page.html", title="A <b>").read_text()
    assert len(text) < 2e6
    assert "<title>KIDO · A &lt;b&gt;</title>" in text
    head = text[: text.index("__VISER_EMBED_DATA__")]
    for tag in re.findall(r"<(?:script|link|img|iframe)\b[^>]*", text):
        source = re.search(r"""(?:src|href)\s*=\s*["']([^"']*)""", tag[:400])
        assert source is None or source.group(1).startswith("data:"), tag[:200]
    assert "http-equiv" not in head


def test_a_still_page_needs_no_motion(tmp_path):
    skeleton = arm()
    content = recorded(export_html(skeleton, None, tmp_path / "still.html").read_text())
    assert content["durationSeconds"] == 0.0
    np.testing.assert_array_equal(skeleton.positions, np.zeros(5))


def test_a_page_in_a_notebook_is_the_same_page(tmp_path):
    world = boxes(1)
    motion = motion_of(world, 0.2)
    page = embed_html(world, motion, height=321, fps=10, title='"Mine"')
    exported = export_html(world, motion, tmp_path / "page.html", fps=10, title='"Mine"').read_text()
    assert recorded(page.page)["durationSeconds"] == recorded(exported)["durationSeconds"] > 0.2
    frame = page._repr_html_()
    assert "height:321px" in frame
    inner = re.search(r'srcdoc="([^"]*)"', frame)
    assert html.unescape(inner.group(1)) == page.page  # type: ignore[union-attr]
    assert len(repr(page)) < 80
    assert "IPython" not in sys.modules
    with pytest.raises(ViewerError, match=r"no option 'frames'; there are height, fps, show"):
        embed_html(world, motion, frames=3)


def test_export_leaves_no_port_open_and_prints_nothing(tmp_path, capfd):
    import threading

    before = threading.active_count()
    export_html(arm(), None, tmp_path / "still.html")
    assert threading.active_count() <= before + 1
    out = capfd.readouterr()
    assert out.out + out.err == ""


def test_export_without_viser_names_the_command(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "viser", None)
    with pytest.raises(kido.MissingExtraError, match=r"pip install .kido\[viewer\]"):
        export_html(arm(), None, tmp_path / "page.html")
    assert list(tmp_path.iterdir()) == []


def test_a_motion_of_another_model_is_refused(tmp_path):
    motion = motion_of(boxes(1), 0.1)
    with pytest.raises(ViewerError, match="trajectory has 2 bodies, the model 3"):
        export_html(arm(), motion, tmp_path / "page.html")
    other = boxes(1)
    other.skeletons[1].name = "crate"
    with pytest.raises(ViewerError, match="Body 1 is 'box0/body' in the trajectory and 'crate/body' in the model"):
        export_html(other, motion, tmp_path / "page.html")


def test_a_page_that_cannot_be_written_is_refused_and_nothing_is_left(tmp_path):
    with pytest.raises(ViewerError, match="there is no directory"):
        export_html(arm(), None, tmp_path / "no" / "page.html")
    with pytest.raises(ViewerError, match="is a directory"):
        export_html(arm(), None, tmp_path)
    old = tmp_path / "old.html"
    old.write_text("old")
    with pytest.raises(ViewerError):
        export_html(arm(), motion_of(boxes(1), 0.05), old)
    assert old.read_text() == "old"
    assert [p.name for p in tmp_path.iterdir()] == ["old.html"]


# Film and pictures -----------------------------------------------------------------------------------------


@ffmpeg
def test_film_has_its_frames_size_and_rate(tmp_path):
    with Film(tmp_path / "a.mp4", (64, 48), 25) as film:
        for k in range(10):
            film.add(np.full((48, 64, 3), 20 * k, dtype=np.uint8))
    assert [p.name for p in tmp_path.iterdir()] == ["a.mp4"]
    if shutil.which("ffprobe"):
        fields = "stream=width,height,r_frame_rate,nb_frames,codec_name"
        command = [
            "ffprobe",
            "-v",
            "error",
            "-show_entries",
            fields,
            "-of",
            "csv=p=0",
            str(tmp_path / "a.mp4"),
        ]
        out = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        assert out.strip() == "h264,64,48,25/1,10"


@pytest.mark.parametrize("suffix", [".webp", ".gif"])
def test_films_that_are_pictures_have_their_frames_and_length(tmp_path, suffix):
    from PIL import Image

    with Film(tmp_path / f"a{suffix}", (65, 48), 16) as film:
        for k in range(8):
            film.add(np.full((48, 65, 3), 30 * k, dtype=np.uint8))
    assert [p.name for p in tmp_path.iterdir()] == [f"a{suffix}"]
    picture = Image.open(tmp_path / f"a{suffix}")
    assert (picture.n_frames, picture.size, picture.info["loop"]) == (8, (65, 48), 0)
    lasts, grey = [], []
    for k in range(8):
        picture.seek(k)
        picture.load()
        lasts.append(picture.info["duration"])
        grey.append(np.asarray(picture.convert("RGB")).mean())
    assert sum(lasts) == 500  # 8 pictures, 16 a second
    assert max(lasts) - min(lasts) <= (1 if suffix == ".webp" else 10)
    np.testing.assert_allclose(grey, 30.0 * np.arange(8), atol=2.0)  # what is left of the colours


def test_a_film_of_pictures_that_fails_leaves_nothing(tmp_path):
    with pytest.raises(RuntimeError, match="stop"), Film(tmp_path / "a.webp", (64, 48), 25) as film:
        film.add(np.zeros((48, 64, 3), dtype=np.uint8))
        raise RuntimeError("stop")
    with pytest.raises(ViewerError, match="needs a picture"), Film(tmp_path / "a.gif", (64, 48), 25):
        pass
    assert list(tmp_path.iterdir()) == []


@ffmpeg
def test_a_film_that_fails_leaves_nothing(tmp_path):
    with pytest.raises(RuntimeError, match="stop"), Film(tmp_path / "a.mp4", (64, 48), 25) as film:
        film.add(np.zeros((48, 64, 3), dtype=np.uint8))
        raise RuntimeError("stop")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("name", "size", "fps", "message"),
    [
        ("a.avi", (64, 48), 25, r"\.mp4, \.webp, \.gif; .*a\.avi' does not end so"),
        ("a.mp4", (65, 48), 25, "65 x 48; both must be even"),
        ("a.mp4", (64, 48), 0, "frames per second are 0"),
        ("no/a.mp4", (64, 48), 25, "there is no directory"),
    ],
)
def test_bad_films_are_refused(tmp_path, name, size, fps, message):
    with pytest.raises(ViewerError, match=message):
        Film(tmp_path / name, size, fps)
    assert list(tmp_path.iterdir()) == []


def test_film_without_ffmpeg_says_what_is_missing(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ViewerError, match=r"the program ffmpeg, which is not on PATH"):
        Film(tmp_path / "a.mp4", (64, 48), 25)


def test_a_picture_without_a_browser_says_what_was_looked_for(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("KIDO_BROWSER", raising=False)
    page = tmp_path / "page.html"
    page.write_text("<html><head></head></html>")
    with pytest.raises(ViewerError, match=r"chromium, .*google-chrome"):
        screenshot_html(page, tmp_path / "page.png")
    monkeypatch.setenv("KIDO_BROWSER", "no-such-browser")
    with pytest.raises(ViewerError, match="KIDO_BROWSER names 'no-such-browser'"):
        screenshot_html(page, tmp_path / "page.png")
    with Viewer(arm(), 0) as viewer:  # which draws its pictures itself
        assert viewer.screenshot(tmp_path / "arm.png", (64, 48)).stat().st_size > 500


@pytest.mark.parametrize("size", [(0, 100), (100,), "big", (100, 100000)])
def test_bad_picture_sizes_are_refused(tmp_path, size):
    page = tmp_path / "page.html"
    page.write_text("")
    with pytest.raises(ViewerError, match="expected \\(width, height\\)"):
        screenshot_html(page, tmp_path / "page.png", size)


@pytest.mark.parametrize("size", [(0, 100), (100,), "big", (100, 100000)])
def test_a_viewer_refuses_bad_picture_sizes(tmp_path, size):
    with Viewer(arm(), 0) as viewer, pytest.raises(ViewerError, match="expected \\(width, height\\)"):
        viewer.picture(size)


def test_a_missing_page_is_refused(tmp_path):
    with pytest.raises(ViewerError, match="no page"):
        screenshot_html(tmp_path / "none.html", tmp_path / "page.png")


def reddish(image: np.ndarray) -> float:
    """Share of pixels that are clearly red."""
    r, g, b = (image[..., k].astype(int) for k in range(3))
    return float(np.mean((r > 1.5 * g) & (r > 1.5 * b) & (r > 60)))


def red_ball() -> kido.Skeleton:
    skeleton = kido.Skeleton("ball")
    body = skeleton.add_body("b", kido.FreeJoint("root"), inertia=kido.Inertia(1.0, moment=np.eye(3)))
    body.add_shape(kido.Sphere(0.5), color=(0.8, 0.0, 0.0))
    skeleton.positions = [0, 0, 0, 0, 0, 0.5]
    return skeleton


@chromium
@pytest.mark.chromium
@pytest.mark.slow
def test_an_exported_page_shows_the_model(tmp_path):
    import imageio.v3 as iio

    page = export_html(red_ball(), None, tmp_path / "ball.html")
    image = iio.imread(screenshot_html(page, tmp_path / "ball.png", (480, 320)))[..., :3]
    assert image.shape == (320, 480, 3)
    # The ball fills most of the height: a disk of that size is about a third of the picture.
    assert 0.15 < reddish(image) < 0.6


def test_a_live_viewer_takes_pictures_and_film_without_a_screen(tmp_path):
    import imageio.v3 as iio

    skeleton = red_ball()
    with Viewer(skeleton, 0) as viewer:
        path = viewer.screenshot(tmp_path / "a.png", (320, 240))
        share = reddish(iio.imread(path))
        assert share > 0.15
        skeleton.positions = [0, 0, 0, 0, 0, 50.0]
        # The camera of before looks at the empty place.
        pose = viewer.view.home(aspect=4 / 3)
        viewer.update()
        assert reddish(viewer.picture((320, 240), pose)) < 0.01
    world = kido.World("w")
    world.add_skeleton(red_ball())
    with Viewer(world, 0) as viewer:
        film = viewer.record_film(tmp_path / "a.webp", 0.2, fps=10, size=(160, 120))
        assert film.stat().st_size > 500
        assert world.time == pytest.approx(0.1)
    motion = motion_of(world, 0.2)
    seen = []
    export_film(world, motion, tmp_path / "b.webp", fps=10, size=(160, 120), progress=lambda k, n: seen.append((k, n)))
    assert seen == [(1, 3), (2, 3), (3, 3)]
    assert os.path.getsize(tmp_path / "b.webp") > 500
