"""Where meshes are looked for, in which order, and where never."""

from __future__ import annotations

from pathlib import Path

import pytest

from kido.errors import KidoError, MeshNotFoundError
from kido.io.resources import ResourceFinder

VARIABLES = ("KIDO_PACKAGE_PATH", "ROS_PACKAGE_PATH", "AMENT_PREFIX_PATH")


@pytest.fixture(autouse=True)
def no_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in VARIABLES:
        monkeypatch.delenv(variable, raising=False)


def resolve(uri: str, folder: Path | None, package_dirs=()) -> Path:
    return ResourceFinder(folder, package_dirs).find(uri)


def touch(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("")
    return path


def package(folder: Path, name: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "package.xml").write_text(f"<package><name>{name}</name></package>")
    return folder


def test_relative_paths(tmp_path: Path) -> None:
    beside = touch(tmp_path / "robot/urdf/a.stl")
    above = touch(tmp_path / "robot/meshes/b c.stl")
    finder = ResourceFinder(tmp_path / "robot/urdf")
    assert finder.find("a.stl") == beside
    assert finder.find("./a.stl") == beside
    assert finder.find("../meshes/b c.stl") == above


def test_relative_paths_fall_back_to_package_dirs(tmp_path: Path) -> None:
    mesh = touch(tmp_path / "elsewhere/meshes/a.stl")
    assert resolve("meshes/a.stl", tmp_path / "robot", tmp_path / "elsewhere") == mesh
    assert resolve("meshes/a.stl", None, [tmp_path / "elsewhere"]) == mesh
    with pytest.raises(MeshNotFoundError, match="given as text, so relative paths need package_dirs"):
        resolve("meshes/a.stl", None)


def test_absolute_paths_and_file_uris(tmp_path: Path) -> None:
    mesh = touch(tmp_path / "robot/meshes/b c.stl")
    finder = ResourceFinder(tmp_path / "robot/urdf")
    assert finder.find(str(mesh)) == mesh
    assert finder.find(f"file://{mesh}".replace(" ", "%20")) == mesh
    assert finder.find(f"file:{mesh}") == mesh


def test_the_order_of_packages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model = tmp_path / "ws/arm/urdf"
    candidates = {
        "given": touch(tmp_path / "given/arm/m/a.stl"),
        "kido": touch(tmp_path / "kido/arm/m/a.stl"),
        "ros": touch(tmp_path / "ros/arm/m/a.stl"),
        "ament": touch(tmp_path / "ament/share/arm/m/a.stl"),
        "own": touch(tmp_path / "ws/arm/m/a.stl"),
    }
    package(tmp_path / "ws/arm", "arm")
    monkeypatch.setenv("KIDO_PACKAGE_PATH", f"{tmp_path / 'none'}:{tmp_path / 'kido'}")
    monkeypatch.setenv("ROS_PACKAGE_PATH", str(tmp_path / "ros"))
    monkeypatch.setenv("AMENT_PREFIX_PATH", str(tmp_path / "ament"))
    for key, expected in candidates.items():
        given = [tmp_path / "given"] if key == "given" else []
        assert resolve("package://arm/m/a.stl", model, given) == expected, key
        expected.unlink()
    with pytest.raises(MeshNotFoundError) as caught:
        resolve("package://arm/m/a.stl", model, [tmp_path / "given"])
    tried = caught.value.tried
    assert [tried.index(str(path)) for path in candidates.values()] == sorted(
        tried.index(str(path)) for path in candidates.values()
    )
    assert all(f"\n  {path}" in str(caught.value) for path in tried)


def test_a_package_is_known_by_the_name_it_gives_itself(tmp_path: Path) -> None:
    mesh = touch(package(tmp_path / "checkout-3", "arm_description") / "meshes/a.stl")
    assert resolve("package://arm_description/meshes/a.stl", tmp_path / "checkout-3/urdf") == mesh
    assert resolve("package://arm_description/meshes/a.stl", None, tmp_path / "checkout-3") == mesh
    assert resolve("model://arm_description/meshes/a.stl", None, tmp_path / "checkout-3") == mesh


def test_siblings_of_the_package_and_workspaces_of_stacks(tmp_path: Path) -> None:
    package(tmp_path / "ws/arm", "arm")
    hand = touch(package(tmp_path / "ws/hand", "hand") / "a.stl")
    assert resolve("package://hand/a.stl", tmp_path / "ws/arm/urdf") == hand
    assert resolve("package://hand/a.stl", None, tmp_path) == hand


def test_search_by_suffix(tmp_path: Path) -> None:
    mesh = touch(tmp_path / "data/robots/arm/meshes/a.stl")
    model = tmp_path / "data/robots/arm/urdf"
    assert resolve("package://data/robots/arm/meshes/a.stl", model) == mesh
    assert resolve("package:///data/robots/arm/meshes/a.stl", model) == mesh
    assert resolve("package://renamed/robots/arm/meshes/a.stl", model) == mesh
    assert resolve("package://renamed/meshes/a.stl", model) == mesh
    longer = touch(tmp_path / "data/robots/arm/urdf/arm/meshes/a.stl")
    assert resolve("package://data/robots/arm/meshes/a.stl", model) == mesh
    assert resolve("package://x/arm/meshes/a.stl", model) == longer


@pytest.mark.parametrize(
    ("uri", "reason"),
    [
        ("", "the name is empty"),
        ("package://arm", "expected package://<package>/<path of the file>"),
        ("package://", "expected package://<package>/<path of the file>"),
        ("package://arm/../../secret.stl", "its path leaves the package by '..'"),
        ("package://arm/m/../../secret.stl", "its path leaves the package by '..'"),
        ("package://../secret.stl", "expected the name of a package"),
        ("http://example.org/a.stl", "files are never fetched"),
        ("https://example.org/a.stl", "files are never fetched"),
        (
            "xyz://a/b.stl",
            "unknown scheme 'xyz://'; expected package://, model://, dart://, file:// or a path",
        ),
        ("../../../secret.stl", "outside of the folders this model may read"),
        ("/etc/hostname", "outside of the folders this model may read"),
        ("file:///etc/hostname", "outside of the folders this model may read"),
    ],
)
def test_what_is_refused(tmp_path: Path, uri: str, reason: str) -> None:
    package(tmp_path / "ws/arm", "arm")
    touch(tmp_path / "secret.stl")
    touch(tmp_path / "ws/secret.stl")
    with pytest.raises(MeshNotFoundError) as caught:
        resolve(uri, tmp_path / "ws/arm/urdf")
    assert reason in str(caught.value)


def test_package_dirs_open_other_folders(tmp_path: Path) -> None:
    mesh = touch(tmp_path / "far/away/a.stl")
    with pytest.raises(MeshNotFoundError, match="pass its folder in package_dirs"):
        resolve(str(mesh), tmp_path / "x/y/z/robot")
    assert resolve(str(mesh), tmp_path / "x/y/z/robot", [tmp_path / "far"]) == mesh


def test_package_dirs_have_to_exist(tmp_path: Path) -> None:
    with pytest.raises(KidoError, match=r"package_dirs: .*none' is not a folder"):
        ResourceFinder(tmp_path, [tmp_path / "none"])


# -- links -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("uri", ["m/a.stl", "package://arm/m/a.stl", "package://other/m/a.stl", "file://{}/m/a.stl"])
@pytest.mark.parametrize("whole_folder", [False, True], ids=["file", "folder"])
def test_links_must_not_lead_out_of_the_models_folders(tmp_path: Path, uri: str, whole_folder: bool) -> None:
    secret = touch(tmp_path / "private/a.stl")
    arm = tmp_path / "x/y/ws/arm"
    (arm if whole_folder else arm / "m").mkdir(parents=True)
    link = arm / "m" if whole_folder else arm / "m/a.stl"
    link.symlink_to(secret.parent if whole_folder else secret)
    uri = uri.format(arm)
    with pytest.raises(MeshNotFoundError, match=r"is a link to '.*private/a.stl', outside of .* package_dirs"):
        resolve(uri, arm)
    assert resolve(uri, arm, [tmp_path / "private"]) == arm / "m/a.stl"


def test_links_within_the_models_folders_are_followed(tmp_path: Path) -> None:
    real = touch(tmp_path / "x/arm/meshes/a.stl")
    (tmp_path / "x/arm/urdf").mkdir()
    (tmp_path / "x/arm/urdf/b.stl").symlink_to(real)
    assert resolve("b.stl", tmp_path / "x/arm/urdf") == tmp_path / "x/arm/urdf/b.stl"


def test_a_model_or_package_that_is_a_link_itself_is_no_matter(tmp_path: Path) -> None:
    """Workspaces hold links to checkouts; installed folders hold links to every file (colcon's --symlink-install)."""
    mesh = touch(package(tmp_path / "checkout/arm", "arm") / "meshes/a.stl")
    model = touch(tmp_path / "checkout/arm/urdf/arm.urdf")
    workspace = tmp_path / "far/ws"
    workspace.mkdir(parents=True)
    (workspace / "arm").symlink_to(mesh.parents[1])
    for uri in ("package://arm/meshes/a.stl", "../meshes/a.stl"):
        assert resolve(uri, workspace / "arm/urdf").samefile(mesh)
    assert resolve("package://arm/meshes/a.stl", None, workspace).samefile(mesh)
    installed = tmp_path / "install/share/arm"
    for source in (mesh, model, tmp_path / "checkout/arm/package.xml"):
        target = installed / source.relative_to(tmp_path / "checkout/arm")
        target.parent.mkdir(parents=True, exist_ok=True)
        target.symlink_to(source)
    finder = ResourceFinder.of_file(installed / "urdf/arm.urdf")
    assert finder.find("package://arm/meshes/a.stl").samefile(mesh)
    assert finder.find("../meshes/a.stl").samefile(mesh)


def test_links_in_folders_of_the_environment_are_followed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mesh = touch(tmp_path / "checkout/arm/meshes/a.stl")
    link = tmp_path / "install/share/arm/meshes/a.stl"
    link.parent.mkdir(parents=True)
    link.symlink_to(mesh)
    monkeypatch.setenv("AMENT_PREFIX_PATH", str(tmp_path / "install"))
    assert resolve("package://arm/meshes/a.stl", tmp_path / "robot") == link


def test_material_libraries_that_are_links_out_of_the_folder_are_left_out(tmp_path: Path) -> None:
    from kido.io.meshes import read_mesh_data

    (tmp_path / "secret.mtl").write_text("newmtl red\nKd 1 0 0\n")
    mesh = tmp_path / "robot/m.obj"
    mesh.parent.mkdir()
    mesh.write_text("mtllib m.mtl\nusemtl red\nv 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n")
    (tmp_path / "robot/m.mtl").symlink_to(tmp_path / "secret.mtl")
    data = read_mesh_data(mesh)
    assert data.color is None and "is not below the mesh's folder" in data.remarks[0]
