"""No sink is believed: nothing is committed unless it reports every row that it was given."""

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from clusters import Harvest
from greeting import TEN_LINES
from hypothesis import given
from hypothesis import strategies as st

import harvest
from harvest.api.sink import PartFile
from harvest.errors import PluginError
from harvest.storage.manifest import Manifest
from harvest.storage.part import require_rows
from harvest_jsonl.directory import JsonlDirectory
from harvest_jsonl.file import JsonlFile
from harvest_parquet.sink import ParquetSink

pytestmark = pytest.mark.usefixtures("no_plugin_files")

Written = Sequence[tuple[str, str, int]]


@harvest.record("counted.line", layer="workflow", level="client")
class Line(harvest.Record):
    """A line of a file."""

    text: str = harvest.field(role="subject", doc="The line, without its end.")


@harvest.record("counted.file", layer="workflow", level="client")
class File(harvest.Record):
    """A file of lines."""

    lines: int = harvest.field(doc="How many.")


class Lines(harvest.Source):
    """Files and their lines."""

    name = "counted"
    record_types = (Line, File)

    def read(self, partition: harvest.Partition, ctx: harvest.ReadContext) -> Any:
        lines = partition.path.read_text().splitlines()
        for line in lines:
            yield Line(text=line)
        if len(lines) > 2:
            yield File(lines=len(lines))


class Untrue(harvest.PartWriter):
    """A writer around another one that says something else of what it has written."""

    def __init__(self, writer: harvest.PartWriter, says: Callable[[Written], Written]):
        self.writer, self.says = writer, says

    def write(self, record_type: harvest.RecordType, table: Any) -> None:
        self.writer.write(record_type, table)

    def close(self) -> Written:
        return self.says(self.writer.close())

    def abort(self) -> None:
        self.writer.abort()


def one_less(written: Written) -> Written:
    return [(path, name, rows - 1) for path, name, rows in written]


