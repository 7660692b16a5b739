"""How the documentation is built: Markdown pages (MyST), every broken reference an error."""

import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

project = "Mainspring"
author = "the Mainspring contributors"
copyright = author
release = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
version = release

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.doctest"]
source_suffix = {".md": "markdown"}
exclude_patterns = ["_build"]
nitpicky = True
# Types in signatures are not links: autodoc cannot resolve those of other packages offline.
nitpick_ignore_regex = [("py:.*", r".*")]
autodoc_typehints = "signature"
autodoc_member_order = "bysource"

myst_enable_extensions = ["colon_fence", "deflist", "fieldlist"]
myst_heading_anchors = 3

html_theme = "furo"
html_title = "Mainspring"
# No page loads anything from elsewhere.
html_static_path: list[str] = []
