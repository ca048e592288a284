"""The dashboards for Grafana: each panel's SQL runs for the reader of the recipe, on its tables.

Datasets are harvested from examples of the repository and exported by the commands of
docs/how-to/grafana.md.  A source that is not installed leaves its dashboard out.
"""

import csv
import json
import re
import shlex
from datetime import datetime
from importlib.resources import files
from pathlib import Path
from urllib.parse import unquote_to_bytes

import pyarrow.dataset
import pytest
from commands import harvest_here
from scripts import run_script

from harvest.plugins.registry import manager

pytestmark = pytest.mark.slow

yaml = pytest.importorskip("yaml")
ROOT = Path(__file__).resolve().parents[3]
EXAMPLES, GUIDE = ROOT / "examples", ROOT / "docs" / "how-to" / "grafana.md"
GRAFANA = files("harvest_exports") / "grafana"
DASHBOARDS = {
    each.name.removesuffix(".json"): json.loads(each.read_text("utf-8"))
    for each in sorted((GRAFANA / "dashboards").iterdir(), key=lambda each: each.name)
}
NEEDS = {
    "accounting": ("slurm", "accounting"),
    "file-systems": ("gpfs", "file_systems"),
    "dask-runs": ("mofka-dask", "dask_runs"),
    "watch-health": ("slurm", "accounting"),
}
"""What of the recipe a dashboard reads: the source, and the schema."""
BEGIN, END = "2024-01-01T00:00:00Z", "2027-01-01T00:00:00Z"


def sql_of(panel: dict, schema: str, begin: str = BEGIN, end: str = END) -> str:
    """What Grafana sends for a panel: variables and macros in its query replaced."""
    text = panel["targets"][0]["rawSql"].replace("${schema}", schema)
    for macro, made in (
        (r"\$__timeFilter\(([^)]*)\)", rf"\1 BETWEEN '{begin}' AND '{end}'"),
        (r"\$__timeFrom\(\)", f"'{begin}'"),
        (r"\$__timeTo\(\)", f"'{end}'"),
        (r"\$__timeGroupAlias\(([^,)]*), *'1d'\)",
         r'floor(extract(epoch from \1)/86400)*86400 AS "time"'),
    ):  # fmt: skip
        text = re.sub(macro, made, text)
    assert "$" not in text, text
    return text


def test_a_dashboard_is_whole():
    """Ids, titles, units, places and queries, and the data source that is provisioned."""
    provided = yaml.safe_load(
        (GRAFANA / "provisioning" / "datasources" / "harvest.yaml").read_text()
    )["datasources"][0]
    source = {"type": provided["type"], "uid": provided["uid"]}
    password = provided["secureJsonData"]["password"]
    assert password == "${HARVEST_PG_PASSWORD}"
    for name, dashboard in DASHBOARDS.items():
        assert dashboard["uid"] == f"harvest-{name}"
        assert "id" not in dashboard
        panels = dashboard["panels"]
        assert len(panels) <= 8
        assert [panel["id"] for panel in panels] == list(range(1, len(panels) + 1))
        taken = set()
        for panel in panels:
            assert panel["title"]
            assert panel["fieldConfig"]["defaults"]["unit"], panel["title"]
            (target,) = panel["targets"]
            assert panel["datasource"] == target["datasource"] == source
            at = panel["gridPos"]
            cells = {(x, y) for x in range(at["x"], at["x"] + at["w"])
                     for y in range(at["y"], at["y"] + at["h"])}  # fmt: skip
            assert not cells & taken
            assert max(x for x, _ in cells) < 24
            taken |= cells


