"""Readers under random damage: whatever is done to a valid file, a sound model or a KidoError comes out."""

from __future__ import annotations

import copy

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lxml import etree

import kido
from io_samples import SDF, SKEL, SPHERES, URDF
from kido.errors import KidoError
from kido.io import sdf, skel, urdf

VALID = {"skel": SKEL, "spheres": SPHERES, "urdf": URDF, "sdf": SDF}
NASTY = (
    *(
        "",
        " ",
        "nan",
        "inf",
        "-inf",
        "1e400",
        "-1",
        "0",
        "1e-320",
        "1e300",
        "1 2",
        "0 0 0",
        "true",
        "x",
        "\u0661",
    ),
    *("1_0", "0x10", "a", "b", "world", "free", "weld", "../..", "file:///etc/hostname", "http://a.b/c.stl"),
    *("package://p/q.stl", "\u2603", "9" * 400, "-0", "+1", "1,5", "1e5e5", "{}", "%s", "a b c d e f"),
)


def skeletons_of(kind: str, text: str) -> list[kido.Skeleton]:
    if kind == "urdf":
        return [urdf.read(text)]
    return list((sdf if kind == "sdf" else skel).read(text).skeletons)


def load(kind: str, text: str) -> None:
    """Read a text; the numbers of a model that comes out must be finite."""
    try:
        for skeleton in skeletons_of(kind, text):
            assert np.isfinite(skeleton.positions).all()
            assert np.isfinite(skeleton.velocities).all()
            for body in skeleton.bodies:
                assert np.isfinite(body.inertia.moment).all()
    except KidoError as error:
        assert str(error).strip()


@pytest.mark.parametrize("kind", VALID)
def test_the_undamaged_file_loads(kind: str):
    (skeleton,) = skeletons_of(kind, VALID[kind])
    assert skeleton.num_bodies == (1 if kind == "spheres" else 4)


@pytest.mark.parametrize("kind", VALID)
@settings(max_examples=150)
@given(data=st.data())
def test_cut_and_spliced(kind: str, data: st.DataObject):
    text = VALID[kind]
    cuts = sorted(data.draw(st.lists(st.integers(0, len(text)), min_size=2, max_size=2)))
    middle = data.draw(st.sampled_from(["", "<", ">", "</", "&", "&#0;", "<!--", "\0", "\ud800", "]]>", "<a>", '"']))
    load(kind, data.draw(st.sampled_from([text[: cuts[0]], text[: cuts[0]] + middle + text[cuts[1] :]])))


@pytest.mark.parametrize("kind", VALID)
@settings(max_examples=120)
@given(data=st.data())
def test_mutated_elements(kind: str, data: st.DataObject):
    root = etree.fromstring(VALID[kind])
    for _ in range(data.draw(st.integers(1, 3))):
        elements = list(root.iter())
        element = data.draw(st.sampled_from(elements))
        action = data.draw(st.sampled_from(["text", "attribute", "drop", "remove", "repeat", "move", "rename"]))
        parent = element.getparent()
        if action == "text":
            element.text = data.draw(st.sampled_from(NASTY))
        elif action == "attribute" and element.attrib:
            element.set(data.draw(st.sampled_from(sorted(element.attrib))), data.draw(st.sampled_from(NASTY)))
        elif action == "drop" and element.attrib:
            del element.attrib[data.draw(st.sampled_from(sorted(element.attrib)))]
        elif action == "rename":
            element.tag = data.draw(st.sampled_from(sorted({e.tag for e in elements})))
        elif parent is not None and action == "remove":
            parent.remove(element)
        elif parent is not None and action == "repeat":
            parent.append(copy.deepcopy(element))
        elif parent is not None and action == "move":
            data.draw(st.sampled_from(elements)).append(copy.deepcopy(element))
    load(kind, etree.tostring(root, encoding="unicode"))


@pytest.mark.parametrize("kind", VALID)
def test_every_value_of_every_element(kind: str):
    """Each text and each attribute replaced, one at a time, by each nasty value."""
    root = etree.fromstring(VALID[kind])
    for element in root.iter():
        for name in [None, *element.attrib]:
            old = element.text if name is None else element.get(name)
            if name is None and not (old or "").strip():
                continue
            for value in NASTY:
                if name is None:
                    element.text = value
                else:
                    element.set(name, value)
                load(kind, etree.tostring(root, encoding="unicode"))
            if name is None:
                element.text = old
            else:
                element.set(name, old)


@pytest.mark.parametrize("kind", VALID)
def test_deep_nesting(kind: str):
    load(kind, "<skel><world>" + "<skeleton>" * 5000 + "</skeleton>" * 5000 + "</world></skel>")
    load(kind, "<robot>" * 100_000)
    load(kind, '<sdf version="1.9">' + '<model name="m">' * 5000 + "</model>" * 5000 + "</sdf>")
