"""Tables of Delta Lake: they are the dataset, commit by commit, whatever happened in between."""

import json
import math
import multiprocessing
import os
import random
import signal
import socket
import subprocess
import sys
import threading
import time
from datetime import UTC, datetime, timedelta
from datetime import time as dt_time
from pathlib import Path

import polars as pl
import pyarrow as pa
import pytest
from test_upkeep import PLUGINS, Box, Item
from zoo_rows import BLANK, zoo

import harvest
from harvest.plugins import plugins_of
from harvest_exports import pieces, plugin
from harvest_parquet.sink import ParquetSink

testing = pytest.importorskip("harvest_testing", reason="hpc-harvest-testing is not installed")
deltalake = pytest.importorskip("deltalake", reason="the extra delta is not installed")


class Lake(Box):
    """A folder of inputs, the dataset and the tables that it is exported into."""

    def __init__(self, folder: Path):
        super().__init__(folder, None, "")
        self.lake = folder / "lake"

    def export(self, **settings) -> str:
        dataset = harvest.open(self.out, plugins=PLUGINS)
        return dataset.export("delta", self.lake, **settings).text

    def table(self, name: str = "box.item"):
        return deltalake.DeltaTable(self.lake / name)

    def held(self) -> list[tuple]:
        frame = pl.scan_delta(str(self.lake / "box.item"))
        return sorted(frame.select("origin", "position", "word", "number").collect().rows())


@pytest.fixture
def box(tmp_path) -> Lake:
    return Lake(tmp_path)


def test_only_what_changed_is_written_in_one_transaction(box, monkeypatch):
    # given forty inputs of ten rows each
    monkeypatch.setattr(ParquetSink, "shares_files", True)
    for number in range(40):
        box.put(f"f{number:02}", *range(10))
    box.harvest()
    assert box.export().startswith("400 rows written and 0 rows removed in 1 table")
    # when one changes, one leaves and one comes
    box.put("f20", *range(3))
    (box.inputs / "f07").unlink()
    box.put("new", 1, 2)
    token = box.harvest().manifest.token
    # then these rows alone are new, in one version
    assert box.export().startswith("5 rows written and 20 rows removed in 1 table")
    assert box.held() == box.expected()
    assert box.table().version() == 1
    # and an export of what is there already does nothing
    assert box.export().startswith("0 rows written and 0 rows removed in 0 tables")
    assert box.table().version() == 1
    assert box.export(check=True) == (
        f"box.item: commit 2 ({token}), up to date; version 1, 385 rows"
    )
    # the state of before is there still
    assert deltalake.DeltaTable(box.lake / "box.item", version=0).count() == 400


def test_a_commit_that_changes_nothing_is_named_all_the_same(box):
    box.put("a", 1)
    box.harvest()
    box.export()
    before = harvest.open(box.out, plugins=PLUGINS).manifest.token
    harvest.run(f"box:{box.inputs}", f"parquet:{box.out}", plugins=PLUGINS, force=True)
    token = harvest.open(box.out, plugins=PLUGINS).manifest.token
    assert f"({before}), not up to date" in box.export(check=True)
    box.export()
    assert token != before
    assert f"({token}), up to date" in box.export(check=True)
    assert box.held() == box.expected()


def test_an_earlier_state_is_put_back_and_a_type_without_rows_is_an_empty_table(box):
    box.put("a", 1, 2)
    first = box.harvest().manifest.run
    before = box.expected()
    box.export()
    (box.inputs / "a").unlink()
    box.put("b")
    dataset = box.harvest()
    box.export()
    assert box.held() == []
    dataset.rollback(first)
    box.export()
    assert box.held() == before


def test_a_view_is_a_table_that_later_exports_bring_up_to_date(box):
    box.put("a", 1, 2)
    box.harvest()
    box.export(views="box.totals")
    box.put("b", 3, word="v")
    box.harvest()
    box.export()  # names no view
    totals = pl.read_delta(str(box.lake / "box.totals"))
    assert sorted(totals.rows()) == [("v", 1), ("w", 2)]


def test_a_table_of_another_dataset_is_refused_and_left(box, tmp_path_factory):
    box.put("a", 1)
    box.harvest()
    box.export()
    other = Lake(tmp_path_factory.mktemp("other"))
    other.lake = box.lake
    other.put("a", 1, 2)
    other.harvest()
    with pytest.raises(harvest.UsageError, match=r"of another dataset.*directory of its own"):
        other.export()
    assert box.held() == box.expected()


