"""What constraint embedding keeps of a tree with loops: aggregates, their partition, and work space of the sweeps.

Aggregate c has *members* (links), *places* (the members' coordinates, one after another) and *rows* (equations of its
loops). Independent and dependent coordinates are places; each of the first `rank` pivots is a kept row that is solved
for a dependent place. Vectors of an aggregate are about one point: the origin of its parent link, or of its first
member if that is the world.
"""

from __future__ import annotations

from kido.jit import Field, Schema

# Entries of `count`.
AGGREGATES, ITEMS, REPARTITIONS, ITERATIONS, AXIAL, PARTITIONED, LOOSE, LOOSE_RANK = range(8)

EMBEDDING = Schema(
    "EMBEDDING",
    Field(
        "count",
        "i",
        (8,),
        doc="aggregates; links and aggregates in `item`; partitions chosen anew; Newton steps of the last call; 1: "
        "something acts along free axes; 1: there are partitions; rows that are not embedded; their rank",
    ),
    Field("drop", "f", (1,), doc="share of a row's largest number below which what is left of it is nothing"),
    Field("missed", "f", (1,), doc="share of the accelerations by which rows left out may be missed"),
    Field("item", "i", ("items",), doc="links and aggregates (-1 - c), parents first"),
    Field("tree_item", "i", ("trees1",), doc="first item of each tree, and the end"),
    Field("owner", "i", ("links",), doc="aggregate of each link; -1: none"),
    Field("number", "i", ("links",), doc="place of each link among the members"),
    Field("parent", "i", ("aggregates",), doc="link that carries the aggregate; -1: the world"),
    Field("constant", "i", ("aggregates",), doc="1: couplings of coordinates alone, whose X does not change"),
    Field("first_member", "i", ("aggregates1",), doc="first member of each aggregate, and the end"),
    Field("member", "i", ("members",), doc="its link"),
    Field("carries", "i", ("members",), doc="1: it has own motions in `h`: other members hang on it, or many places"),
    Field("above", "i", ("members",), doc="member it hangs on; -1: the aggregate's parent"),
    Field("member_place", "i", ("members1",), doc="first place of each member, and the end"),
    Field("first_place", "i", ("aggregates1",), doc="first place of each aggregate, and the end"),
    Field("dof", "i", ("places",), doc="coordinate of the tree"),
    Field("first_row", "i", ("aggregates1",), doc="first row of each aggregate, and the end"),
    Field("row", "i", ("rows",), doc="row of LOOPS"),
    Field("slot", "i", ("rows",), doc="its slot in DYNAMICS"),
    Field(
        "row_scale",
        "f",
        ("rows",),
        doc="largest number of the row at the choice, not much below others'",
    ),
    Field("first_tie", "i", ("aggregates1",), doc="first constraint of each aggregate, and the end"),
    Field("tie", "i", ("ties",), doc="constraint of LOOPS"),
    Field("tie_rows", "i", ("ties",), doc="its rows that hold with any force; rows stand in the order of ties"),
    Field("tie_kept", "i", ("ties",), doc="how many of them are kept"),
    Field("tie_shifts", "i", ("ties",), doc="1: these are SHIFT rows alone"),
    Field("first_touch", "i", ("rows1",), doc="first coordinate that each row has, and the end"),
    Field("touch", "i", ("touches",), doc="place within the aggregate"),
    Field("touch_factor", "f", ("touches",), doc="1: on the second body's side, -1: on the first's; or a coupler's"),
    Field("weight", "f", ("places",), doc="how willingly the coordinate is made dependent; 0: it is prescribed"),
    Field("rank", "i", ("aggregates",), doc="dependent coordinates"),
    Field("free", "i", ("aggregates",), doc="independent coordinates that are not prescribed; these come first"),
    Field("columns", "i", ("aggregates",), doc="independent coordinates"),
    Field("kept", "i", ("rows",), doc="row within the aggregate of each pivot, then those left out"),
    Field("pivot", "i", ("rows",), doc="pivot of each row, -1: it is left out"),
    Field("solved", "i", ("places",), doc="place of each pivot, then independent ones: free, prescribed"),
    Field("role", "i", ("places",), doc="column of an independent place, or -1 - pivot of a dependent one"),
    Field("first_entry", "i", ("pivots1",), doc="first entry of each pivot's row, and the end (rows + aggregates)"),
    Field("entry", "i", ("entries",), doc="other places that the reduced row has"),
    Field("first_target", "i", ("pivots1",), doc="first row that each pivot is taken off, and the end"),
    Field("target", "i", ("entries",), doc="its pivot"),
    Field("matrix_at", "i", ("aggregates",), doc="where rows of an aggregate start in `K` and `mark`"),
    Field("mark", "i", ("matrix",), doc="work of the symbolic elimination"),
    Field("K", "f", ("matrix",), doc="rows by places and the right-hand side, reduced"),
    Field("X_at", "i", ("aggregates",), doc="where X and D start"),
    Field("h_at", "i", ("aggregates",), doc="where h starts"),
    Field(
        "X", "f", ("squares",), doc="by pivot: dependent velocity per independent one, then K_d^-1 of the right side"
    ),
    Field(
        "h", "f", ("motions", 6), doc="motion of each member per independent coordinate, about the aggregate's point"
    ),
    Field("xb", "f", ("places",), doc="what else the dependent coordinates have, of velocity or acceleration"),
    Field("D", "f", ("squares",), doc="Cholesky factor of H P H*"),
    Field("g", "f", ("places", 6), doc="by column: L^-1 of the aggregate's P H* seen from its parent"),
    Field("y", "f", ("places",), doc="by column: L^-1 of the independent forces less their bias"),
    Field("w", "f", ("places",), doc="by column: independent accelerations, or work"),
    Field("S", "f", ("places", 6), doc="motion column about the aggregate's point"),
    Field("F", "f", ("places", 6), doc="composite inertia times S"),
    Field("point", "f", ("aggregates", 3), "m", "the aggregate's point, world axes"),
    Field("P", "f", ("members", 21), doc="composite inertia of a member and those beyond, about that point"),
    Field("A", "f", ("members", 6), doc="acceleration at rest of the independent coordinates, about that point"),
    Field("f", "f", ("members", 6), doc="wrench through the joint above at that acceleration, about that point"),
    Field("rest", "f", ("links", 6), doc="the same about links' own origins; 0 for the parent of an aggregate"),
    Field("reach", "f", ("rows",), doc="work: largest number of each row"),
    Field("lever", "f", ("aggregates",), doc="least pivot beside what moves a row's point at all, when last noted"),
    Field("least", "f", ("aggregates",), doc="least pivot, of rows scaled to 1"),
    Field("largest", "f", ("aggregates",), doc="largest number in X"),
    Field("weak", "f", ("aggregates",), doc="least pivot below which another partition is looked for"),
    Field("steep", "f", ("aggregates",), doc="largest number in X above which another one is"),
    Field("before", "f", ("dofs",), doc="work: velocities or accelerations set aside"),
    Field("kept_q", "f", ("dofs",), doc="work: positions set aside"),
    Field("loose", "i", ("loose_rows",), doc="slots of rows that are not embedded"),
    Field("G", "f", ("loose_rows", "dofs"), doc="their Jacobian"),
    Field("Y", "f", ("loose_rows", "dofs"), doc="responses of the tree with aggregates to them"),
    Field("Q", "f", ("loose_rows", "loose_rows"), doc="G Y^T scaled, then its factor"),
    Field("size", "f", ("loose_rows",), doc="scale of each"),
    Field("order", "i", ("loose_rows",), doc="row at each place of the factor"),
    Field("found", "f", ("loose_rows",), doc="work of the solution"),
    Field("part", "f", ("slots",), doc="work: multipliers of loose rows"),
    Field("by_slot", "f", ("slots",), doc="work: numbers of all rows"),
    Field("kept_jump", "f", ("slots",), doc="work: jumps set aside"),
    Field("kept_u", "f", ("dofs",), doc="work: what coordinates yield alone"),
    Field("stood", "f", ("dofs",), doc="work: velocities set aside"),
    Field("loose_force", "f", ("dofs",), "N or N m", "joint forces of the loose rows"),
)
