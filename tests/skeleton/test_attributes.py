"""Attributes that objects do not have are refused, with those that are like them."""

from __future__ import annotations

import copy
import pickle

import pytest

import kido


def _arm() -> kido.Skeleton:
    return kido.load(kido.models.path("arm7"))


@pytest.mark.parametrize(
    ("thing", "name", "expected"),
    [
        (lambda arm: arm.dofs[0], "position_limits", "position_lower_limit"),
        (lambda arm: arm.dofs[0], "postion", "position"),
        (lambda arm: arm.joints[0], "position_limits", "position_upper_limit"),
        (lambda arm: arm.joints[0], "actuator", "actuator_type"),
        (lambda arm: arm.bodies[0], "inertias", "inertia"),
    ],
)
def test_a_misspelt_attribute_is_refused_by_name(thing, name: str, expected: str) -> None:
    owner = thing(_arm())
    with pytest.raises(kido.UnknownAttributeError, match=f"no attribute '{name}' to set; did you mean") as caught:
        setattr(owner, name, 1.0)
    assert expected in caught.value.choices
    assert isinstance(caught.value, AttributeError)
    assert not hasattr(owner, name)
    assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)


def test_what_is_like_nothing_has_no_choices() -> None:
    with pytest.raises(kido.UnknownAttributeError, match=r"no attribute 'xyzzy' to set$"):
        _arm().dofs[0].xyzzy = 1


class Hinge(kido.RevoluteJoint):
    """A user's class."""

    def __init__(self, *args, **options):
        super().__init__(*args, **options)
        self.wear = 0.5


def test_users_classes_and_private_names_are_free() -> None:
    skeleton = kido.Skeleton("mine")
    with pytest.raises(kido.UnknownAttributeError, match="Skeleton 'mine' has no attribute 'colour' to set"):
        skeleton.colour = "red"
    skeleton._colour = "red"
    joint = Hinge("hinge")
    joint.note = "oiled"
    skeleton.add_body("link", joint, inertia=kido.Inertia(1.0))
    for twin in (copy.deepcopy(skeleton), pickle.loads(pickle.dumps(skeleton))):
        assert twin._colour == "red"
        assert (twin.joint("hinge").wear, twin.joint("hinge").note) == (0.5, "oiled")
    arm = _arm()
    arm._own = 3
    assert copy.deepcopy(arm)._own == 3
    arm.name = "another"
    assert arm.name == "another"
