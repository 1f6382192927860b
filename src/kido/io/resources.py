"""Finding the files a model names: meshes by ``package://``, ``file://``, absolute or relative path.

A `ResourceFinder` belongs to one reading of one model file. It looks, in this order, in

1. the folders given as `package_dirs`,
2. the folders of the environment variables KIDO_PACKAGE_PATH, ROS_PACKAGE_PATH and AMENT_PREFIX_PATH
   (there below ``share``),
3. the package the file is in: the nearest folder upwards with a ``package.xml`` (and its siblings by name),
4. the folders above the file, by the longest path suffix that exists there.

It never fetches anything and returns no path outside of these package folders, whatever ``..`` a model
writes, and whatever links lie in its folder. Links in folders of the environment are followed, as workspaces are made
of them; that the model file or the folder of a package is a link itself is no matter.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Self
from urllib.parse import unquote, urlsplit

from kido.errors import KidoError, MeshNotFoundError
from kido.io.xml import parse

__all__ = ["ResourceFinder"]

PACKAGE_SCHEMES = ("package", "model", "dart")
REMOTE_SCHEMES = ("http", "https", "ftp")
MAX_LEVELS_UP = 8
PASS_FOLDER = "pass its folder in package_dirs"


class ResourceFinder:
    """Resolves the resource names of one model file.

    Parameters:
        folder: the folder the model file is in; None if the model was given as text (then only
            `package_dirs` and the environment are looked at).
        package_dirs: folders to look in first; each is a package itself or holds packages.

    Raises KidoError if a folder of `package_dirs` does not exist.
    """

    @classmethod
    def of_file(cls, path: Path | None, package_dirs: str | Path | Iterable[str | Path] = ()) -> Self:
        """That of a model file; None for a text."""
        finder = cls(None if path is None else path.parent, package_dirs)
        if path is not None:
            finder._real_roots += _roots_of(Path(os.path.realpath(path)).parent)
        return finder

    def __init__(self, folder: str | Path | None, package_dirs: str | Path | Iterable[str | Path] = ()) -> None:
        if isinstance(package_dirs, (str, Path)):
            package_dirs = (package_dirs,)
        self.package_dirs: list[Path] = []
        for item in package_dirs:
            package_dir = _absolute(Path(item).expanduser())
            if not package_dir.is_dir():
                raise KidoError(f"package_dirs: '{item}' is not a folder; expected folders that are or hold packages")
            self.package_dirs.append(package_dir)
        self.folder = None if folder is None else _absolute(Path(folder))
        self.package_root = None if self.folder is None else _nearest_package(self.folder)
        self._environment = _environment_dirs()
        self._found: dict[str, Path] = {}
        self._real_roots = [Path(os.path.realpath(root)) for root in self.roots]
        if self.folder is not None:
            self._real_roots += _roots_of(Path(os.path.realpath(self.folder)))

    @property
    def roots(self) -> list[Path]:
        """Folders that may be read for relative and absolute paths."""
        return [*self.package_dirs, *self._environment, *([] if self.folder is None else _roots_of(self.folder))]

    def find(self, uri: str) -> Path:
        """Absolute path of the file a model names.

        Raises MeshNotFoundError, listing every path tried, if it does not exist or may not be read.
        """
        known = self._found.get(uri)
        if known is not None:
            return known
        tried: list[str] = []
        reason = None
        for candidate, base in self._candidates(uri):
            text = str(candidate)
            if text in tried:
                continue
            tried.append(text)
            if not os.path.isfile(candidate):
                continue
            real = Path(os.path.realpath(candidate))
            bases = self._real_roots if base is None else [Path(os.path.realpath(base)), *self._real_roots]
            if any(real.is_relative_to(item) for item in bases):
                self._found[uri] = candidate
                return candidate
            reason = f"'{candidate}' is a link to '{real}', outside of the folders this model may read; {PASS_FOLDER}"
        raise MeshNotFoundError(uri, tried, reason)

    # -- candidates ----------------------------------------------------------------------------------------

    def _candidates(self, uri: str) -> Iterator[tuple[Path, Path | None]]:
        """Paths to look at, each with a folder that links must not lead out of; None: all that may be read."""
        if not uri.strip() or "\0" in uri:
            raise MeshNotFoundError(uri, [], reason="the name is empty")
        scheme = _scheme(uri)
        if scheme in PACKAGE_SCHEMES:
            yield from self._package_candidates(uri, uri.split("://", 1)[1])
        elif scheme in REMOTE_SCHEMES:
            raise MeshNotFoundError(uri, [], reason="files are never fetched; store it locally and name its path")
        elif scheme == "file":
            yield from self._allowed(uri, Path(unquote(urlsplit(uri).path)))
        elif scheme:
            known = ", ".join(f"{name}://" for name in (*PACKAGE_SCHEMES, "file"))
            raise MeshNotFoundError(uri, [], reason=f"unknown scheme '{scheme}://'; expected {known} or a path")
        else:
            path = Path(uri)
            if path.is_absolute():
                yield from self._allowed(uri, path)
                return
            if not self.roots:
                raise MeshNotFoundError(
                    uri, [], reason="the model was given as text, so relative paths need package_dirs"
                )
            for base in (self.folder, *self.package_dirs):
                if base is not None:
                    yield from self._allowed(uri, base / path)

    def _allowed(self, uri: str, path: Path) -> Iterator[tuple[Path, None]]:
        path = _absolute(path)
        if any(path.is_relative_to(root) for root in self.roots):
            yield path, None
            return
        folders = ", ".join(str(root) for root in self.roots) or "none"
        raise MeshNotFoundError(
            uri,
            [str(path)],
            reason=f"it is outside of the folders this model may read ({folders}); {PASS_FOLDER}",
        )

    def _package_candidates(self, uri: str, rest: str) -> Iterator[tuple[Path, Path]]:
        parts = [part for part in rest.replace("\\", "/").split("/") if part not in ("", ".")]
        if len(parts) < 2:
            raise MeshNotFoundError(uri, [], reason="expected package://<package>/<path of the file>")
        depth = 0
        for part in parts[1:]:
            depth += -1 if part == ".." else 1
            if depth < 0:
                raise MeshNotFoundError(uri, [], reason="its path leaves the package by '..'")
        package = parts[0]
        if package == "..":
            raise MeshNotFoundError(uri, [], reason="expected the name of a package after package://")
        inside = Path(os.path.normpath(Path(*parts[1:])))

        for folder in (*self.package_dirs, *self._environment):
            for root in _packages_named(folder, package):
                yield root / inside, root if folder in self.package_dirs else Path(root.anchor)
        for folder in self.package_dirs:
            yield folder / inside, folder
        if self.package_root is not None:
            if package in (self.package_root.name, _package_name(self.package_root)):
                yield self.package_root / inside, self.package_root
            beside = self.package_root.parent / package
            yield beside / inside, beside
        yield from self._suffix_candidates((package, *inside.parts))

    def _suffix_candidates(self, parts: Sequence[str]) -> Iterator[tuple[Path, Path]]:
        if self.folder is None:
            return
        ancestors = [self.folder, *self.folder.parents][:MAX_LEVELS_UP]
        ancestors = [folder for folder in ancestors if folder != folder.parent]
        last = max(1, len(parts) - 1)
        for start in range(last):
            for folder in ancestors:
                yield folder.joinpath(*parts[start:]), folder if start else folder / parts[0]


def _scheme(uri: str) -> str:
    head, separator, _ = uri.partition("://")
    if separator and head.replace("+", "").isalnum():
        return head.lower()
    return "file" if uri.lower().startswith("file:") else ""


def _absolute(path: Path) -> Path:
    return Path(os.path.abspath(path))


def _environment_dirs() -> list[Path]:
    """Existing folders of the environment that hold packages."""
    folders: list[Path] = []
    for variable, below in (
        ("KIDO_PACKAGE_PATH", ""),
        ("ROS_PACKAGE_PATH", ""),
        ("AMENT_PREFIX_PATH", "share"),
    ):
        for item in os.environ.get(variable, "").split(os.pathsep):
            folder = _absolute(Path(item) / below) if item.strip() else None
            if folder is not None and folder.is_dir() and folder not in folders:
                folders.append(folder)
    return folders


def _roots_of(folder: Path) -> list[Path]:
    """What a model in a folder may read: the package it is in, and the folder above, unless that is all there is."""
    package, parent = _nearest_package(folder), folder.parent
    return [*([] if package is None else [package]), folder if parent == parent.parent else parent]


def _nearest_package(folder: Path) -> Path | None:
    for candidate in (folder, *folder.parents):
        if (candidate / "package.xml").is_file():
            return candidate
    return None


def _package_name(root: Path) -> str | None:
    """Name a package gives itself in its package.xml; None if it has none that can be read."""
    manifest = root / "package.xml"
    if not manifest.is_file():
        return None
    try:
        node = parse(manifest)
        name = node.child_text("name", "")
    except KidoError:
        return None
    return name or None


def _packages_named(folder: Path, package: str) -> Iterator[Path]:
    """Folders that are the package: `folder` itself, a child or a grandchild (a workspace of stacks)."""
    if package in (folder.name, _package_name(folder)):
        yield folder
    yield folder / package
    try:
        children = sorted(entry.path for entry in os.scandir(folder) if entry.is_dir())
    except OSError:
        return
    for child in children:
        if os.path.isdir(Path(child) / package):
            yield Path(child) / package