class Site:
    """Datasets exported as the recipe says, and a reader of them."""

    def __init__(self, folder: Path, server, database: str):
        self.folder, self.server, self.database = folder, server, database
        text = GUIDE.read_text("utf-8").replace("\\\n", " ")
        self.exports = {
            words[words.index("--schema") + 1]: words
            for words in map(shlex.split, re.findall(r"\$ harvest (export .*)", text))
        }
        (self.grants,) = re.findall(r"<<'SQL'\n(.*?)^SQL$", text, re.DOTALL | re.MULTILINE)

    def harvest(self, source: str, path: Path, schema: str) -> None:
        dataset = self.folder / schema
        self.run("run", "-s", f"{source}:{path}", "-k", f"parquet:{dataset}", "-q",
                 *(("--set", "slurm.timezone=UTC") if source == "slurm" else ()))  # fmt: skip
        _, _, target, *options = self.exports[schema]
        assert target == "postgresql://harvest@db/metadata"
        self.run("export", str(dataset), self.server.uri(self.database, "harvest"), *options)

    def run(self, *words: str) -> None:
        done = harvest_here(*words)
        assert done.returncode in (0, 3), done.stderr  # 3: the examples hold damaged lines

    def rows(self, query: str) -> tuple[list[str], list[tuple]]:
        """Names of columns and rows, as the role that Grafana has gets them."""
        with self.server.connect(self.database, "grafana") as connection:
            cursor = connection.execute(query)
            return [column.name for column in cursor.description], cursor.fetchall()

    def panel(self, name: str, title: str, kind: str = "", **shown: str) -> list[dict]:
        """The rows of a panel; shown: the ``begin`` and ``end`` of the time that is."""
        (panel,) = (panel for panel in DASHBOARDS[name]["panels"]
                    if panel["title"] == title and kind in panel["type"])  # fmt: skip
        names, rows = self.rows(sql_of(panel, NEEDS[name][1], **shown))
        return [dict(zip(names, row, strict=True)) for row in rows]


@pytest.fixture(scope="module")
def site(server, tmp_path_factory) -> Site:
    if not GUIDE.is_file() or not EXAMPLES.is_dir():
        pytest.skip("the examples and the guide are not beside these tests")
    database = "metadata"
    with server.connect("postgres") as connection:
        connection.execute("CREATE ROLE harvest LOGIN")
        connection.execute(f"CREATE DATABASE {database} OWNER harvest")
    made = Site(tmp_path_factory.mktemp("site"), server, database)
    folder, known = made.folder, manager().sources
    if "slurm" in known:
        run_script(EXAMPLES / "slurm-accounting" / "make_dump.py", folder / "sacct.txt")
        made.harvest("slurm", folder / "sacct.txt", "accounting")
    if "gpfs" in known:
        run_script(EXAMPLES / "gpfs-scan" / "make_scan.py", folder / "gpfs")
        made.harvest("gpfs", folder / "gpfs" / "scans", "file_systems")
    if "mofka-dask" in known:
        made.harvest("mofka-dask", EXAMPLES / "dask-run", "dask_runs")
    with server.connect(database) as connection:
        for schema in made.exports:  # of what is not installed there is nothing to read
            connection.execute(f"CREATE SCHEMA IF NOT EXISTS {schema}")
        connection.execute(made.grants)
    return made


@pytest.fixture
def of(site):
    """A function that gives the site where it has what a dashboard reads, else skips."""

    def found(name: str) -> Site:
        source = NEEDS[name][0]
        if source not in manager().sources:
            pytest.skip(f"the source {source} is not installed")
        return site

    return found


@pytest.mark.parametrize("name", DASHBOARDS)
def test_each_panel_gives_rows_of_what_the_recipe_exports(of, name):
    site, schema = of(name), NEEDS[name][1]
    # given the schemas among which the dashboard lets one choose
    (variable,) = DASHBOARDS[name]["templating"]["list"]
    assert (schema,) in site.rows(variable["query"])[1]
    for panel in DASHBOARDS[name]["panels"]:
        # when a panel's query is sent
        names, rows = site.rows(sql_of(panel, schema))
        # then there are rows, a value in them, and names that the units are of
        assert rows, panel["title"]
        assert any(value is not None for row in rows for value in row[1:] or row), panel["title"]
        units = {each["matcher"]["options"] for each in panel["fieldConfig"]["overrides"]}
        assert units <= set(names), panel["title"]
        if panel["type"] == "timeseries":
            assert names[0] == "time"
            assert [row[0] for row in rows] == sorted(row[0] for row in rows)


def test_the_reader_reads_alone(of):
    site = of("accounting")
    for statement in ("DELETE FROM accounting.slurm_job", "CREATE TABLE accounting.x (y int)"):
        with pytest.raises(Exception, match=r"read-only|denied"):
            site.rows(f"SET default_transaction_read_only = off; {statement}")


