"""Sphinx configuration: `sphinx-build -W docs build/docs` runs every example and checks every reference."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import kido

sys.path.insert(0, str(Path(__file__).parent / "_ext"))

project = "KIDO"
author = "The KIDO authors"
release = version = kido.__version__
copyright = f"2026, {author}"

extensions = [
    "myst_nb",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.napoleon",
    "by_task",
]
exclude_patterns = ["_build", "_ext"]
default_role = "py:obj"

# Pages are programs: all cells run, and an exception fails the build.
nb_execution_mode = "force"
nb_execution_raise_on_error = True
nb_execution_timeout = 600
nb_merge_streams = True
os.environ["KIDO_QUIET"] = "1"
myst_enable_extensions = ["dollarmath", "colon_fence", "deflist"]
myst_heading_anchors = 3

autodoc_default_options = {"members": True}
autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_typehints_format = "short"
autodoc_type_aliases = {"ArrayLike": "ArrayLike", "Array": "Array"}
autosummary_generate = False
napoleon_google_docstring = True
napoleon_custom_sections = [("Attributes", "params_style")]
napoleon_use_rtype = False
python_use_unqualified_type_names = True
# Names in attribute lists are looked up like references; several classes have a `name`.
suppress_warnings = ["ref.python"]

html_theme = "furo"
html_title = "KIDO"
html_static_path = ["images"]
html_css_files = ["kido.css"]
