"""Wheels with compiled kernels: ``KIDO_WHEEL_PROCESSORS="x86-64-v3 x86-64-v4" pip wheel --no-deps .``.

Without that variable a wheel holds Python only, and kernels are compiled on their first use.
"""

import os
import subprocess
import sys
from pathlib import Path
from tempfile import mkdtemp

from hatchling.builders.hooks.plugin.interface import BuildHookInterface  # pyright: ignore[reportMissingImports]

BUILD = """
import sys
from pathlib import Path
from kido.jit.precompile import build_image
print(build_image(sys.argv[1], Path(sys.argv[2]), report=lambda line: print(line, file=sys.stderr, flush=True)))
"""


def _processors() -> list[str]:
    return os.environ.get("KIDO_WHEEL_PROCESSORS", "").split()


class CustomBuildHook(BuildHookInterface):
    """Compiles all kernels for each kind of processor that the environment names."""

    def dependencies(self) -> list[str]:
        """What compiling needs: what the package needs, and what links."""
        return [*self.build_config.builder.metadata.core.dependencies, "setuptools>=65"] if _processors() else []

    def initialize(self, version: str, build_data: dict) -> None:
        """Add the libraries to the wheel."""
        if not _processors() or version == "editable":
            return
        folder = Path(mkdtemp())
        there = os.environ.get("PYTHONPATH")  # where an isolated build finds its dependencies
        path = {"PYTHONPATH": os.pathsep.join([str(Path(self.root, "src")), *([there] if there else [])])}
        for processor in _processors():
            command = [sys.executable, "-c", BUILD, processor, str(folder)]
            subprocess.run(command, env={**os.environ, **path}, check=True, stdout=sys.stderr)
        for library in folder.iterdir():
            build_data["force_include"][str(library)] = f"kido/jit/images/{library.name}"
        build_data["pure_python"] = False
        build_data["infer_tag"] = True
