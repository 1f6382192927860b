"""What constraint embedding keeps of a tree with loops: aggregates, their partition, and work space of the sweeps.

Aggregate c has *members* (links), *places* (the members' coordinates, one after another) and *rows* (equations of its
loops). Independent and dependent coordinates are places; each of the first `rank` pivots is a kept row that is solved
for a dependent place. Vectors of an aggregate are about one point: the origin of its parent link, or of its first
member if that is the world.
"""

from __future__ import annotations

from kido.jit import Struct, floats, integers

# Entries of `count`.
AGGREGATES, ITEMS, REPARTITIONS, ITERATIONS, AXIAL, PARTITIONED, LOOSE, LOOSE_RANK = range(8)


class EMBEDDING(Struct):
    count = integers(
        8,
        doc="aggregates; links and aggregates in `item`; partitions chosen anew; Newton steps of the last call; 1: "
        "something acts along free axes; 1: there are partitions; rows that are not embedded; their rank",
    )
    drop = floats(1, doc="share of a row's largest number below which what is left of it is nothing")
    missed = floats(1, doc="share of the accelerations by which rows left out may be missed")
    item = integers("items", doc="links and aggregates (-1 - c), parents first")
    tree_item = integers("trees1", doc="first item of each tree, and the end")
    owner = integers("links", doc="aggregate of each link; -1: none")
    number = integers("links", doc="place of each link among the members")
    parent = integers("aggregates", doc="link that carries the aggregate; -1: the world")
    constant = integers("aggregates", doc="1: couplings of coordinates alone, whose X does not change")
    first_member = integers("aggregates1", doc="first member of each aggregate, and the end")
    member = integers("members", doc="its link")
    carries = integers("members", doc="1: it has own motions in `h`: other members hang on it, or many places")
    above = integers("members", doc="member it hangs on; -1: the aggregate's parent")
    member_place = integers("members1", doc="first place of each member, and the end")
    first_place = integers("aggregates1", doc="first place of each aggregate, and the end")
    dof = integers("places", doc="coordinate of the tree")
    first_row = integers("aggregates1", doc="first row of each aggregate, and the end")
    row = integers("rows", doc="row of LOOPS")
    slot = integers("rows", doc="its slot in DYNAMICS")
    row_scale = floats("rows", doc="largest number of the row at the choice, not much below others'")
    first_tie = integers("aggregates1", doc="first constraint of each aggregate, and the end")
    tie = integers("ties", doc="constraint of LOOPS")
    tie_rows = integers("ties", doc="its rows that hold with any force; rows stand in the order of ties")
    tie_kept = integers("ties", doc="how many of them are kept")
    tie_shifts = integers("ties", doc="1: these are SHIFT rows alone")
    first_touch = integers("rows1", doc="first coordinate that each row has, and the end")
    touch = integers("touches", doc="place within the aggregate")
    touch_factor = floats("touches", doc="1: on the second body's side, -1: on the first's; or a coupler's")
    weight = floats("places", doc="how willingly the coordinate is made dependent; 0: it is prescribed")
    rank = integers("aggregates", doc="dependent coordinates")
    free = integers("aggregates", doc="independent coordinates that are not prescribed; these come first")
    columns = integers("aggregates", doc="independent coordinates")
    kept = integers("rows", doc="row within the aggregate of each pivot, then those left out")
    pivot = integers("rows", doc="pivot of each row, -1: it is left out")
    solved = integers("places", doc="place of each pivot, then independent ones: free, prescribed")
    role = integers("places", doc="column of an independent place, or -1 - pivot of a dependent one")
    first_entry = integers("pivots1", doc="first entry of each pivot's row, and the end (rows + aggregates)")
    entry = integers("entries", doc="other places that the reduced row has")
    first_target = integers("pivots1", doc="first row that each pivot is taken off, and the end")
    target = integers("entries", doc="its pivot")
    matrix_at = integers("aggregates", doc="where rows of an aggregate start in `K` and `mark`")
    mark = integers("matrix", doc="work of the symbolic elimination")
    K = floats("matrix", doc="rows by places and the right-hand side, reduced")
    X_at = integers("aggregates", doc="where X and D start")
    h_at = integers("aggregates", doc="where h starts")
    X = floats("squares", doc="by pivot: dependent velocity per independent one, then K_d^-1 of the right side")
    h = floats("motions", 6, doc="motion of each member per independent coordinate, about the aggregate's point")
    xb = floats("places", doc="what else the dependent coordinates have, of velocity or acceleration")
    D = floats("squares", doc="Cholesky factor of H P H*")
    g = floats("places", 6, doc="by column: L^-1 of the aggregate's P H* seen from its parent")
    y = floats("places", doc="by column: L^-1 of the independent forces less their bias")
    w = floats("places", doc="by column: independent accelerations, or work")
    S = floats("places", 6, doc="motion column about the aggregate's point")
    F = floats("places", 6, doc="composite inertia times S")
    point = floats("aggregates", 3, unit="m", doc="the aggregate's point, world axes")
    P = floats("members", 21, doc="composite inertia of a member and those beyond, about that point")
    A = floats("members", 6, doc="acceleration at rest of the independent coordinates, about that point")
    f = floats("members", 6, doc="wrench through the joint above at that acceleration, about that point")
    rest = floats("links", 6, doc="the same about links' own origins; 0 for the parent of an aggregate")
    reach = floats("rows", doc="work: largest number of each row")
    lever = floats("aggregates", doc="least pivot beside what moves a row's point at all, when last noted")
    least = floats("aggregates", doc="least pivot, of rows scaled to 1")
    largest = floats("aggregates", doc="largest number in X")
    weak = floats("aggregates", doc="least pivot below which another partition is looked for")
    steep = floats("aggregates", doc="largest number in X above which another one is")
    before = floats("dofs", doc="work: velocities or accelerations set aside")
    kept_q = floats("dofs", doc="work: positions set aside")
    loose = integers("loose_rows", doc="slots of rows that are not embedded")
    G = floats("loose_rows", "dofs", doc="their Jacobian")
    Y = floats("loose_rows", "dofs", doc="responses of the tree with aggregates to them")
    Q = floats("loose_rows", "loose_rows", doc="G Y^T scaled, then its factor")
    size = floats("loose_rows", doc="scale of each")
    order = integers("loose_rows", doc="row at each place of the factor")
    found = floats("loose_rows", doc="work of the solution")
    part = floats("slots", doc="work: multipliers of loose rows")
    by_slot = floats("slots", doc="work: numbers of all rows")
    kept_jump = floats("slots", doc="work: jumps set aside")
    kept_u = floats("dofs", doc="work: what coordinates yield alone")
    stood = floats("dofs", doc="work: velocities set aside")
    loose_force = floats("dofs", unit="N or N m", doc="joint forces of the loose rows")
