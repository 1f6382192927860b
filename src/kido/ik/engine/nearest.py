"""Which of many sampled positions have poses that are nearest to targets."""

from __future__ import annotations

import math

from kido.jit import entry


@entry("i8(f8[:,::1],f8[:,:,::1],i8[::1],f8[::1],f8[::1],i8[:,::1])")
def nearest_poses(place, aims, tasks, distance, kept, out):
    """For each target the samples nearest to it, in order; of two that are as near the first one.

    The square of a distance is |p - p'|^2 + |R - R'|^2 / 2, about angle^2, summed over tasks.

    Args:
        place: poses (samples, 12 tasks) of sampled positions, three rows of four numbers for each task.
        aims: of targets (targets, tasks, 12).
        tasks: which ones count.
        distance: work space (samples,).
        kept: work space (most,).
        out: a result (targets, most): samples.
    """
    most = out.shape[1]
    for n in range(aims.shape[0]):
        for i in range(place.shape[0]):
            total = 0.0
            for t in range(tasks.shape[0]):
                k = tasks[t]
                for j in range(12):
                    d = aims[n, k, j] - place[i, 12 * k + j]
                    total += (1.0 if j % 4 == 3 else 0.5) * d * d
            distance[i] = total
        for m in range(most):
            kept[m] = math.inf
        for i in range(place.shape[0]):
            if distance[i] >= kept[most - 1]:
                continue
            m = most - 1
            while m > 0 and kept[m - 1] > distance[i]:
                kept[m], out[n, m] = kept[m - 1], out[n, m - 1]
                m -= 1
            kept[m], out[n, m] = distance[i], i
    return 0
