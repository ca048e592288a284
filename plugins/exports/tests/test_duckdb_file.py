"""A file of DuckDB: it holds what the dataset holds, and is there as a whole or not at all."""

import math
import os
import signal
import stat
import struct
import subprocess
import sys
import threading
from pathlib import Path
from typing import ClassVar

import attrs
import duckdb
import pytest
from commands import harvest_here
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from night import NIGHT
from scripts import run_script
from zoo_rows import BLANK, Point, Views, rows, same, zoo

import harvest

testing = pytest.importorskip("harvest_testing", reason="hpc-harvest-testing is not installed")


def asked(file: Path, query: str) -> list[tuple]:
    """The rows of a query, by DuckDB alone."""
    with duckdb.connect(file, read_only=True) as connection:
        return connection.execute(query).fetchall()


def table_of(file: Path, name: str) -> str:
    """The table of a record type or view, with the name that DuckDB gives the file."""
    schema, _, table = name.rpartition(".")
    return f'"{file.stem}"."{schema or "main"}"."{table}"'


# --- what it holds ---


def as_listed(value):
    """A value as the dataset holds it: a map is a list of pairs."""
    if isinstance(value, Point):
        return attrs.asdict(value)
    if isinstance(value, dict):
        return [{"key": key, "value": each} for key, each in value.items()]
    return [as_listed(each) for each in value] if isinstance(value, list) else value


@pytest.mark.slow
@settings(max_examples=50 if NIGHT else 3, phases=(Phase.explicit, Phase.generate),
          suppress_health_check=list(HealthCheck))  # fmt: skip
@given(st.lists(rows, min_size=5, max_size=20))
def test_every_value_of_every_type_is_the_same(tmp_path_factory, given_rows):
    folder = tmp_path_factory.mktemp("zoo")
    # given rows with a column of each type, one of them with a NUL in its text
    given_rows = [*given_rows, {**BLANK, "text": "a\0b"}]
    # when they are exported
    zoo(folder, *given_rows).export("duckdb", folder / "z.duckdb", views="none")
    # then DuckDB has them
    names = ", ".join(f'"{name}"' for name in BLANK)
    with duckdb.connect(folder / "z.duckdb", read_only=True) as connection:
        connection.execute("SET TimeZone = 'UTC'")
        found = connection.sql(f"SELECT {names} FROM zoo.row ORDER BY position").pl()
    for had, expected in zip(found.to_dicts(), given_rows, strict=True):
        for name, value in had.items():
            assert same(value, as_listed(expected[name])), (name, value, expected[name])


EXAMPLES = Path(__file__).resolve().parents[3] / "examples"


def of_dask(folder: Path) -> str:
    return f"mofka-dask:{EXAMPLES / 'dask-run'}"


def of_slurm(folder: Path) -> str:
    (folder / "sacct.txt").write_text(
        "JobID|State|User|Account|Submit|Start|End|ElapsedRaw|AllocCPUS|ReqMem\n"
        "1|COMPLETED|ada|lab|2024-01-02T03:00:00|2024-01-02T03:10:00|2024-01-02T04:10:00|3600|4|2G\n"
        "2|FAILED|tim||2024-01-02T05:00:00|2024-01-02T05:00:10|2024-01-02T05:00:20|10|1|1M\n"
        "3|PENDING|ada|lab|2024-01-03T05:00:00|Unknown|Unknown|0|8|4G\n"
    )
    return f"slurm:{folder / 'sacct.txt'}"


def of_gpfs(folder: Path) -> str:
    run_script(EXAMPLES / "gpfs-scan" / "make_scan.py", folder / "made")
    return f"gpfs:{sorted((folder / 'made/scans').glob('*'))[0]}"


