"""Motion of points of a skeleton at many nodes, with its derivatives: all points of a node from one sweep."""

from __future__ import annotations

from kido.jit import entry, view
from kido.kernels.common_point import motion_at_point
from kido.kernels.derivative_entries import move, tip
from kido.kernels.motion_derivatives import point_acceleration_derivatives, point_velocity_derivatives
from kido.tree.schema import DATA, TREE
from kido.tree.workspace import DERIVATIVES


@entry("i8(i8,i8,i8,i8[::1],f8[:,::1],f8,f8[:,::1],f8[:,::1],f8[:,::1],f8[:,:,:,:,::1])")
def point_motions(tree, data, work, paths, points, fading, q, u, udot, D):
    """Derivatives of A + g V, A = [wdot; a] and V = [w; v] of points, by q, u and udot, and of V by q.

    Args:
        paths, points: paths to their links, and where they are in the links' axes.
        fading: g.
        D: (nodes, points, 5, 6, dofs), zeros: A + g V by q and by u, A by udot, V by q; the last is work space.
    """
    t = view(TREE, tree)
    d = view(DATA, data)
    w = view(DERIVATIVES, work)
    for node in range(q.shape[0]):
        for k in range(q.shape[1]):
            d.q[k], d.u[k], d.udot[k] = q[node, k], u[node, k], udot[node, k]
        move(t, d)
        motion_at_point(t, d, w, 0, t.parent.shape[0], t.gravity[0], t.gravity[1], t.gravity[2])
        for p in range(paths.shape[0]):
            link, E = tip(paths[p]), D[node, p]
            x, y, z = points[p, 0], points[p, 1], points[p, 2]
            point_acceleration_derivatives(t, d, w, link, x, y, z, 1, E[:3])
            point_velocity_derivatives(t, d, w, link, x, y, z, E[3:])
            for r in range(6):
                for k in range(q.shape[1]):
                    E[0, r, k] += fading * E[3, r, k]
                    E[1, r, k] += fading * E[4, r, k]
    return 0