def test_old_files_go_where_that_is_asked_for(box):
    for numbers in ((1,), (2,), (3,)):
        box.put("a", *numbers)
        box.harvest()
        box.export()
    files = lambda: sorted(p.name for p in (box.lake / "box.item").glob("*.parquet"))  # noqa: E731
    assert len(files()) == 3
    # given files that left the table ten days ago
    past = datetime.now(UTC) - timedelta(days=10)
    for log in (box.lake / "box.item" / "_delta_log").glob("*.json"):
        lines = [json.loads(line) for line in log.read_text().splitlines()]
        for line in lines:
            if "remove" in line:
                line["remove"]["deletionTimestamp"] = int(past.timestamp() * 1000)
        log.write_text("\n".join(map(json.dumps, lines)) + "\n")
    for file in (box.lake / "box.item").glob("*.parquet"):
        os.utime(file, (past.timestamp(), past.timestamp()))
    box.export(keep=30)
    assert len(files()) == 3
    box.export(keep=7, optimize=True)
    assert len(files()) == 1
    assert box.held() == box.expected()
    with pytest.raises(harvest.ConfigError):
        box.export(keep=0)


def test_an_error_of_who_reads_the_rows_is_raised_as_it_is_and_the_table_stays(box, monkeypatch):
    box.put("a", 1)
    box.harvest()
    box.export()
    before = box.held()
    box.put("a", 2)
    box.harvest()

    def fail(*_):
        raise harvest.DatasetChanged("it has changed", remedy="open it again")

    monkeypatch.setattr(pieces, "batches", fail)
    with pytest.raises(harvest.DatasetChanged):
        box.export()
    assert box.held() == before


def test_columns_come_and_types_change(tmp_path):
    dataset = zoo(tmp_path, BLANK | {"whole": 7})
    lake = tmp_path / "lake"
    # given a table without a column, and with a column of another type
    dataset.export("delta", lake)
    table = deltalake.DeltaTable(lake / "zoo.row")
    old = pl.read_delta(str(lake / "zoo.row")).drop("text").with_columns(pl.col("large").cast(str))
    deltalake.write_deltalake(table, old, mode="overwrite", schema_mode="overwrite")
    # then the next export writes it anew, in one version
    dataset.export("delta", lake)
    table = deltalake.DeltaTable(lake / "zoo.row")
    fields = {field.name: field for field in table.schema().fields}
    assert fields["text"].metadata["comment"] == "Text."
    assert str(fields["large"].type) == 'PrimitiveType("decimal(20,0)")'
    assert (table.version(), table.count()) == (2, 1)


VALUES = [
    {},
    {"whole": -(2**63), "large": 2**64 - 1, "natural": 2**32 - 1, "small": -(2**31)},
    {"number": math.nan, "text": "", "raw": b"\0\xff", "flag": False},
    {"time": datetime(1, 1, 1, tzinfo=UTC), "times": [datetime(1969, 12, 31, tzinfo=UTC)]},
    {"texts": [], "wholes": [None, 1], "larges": [2**64 - 1], "table": [[1], []]},
    {"words": {"k": "v"}, "amounts": {"": math.inf}, "point": None, "points": []},
]


def test_values_are_those_of_the_dataset_and_columns_say_what_they_mean(tmp_path):
    dataset = zoo(tmp_path, *[BLANK | row for row in VALUES])
    dataset.export("delta", tmp_path / "lake")
    found = pl.read_delta(str(tmp_path / "lake" / "zoo.row")).sort("position")
    for row, given in zip(found.to_dicts(), VALUES, strict=True):
        for name in BLANK:
            value = given.get(name)
            found_value = row[name]
            if isinstance(value, dict) and isinstance(found_value, list):  # before polars 2
                found_value = {each["key"]: each["value"] for each in found_value}
            assert repr(_plain(found_value)) == repr(value), name
    table = deltalake.DeltaTable(tmp_path / "lake" / "zoo.row")
    fields = {field.name: field for field in table.schema().fields}
    assert fields["whole"].metadata["comment"] == "Whole. [B]"
    assert str(fields["large"].type) == 'PrimitiveType("decimal(20,0)")'
    assert table.metadata().description == "A column of each type."


