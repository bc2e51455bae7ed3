"""The site: every page is in its menu, every link leads somewhere, the reference is complete."""

import html.parser
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

import evalsampling
from tests.browser import LOOKS, look, needs_browser

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
SEEN = ("index", "concepts", "cli", "guides/spreadsheets", "reference/api", "design", "search")
"""Pages that are looked at in a browser."""

WIDTHS = (1400, 400)
"""Of its window, in pixels, on a desk and on a phone."""

MADE = "reference/"
"""Where pages are that are made when the site is built."""

sys.path.append(str(DOCS))
import reference_pages  # noqa: E402


def menu() -> list[str]:
    """The pages of docs/index.md's toctrees."""
    trees = re.findall(r"^```\{toctree\}\n(.*?)^```$", (DOCS / "index.md").read_text(), re.M | re.S)
    lines = [line for tree in trees for line in tree.splitlines()]
    return [line for line in lines if line and not line.startswith(":")]


def test_every_page_is_in_the_menu_once() -> None:
    there = {str(page.relative_to(DOCS).with_suffix("")) for page in DOCS.rglob("*.md")}
    written = {name for name in there if not name.startswith(MADE)} - {"index"}
    listed = [name for name in menu() if not name.startswith(MADE)]
    assert sorted(listed) == sorted(written)


def test_pages_of_the_reference_are_in_the_menu() -> None:
    listed = {name.removeprefix(MADE) + ".md" for name in menu() if name.startswith(MADE)}
    assert listed == set(reference_pages.pages())


def test_reference_names_every_sampler_measure_command_and_public_name() -> None:
    pages = reference_pages.pages()
    for page, names in {
        "samplers.md": list(reference_pages.samplers.BY_NAME),
        "measures.md": [*reference_pages.measures.BY_NAME, *reference_pages.GAINS],
        "commands.md": [command.name for command in reference_pages.COMMANDS],
    }.items():
        assert re.findall(r"^## (\S+)$", pages[page], re.M) == names
    assert "autoclass:: evalsampling.Evaluation\n" in pages["api.md"]


def test_every_key_that_a_spec_may_have_says_what_it_means() -> None:
    rows = re.findall(r"^\| `(\w+)` \| (.*?) \|$", reference_pages.spec_keys(), re.M)
    assert len(rows) > 40
    assert [key for key, meaning in rows if not meaning.strip()] == []


def test_every_key_that_a_spec_may_have_is_explained_on_its_page() -> None:
    page = (DOCS / "spec.md").read_text()
    keys = {key for keys in reference_pages.accepted_keys().values() for key in keys}
    assert {key for key in keys if f"`{key}`" not in page and f"{key}:" not in page} == set()


def test_docstrings_lose_nothing_in_a_table() -> None:
    class Record:
        """A record.

        Attributes:
            one: a | b, in [0, 1), of `a|b`
                and ``c``.
            two: of `reference_pages`.
        """

    assert reference_pages.documented(Record) == {
        "one": r"a \| b, in \[0, 1), of `a\|b` and `c`.",
        "two": "of `reference_pages`.",
    }


def test_citation_and_templates_can_be_read() -> None:
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    assert citation["version"] == evalsampling.__version__
    assert {"cff-version", "title", "authors", "message"} <= set(citation)
    templates = sorted((ROOT / ".github/ISSUE_TEMPLATE").glob("*.md"))
    assert len(templates) == 3
    for template in templates:
        _, head, body = template.read_text().split("---\n", 2)
        assert {"name", "about"} <= set(yaml.safe_load(head))
        assert body.strip()


class _Links(html.parser.HTMLParser):
    """Links and anchors of a page."""

    def __init__(self, page: Path) -> None:
        super().__init__()
        self.links: set[str] = set()
        self.anchors: set[str] = set()
        self.feed(page.read_text("utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if name == "id" and value:
                self.anchors.add(value)
            elif name in ("href", "src") and value:
                self.links.add(value)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site, built as `make docs` builds it: a warning ends it."""
    pytest.importorskip("sphinx", reason="the extra `docs` is not installed")
    folder = tmp_path_factory.mktemp("site")
    done = subprocess.run(
        [sys.executable, "-m", "sphinx", "-W", "--keep-going", "-q", "-b", "html", DOCS, folder],
        capture_output=True,
        text=True,
    )
    # Sphinx counts not every warning of autodoc for its exit code.
    assert (done.returncode, done.stderr) == (0, "")
    return folder


@pytest.mark.slow
def test_links_of_the_site_lead_somewhere(site: Path) -> None:
    pages = {path: _Links(path) for path in site.rglob("*.html")}
    assert len(pages) > 40
    broken = []
    for page, found in pages.items():
        for link in found.links:
            if re.match(r"[a-z]+:", link):
                continue
            path, _, anchor = link.partition("#")
            target = (page.parent / path.partition("?")[0]).resolve() if path else page
            known = pages[target].anchors if target in pages else {anchor}
            if not target.exists() or (anchor and anchor not in known):
                broken.append(f"{page.relative_to(site)}: {link}")
    assert broken == []


@pytest.mark.slow
def test_search_finds_guides_first_and_studies_last(site: Path) -> None:
    node = shutil.which("node")
    if not node:
        pytest.skip("no node")
    queries = ["coverage", "compare models", "how many labels", "calibrated", "interval"]
    names = ["Rogan-Gladen", "corrected prevalence", "sensitivity and specificity corrected"]
    script = ROOT / "tests" / "docs" / "search.cjs"
    done = subprocess.run([node, script, site, *queries, *names], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert all("methods" in found for found in told[len(queries) :])
    for query, found in zip(queries, told, strict=False):
        first = re.match(r"guides/|(start|concepts|labelling)$", found[0])
        assert first, f"{query}: {found[0]}"
        late = [bool(re.match(r"studies/|project/|bench$", page)) for page in found]
        assert late == sorted(late), f"{query}: {found}"
        assert any(page.startswith("studies/") for page in found), query


@pytest.mark.slow
@needs_browser
def test_site_in_a_browser_is_quiet_and_loads_nothing_from_elsewhere(
    site: Path, tmp_path: Path
) -> None:
    """Light, dark, phone and print; SITE_PICTURES names a folder to keep the pictures in."""
    pictures = Path(os.environ.get("SITE_PICTURES", tmp_path))
    pages = [site / f"{name}.html" for name in SEEN]
    for name, one in look(pages, pictures, WIDTHS).items():
        assert one["console"] == [], name
        assert {url.partition(":")[0] for url in one["requests"]} <= {"file", "data"}, name
        assert set(one["wide"].values()) == {0}, f"{name} scrolls sideways"
        assert one["violations"] == {key: [] for key in LOOKS}, name
        assert one["checked"] > 20, name