@pytest.mark.slow
@pytest.mark.parametrize(("module", "source"), [
    ("harvest_slurm", of_slurm), ("harvest_gpfs", of_gpfs), ("harvest_mofka_dask", of_dask),
])  # fmt: skip
def test_rows_and_sums_of_all_that_the_dataset_serves(tmp_path, capfd, module, source):
    pytest.importorskip(module)
    harvest.run(source(tmp_path), f"parquet:{tmp_path / 'out'}", workers=1)
    dataset = harvest.open(tmp_path / "out")
    # given every record type, and every view that the dataset serves without a setting
    expected = {name: dataset[name].collect() for name in dataset.record_types}
    refused = []
    for name in dataset.views():
        try:
            expected[name] = dataset.view(name).collect()
        except harvest.UsageError:
            refused.append(name)
    capfd.readouterr()
    # when it is exported
    file = tmp_path / "taken along.duckdb"
    assert dataset.export("duckdb", file) == [file]
    # then each of them is a table with its rows and sums, and what is left out is said
    said = capfd.readouterr().err
    assert [name for name in refused if f"the view {name} is left out: " not in said] == []
    assert said.count(" is left out: ") == len(refused)
    held = dict(asked(file, "SELECT name, rows FROM harvest_tables"))
    assert held == {name: frame.height for name, frame in expected.items()}
    for name, frame in expected.items():
        sums = [c for c, kind in frame.schema.items() if kind.is_numeric()]
        counted = [f'count("{c}")' for c in frame.columns]
        added = [f'sum("{c}") FILTER (isfinite("{c}"::double))' for c in sums]
        query = f"SELECT count(*), {', '.join(counted + added)} FROM {table_of(file, name)}"
        (found,) = asked(file, query)
        numbers = [[v for v in frame[c].to_list() if v is not None and math.isfinite(v)]
                   for c in sums]  # fmt: skip
        wanted = [frame.height, *(frame[c].count() for c in frame.columns)]
        assert list(found[: len(wanted)]) == wanted, name
        for column, total, values in zip(sums, found[len(wanted) :], numbers, strict=True):
            if not values:
                assert total is None, (name, column)
            else:
                assert math.isclose(total, math.fsum(values), rel_tol=1e-9, abs_tol=1e-6), column


@pytest.mark.slow
def test_comments_say_what_tables_and_columns_mean(tmp_path):
    dataset, file = zoo(tmp_path, {**BLANK, "whole": 1}), tmp_path / "z.duckdb"
    dataset.export("duckdb", file)
    columns = dict(asked(file, "SELECT column_name, comment FROM duckdb_columns() "
                               "WHERE schema_name = 'zoo' AND table_name = 'row'"))  # fmt: skip
    assert (columns["whole"], columns["flag"]) == ("Whole. [B]", "Whether; it's a flag.")
    assert [name for name in BLANK if not columns[name]] == []
    tables = dict(asked(file, "SELECT table_name, comment FROM duckdb_tables()"))
    assert tables["row"] == "zoo.row: A column of each type."
    assert tables["texts"] == "zoo.texts: Texts."


@pytest.mark.slow
def test_what_is_left_out_is_said_and_what_is_named_is_there_or_refused(tmp_path, capfd):
    dataset, file = zoo(tmp_path, BLANK), tmp_path / "z.duckdb"
    names = "SELECT name FROM harvest_tables WHERE name LIKE 'zoo.%' ORDER BY 1"
    # unless views are chosen, one that wants a choice is left out with words
    dataset.export("duckdb", file)
    assert asked(file, names) == [("zoo.row",), ("zoo.texts",)]
    assert "the view zoo.one is left out: which one?; give which=NAME" in capfd.readouterr().err
    # it is there with its choice, beside the others
    dataset.export("duckdb", file, views="all;zoo.one:which=b.c")
    assert asked(file, names) == [("zoo.one:which=b.c",), ("zoo.row",), ("zoo.texts",)]
    assert asked(file, 'SELECT which FROM zoo."one:which=b.c"') == [("b.c",)]
    assert "zoo.one is left out" in capfd.readouterr().err
    # a view that is named and cannot be made refuses the export
    before = file.read_bytes()
    for views in ("zoo.one", "all;zoo.one", "zoo.nothing", "zoo.texts:which=1", "none;zoo.one"):
        with pytest.raises(harvest.UsageError):
            dataset.export("duckdb", file, views=views)
    assert file.read_bytes() == before
    dataset.export("duckdb", file, views="none")
    assert asked(file, names) == [("zoo.row",)]
    assert capfd.readouterr().err == ""


# --- how it is written ---


def run_as(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, *words], cwd=folder, capture_output=True, text=True,
                          check=False, timeout=120)  # fmt: skip


