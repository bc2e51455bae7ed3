"""Sphinx builds the site from the pages beside this file: `make docs`."""

import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parent)]

from reference_pages import write_pages  # noqa: E402

from evalsampling.version import __version__  # noqa: E402

project = "evalsampling"
author = "The authors of evalsampling"
copyright = f"{author}, Apache License 2.0"
version = release = __version__

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
exclude_patterns = ["_build"]
root_doc = "index"

html_theme = "furo"
html_title = f"evalsampling {__version__}"
html_theme_options = {"footer_icons": []}
html_show_sphinx = False
html_copy_source = False
html_static_path = ["static"]
html_css_files = ["site.css"]
html_search_scorer = str(HERE / "static" / "search_order.js")

# Headings have the anchors that they have where the repository is browsed.
myst_heading_anchors = 4
myst_enable_extensions = ["colon_fence", "deflist"]

# Docstrings are written with single backquotes for code.
default_role = "literal"
napoleon_google_docstring = True
napoleon_numpy_docstring = False
napoleon_use_ivar = True
napoleon_attr_annotations = False
autodoc_typehints = "signature"
autodoc_member_order = "bysource"
autodoc_preserve_defaults = True
autodoc_type_aliases = {name: name for name in ("Ids", "Measures")}
python_maximum_signature_line_length = 88

suppress_warnings = ["misc.highlighting_failure"]  # JSON that is shortened with "...".

ELSEWHERE = {
    "../README.md": "start.md",
    "../CHANGELOG.md": "project/changelog.md",
    "../CONTRIBUTING.md": "project/contributing.md",
    "../benchmarks/README.md": "project/benchmarks.md",
}
"""Pages of the repository that are beside this folder, and where the site has them."""


ACCESSIBLE = {
    '<p class="caption" role="heading">': '<p class="caption" role="heading" aria-level="2">',
    '<aside class="sidebar-drawer">': '<aside class="sidebar-drawer" aria-label="Pages">',
    '<aside class="toc-drawer">': '<aside class="toc-drawer" aria-label="On this page">',
    '<div id="search-results">': '<h1>Search</h1>\n<div id="search-results">',
    '<th class="head"><p></p></th>': '<td class="head"><p></p></td>',
    '<div class="table-wrapper ': '<div tabindex="0" class="table-wrapper ',  # It may scroll.
    "<pre>": '<pre tabindex="0">',  # It may scroll.
    '<dl>\n<dd><em class="sig-param">': '<dl role="presentation">\n<dd><em class="sig-param">',
}
"""What the theme and Sphinx write, and what people with a screen reader or no mouse need."""


def _make_accessible(app, error) -> None:
    for page in [] if error else Path(app.outdir).rglob("*.html"):
        text = page.read_text("utf-8")
        for written, needed in ACCESSIBLE.items():
            text = text.replace(written, needed)
        page.write_text(text, "utf-8")


def _stay_on_the_site(app: object, name: str, source: list[str]) -> None:
    """Let links to pages beside this folder lead to the site's own."""
    for path, page in ELSEWHERE.items():
        source[0] = source[0].replace(f"]({path}", f"]({page}")


def _without_fields(app: object, what: str, *others: object) -> tuple[str, str] | None:
    """Return no signature for classes, whose attributes are listed below them."""
    return ("", "") if what == "class" else None


def _as_written(
    app: object, what: str, name: str, obj: object, options: object, lines: list[str]
) -> None:
    """Undo that napoleon takes a property's first words for its type if a colon follows them."""
    if what == "property" and lines and lines[-1].startswith(":type: "):
        lines[:] = [f"{lines[-1].removeprefix(':type: ')}: {' '.join(lines[:-1]).strip()}"]


def setup(app):
    """Write the pages that are made from the code, then read all pages."""
    app.connect("builder-inited", lambda app: write_pages(HERE / "reference"))
    app.connect("source-read", _stay_on_the_site)
    app.connect("build-finished", _make_accessible)
    app.connect("autodoc-process-signature", _without_fields)
    app.connect("autodoc-process-docstring", _as_written, priority=600)  # After napoleon's, 500.
