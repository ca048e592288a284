"""A real browser goes the way of three people; nothing leaves the machine or complains."""

import csv
import os
import re
import runpy
import shutil
import sys
from collections import Counter
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from urllib.parse import unquote_to_bytes, urlencode

import pytest
from eventually import eventually
from serving import Server, serving, things

import harvest

CHROMIUM = pytest.mark.skipif(shutil.which("chromium") is None, reason="chromium is not installed")
pytestmark = [CHROMIUM, pytest.mark.slow]

EXAMPLES = Path(__file__).resolve().parents[3] / "examples"
SECONDS = 60


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A Dask run, a cluster's accounting and two scans of a file system, from the examples."""
    for plugin in ("gpfs", "mofka_dask", "slurm"):
        pytest.importorskip(f"harvest_{plugin}", reason=f"the example needs {plugin}")
    folder = tmp_path_factory.mktemp("examples")
    for script, target in (
        ("slurm-accounting/make_dump.py", "sacct.txt"),
        ("gpfs-scan/make_scan.py", "scan"),
    ):
        before, sys.argv = sys.argv, [script, str(folder / target)]
        try:
            runpy.run_path(str(EXAMPLES / script), run_name="__main__")
        finally:
            sys.argv = before
    for name, source in (
        ("dask", f"mofka-dask:{EXAMPLES / 'dask-run'}"),
        ("slurm", f"slurm:{folder / 'sacct.txt'}"),
        ("gpfs", f"gpfs:{folder / 'scan' / 'scans'}"),
    ):
        done = harvest.run(sources=[source], sinks=[f"parquet:{folder / name}"])
        assert done.exit_code in (0, 3)
    return folder


@pytest.fixture(scope="module")
def served(folder: Path) -> Iterator[Server]:
    """A server of the three."""
    with serving(*(folder / name for name in ("dask", "slurm", "gpfs"))) as server:
        yield server


class Person:
    """Somebody at a browser, who follows links by their words and fills fields by their labels."""

    def __init__(self, browser, server: Server, downloads: Path):
        self.browser, self.downloads = browser, downloads
        self.home = server.address.rstrip("/")
        browser.send("Browser.setDownloadBehavior", behavior="allow", downloadPath=str(downloads))
        browser.open(f"{self.home}/?token={server.token}")

    def text(self, within: str = "main") -> str:
        return self.browser.value(f"document.querySelector({within!r}).innerText")

    def goes(self, script: str) -> None:
        """Do what leads to another page, and wait for it."""
        self.browser.value("window.before = true")
        self.browser.value(f"{script}; true")
        self.browser.wait("!window.before && document.readyState == 'complete'")

    def follows(self, words: str) -> None:
        """Click the first link that begins with these words."""
        self.goes(
            "[...document.querySelectorAll('a')]"
            f".find(a => a.innerText.trim().startsWith({words!r})).click()"
        )

    def downloads_file(self, words: str) -> list[dict[str, str]]:
        """Click a link to a CSV file: its rows."""
        before = set(self.downloads.iterdir())
        self.browser.value(
            f"[...document.querySelectorAll('a')].find(a => a.innerText == {words!r}).click()"
        )

        def new() -> list[Path]:
            return [p for p in self.downloads.iterdir() if p not in before and p.suffix == ".csv"]

        with eventually(new, "no file came")[0].open(newline="") as lines:
            return list(csv.DictReader(lines))


@pytest.fixture
def browser_of(tmp_path):
    """What opens a browser of some width; it asks this machine alone, and never complains."""
    from browser import Browser

    opened = []

    def open_(width: int) -> Browser:
        folder = tmp_path / str(width)
        folder.mkdir()
        try:
            opened.append(Browser(folder, (width, 900)))
        except RuntimeError as error:
            pytest.skip(f"chromium cannot run here: {error}")
        return opened[-1]

    yield open_
    asked = [address for browser in opened for address in browser.requests]
    complaints = [text for browser in opened for text in browser.complaints]
    for browser in opened:
        browser.__exit__(None, None, None)
    assert asked
    assert [a for a in asked if not a.startswith(("http://127.0.0.1:", "about:"))] == []
    assert complaints == []