@pytest.mark.slow
def test_the_suffix_means_it_and_so_does_its_name(tmp_path):
    pytest.importorskip("harvest_slurm")
    harvest.run(of_slurm(tmp_path), f"parquet:{tmp_path / 'out'}", workers=1)
    look = "import sys; sys.modules['harvest'] = None; import duckdb\n"
    for words, name in ((("jobs.duckdb",), "jobs"), (("slurm.db", "--as", "duckdb"), "slurm")):
        done = harvest_here("export", "out", *words, "--view", "slurm.usage", cwd=tmp_path)
        assert (done.returncode, done.stdout) == (0, f"1 file written to {words[0]}\n")
        # the file is by the user's umask
        mask = os.umask(0)
        os.umask(mask)
        assert stat.S_IMODE((tmp_path / words[0]).stat().st_mode) == 0o666 & ~mask
        look += f"c = duckdb.connect('{words[0]}')\n"
        look += f"print(c.sql('SELECT count(*) FROM {name}.slurm.job').fetchall())\n"
        # a file that is called as a schema makes DuckDB ask for more words, which is said
        assert ("query its tables as slurm.slurm.NAME" in done.stderr) is (name == "slurm")
    # and both open where there is no harvest
    assert run_as(tmp_path, "-c", look).stdout == "[(3,)]\n" * 2


@pytest.mark.slow
def test_a_failure_half_way_leaves_the_old_file_and_nothing_else(tmp_path):
    def fail() -> None:
        (half,) = (each.name for each in folder.iterdir() if each.suffix == ".duckdb"
                   and each != file)  # fmt: skip
        seen.append(half)
        raise RuntimeError("the view fails")

    folder, views, seen = tmp_path / "to", Views(), []
    folder.mkdir()
    file = folder / "z.duckdb"
    dataset = zoo(tmp_path, BLANK, views=views)
    dataset.export("duckdb", file)
    before = file.read_bytes()
    # when an export of another state fails in a view, after the record types
    dataset = zoo(tmp_path, BLANK, BLANK, views=views)
    views.then = fail
    with pytest.raises(RuntimeError):
        dataset.export("duckdb", file)
    assert seen
    assert {each.name: each.read_bytes() for each in folder.iterdir()} == {"z.duckdb": before}
    for target in (folder, folder / "none" / "z.duckdb"):
        with pytest.raises(harvest.UsageError, match="name a file in a directory that exists"):
            dataset.export("duckdb", target)


@pytest.mark.slow
def test_a_file_that_is_no_export_is_refused_and_left(tmp_path):
    dataset, file = zoo(tmp_path, BLANK), tmp_path / "z.duckdb"
    file.write_text("notes")
    with pytest.raises(harvest.UsageError, match="cannot see whether this is") as caught:
        dataset.export("duckdb", file)
    assert "name another file" in str(caught.value.remedy)
    assert file.read_text() == "notes"
    file.unlink()
    with duckdb.connect(str(file)) as mine:
        mine.execute("CREATE TABLE results AS SELECT 1 AS one")
    before = file.read_bytes()
    with pytest.raises(harvest.UsageError, match="not an export of harvest"):
        dataset.export("duckdb", file)
    assert file.read_bytes() == before
    # and an export that somebody has open for writing, of which nothing can be seen
    file.unlink()
    dataset.export("duckdb", file)
    with (
        duckdb.connect(str(file)),
        pytest.raises(harvest.UsageError, match="cannot see whether this is"),
    ):
        dataset.export("duckdb", file)
    dataset.export("duckdb", file)


@pytest.mark.slow
def test_an_export_is_made_anew_also_what_a_kill_left(tmp_path):
    folder = tmp_path / "to"
    folder.mkdir()
    file = folder / "z.duckdb"
    dataset = zoo(tmp_path, {**BLANK, "text": "t" * 100_000})
    dataset.export("duckdb", file)
    before = file.read_bytes()
    # given an export of another state that is killed in its midst
    zoo(tmp_path, BLANK)
    killed = (
        f"import os, sys; sys.path.insert(0, {str(Path(__file__).parent)!r}); import zoo_rows; "
        "views = zoo_rows.Views(lambda: os.kill(os.getpid(), 9)); "
        f"zoo_rows.opened({str(tmp_path)!r}, views).export('duckdb', {str(file)!r})"
    )
    assert run_as(tmp_path, "-c", killed).returncode == -signal.SIGKILL
    assert file.read_bytes() == before
    assert len(list(folder.iterdir())) > 1
    # then the next one writes the file, and nothing is left beside it
    zoo(tmp_path, BLANK, BLANK).export("duckdb", file)
    assert [each.name for each in folder.iterdir()] == ["z.duckdb"]
    assert asked(file, "SELECT count(*) FROM zoo.row") == [(2,)]


