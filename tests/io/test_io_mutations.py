"""Files of every format under random damage: each is read or refused by a KidoError, in bounded time and memory.

A few cases by default; `KIDO_MUTATIONS=100000` runs as many as that, `tools/mutate.py tests/io_samples.py` does too and
tells more.
"""

from __future__ import annotations

import importlib
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import io_samples
import kido
from kido.errors import KidoError

ROOT = Path(__file__).resolve().parents[2]
TOOL = ROOT / "tools" / "mutate.py"
COUNT = int(os.environ.get("KIDO_MUTATIONS", "480"))


def run(subjects: Path, *options: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(TOOL), str(subjects), *options]
    return subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=False)


@pytest.mark.timeout(max(900, COUNT // 5))
def test_damaged_files_are_read_or_refused():
    done = run(ROOT / "tests" / "io_samples.py", "--count", str(COUNT))
    assert done.returncode == 0, done.stdout + done.stderr
    total = next(line for line in done.stdout.splitlines() if line.startswith("| all |"))
    cases, taken, refused, failed = (int(cell) for cell in total.split("|")[2:6])
    assert cases == COUNT == taken + refused and failed == 0
    assert min(taken, refused) > COUNT // 10  # damage that is always fatal, or never, would test nothing


def test_the_tool_tells_what_fails(tmp_path: Path):
    """Raw errors, warnings, hangs, hunger and crashes are each one failed case, and the others go on."""
    subjects = tmp_path / "subjects.py"
    subjects.write_text(
        "import os, time, warnings\n"
        "from kido.errors import KidoError\n"
        "def raw(data):\n    if data != b'1 2': raise ValueError('raw')\n"
        "def warn(data):\n    if data != b'1 2': warnings.warn('odd', RuntimeWarning)\n"
        "def work(data):\n    while data != b'1 2': pass\n"
        "def wait(data):\n    if data != b'1 2': time.sleep(60)\n"
        "def peep(data):\n    if data != b'1 2': open('/etc/hostname').close()\n"
        "def eat(data):\n    if data != b'1 2': return bytearray(1 << 33)\n"
        "def die(data):\n    if data != b'1 2': os._exit(3)\n"
        "def refuse(data):\n    if data != b'1 2': raise KidoError('no')\n"
        "SUBJECTS = {f.__name__: ([b'1 2'], f) for f in (raw, warn, work, wait, peep, eat, die, refuse)}\n"
    )
    done = run(subjects, "--count", "32", "--seconds", "0.2", "--memory", "512")
    assert done.returncode == 1
    for failure in (
        *("ValueError: raw", "RuntimeWarning: odd", "more than 0.2 s", "hangs", "trespasses: opens /etc/hostname"),
        "the process ends with 3",
    ):
        assert failure in done.stdout, failure
    assert sys.platform != "linux" or "MemoryError" in done.stdout
    rows = {line.split(" | ")[0].strip("| "): line for line in done.stdout.splitlines() if line.startswith("| ")}
    cases, taken, refused, failed = (int(cell) for cell in rows["refuse"].split(" | ")[1:5])
    assert cases == 4 == taken + refused and refused > 0 and failed == 0
    assert rows["all"].split(" | ")[1] == "32"


def test_mutations_are_told_by_seed_and_number(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.syspath_prepend(str(TOOL.parent))
    mutate, mutations = importlib.import_module("mutate"), importlib.import_module("mutations")
    subjects = io_samples.SUBJECTS
    first = [mutate.case_input(subjects, 7, k) for k in range(200)]
    assert first == [mutate.case_input(subjects, 7, k) for k in range(200)]
    assert len({data for _, data in first}) > 180
    assert first != [mutate.case_input(subjects, 8, k) for k in range(200)]
    for mutation in mutations.XML:
        data = io_samples.URDF.encode()
        assert any(mutation(data, np.random.default_rng(k)) != data for k in range(5)), mutation.__name__
        assert isinstance(mutation(b"", np.random.default_rng(0)), bytes)


# -- what damage has found ---------------------------------------------------------------------------------


def mesh(folder: Path, name: str, data: bytes) -> kido.Mesh:
    from kido.io.meshes import load_mesh

    path = folder / name
    path.write_bytes(data)
    return load_mesh(path)


LINE = "v 0 0 0\nv 1 1 1\nv 2 2 2\nf 1 2 3\n"
FAR = "v 0 0 0\nv 1e80 0 0\nv 0 1 0\nf 1 2 3\n"
NEAR = "v 0 0 0\nv 1e-80 0 0\nv 0 1e-80 0\nf 1 2 3\n"
STL_FAR = io_samples.STL_TEXT.replace("1 0 0", "1e80 0 0")
DAE_FAR = io_samples.DAE.replace("1 0 0 0 1 0 0 0 1<", "1e80 0 0 0 1 0 0 0 1<")
DAE_LINE = io_samples.DAE.replace("0 0 0 1 0 0 0 1 0 0 0 1<", "0 0 0 1 1 1 2 2 2 3 3 3<")


@pytest.mark.parametrize(
    ("name", "text", "reason"),
    [
        ("m.obj", LINE, "its 3 distinct vertices lie on a line and have no convex hull"),
        ("m.obj", FAR, "a vertex is at 1e.80 m; expected at most 1e.60 m"),
        ("m.obj", NEAR, "its size is 1.*e-80 m; expected at least 1e-60 m"),
        ("m.stl", STL_FAR, "a vertex is at 1e.80 m"),
        ("m.dae", DAE_FAR, "a vertex is at 1e.80 m"),
        ("m.dae", DAE_LINE, "distinct vertices lie on a line"),
        ("m.dae", io_samples.DAE.replace('offset="1"', f'offset="{"9" * 5000}"'), "is not a count"),
        ("m.dae", io_samples.DAE.replace("<vcount>3<", f"<vcount>{2**63 - 1}<"), "<vcount> and <p> do not match"),
    ],
)  # fmt: skip
def test_meshes_that_have_no_hull(tmp_path: Path, name: str, text: str, reason: str):
    with pytest.raises(KidoError, match=reason):
        _ = mesh(tmp_path, name, text.encode()).hull


def test_fans_and_strips_of_too_few_corners_are_nothing(tmp_path: Path):
    text = io_samples.DAE
    for tag in ("trifans", "tristrips"):
        for corners in ("", "0", "0 1"):
            start = text.index(f"<{tag}")
            old = text[start : text.index(f"</{tag}>")]
            text = text.replace(old, old.replace("<p>0 1 2 3</p>", f"<p>{corners}</p>"))
            assert len(mesh(tmp_path, f"{tag}{len(corners)}.dae", text.encode()).faces) > 0


def test_a_scene_that_multiplies_its_triangles_is_refused(tmp_path: Path):
    """Each of 14 nodes places the one before twice; the last would be 2^14 times 4,000 triangles."""
    corners = " ".join(["0 1 2 3"] * 500)
    nodes = "".join(
        f'<node id="n{k}">' + f'<instance_node url="#{"inner" if k == 0 else f"n{k - 1}"}"/>' * 2 + "</node>"
        for k in range(14)
    )
    text = io_samples.DAE.replace("<p>0 1 2 3</p>", f"<p>{corners}</p>").replace('url="#inner"/>', 'url="#n13"/>')
    text = text.replace("</library_nodes>", nodes + "</library_nodes>")
    with pytest.raises(KidoError, match="more than 10,000,000 triangles; refused"):
        mesh(tmp_path, "m.dae", text.encode())


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ('<inertia ixx="1"', '<inertia ixx="1e308"', r"the moment of inertia of <link name=.a.> is .* expected below"),
        ('size="1 2 3"', 'size="1 2 1e80"', "Box: size is .* expected three positive numbers, at most 1e.60"),
        ('length="2"', 'length="1e80"', "Cylinder: height is 1e.80; expected a positive finite number, at most 1e.60"),
    ],
)
def test_numbers_that_no_body_has(old: str, new: str, reason: str):
    assert old in io_samples.URDF
    with pytest.raises(KidoError, match=reason):
        kido.load(io_samples.URDF.replace(old, new, 1))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("<frags>3 4 5<", "<frags>3 4 4294967296<"),
        ("<frags>3 4 5<", f"<frags>3 4 1{'0' * 300}<"),
        ("<num_slices>5<", "<num_slices>99999999999999999999<"),
        ("<num_stacks>2<", "<num_stacks>9e300<"),
        ("<num_rings>2<", "<num_rings>100000<"),
    ],
)
def test_soft_skins_beyond_memory(tmp_path: Path, old: str, new: str):
    path = io_samples.write_files(tmp_path) / "w.skel"
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))
    with pytest.raises(KidoError, match=r"it would have .* points; expected at most 100000"):
        kido.load(path)


