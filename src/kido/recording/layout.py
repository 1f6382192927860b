"""What a recording holds, table by table. `frames` has a row for each recorded step, the first before any.

Rows of `contacts` and `external` belong to frames in order: frame i owns the next `contact_count[i]` and
`external_count[i]` rows. In the same way `events`, `structures` and `checkpoints` own bytes of `text` and
numbers of `floats` and `integers`, which hold encoded plain data (`kido.recording.codec`).

Bodies and shapes are numbered through all skeletons of a structure, shapes only where they collide.
"""

from __future__ import annotations

import numpy as np

from kido.recording.tables import Column, Table

FORMAT = "kido-recording"
FORMAT_VERSION = 1

_BLOB = (
    Column("serial", "i8", doc="order in which rows of all tables took their share of the pools"),
    Column("text_count", "i8", doc="bytes of `text` that belong to the row"),
    Column("float_count", "i8", doc="numbers of `floats` that belong to the row"),
    Column("integer_count", "i8", doc="numbers of `integers` that belong to the row"),
)


def frame_columns(dofs: int, points: int = 0) -> tuple[Column, ...]:
    """Columns of `frames` for a world that starts with so many degrees of freedom, and points of soft bodies."""
    soft = (Column("displacements", "f8", (3 * points,), True, "m", "of points of soft bodies, body axes"),)
    return (
        Column("time", "f8", unit="s"),
        Column("step", "i8", doc="steps done by the world"),
        Column("structure", "i8", doc="row of `structures` that is valid"),
        Column("kinetic_energy", "f8", unit="J"),
        Column("potential_energy", "f8", unit="J"),
        Column("residual", "f8", doc="natural-map residual of the contact problem"),
        Column("iterations", "i8", doc="iterations of the contact solver"),
        Column("max_penetration", "f8", unit="m"),
        Column("converged", "i8", doc="1: the contact solver met its tolerance"),
        Column("dissipation", "f8", unit="J", doc="sum of impulse times velocity over contacts"),
        Column("positions", "f8", (dofs,), True, "m, rad", "skeleton after skeleton; NaN past the last"),
        Column("velocities", "f8", (dofs,), True, "m/s, rad/s"),
        Column("commands", "f8", (dofs,), True, doc="of the actuators during the step that led here"),
        Column("contact_count", "i8", doc="rows of `contacts`"),
        Column("external_count", "i8", doc="rows of `external`"),
        *(soft if points else ()),
    )


CONTACTS = Table(
    "contacts",
    (
        Column("point", "f8", (3,), unit="m", doc="world axes"),
        Column("normal", "f8", (3,), doc="from body a to body b, world axes"),
        Column("gap", "f8", unit="m", doc="negative: penetration"),
        Column("force", "f8", (3,), unit="N", doc="on body b, world axes, mean over the step"),
        Column("body_a", "i4"),
        Column("body_b", "i4"),
        Column("shape_a", "i4"),
        Column("shape_b", "i4"),
    ),
    blocks=True,
)
EXTERNAL = Table(
    "external",
    (
        Column("body", "i4"),
        Column("wrench", "f8", (6,), unit="N m, N", doc="[torque; force] about the body origin, world axes"),
        Column("law", "f8", (24,), doc="the forces as the simulation holds them (kido.kernels.external)"),
    ),
    blocks=True,
)
EVENTS = Table("events", (Column("step", "i8"), Column("time", "f8", unit="s"), *_BLOB))
STRUCTURES = Table("structures", (Column("step", "i8"), *_BLOB))
CHECKPOINTS = Table("checkpoints", (Column("frame", "i8"), Column("structure", "i8"), Column("step", "i8"), *_BLOB))
POOLS = (
    Table("text", (Column("bytes", "u1", doc="JSON, UTF-8"),), blocks=True),
    Table("floats", (Column("values", "f8"),), blocks=True),
    Table("integers", (Column("values", "i8"),), blocks=True),
)


def tables(dofs: int, signals: dict[str, tuple[int, ...]], points: int = 0) -> tuple[Table, ...]:
    """All tables of a recording; `signals` are the shapes of the user's own by name."""
    return (
        Table("frames", frame_columns(dofs, points)),
        Table("signals", tuple(Column(name, "f8", shape) for name, shape in signals.items())),
        CONTACTS,
        EXTERNAL,
        EVENTS,
        STRUCTURES,
        CHECKPOINTS,
        *POOLS,
    )


# What is kept at the root of the file besides `format` and `tables`, with its kind.
ATTRIBUTES: dict[str, type] = {
    "format_version": int,
    "kido_version": str,
    "created": str,
    "world": str,
    "time_step": float,
    "gravity": np.ndarray,
    "every": int,
}
