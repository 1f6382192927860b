"""Reader of SKEL, the XML world format of DART.

`read` turns a file (or a text) into a `kido.World`. What the format means here:

- A ``<transformation>`` is six numbers: a translation and the rotation Rx(a) Ry(b) Rz(c) [m, rad]. That of a
  body is its pose in the world at zero joint positions, within the frame that the skeleton's gives; that of a
  joint is the joint's frame in the child body; that of a shape is the shape's frame in its body.
- Bodies come in the order of the joints that carry them, parents first. A body that no joint names as its
  child gets a free joint.
- A body without ``<inertia>`` has 1 kg at its origin and 1 kg m^2 about every axis; one without
  ``<moment_of_inertia>`` has the moment of its shapes (`kido.io.skel.bodies` says how).
- The initial velocity of a free joint is the twist [angular; linear] in the axes of the joint's frame in the
  child, as in DART until 2025 (newer versions of DART take world axes).
- The pitch of a screw joint is in metres per revolution, the size of an ellipsoid its three diameters [m].

Everything a file says that KIDO does not model (actuator types, acceleration limits, ...) is
named in ``skeleton.warnings`` and left out; whatever is wrong is refused with a FileFormatError.
"""

from kido.io.skel.worlds import read

__all__ = ["read"]
