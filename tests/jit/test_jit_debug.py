"""Debug mode: a handle that outlived its container is an error, not a crash."""

import os
import subprocess
import sys

CODE = """
import kido
from kido.kernels import entries
arm = kido.Skeleton("arm")
arm.add_body("link", kido.RevoluteJoint(), inertia=kido.Inertia.from_diagonal(1.0, [1.0, 1.0, 1.0]))
arm.world_transforms
tree, data = arm.state.tree.address, arm.state.data.address
assert entries.update_transforms(tree, data) == 0
arm.add_body("hand", kido.WeldJoint(), parent="link")
try:
    entries.update_transforms(tree, data)
except RuntimeError as error:
    print(error)
"""


def test_a_dead_handle_is_named_in_debug_mode():
    done = subprocess.run(
        [sys.executable, "-c", CODE],
        env={**os.environ, "KIDO_DEBUG": "1"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.strip() == "the address is not that of a living TREE"
