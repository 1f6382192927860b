"""What the reference needs besides autodoc: members of large classes by task, links by short names, tables.

    .. members:: kido.Skeleton

       jacobian linear_jacobian

gives a table of these members and then their full entries, so that a class may be spread over pages by task.
"""

from __future__ import annotations

import importlib
import inspect
import re
from typing import Any, ClassVar

from docutils import nodes
from docutils.parsers.rst import directives
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

import kido

_COLON = "\ue000"  # stands for a colon while napoleon reads


class Members(SphinxDirective):
    """A table of members of a class, and their entries."""

    has_content = True
    required_arguments = 1
    option_spec: ClassVar[dict[str, Any]] = {"no-table": directives.flag}

    def run(self) -> list[nodes.Node]:
        owner = self.arguments[0]
        module, _, name = owner.rpartition(".")
        kind = getattr(importlib.import_module(module), name)
        names = " ".join(self.content).split()
        lines = []
        if "no-table" not in self.options:
            lines += [f"Of :py:obj:`~{owner}`:", "", ".. autosummary::", "   :nosignatures:", ""]
            lines += [f"   ~{owner}.{member}" for member in names] + [""]
        for member in names:
            value = inspect.getattr_static(kind, member)
            directive = "autoproperty" if isinstance(value, property) else "automethod"
            if directive == "automethod" and not callable(value) and not isinstance(value, classmethod | staticmethod):
                directive = "autoattribute"
            lines += [f".. {directive}:: {owner}.{member}", ""]
        return self.parse_text_to_nodes("\n".join(lines))


class Quantities(SphinxDirective):
    """A table of all quantities, from their declarations."""

    def run(self) -> list[nodes.Node]:
        lines = [".. list-table::", "   :header-rows: 1", ""]
        rows = [("name", "what it is", "of", "shape", "unit", "equation")]
        for row in kido.quantities.TABLE.values():
            shape = ", ".join(map(str, row.shape))
            call = f"``{row.name}``" if row.is_property else f"``{row.name}({row.arguments})``"
            what = row.doc.partition("\n")[0].replace("|", "\\|")
            rows.append((call, what, ", ".join(row.needs), shape, row.unit, f"``{row.equation}``" * bool(row.equation)))
        for row in rows:
            lines += [f"   {'* -' if k == 0 else '  -'} {cell}" for k, cell in enumerate(row)]
        return self.parse_text_to_nodes("\n".join(lines))


def tables(app: Sphinx, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    """Markdown tables of docstrings as reStructuredText ones."""
    out: list[str] = []
    in_table = False
    for line in lines:
        if not line.lstrip().startswith("| "):
            in_table = False
            out.append(line)
            continue
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        if not in_table:
            out += [".. list-table::", "   :header-rows: 1", ""]
            in_table = True
        if not all(set(cell) <= {"-", ":"} for cell in cells):
            out += [f"   {'* -' if k == 0 else '  -'} {cell}" for k, cell in enumerate(cells)]
    lines[:] = out


def plain(app: Sphinx, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    """Bars mean absolute values, not substitutions; a colon in a property's first line ends no type."""
    bar = re.compile(r"(?<![\\|`])\|(?=[A-Za-z])|(?<=[\w)])\|(?!\|)")
    for k, line in enumerate(lines):
        if not line.lstrip().startswith("| "):  # a table
            lines[k] = bar.sub(r"\\|", line)
    if what in ("property", "attribute") and lines:
        lines[0] = lines[0].replace(":", _COLON)


def colons(app: Sphinx, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    """What `plain` hid from napoleon, which takes the text before a colon for a type."""
    lines[:] = [line.replace(_COLON, ":") for line in lines]


def short_types(app: Sphinx, what: str, name: str, obj: Any, options: Any, signature: Any, returns: Any) -> Any:
    """Arrays by a short name."""

    def short(text: Any) -> Any:
        if not isinstance(text, str):
            return text
        text = re.sub(r"_Buffer \| _SupportsArray.*?complex \| bytes \| str\]", "ArrayLike", text)
        return re.sub(r"ndarray\[tuple\[Any, \.\.\.\], dtype\[float64\]\]", "Array", text)

    return short(signature), short(returns)


def by_short_name(app: Sphinx, env: Any, node: Any, contnode: nodes.Element) -> nodes.Element | None:
    """Where a name is documented that is written without, or with another, package: `Joint.damping`, `solve`."""
    if node.get("refdomain") != "py":
        return None
    parts = node["reftarget"].lstrip("~.").removesuffix("()").split(".")
    domain = env.domains["py"]
    for length in (2, 1):
        tail = parts[-length:]
        target = "kido." + ".".join(tail)
        if len(tail) == length and target in domain.objects:
            if length == 1 and len(parts) > 1 and parts[0] != "kido":
                return None
            found = domain.resolve_xref(env, node["refdoc"], app.builder, "obj", target, node, contnode)
            if found is not None:
                return found
    return None


def setup(app: Sphinx) -> dict[str, Any]:
    app.add_directive("members", Members)
    app.add_directive("quantities", Quantities)
    app.connect("autodoc-process-docstring", plain, priority=400)  # before napoleon
    app.connect("autodoc-process-docstring", colons, priority=600)
    app.connect("autodoc-process-docstring", tables)
    app.connect("autodoc-process-signature", short_types)
    app.connect("missing-reference", by_short_name)
    return {"version": kido.__version__, "parallel_read_safe": True}