@pytest.mark.slow
def test_a_file_of_what_is_in_force_is_left_and_that_is_said(tmp_path):
    # given an export, and one that names other views
    file, dataset = tmp_path / "z.duckdb", zoo(tmp_path, BLANK)
    assert dataset.export("duckdb", file, views="zoo.texts") == [file]
    assert dataset.export("duckdb", file) == [file]
    before = file.stat().st_mtime_ns, file.stat().st_ino
    # when it is made again, then the file is as it was
    again = dataset.export("duckdb", file)
    assert (again, again.text) == ([], f"{file} is up to date")
    assert (file.stat().st_mtime_ns, file.stat().st_ino) == before
    # but not where a view has settings, which may name other files, nor after a commit
    for _ in range(2):
        assert dataset.export("duckdb", file, views="zoo.one:which=a") == [file]
    assert zoo(tmp_path, BLANK, BLANK).export("duckdb", file, views="zoo.one:which=a") == [file]
    assert asked(file, "SELECT count(*) FROM zoo.row") == [(2,)]


def test_the_format_is_that_of_the_oldest_duckdb_that_is_allowed(tmp_path):
    zoo(tmp_path, BLANK).export("duckdb", tmp_path / "z.duckdb")
    # the header of a file says which; DuckDB 1.1 reads 64 and older ones
    magic, number = struct.unpack("<4sQ", (tmp_path / "z.duckdb").read_bytes()[8:20])
    assert (magic, number) == (b"DUCK", 64)


@pytest.mark.slow
def test_more_memory_is_given_where_it_lacks(tmp_path):
    dataset = zoo(tmp_path, *[{**BLANK, "text": "t" * 1_000_000} for _ in range(40)])
    with pytest.raises(harvest.HarvestError, match="more memory: --set memory=2GB"):
        dataset.export("duckdb", tmp_path / "z.duckdb", views="none", memory="10MB")
    dataset.export("duckdb", tmp_path / "z.duckdb", views="none", memory="1GB")
    with pytest.raises(harvest.UsageError, match="write it like 2GB"):
        dataset.export("duckdb", tmp_path / "z.duckdb", views="none", memory="much")
    assert asked(tmp_path / "z.duckdb", "SELECT sum(length(text)) FROM zoo.row") == [(40_000_000,)]


@pytest.mark.slow
def test_two_at_once_into_one_file_each_write_a_whole_one(tmp_path):
    folder, views = tmp_path / "to", Views()
    folder.mkdir()
    file = folder / "z.duckdb"
    dataset = zoo(tmp_path, BLANK, views=views)
    midway, on = threading.Event(), threading.Event()

    def wait_once() -> None:
        views.then = lambda: None
        midway.set()
        assert on.wait(timeout=60)

    # given an export in its midst
    views.then = wait_once
    first = threading.Thread(target=dataset.export, args=("duckdb", file))
    first.start()
    assert midway.wait(timeout=60)
    # when another one comes and goes
    dataset.export("duckdb", file, views="none")
    assert asked(file, "SELECT count(*) FROM harvest_tables") == [(1,)]
    on.set()
    first.join(timeout=60)
    # then the file is that of who ended last, whole
    assert [each.name for each in folder.iterdir()] == ["z.duckdb"]
    assert asked(file, "SELECT count(*) > 1 FROM harvest_tables") == [(True,)]
    assert asked(file, "SELECT count(*) FROM zoo.texts") == [(1,)]


class TestPromises(testing.ExporterConformance):
    exporter, target = "duckdb", "z.duckdb"
    deterministic = False  # it says when it was made
    settings: ClassVar = {"views": "none"}

    def dataset(self, directory: Path, inputs: int) -> harvest.Dataset:
        """A row of each input."""
        return zoo(directory, *[{**BLANK, "text": str(number)} for number in range(inputs)])

    def rows_of(self, target: Path, record_type: str) -> int:
        ((count,),) = asked(target, f"SELECT count(*) FROM {table_of(target, record_type)}")
        return count
