"""Random trees that fly at each other: some of the scenes of `benchmarks.soak.impacts`, which has a thousand."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.soak import impacts

H = 1e-3


@pytest.mark.parametrize("seed", [0, 9, 27, 65, 102])
def test_random_impacts_gain_no_energy(seed):
    """Energy rises by at most 1e-6, or by what falls with the square of the step; momentum stays to rounding (1e-10 of
    it is asked for), residuals below 1e-4, and every step is solved. In 65 and 27 energy rose by 6e-4 and 6e-5, by the
    first order of the step, where the position correction moved trees."""
    found = impacts.judged(seed, H)
    assert found.touches > 0
    assert not found.wrong


def test_scenes_are_what_they_say():
    """They begin apart; of what floats momentum is measured; a world that gains energy is found out."""
    world, floats = impacts.scene(65, H)
    assert world.step().contacts == 0
    assert floats == all(s.joints[0].num_dofs == 6 for s in world.skeletons)
    kinds = {type(j).__name__ for seed in range(30) for s in impacts.scene(seed, H)[0].skeletons for j in s.joints}
    assert len(kinds) == len(impacts.JOINTS) + 1  # and the free one
    found = impacts.Outcome(0, gained=1e-3, finer=np.nan)
    assert "Nothing was found." in impacts.report([found], H)
    found.wrong.append("energy")
    assert "scene 0: energy" in impacts.report([found], H)