def test_accounting_counts_what_sacct_printed(of):
    site = of("accounting")
    # given the lines of jobs, those that a name broke joined; names may hold the delimiter
    text = re.sub(r"\n(?!\d+[^|]*\|\d)", " ", (site.folder / "sacct.txt").read_text())
    lines = [line.split("|") for line in text.splitlines()[1:]]
    ended = [line for line in lines
             if "." not in line[0] and len(line) >= 22 and line[-11][:2] == "20"]  # fmt: skip

    def seconds(elapsed: str) -> int:
        days, _, clock = elapsed.rpartition("-")
        hours, minutes, rest = map(int, clock.split(":"))
        return int(days or 0) * 86400 + hours * 3600 + minutes * 60 + rest

    by_day: dict[float, float] = {}
    for line in lines:
        if "." in line[0] or len(line) < 22 or line[-12][:2] != "20":
            continue  # a step, or a job that has not started
        elapsed, start = seconds(line[-10]), datetime.fromisoformat(f"{line[-12]}+00:00")
        end = datetime.fromisoformat(f"{line[-11]}+00:00") if line in ended else None
        begin, until = start.timestamp(), end.timestamp() if end else start.timestamp() + elapsed
        for day in range(int(begin // 86400), int(until // 86400) + 1):
            inside = min(until, day * 86400 + 86400) - max(begin, day * 86400)
            part = inside / (until - begin) if until > begin else 1
            used = by_day.get(day * 86400, 0) + elapsed * int(line[-7]) * part / 3600
            by_day[day * 86400] = used
    # then the panels say as many runs, and hours where they were used, in total and by day
    assert site.panel("accounting", "Runs of jobs that ended") == [{"runs": len(ended)}]
    (total,) = site.panel("accounting", "CPU hours allocated")
    assert total["cpu_hours"] == pytest.approx(sum(by_day.values()))
    shown: dict[float, float] = {}
    for row in site.panel("accounting", "CPU hours by day and partition"):
        shown[float(row["time"])] = shown.get(float(row["time"]), 0) + row["cpu_hours"]
    assert {day: hours for day, hours in shown.items() if hours} == pytest.approx(
        {day: hours for day, hours in by_day.items() if hours}
    )
    # and a run that ran over the end of the time shown has a part on each side of it
    middle = "2026-03-06T00:00:00Z"
    (before,) = site.panel("accounting", "CPU hours allocated", end=middle)
    expected = sum(hours for day, hours in by_day.items() if day < 1772755200)
    assert before["cpu_hours"] == pytest.approx(expected)
    states = site.panel("accounting", "Runs by day and how they ended")
    assert sum(row["runs"] for row in states) == len(ended)


def test_file_systems_sum_what_the_lists_say(of):
    site = of("file-systems")
    sizes: dict[str, dict[tuple, int]] = {}
    for path in sorted((site.folder / "gpfs" / "scans").iterdir()):
        for line in path.read_bytes().splitlines():
            found = unquote_to_bytes(line.split(b" -- ")[0])
            if (size := re.search(rb"\|size=(\d+)\|kballoc=", found)) is not None:
                inode = tuple(found.split()[:2])
                sizes.setdefault(path.name, {})[inode] = int(size[1])
    by_scan = site.panel("file-systems", "Size by scan")
    assert [row["size_bytes"] for row in by_scan] == [sum(each.values()) for each in sizes.values()]
    latest = list(sizes.values())[-1]
    assert site.panel("file-systems", "Objects at the latest scan") == [{"inodes": len(latest)}]
    owners = site.panel("file-systems", "Owners")
    assert sum(row["size_bytes"] for row in owners) == sum(latest.values())


def test_dask_runs_count_what_workers_recorded(of):
    site = of("dask-runs")
    (recorded,) = EXAMPLES.glob("dask-run/*/worker_transition.csv")
    with recorded.open() as lines:
        began = [
            row["called_from"] for row in csv.DictReader(lines) if row["finish"] == "executing"
        ]
    reported = [row for row in site.panel("dask-runs", "Workers") if row["reported"]]
    assert {row["worker"]: row["executed"] for row in reported} == {
        name: began.count(name) for name in began
    }
    (run,) = site.panel("dask-runs", "Runs", "table")
    assert run["run"] == recorded.parent.name


def test_watch_health_counts_the_rows_of_the_dataset(of):
    site = of("watch-health")
    dataset = site.folder / "accounting"
    rows = sum(
        pyarrow.dataset.dataset(list(map(str, folder.rglob("*.parquet")))).count_rows()
        for folder in dataset.iterdir()
        if folder.is_dir() and not folder.name.startswith(("_", "."))
    )
    tables = site.panel("watch-health", "Tables")
    assert sum(row["rows"] for row in tables if row["kind"] == "record type") == rows
    assert site.panel("watch-health", "Rows written by run", "timeseries")[0]["written"] == rows
    # the dump holds one line that no reader can divide
    (rejected,) = site.panel("watch-health", "Input units that could not be read")
    assert rejected == {"rejected": 1}