def without_lines(written: Written) -> Written:
    return [each for each in written if each[1] != "counted.line"]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Three files of lines; the first has two, so that only one record type is in it."""
    (tmp_path / "in").mkdir()
    for name, count in (("a", 2), ("b", 3), ("c", 4)):
        (tmp_path / "in" / name).write_text("line\n" * count)
    return tmp_path / "in"


def untrue(
    base: type[Any],
    says: Callable[[Written], Written] = lambda written: written,
    publishes: Callable[[Mapping[str, Any], Any], Mapping[str, Any]] = lambda final, _: final,
) -> type[Any]:
    """A sink that writes well, but tells the core something else."""

    class UntrueSink(base):
        """Says something else than it does."""

        name = "untrue"

        def writer(self, staging: Path, part: str) -> harvest.PartWriter:
            return Untrue(super().writer(staging, part), says)

        def publish(self, publication: harvest.Publication) -> Mapping[str, Any]:
            return publishes(super().publish(publication), publication)

    return UntrueSink


def refused(folder: Path, sink: Any) -> str:
    """What the run into a sink says; what the dataset held is in force as it was."""
    before = Manifest.load(sink.state)
    with pytest.raises(PluginError) as error:
        harvest.run(Lines(str(folder)), sink)
    after = Manifest.load(sink.state)
    assert (after and after.run) == (before and before.run)
    return str(error.value)


@pytest.mark.parametrize(
    ("says", "words"),
    [
        (one_less, "was given 2 rows of counted.line and reports 1"),
        (without_lines, "was given 2 rows of counted.line and reports 0"),
    ],
)
def test_a_writer_that_reports_other_rows_ends_the_run(
    folder: Path, tmp_path: Path, says: Callable[[Written], Written], words: str
) -> None:
    sink = untrue(JsonlDirectory, says)(str(tmp_path / "out"))

    told = refused(folder, sink)

    assert told.startswith(f"{folder}/a: sink 'untrue' (")
    assert f"UntrueSink) {words}; report this to the plugin's author" in told
    assert not list((tmp_path / "out").glob("*/*.jsonl"))


def test_of_several_types_in_one_file_the_sum_counts(folder: Path, tmp_path: Path) -> None:
    (folder / "a").unlink()  # the others have a row of counted.file, too
    sink = untrue(JsonlFile, one_less)(str(tmp_path / "out.jsonl"))

    told = refused(folder, sink)

    assert "was given 4 rows of counted.file and counted.line and reports 3" in told
    assert not (tmp_path / "out.jsonl").exists()


def none_of_the_last(final: Mapping[str, Any], publication: harvest.Publication) -> Any:
    return {**final, list(publication.staged)[-1]: []}


def not_named(final: Mapping[str, Any], publication: harvest.Publication) -> Any:
    return {key: files for key, files in final.items() if key != list(publication.staged)[-1]}


@pytest.mark.parametrize(
    ("base", "publishes"),
    [
        (ParquetSink, none_of_the_last),
        (ParquetSink, not_named),  # what was left to publish() to write
        (JsonlDirectory, none_of_the_last),
        (JsonlFile, none_of_the_last),
    ],
)
def test_a_sink_that_publishes_fewer_rows_ends_the_run(
    folder: Path, tmp_path: Path, base: Any, publishes: Any
) -> None:
    place = tmp_path / ("out.jsonl" if base is JsonlFile else "out")
    sink = untrue(base, publishes=publishes)(str(place))

    assert "rows of counted." in (told := refused(folder, sink))
    assert " and publishes 0; report this to the plugin's author" in told
    assert not list(place.glob("counted.*/*"))
    assert not place.is_file()


def test_rows_of_others_that_a_sink_moves_are_counted_too(folder: Path, tmp_path: Path) -> None:
    # given a dataset whose partitions share files, and a change of one of them
    def lose_those_moved(final: Mapping[str, Any], publication: harvest.Publication) -> Any:
        return {key: files if key in publication.staged else [] for key, files in final.items()}

    sink = untrue(ParquetSink, publishes=lose_those_moved)(str(tmp_path / "out"))
    harvest.run(Lines(str(folder)), sink)
    (folder / "a").write_text("line\n" * 2 + "another\n")

    told = refused(folder, sink)

    assert " and publishes 0; " in told
    files = (tmp_path / "out" / "counted.line").iterdir()
    assert pl.read_parquet(list(files)).height == 2 + 3 + 4


def test_what_other_sinks_have_committed_is_said(folder: Path, tmp_path: Path) -> None:
    sinks = [f"parquet:{tmp_path / 'sound'}"]
    sinks.append(untrue(ParquetSink, publishes=none_of_the_last)(str(tmp_path / "out")))

    with pytest.raises(PluginError, match=r"publishes 0; .*; only /.*/sound was committed"):
        harvest.run(Lines(str(folder)), sinks)


# --- whichever engine reads -----------------------------------------------------------------------

DROPPING = '''
from harvest_jsonl.directory import JsonlDirectory

class Dropping(harvest.PartWriter):
    def __init__(self, writer):
        self.writer = writer
    def write(self, record_type, table):
        self.writer.write(record_type, table.slice(1))
    def close(self):
        return self.writer.close()
    def abort(self):
        self.writer.abort()

class DroppingSink(JsonlDirectory):
    """Drops a row of each batch."""
    name = "dropping"
    def writer(self, staging, part):
        return Dropping(super().writer(staging, part))
'''


@pytest.fixture
def dropping(tmp_path: Path) -> list[str]:
    """The words of a run of a file's source into a file's sink, over an input of three lines."""
    (tmp_path / "greeting.py").write_text(TEN_LINES + DROPPING)
    (tmp_path / "hello.txt").write_text("good\nmorning\nsunshine\n")
    return ["run", "-s", "greeting.py:hello.txt", "-k", "greeting.py:out"]


def require_told(told: str, folder: Path) -> None:
    assert "hello.txt: sink 'dropping' (" in told
    assert "DroppingSink) was given 3 rows of greeting.line and reports 2; " in told
    assert Manifest.load(folder / "out" / "_harvest") is None
    assert not list((folder / "out").glob("greeting.line/*"))


@pytest.mark.slow
@pytest.mark.parametrize("engine", ["local", "dask"])
def test_rows_are_counted_in_other_processes(
    dropping: list[str], tmp_path: Path, engine: str
) -> None:
    if engine == "dask":
        pytest.importorskip("distributed", reason="the package distributed is not installed")
    here = Harvest(dict(os.environ), tmp_path)

    told = here.run(*dropping, "--workers", 2, "--engine", engine, code=1)

    require_told(told, tmp_path)


def test_rows_are_counted_in_slurm_jobs(
    on_slurm: Harvest, dropping: list[str], tmp_path: Path
) -> None:
    limits = ("-o", "slurm.memory=300M", "-o", "slurm.time=5")

    told = on_slurm.run(*dropping, "--engine", "slurm", *limits, code=1)

    require_told(told, tmp_path)


# --- the rule itself ------------------------------------------------------------------------------

NAMES = st.sampled_from(["x.a", "x.b", "x.c", "x.d"])


@pytest.mark.slow
@given(
    rows=st.dictionaries(NAMES, st.integers(0, 5)),
    together=st.sets(NAMES),
    less=st.one_of(st.none(), st.tuples(NAMES, st.sampled_from([-2, -1, 1, 2]))),
)
def test_rows_count_alone_or_together_with_those_of_other_types(
    rows: dict[str, int], together: set[str], less: tuple[str, int] | None
) -> None:
    # given files of two halves of each type, some of which lie with others in one
    files = []
    for name, count in rows.items():
        where = "events" if name in together else name
        files += [file(where, count // 2), file(where, count - count // 2)]
    # when there is more or less of a type than is described
    given_rows = dict(rows)
    if less is not None:
        given_rows[less[0]] = given_rows.get(less[0], 0) + less[1]

    def count() -> None:
        sink = ParquetSink("out")
        require_rows(sink, given_rows, files, does="reports", where="/in")

    if less is None:
        count()
    else:
        with pytest.raises(PluginError, match=r"^/in: sink 'parquet' \(harvest_parquet.sink"):
            count()


def file(record_type: str, rows: int) -> PartFile:
    return PartFile(path="p", record_type=record_type, rows=rows, size_bytes=1, sha256="")