def test_three_people_find_what_they_came_for(folder, served, browser_of, tmp_path):
    (tmp_path / "files").mkdir()
    browser = browser_of(1280)
    person = Person(browser, served, tmp_path / "files")
    assert [name in person.text() for name in ("dask", "slurm", "gpfs")] == [True] * 3

    # why was the run slow: the worst finding, its evidence, the task stream
    person.follows("dask")
    verdict = harvest.open(folder / "dask").findings()
    assert verdict.summary() in person.text()
    found = verdict.found[0]
    person.follows(found.finding.headline)
    assert found.finding.headline in person.text("h1")
    assert f"{found.evidence.rows} row" in person.text()
    person.follows("report dask.run")
    browser.wait("document.querySelector('iframe').contentDocument?.readyState == 'complete'")
    frame = "document.querySelector('iframe').contentDocument"
    assert "Task stream" in browser.value(f"{frame}.body.innerText")
    # as a picture, without a script and an empty place for a plot
    plots = f"[...{frame}.querySelectorAll('figure')]"
    assert browser.value(f"{frame}.querySelectorAll('script').length") == 0
    assert browser.value(f"{plots}.length") > 0
    assert browser.value(f"{plots}.every(p => p.querySelector('svg')?.clientHeight > 50)")
    empty = "d => d.clientHeight > 0 && !d.innerText.trim() && !d.querySelector('svg')"
    assert (
        browser.value(f"{plots}.some(p => [...p.querySelectorAll('div')].some({empty}))") is False
    )
    # it is as high as it is, so that nothing scrolls within
    browser.wait(
        "document.querySelector('iframe').clientHeight >= "
        f"{frame}.querySelector('body').scrollHeight"
    )

    # who wasted most, and why did those jobs fail: usage, filter, CSV
    person.goes(f"location = '{person.home}/d/slurm/table/slurm.usage?set.by=user'")
    person.follows("cpu_wasted_hours")
    assert browser.value("document.querySelector('[aria-sort=descending] a').innerText") == (
        "cpu_wasted_hours"
    )
    user = browser.value("document.querySelector('.rows tbody th').innerText")
    usage = harvest.open(folder / "slurm").view("slurm.usage", by="user").collect()
    most = usage.drop_nulls("cpu_wasted_hours").sort("cpu_wasted_hours", descending=True)
    assert user == most["user"][0]
    person.follows("Tables")
    person.follows("slurm.job")
    for column, value in (("user", user), ("state", "failed")):
        browser.value(
            f"document.getElementById('column').value = {column!r};"
            "document.getElementById('column').dispatchEvent(new Event('change'));"
            "document.getElementById('operator').value = 'eq';"
            f"document.getElementById('value').value = {value!r}"
        )
        person.goes("document.getElementById('value').form.requestSubmit()")
    jobs = harvest.open(folder / "slurm")["slurm.job"].collect().to_dicts()
    failed = [job for job in jobs if job["user"] == user and job["state"] == "failed"]
    assert f"{len(failed)} of {len(jobs)} rows" in person.text()
    rows = person.downloads_file("CSV")
    assert sorted(row["job_id"] for row in rows) == sorted(job["job_id"] for job in failed)
    assert {row["exit_code"] for row in rows} == {str(job["exit_code"]) for job in failed}

    # which directory grew: the report, the directories sorted by growth, and a file of them
    person.goes(f"location = '{person.home}/d/gpfs/reports'")
    person.follows("gpfs.change")
    browser.wait("document.querySelector('iframe').contentDocument?.readyState == 'complete'")
    assert "grew" in browser.value(f"{frame}.body.innerText")
    person.follows("Tables")
    person.follows("gpfs.change")
    browser.value("document.getElementById('set.by').value = 'top'")
    person.goes("document.getElementById('set.by').form.requestSubmit()")
    person.follows("growth_bytes")
    before, after = (
        bytes_by_directory(folder / "scan" / "scans" / f"{day}.list")
        for day in ("20260111", "20260211")
    )
    grown = {name: after[name] - before[name] for name in before | after}
    most = max(grown, key=grown.__getitem__)
    assert browser.value("document.querySelector('.rows tbody th').innerText") == most
    rows = person.downloads_file("CSV")
    assert [(row["top"], int(row["growth_bytes"])) for row in rows] == sorted(
        grown.items(), key=lambda each: -each[1]
    )


def bytes_by_directory(path: Path) -> Counter[str]:
    """Bytes below each top-level directory by the lines of a policy list, hard links once."""
    sizes = {}
    for line in path.read_bytes().splitlines():
        attributes, written_whole, place = line.partition(b" -- ")
        if not line.startswith(b"#") and written_whole:
            size = re.search(rb"\|size=(\d+)\|", unquote_to_bytes(attributes))
            directory = b"/".join(unquote_to_bytes(place).split(b"/")[:5]).decode()
            sizes[directory, line.split()[0]] = int(size[1])
    found = Counter()
    for (directory, _), size in sizes.items():
        found[directory] += size
    return found


PAGES = (
    "/",
    "/d/dask/",
    "/d/slurm/tables",
    "/d/slurm/table/slurm.job?facet=state&state.eq=failed",
    "/d/slurm/table/slurm.usage?set.by=user&sort=-cpu_wasted_hours",
    "/d/slurm/table/slurm.job?row=3",
    "/d/slurm/meaning/slurm.job",
    "/d/slurm/report/slurm.failures",
    "/d/slurm/finding/slurm.timeouts/1",
    "/d/slurm/sql?query=select+state,count(*)+from+slurm.job+group+by+all",
    "/d/slurm/runs",
    "/d/gpfs/rejects",
)


def axe() -> str:
    """The script of axe-core: of HARVEST_AXE, or what the Python package brings."""
    given, spec = os.environ.get("HARVEST_AXE"), find_spec("axe_core_python")
    if not given and spec is None:
        pytest.skip("axe-core-python is not installed, and HARVEST_AXE names no axe.min.js")
    return Path(given or Path(spec.origin).with_name("axe.min.js")).read_text()