def _plain(value):
    """Decimals, which stand for large integers, as such; times with Python's zone."""
    if isinstance(value, list):
        return [_plain(each) for each in value]
    if isinstance(value, datetime):
        return value.astimezone(UTC)
    return int(value) if type(value).__name__ == "Decimal" else value


def test_a_table_is_divided_by_a_column_and_by_no_other_later(tmp_path):
    dataset = zoo(tmp_path, *[BLANK | {"large": n} for n in range(2)])
    dataset.export("delta", tmp_path / "lake", partition="large")
    table = deltalake.DeltaTable(tmp_path / "lake" / "zoo.row")
    assert table.metadata().partition_columns == ["large"]
    assert len(table.partitions()) == 2
    with pytest.raises(harvest.UsageError, match="divided by large, not by small"):
        zoo(tmp_path, BLANK).export("delta", tmp_path / "lake", partition="small")
    with pytest.raises(harvest.UsageError, match="no table has a column 'nosuch'"):
        dataset.export("delta", tmp_path / "other", partition="nosuch")


@harvest.record("door.visit", layer="system", level="client")
class Visit(harvest.Record):
    """A line of a file."""

    time: datetime | None = harvest.field(role="time", doc="When.")


class VisitSource(harvest.Source):
    """Files of times."""

    name, record_types = "visits", (Visit,)

    def read(self, partition, ctx):
        for line in partition.path.read_text().splitlines():
            yield Visit(time=datetime.fromisoformat(line) if line != "-" else None)


@pytest.mark.parametrize(
    ("period", "values"),
    [
        ("day", ["1969-12-31", "2026-01-31", "2026-02-01", "2026-02-01", None]),
        ("month", ["1969-12", "2026-01", "2026-02", "2026-02", None]),
        ("year", ["1969", "2026", "2026", "2026", None]),
    ],
)
def test_a_table_is_divided_by_a_period_of_its_time(tmp_path, period, values):
    # given times, two of them in a zone in which the month is another one, and one not recorded
    first = ["1969-12-31T23:59:59+00:00", "2026-02-01T00:30:00+01:00", "-"]
    second = ["2026-01-31T23:00:00-05:00", "2026-02-01T12:00:00+00:00"]
    plugins = plugins_of(VisitSource, ParquetSink, plugin)
    lake = tmp_path / "lake"
    (tmp_path / "in").mkdir()
    for name, lines in (("a", first), ("b", [*second, *second]), ("b", second)):
        (tmp_path / "in" / name).write_text("\n".join(lines))
        harvest.run(f"visits:{tmp_path / 'in'}", f"parquet:{tmp_path / 'out'}", plugins=plugins)
        dataset = harvest.open(tmp_path / "out", plugins=plugins)
        # when the second export names no partition, the table keeps that which it has
        dataset.export("delta", lake, partition=None if lake.exists() else period)
    # then each row lies in the partition of its time in UTC, also after an input changed
    table = deltalake.DeltaTable(lake / "door.visit")
    assert table.metadata().partition_columns == [period]
    assert {each[period] for each in table.partitions()} == set(values)
    times = [None if t == "-" else datetime.fromisoformat(t) for t in first + second]
    expected = sorted(zip(times, [values[0], values[1], None, *values[2:4]], strict=True), key=str)
    by_polars = pl.read_delta(str(lake / "door.visit")).select("time", period).rows()
    assert sorted(by_polars, key=str) == sorted(
        ((t and t.astimezone(UTC), v) for t, v in expected), key=str
    )
    by_deltalake = table.to_pyarrow_table(columns=["time", period]).to_pylist()
    assert len(by_deltalake) == 5
    assert {(row["time"], row[period]) for row in by_deltalake} == set(expected)


def test_maps_with_equal_keys_are_read_back_as_they_are(tmp_path):
    columns = pytest.importorskip("harvest_exports.delta.columns")
    maps = [[("k", 1), ("k", 2**64 - 1)], [], None, [("", 0)]]
    held = pl.List(pl.Struct({"key": pl.String, "value": pl.UInt64}))
    lists = [m and [{"key": k, "value": v} for k, v in m] for m in maps]
    nested = pl.List(held)
    frame = pl.DataFrame(
        {"m": pl.Series(lists, dtype=held), "n": pl.Series([[m] for m in lists], dtype=nested)}
    )
    kind = pa.map_(pa.string(), pa.uint64())
    schema = columns.table_schema(pa.schema([("m", kind), ("n", pa.list_(kind))]), {})
    made = columns.arranged([columns.in_arrow(frame)], schema)
    uri = str(tmp_path / "maps")
    deltalake.write_deltalake(uri, pa.RecordBatchReader.from_batches(schema, made))
    rows = deltalake.DeltaTable(uri).to_pyarrow_table().to_pylist()
    assert [row["m"] for row in rows] == maps
    assert [row["n"] for row in rows] == [[m] for m in maps]
    # polars 2 keeps the last of equal keys of what it reads
    by_polars = pl.read_delta(uri).select(pl.col("m").cast(held)).to_series().to_list()
    as_dicts = [m and {each["key"]: each["value"] for each in m} for m in by_polars]
    assert as_dicts == [m and dict(m) for m in maps[:1]] + [[], None, {"": 0}]


