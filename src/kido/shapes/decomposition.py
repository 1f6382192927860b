"""Convex decomposition of meshes, by the extra `decompose`."""

from __future__ import annotations

import numpy as np

from kido.errors import MissingExtraError, ShapeError

THRESHOLD = 0.05  # concavity, relative to the mesh's size, below which a piece is taken as convex


def convex_pieces(vertices: np.ndarray, faces: np.ndarray, threshold: float = THRESHOLD) -> tuple[np.ndarray, ...]:
    """Corners (n,3) of convex pieces that together are nearly the solid inside of a mesh [m].

    By CoACD (Wei, Liu, Ling and Su, Approximate Convex Decomposition for 3D Meshes with Collision-Aware Concavity
    and Tree Search, 2022), with a fixed seed.

    Raises:
        MissingExtraError: coacd is not installed.
        ShapeError: it found no pieces.
    """
    try:
        import coacd  # pyright: ignore[reportMissingImports]
    except ImportError:
        raise MissingExtraError("convex decomposition of meshes", "decompose") from None
    coacd.set_log_level("error")
    pieces = coacd.run_coacd(coacd.Mesh(np.asarray(vertices), np.asarray(faces)), threshold=threshold, seed=0)
    if not pieces:
        raise ShapeError(f"a mesh of {len(faces)} triangles has no convex decomposition")
    return tuple(np.array(points, dtype=float) for points, _ in pieces)