@pytest.mark.slow(night=True)
@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("width", [390, 1280])
def test_no_page_has_a_serious_fault_of_access_or_runs_over_the_edge(
    served, browser_of, tmp_path, width, dark
):
    script, browser = axe(), browser_of(width)
    Person(browser, served, tmp_path)
    if dark:
        browser.dark()
    for page in PAGES:
        browser.open(f"{served.address.rstrip('/')}{page}")
        browser.value(f"{script};true")
        found = browser.value(
            "axe.run(document, {resultTypes: ['violations']}).then(r => r.violations"
            ".filter(v => ['serious', 'critical'].includes(v.impact))"
            ".map(v => v.id + ': ' + v.nodes.map(n => n.html)))"
        )
        assert found == [], page
        assert browser.value("document.documentElement.scrollWidth") <= width, page


@pytest.mark.parametrize(("width", "rows_first"), [(390, True), (1280, False)])
def test_on_a_phone_rows_stand_before_filters(served, browser_of, tmp_path, width, rows_first):
    browser = browser_of(width)
    Person(browser, served, tmp_path)
    browser.open(f"{served.address}d/slurm/table/slurm.job")
    top = "document.querySelector('{}').getBoundingClientRect().top"

    rows, filters = (browser.value(top.format(each)) for each in (".rows", ".choice form"))

    assert (rows < filters) is rows_first
    assert rows < 900


@pytest.mark.slow(night=True)
def test_columns_of_a_view_come_when_it_is_unfolded(served, browser_of, tmp_path):
    browser = browser_of(1280)
    Person(browser, served, tmp_path)
    browser.open(f"{served.address}d/slurm/sql")
    listed = "[...document.getElementById('table-slurm.usage').querySelectorAll('li .mono')]"
    assert browser.value(f"{listed}.length") == 0

    browser.value("document.getElementById('table-slurm.usage').open = true")

    browser.wait(f"{listed}.length")
    described = served.ask("/api/slurm/tables/slurm.usage").json["columns"]
    names = browser.value(f"{listed}.map(name => name.innerText)")
    assert names == [column["name"] for column in described]


FOCUSED = """(e => [e.tagName, e.id || e.innerText, getComputedStyle(e).outlineStyle].join("|"))
(document.activeElement)"""


@pytest.mark.slow(night=True)
def test_keys_alone_lead_through_a_page(served, browser_of, tmp_path):
    browser = browser_of(1280)
    Person(browser, served, tmp_path)
    browser.open(f"{served.address}d/slurm/table/slurm.job")
    browser.send("Input.dispatchKeyEvent", type="keyDown", key="Tab", windowsVirtualKeyCode=9)
    assert browser.value("document.activeElement.innerText") == "Skip to the content"
    assert browser.value("document.activeElement.getBoundingClientRect().top") >= 0
    seen = set()
    for _ in range(60):
        browser.send("Input.dispatchKeyEvent", type="keyDown", key="Tab", windowsVirtualKeyCode=9)
        seen.add(browser.value(FOCUSED))
    assert all(each.endswith("|solid") or each.startswith("BODY") for each in seen)
    for wanted in ("SELECT|column|", "INPUT|value|", "INPUT|condition|", "A|job_id|"):
        assert any(each.startswith(wanted) for each in seen), wanted


@pytest.mark.slow(night=True)
def test_a_bar_offers_the_state_of_a_new_commit_and_nothing_of_markup_runs(browser_of, tmp_path):
    odd = '"><img src=x onerror=alert(1)>{{7*7}}'
    folder = tmp_path / odd
    location = things(folder, "30 1\nbad <script>alert(1)</script>")
    with serving(location) as server:
        browser = browser_of(1280)
        browser.send("Page.addScriptToEvaluateOnNewDocument", source="window.alert = () => ran = 1")
        Person(browser, server, tmp_path)
        for page in ("table/served.thing", "rejects", f"sql?{urlencode({'query': odd})}", "runs"):
            browser.open(f"{server.address}d/out/{page}")
            assert browser.value("typeof ran") == "undefined"
            assert browser.value("document.querySelectorAll('main img').length") == 0
        browser.complaints.clear()  # that the wrong query was answered with 400
        browser.open(f"{server.address}d/out/table/served.thing?columns=name")
        assert "30 rows" in browser.value("document.querySelector('main').innerText")
        things(folder, "30 1\nbad <script>alert(1)</script>", "5 2")
        browser.value("document.dispatchEvent(new Event('visibilitychange'))")
        browser.wait("!document.getElementById('news').hidden")
        assert "30 rows" in browser.value("document.querySelector('main').innerText")
        browser.value("document.querySelector('#news a').click()")
        browser.wait("/35 rows/.test(document.querySelector('main')?.innerText)")
        assert re.search("commit", browser.value("document.querySelector('footer').innerText"))
