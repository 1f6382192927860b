"""Contact properties of pairs of shapes as numbers, and how a contact finds its own.

A row of the table holds what `kido.simulation.ContactSurface` describes, vectors in the axes of the links that carry
the shapes. Shapes with equal surfaces, placed alike, are one *material*; a pair of materials finds its row in an open
hash table. A pair that is not in it is left to Python, once; so are all contacts in each step if users want to see
every one. In worlds of plain surfaces (one coefficient of friction, one of restitution, the world's rules) none of
it is read: the detector combines both numbers itself.
"""

from __future__ import annotations

from kido.jit import Struct, floats, integer, integers, kernel
from kido.joints.frames import rotation_of
from kido.math.so3 import cross, rotate

# Values of `mode`.
NO_ROWS, BY_MATERIAL, BY_CONTACT = range(3)

# Values of `direction_of`: isotropic, or in the axes of a side's link, or of the world.
NO_DIRECTION, OF_A, OF_B, OF_WORLD = range(4)

# Values of `softness_kind`.
NO_SOFTNESS, SPRING_DAMPER, ERP_CFM, TIME_CONSTANT, SPRING_DAMPER_AT_END = range(5)

MIN_SINE2 = 1e-12  # square of the sine at which a first direction is along the normal


class SURFACES(Struct):
    mode = integer(doc="NO_ROWS, BY_MATERIAL or BY_CONTACT")
    ready = integer(doc="BY_CONTACT: 1 if row k is that of this step's contact k")
    any_spin = integer(doc="1 if a row has rolling or torsional friction")
    material = integers("shapes", doc="number of the shape's material")
    slot_key = integers("slots", doc="material of shape a * number of shapes + that of shape b; -1: free")
    slot_row = integers("slots", doc="row of that pair")
    # A row for each pair of materials, or for each contact.
    friction = floats("rows", doc="Coulomb coefficient along the first direction")
    secondary_friction = floats("rows", doc="across it")
    direction_of = integers("rows", doc="NO_DIRECTION, or whose axes the first direction is in")
    direction = floats("rows", 3, doc="the first direction")
    rolling = floats("rows", unit="m", doc="lever arm of rolling friction")
    torsion = floats("rows", unit="m", doc="lever arm of torsional friction")
    slip = floats("rows", unit="m/(s N)", doc="slip compliance along the first direction")
    secondary_slip = floats("rows", unit="m/(s N)", doc="across it")
    restitution = floats("rows")
    softness_kind = integers("rows", doc="NO_SOFTNESS ... SPRING_DAMPER_AT_END")
    softness = floats("rows", 2, doc="stiffness and damping; ERP and CFM; time constant and damping ratio")
    slop = floats("rows", unit="m", doc="penetration that is left alone; negative: the world's")
    max_speed = floats("rows", unit="m/s", doc="fastest correction of a penetration; may be infinite")
    moves = integers("rows", doc="1: a surface moves beside its body")
    motion_a = floats("rows", 9, doc="of surface a beside its body: velocity, angular velocity, origin")
    motion_b = floats("rows", 9, doc="the same of surface b")


@kernel
def first_slot(key, slots):
    """Where the search for a key begins; `slots` is a power of two."""
    return ((key * 40503) >> 4) & (slots - 1)


@kernel
def find_row(s, a, b):
    """Row of the pair of shapes a and b; -1 if it is not in the table."""
    slots = s.slot_key.shape[0]
    key = s.material[a] * s.material.shape[0] + s.material[b]
    at = first_slot(key, slots)
    while s.slot_key[at] >= 0:
        if s.slot_key[at] == key:
            return s.slot_row[at]
        at = (at + 1) & (slots - 1)
    return -1


@kernel
def find_rows(c, s):
    """Give all contacts their rows, and c.friction and c.restitution from them. False if Python must help first."""
    if s.mode == BY_CONTACT and s.ready == 0:
        return False
    for k in range(c.num_contacts):
        row = k if s.mode == BY_CONTACT else find_row(s, c.shape_a[k], c.shape_b[k])
        if row < 0:
            return False
        c.surface[k] = row
        c.friction[k] = s.friction[row]
        c.restitution[k] = s.restitution[row]
    return True


@kernel
def row_of(c, s, k):
    """Row of contact k, -1 where the detector's two numbers are all."""
    return c.surface[k] if s.mode != NO_ROWS else -1


@kernel
def has_spin(s, row):
    """Whether a row has rolling or torsional friction."""
    if row < 0:
        return False
    return s.rolling[row] > 0.0 or s.torsion[row] > 0.0


@kernel
def first_direction(d, c, s, k, row):
    """Unit vector of the tangent plane along the first friction direction; zero if that is along the normal."""
    x, y, z = s.direction[row, 0], s.direction[row, 1], s.direction[row, 2]
    of = s.direction_of[row]
    if of == OF_A:
        x, y, z = rotate(rotation_of(d, c.body_a[k]), x, y, z)
    elif of == OF_B:
        x, y, z = rotate(rotation_of(d, c.body_b[k]), x, y, z)
    n0, n1, n2 = c.normal[k, 0], c.normal[k, 1], c.normal[k, 2]
    along = n0 * x + n1 * y + n2 * z
    x -= along * n0
    y -= along * n1
    z -= along * n2
    size2 = x * x + y * y + z * z
    if size2 <= MIN_SINE2:
        return 0.0, 0.0, 0.0
    scale = size2**-0.5
    return scale * x, scale * y, scale * z


@kernel
def own_motion(d, c, motion, k, row, body):
    """Velocity and angular velocity of one side's surface beside its body's, at contact k, world axes."""
    rx, ry, rz = c.point[k, 0] - d.p[body, 0], c.point[k, 1] - d.p[body, 1], c.point[k, 2] - d.p[body, 2]
    v0, v1, v2 = rotate(rotation_of(d, body), motion[row, 0], motion[row, 1], motion[row, 2])
    w0, w1, w2 = rotate(rotation_of(d, body), motion[row, 3], motion[row, 4], motion[row, 5])
    o0, o1, o2 = rotate(rotation_of(d, body), motion[row, 6], motion[row, 7], motion[row, 8])
    x, y, z = cross(w0, w1, w2, rx - o0, ry - o1, rz - o2)
    return v0 + x, v1 + y, v2 + z, w0, w1, w2


@kernel
def surface_motion(d, c, s, k, row):
    """Velocity and angular velocity of surface b beside surface a, less those of their bodies, world axes."""
    a0, a1, a2, a3, a4, a5 = own_motion(d, c, s.motion_a, k, row, c.body_a[k])
    b0, b1, b2, b3, b4, b5 = own_motion(d, c, s.motion_b, k, row, c.body_b[k])
    return b0 - a0, b1 - a1, b2 - a2, b3 - a3, b4 - a4, b5 - a5
