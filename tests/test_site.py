"""The documentation site is built strictly, is whole, and loads nothing from elsewhere."""

import functools
import json
import os
import re
import shutil
import subprocess
import sys
import threading
from html.parser import HTMLParser
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import SimpleNamespace

import pytest
import yaml
from delivery import script

from docs_reference import PAGES
from harvest.plugins.registry import manager
from harvest_look.schema import view_schema

pytest.importorskip("material")

ROOT = Path(__file__).resolve().parents[1]
CHROMIUM = shutil.which("chromium")


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    folder = tmp_path_factory.mktemp("site")
    env = {k: v for k, v in os.environ.items() if not k.startswith("CI_")}
    path = os.pathsep.join((str(Path(sys.executable).parent), env["PATH"]))
    done = subprocess.run(
        ["bash", ROOT / ".ci" / "docs", folder],
        env={**env, "PATH": path}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return folder


class Loads(HTMLParser):
    """What a browser fetches for a page by itself, and its links."""

    def __init__(self, text: str):
        super().__init__()
        self.fetched: list[str] = []
        self.links: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        given = dict(attrs)
        if tag == "a":
            self.links.append(given.get("href") or "")
        elif tag == "link":
            if given.get("rel") not in ("canonical", "next", "prev"):
                self.fetched.append(given.get("href") or "")
        elif tag != "form":
            self.fetched += [given[a] for a in ("src", "srcset", "data", "poster") if given.get(a)]


def elsewhere(address: str) -> bool:
    return bool(re.match(r"(?:[a-z]+:)?//", address, re.IGNORECASE))


def named(nav) -> list[str]:
    """Files that a part of the navigation names."""
    if isinstance(nav, str):
        return [nav]
    parts = nav.values() if isinstance(nav, dict) else nav
    return [name for part in parts for name in named(part)]


def navigation() -> list[str]:
    text = (ROOT / "mkdocs.yml").read_text().replace("!ENV ", "")
    return named(yaml.safe_load(text)["nav"])


@pytest.mark.slow(night=True)
def test_every_page_is_in_the_navigation_once_and_built(site):
    docs = ROOT / "docs"
    written = [*docs.rglob("*.md"), *(p.with_suffix(".md") for p in docs.rglob("*.ipynb"))]
    readmes = [f"plugins/{p.parent.name}.md" for p in (ROOT / "plugins").glob("*/README.md")]
    assert len(readmes) >= 10
    pages = {path.relative_to(docs).as_posix() for path in written}
    pages |= {"plugins/index.md", *readmes, *(f"reference/{name}.md" for name in PAGES)}
    assert sorted(navigation()) == sorted(pages)
    for page in pages:
        assert (site / page).with_suffix(".html").is_file()


@pytest.mark.slow(night=True)
def test_no_page_loads_anything_from_another_host(site):
    pages = list(site.rglob("*.html"))
    assert len(pages) > len(navigation())
    for page in pages:
        found = Loads(page.read_text("utf-8"))
        assert found.fetched
        assert [a for a in found.fetched if elsewhere(a)] == [], page
    for sheet in [*site.rglob("*.css"), *site.rglob("*.svg")]:
        text = re.sub(r"sourceMappingURL.*|xmlns[:\w]*=\S+", "", sheet.read_text("utf-8"))
        assert not re.search(r"(?:url\(|@import|href=)[\s\"']*(?:https?:)?//", text), sheet


@pytest.mark.slow(night=True)
def test_every_link_within_the_site_leads_to_a_file(site):
    for page in site.rglob("*.html"):
        if page.name == "404.html":
            continue  # its links are absolute: it is shown at any address
        for link in Loads(page.read_text("utf-8")).links:
            path = link.partition("#")[0]
            if path and not re.match(r"[a-z]+:", path):
                assert (page.parent / path).exists(), (page, link)


@pytest.fixture
def hook():
    return script("site_pages")


def page(address: str):
    return SimpleNamespace(file=SimpleNamespace(src_uri=address))


def test_links_out_of_the_site_lead_to_the_project_where_it_is_known(hook, monkeypatch):
    text = (
        "[a](../SECURITY.md#promises) [b](../tests) [c](engines.md)\n```text\n[d](../tests)\n```\n"
    )

    monkeypatch.delenv("CI_PROJECT_URL", raising=False)
    shown = hook.on_page_markdown(text, page=page("plugins.md"))
    assert shown.startswith("a b [c](engines.md)\n```text\n[d](..")
    monkeypatch.setenv("CI_PROJECT_URL", "https://host.invalid/group/harvest")
    monkeypatch.setenv("CI_COMMIT_SHA", "abc")
    shown = hook.on_page_markdown(text, page=page("plugins.md"))
    assert "[a](https://host.invalid/group/harvest/-/blob/abc/SECURITY.md#promises)" in shown
    assert "[b](https://host.invalid/group/harvest/-/tree/abc/tests)" in shown


def test_every_plugin_of_ours_and_every_example_is_listed(hook):
    listed = re.findall(r"^\| \[.*?\]\((.*?)/README.md\)", hook.plugin_list(), re.MULTILINE)
    folders = (ROOT / "plugins", ROOT / "examples" / "plugins")
    files = [path for folder in folders for path in folder.glob("*/pyproject.toml")]
    plugins = [
        path.parent
        for path in files
        if "entry-points.harvest]" in path.read_text() and "harvest-library" not in path.read_text()
    ]
    assert len(plugins) >= 12
    assert sorted(listed) == sorted(os.path.relpath(folder, ROOT / "plugins") for folder in plugins)


def test_links_between_pages_and_plugins_stay_on_the_site(hook):
    def linked(address, text):
        return hook.on_page_markdown(text, page=page(address))

    # given links as they are written for a checkout, then they lead to the pages of the site
    assert linked("plugins/dask.md", "[h](../../README.md)") == "[h](../index.md)"
    assert linked("plugins/dask.md", "[m](../mofka-dask/README.md#x)") == "[m](mofka-dask.md#x)"
    assert linked("plugins/dask.md", "[r](../../docs/reference/index.md)") == (
        "[r](../reference/index.md)"
    )
    assert linked("how-to/query.md", "[s](../../plugins/slurm/README.md)") == (
        "[s](../plugins/slurm.md)"
    )
    # what leads nowhere stays, for mkdocs to refuse it
    assert linked("plugins/dask.md", "[n](../nothing.md)") == "[n](../nothing.md)"


@pytest.mark.slow(night=True)
def test_the_search_finds_every_column_of_every_view_and_record_type(site):
    # given what the site's search looks through: the words of each section
    index = json.loads((site / "search" / "search_index.json").read_text("utf-8"))
    words = {
        section["location"]: set(re.split(r"[\s<>]+", section["text"])) for section in index["docs"]
    }

    def wanted(page, name, columns):
        (found,) = [text for place, text in words.items() if place == f"{page}#{name}"]
        assert set(columns) <= found, name

    for name, view in manager().views.items():
        anchor = name.replace(".", "").lower()
        columns = [c.name for c in view_schema(view, manager()).columns]
        assert columns
        wanted("reference/views-reports.html", anchor, columns)
    for name, kind in manager().record_types().items():
        anchor = name.replace(".", "").lower()
        wanted("reference/record-types.html", anchor, [c.name for c in kind.columns])


@pytest.fixture(scope="module")
def address(site):
    """Where the site is served: a search needs more than files."""
    handler = functools.partial(Quiet, directory=site)
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


@pytest.mark.slow(night=True)
@pytest.mark.skipif(CHROMIUM is None, reason="chromium is not installed")
@pytest.mark.parametrize(
    ("page", "title"),
    [("index.html", "harvest"), ("tutorials/ncem-study.html", "From raw files")],
)
def test_a_browser_opens_it_without_complaint(address, tmp_path, page, title):
    done = subprocess.run(
        [CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic",
         "--no-first-run", "--disable-background-networking", "--disable-component-update",
         "--disable-sync", f"--user-data-dir={tmp_path / 'profile'}",
         "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
         "--enable-logging=stderr", "--dump-dom", f"{address}/{page}"],
        capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    if done.returncode:
        pytest.skip(f"chromium cannot run here: {done.stderr[-200:]}")
    assert re.search(rf"<h1[^>]*>{title}", done.stdout)
    assert [line for line in done.stderr.splitlines() if "CONSOLE" in line] == []