@pytest.mark.parametrize("name", ["{}.stl", "package://{}/m.stl", "package://p/{}.stl", "file:///{}"])
def test_names_that_no_file_system_takes(tmp_path: Path, name: str):
    uri = name.format("a" * 1000)
    shape = f'<collision><geometry><mesh filename="{uri}"/></geometry></collision>'
    text = f'<robot name="r"><link name="a">{shape}</link></robot>'
    with pytest.raises(kido.MeshNotFoundError, match="aaa"):
        kido.load(text, package_dirs=[str(tmp_path)])


def test_a_library_of_materials_with_such_a_name_is_not_there(tmp_path: Path):
    text = f"mtllib {'a' * 1000}.mtl\nv 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n"
    assert len(mesh(tmp_path, "m.obj", text.encode()).faces) == 1


def test_texts_of_errors_and_remarks_are_cut(tmp_path: Path):
    name = "x" * 100_000
    joint = f'<joint name="j" type="fixed"><parent link="{name}"/><child link="a"/></joint>'
    with pytest.raises(KidoError) as caught:
        kido.load(f'<robot name="r"><link name="a"/>{joint}</robot>')
    said = str(caught.value)
    assert len(said) == 2000 and said.startswith("<text>:1: joint 'j' names the parent link 'xxx")
    assert "characters)" in said and said.endswith("links: a")
    skeleton = kido.load(
        f'<robot name="r"><link name="a"><visual><geometry><mesh filename="{name}"/></geometry></visual></link></robot>'
    )
    assert [len(text) for text in skeleton.warnings] == [2000]
    with pytest.raises(kido.NameLookupError) as looked_up:
        skeleton.body(name)
    assert len(str(looked_up.value)) == 2000