def test_types_that_delta_has_not_keep_their_values(tmp_path):
    # given columns as views may have them: value, type and what a table holds
    given = {
        "lasts": (timedelta(seconds=1), pl.Duration("us"), 1_000_000),
        "clock": (dt_time(0, 0, 2), pl.Time(), 2_000_000_000),
        "exact": (7, pl.Datetime("ns", "UTC"), 7),
        "millis": (datetime(1960, 1, 1), pl.Datetime("ms"), datetime(1960, 1, 1)),
        "named": ("a", pl.Categorical(), "a"),
        "chosen": ("a", pl.Enum(["a"]), "a"),
        "pair": ([1, 2], pl.Array(pl.UInt64, 2), [1, 2]),
        "byte": (255, pl.UInt8(), 255),
    }
    columns = pytest.importorskip("harvest_exports.delta.columns")
    frame = pl.DataFrame(
        {n: pl.Series([value, None]).cast(kind) for n, (value, kind, _) in given.items()}
    )
    kinds = frame.clear().to_arrow(compat_level=pl.CompatLevel.newest()).schema
    schema = columns.table_schema(kinds, {"lasts": "How long."})
    made = columns.arranged([columns.in_arrow(frame)], schema)
    uri = str(tmp_path / "types")
    deltalake.write_deltalake(uri, pa.RecordBatchReader.from_batches(schema, made))
    first, second = deltalake.DeltaTable(uri).to_pyarrow_table().to_pylist()
    assert {n: _plain(v) if n == "pair" else v for n, v in first.items()} == {
        name: held for name, (_, _, held) in given.items()
    }
    assert set(second.values()) == {None}
    said = schema.field("lasts").metadata[b"comment"].decode()
    assert said == "How long. (the number of a duration[us])"


def test_an_object_store_is_reached_by_a_file_of_options(box, tmp_path):
    pytest.importorskip("moto.server", reason="moto is not installed")
    boto3 = pytest.importorskip("boto3", reason="boto3 is not installed")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    # in a process of its own: listing holds the interpreter until the store answers
    running = subprocess.Popen(
        [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)],
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    try:
        url = f"http://127.0.0.1:{port}"
        while True:
            assert running.poll() is None
            with socket.socket() as probe:
                if not probe.connect_ex(("127.0.0.1", port)):
                    break
            time.sleep(0.1)
        keys = {"aws_access_key_id": "k", "aws_secret_access_key": "s3cret"}
        boto3.client("s3", endpoint_url=url, region_name="us-east-1", **keys).create_bucket(
            Bucket="lake"
        )
        options = {**keys, "aws_region": "us-east-1", "aws_endpoint_url": url,
                   "aws_allow_http": "true"}  # fmt: skip
        (tmp_path / "s3.toml").write_text("".join(f'{k} = "{v}"\n' for k, v in options.items()))
        box.lake = "s3://lake/tables"
        for numbers in ((1, 2), (3,)):
            box.put("a", *numbers)
            box.harvest()
            said = harvest.open(box.out, plugins=PLUGINS).export(
                "delta", box.lake, storage=str(tmp_path / "s3.toml")
            )
            assert "s3cret" not in said.text
        table = deltalake.DeltaTable("s3://lake/tables/box.item", storage_options=options)
        assert (table.version(), table.count()) == (1, 1)
    finally:
        running.terminate()
        running.wait()


FRAMES: list[pl.DataFrame] = []


class FrameSource(harvest.Source):
    """The rows of a frame, for any file."""

    name, record_types = "frames", (Item,)

    def read(self, partition, ctx):
        for frame in FRAMES:
            yield Item, frame


