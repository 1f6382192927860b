"""Tables of actuators and tendons: what kernels read of a world's."""

from __future__ import annotations

from kido.jit import Struct, floats, integer, integers, number, reference
from kido.tree.schema import DATA, TREE

LINEAR, BALL, WRENCH, PATH = range(4)  # kinds of transmissions
THROUGH, PULLEY, SPHERE, CYLINDER = range(4)  # items of a path
DIRECT, INTEGRATOR, FILTER, EXACT_FILTER, MUSCLE_ACTIVATION = range(5)  # dynamics of activations
CONSTANT, AFFINE, MUSCLE = range(3)  # gains and biases; a bias of kind CONSTANT is none


class PROGRAM(Struct):
    """Transmissions, tendons and actuators, over the coordinates of all chains one after the other."""

    chain = integers("chains", doc="addresses of the CHAINs")
    time = number("s", doc="for which forces are held")
    enabled = integer(doc="1: actuators give forces")
    q = floats("dofs", unit="m, rad")
    u = floats("dofs", unit="m/s, rad/s")
    dense = floats("dofs", doc="work: moments of one transmission")
    actuated = floats("dofs", unit="N, N m", doc="out: of actuators, within limits")
    passive = floats("dofs", unit="N, N m", doc="out: of tendons' springs and dampers")
    least_force = floats("dofs", unit="N, N m", doc="that actuators give on a coordinate")
    greatest_force = floats("dofs", unit="N, N m")
    # Places on bodies.
    place_chain = integers("places", doc="-1: fixed in the world")
    place_body = integers("places", doc="link")
    place = floats("places", 12, doc="in the link: rotation, row by row, and point [m]")
    pose = floats("places", 12, doc="the same in the world, at present")
    # Transmissions.
    kind = integers("rows", doc="LINEAR, BALL, WRENCH or PATH")
    gear = floats("rows", 6, doc="of BALL (3) and WRENCH: force, then torque")
    frame = integers("rows", doc="WRENCH: place at which it acts; BALL: 1 if the gear is in the parent's axes")
    reference = integers("rows", doc="WRENCH: place from which it is measured, and which takes the opposite; -1: none")
    force_axes = integers("rows", doc="WRENCH: place whose axes the force is in; -1: the world's")
    torque_axes = integers("rows", doc="WRENCH: the same of the torque")
    first_column = integers("rows1", doc="where its coordinates begin; the last entry is their number")
    column = integers("columns", doc="coordinate")
    coefficient = floats("columns", doc="of LINEAR: constant moments")
    moment = floats("columns", doc="out: length's derivative by the coordinate's velocity")
    length = floats("rows", unit="m, rad", doc="out")
    velocity = floats("rows", unit="m/s, rad/s", doc="out")
    first_item = integers("rows1", doc="where the items of a PATH begin")
    item = integers("items", doc="THROUGH, PULLEY, SPHERE or CYLINDER")
    item_place = integers("items")
    item_number = floats("items", doc="radius [m], or divisor of what follows")
    item_side = integers("items", doc="place on the side where it wraps; -1: none")
    # Tendons, of which each is a transmission.
    tendon_row = integers("tendons")
    stiffness = floats("tendons", unit="N/m")
    damping = floats("tendons", unit="N s/m")
    least_rest = floats("tendons", unit="m", doc="spring: lengths from here ...")
    greatest_rest = floats("tendons", unit="m", doc="... to here are without force")
    least_total = floats("tendons", unit="N", doc="of all actuators on it")
    greatest_total = floats("tendons", unit="N")
    total = floats("tendons", unit="N", doc="work")
    # Actuators.
    row = integers("actuators", doc="transmission")
    on_tendon = integers("actuators", doc="tendon that it acts on; -1: none")
    ratio = floats("actuators", doc="its length by that of the transmission")
    active = integers("actuators", doc="0: switched off")
    control = floats("actuators", doc="as given")
    least_control = floats("actuators")
    greatest_control = floats("actuators")
    dynamics = integers("actuators", doc="DIRECT, INTEGRATOR, FILTER, EXACT_FILTER or MUSCLE_ACTIVATION")
    dynamics_number = floats("actuators", 3, doc="time constants [s]; width over which a muscle changes between them")
    activation = floats("actuators", doc="state; 0 where DIRECT")
    least_activation = floats("actuators")
    greatest_activation = floats("actuators")
    early = integers("actuators", doc="1: the activation at the end of the step acts")
    period = floats("actuators", doc="controls that differ by it mean the same; 0: there is none")
    gain = integers("actuators", doc="CONSTANT, AFFINE or MUSCLE")
    gain_number = floats("actuators", 9)
    bias = integers("actuators", doc="CONSTANT: none, AFFINE or MUSCLE")
    bias_number = floats("actuators", 9)
    least_length = floats("actuators", unit="m", doc="of muscles")
    greatest_length = floats("actuators", unit="m")
    least_own = floats("actuators", unit="N, N m", doc="force")
    greatest_own = floats("actuators", unit="N, N m")
    force = floats("actuators", unit="N, N m", doc="out")


class CHAIN(Struct):
    """A skeleton with transmissions."""

    tree = reference(TREE, doc="the skeleton's")
    data = reference(DATA, doc="work, with the skeleton's positions and velocities")
    first = integer(doc="of its coordinates among those of all chains")
    places = integer(doc="1: poses of its bodies are needed")
    program = reference(PROGRAM)
    leads = integer(doc="1: it runs the program")