def _made_real(dataset: harvest.Dataset, folder: Path) -> harvest.Dataset:
    """What the kit alters as it is read, as a dataset that was harvested so."""
    FRAMES[:] = [dataset["box.item"].drop("extra", "origin", strict=False).collect()]
    folder.mkdir()
    (folder / "in").write_text("")
    plugins = plugins_of(FrameSource, ParquetSink, plugin)
    harvest.run(f"frames:{folder / 'in'}", f"parquet:{folder / 'out'}", plugins=plugins)
    return harvest.open(folder / "out", plugins=plugins)


class TestPromises(testing.ExporterConformance):
    exporter, target = "delta", "lake"

    @pytest.fixture(autouse=True)
    def _place(self, tmp_path_factory):
        self.folder = tmp_path_factory.mktemp("real")

    def dataset(self, directory: Path, inputs: int) -> harvest.Dataset:
        """Two rows of each input."""
        box = Lake(directory)
        for number in range(inputs):
            box.put(f"f{number}", 1, 2)
        return box.harvest()

    def write(self, dataset: harvest.Dataset, target: Path, **more) -> list[Path]:
        """Export; where the kit alters rows as they are read, a dataset that has them in files.

        The exporter reads a dataset's files, piece by piece, as its manifest names them.
        """
        if type(dataset) is not harvest.Dataset:
            dataset = _made_real(dataset, self.folder / str(len(list(self.folder.iterdir()))))
        return super().write(dataset, target, **more)

    def rows_of(self, target: Path, record_type: str) -> int:
        return deltalake.DeltaTable(target / record_type).count()

    def _complete(self, found, whole) -> bool:
        """Data files have names of their own each time."""
        sizes = [
            sorted(len(data) for name, data in files.items() if str(name).endswith(".parquet"))
            for files in (found, whole)
        ]
        return sizes[0] == sizes[1]


def _export_once(out: Path, lake: Path, ready, views: str) -> None:
    dataset = harvest.open(out, plugins=PLUGINS)
    ready.set()
    dataset.export("delta", lake, views=views)


@pytest.mark.slow
@pytest.mark.parametrize("exporters", [1, 2])
@pytest.mark.parametrize(
    "kills", [pytest.param(3), pytest.param(100, marks=pytest.mark.slow(night=True))]
)
def test_after_any_kill_a_table_is_a_whole_commit_and_the_next_export_goes_on(
    box, kills, exporters
):
    chance, states, failed, seen = random.Random(kills), [], [], []
    stop = threading.Event()

    def read() -> None:
        """A reader in a loop: rows are those of one commit."""
        try:
            while not stop.is_set():
                found = box.held()
                assert found in states
                seen.append(len(found))
                time.sleep(0.02)
        except BaseException as error:
            failed.append(error)
            raise

    for number in range(30):
        box.put(f"f{number}", *range(chance.randrange(1, 200)), word=f"w{number % 5}")
    box.harvest()
    states.append(box.expected())
    box.export(views="box.totals")
    reader = threading.Thread(target=read)
    reader.start()
    context, killed = multiprocessing.get_context("forkserver"), 0
    context.set_forkserver_preload(["test_delta"])
    try:
        while killed < kills and not failed:
            # a commit that adds, changes or removes inputs
            for _ in range(chance.randrange(1, 4)):
                path = box.inputs / f"f{chance.randrange(40)}"
                if chance.random() < 0.3 and path.exists():
                    path.unlink()
                else:
                    box.put(path.name, *range(chance.randrange(1, 200)), word="w")
            states.append(box.expected())
            box.harvest()
            # exports that are killed at some moment
            ready = [context.Event() for _ in range(exporters)]
            started = [
                context.Process(target=_export_once, args=(box.out, box.lake, each, "box.totals"))
                for each in ready
            ]
            for process in started:
                process.start()
            for each in ready:
                assert each.wait(timeout=60)
            time.sleep(chance.uniform(0.0, 0.25))
            for process in started[: 1 + (chance.random() < 0.5)]:
                if process.is_alive():
                    process.kill()  # nothing where it has just ended
                    killed += 1
            for process in started:
                process.join(timeout=60)
                assert process.exitcode in (0, -signal.SIGKILL)
            if chance.random() < 0.5:
                box.export(views="box.totals")
                assert box.held() == states[-1]
        box.export(views="box.totals")
        assert box.held() == states[-1] == box.expected()
    finally:
        stop.set()
        reader.join()
    assert not failed
    assert seen
