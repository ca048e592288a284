"""The sink duckdb: what DuckDB itself finds in the file, and what all sinks promise."""

from pathlib import Path

import duckdb
import pytest
from harvest_duckdb.sink import DuckdbSink

import harvest
from harvest import DatasetError, Record, field, record, record_type
from harvest.model.arrow import table_of
from harvest_testing import SinkConformance, SinkDriver


class TestDuckdb(SinkConformance):
    """The conformance kit."""

    sink = DuckdbSink
    deterministic = False  # DuckDB's files hold an id of their own

    def location(self, directory: Path) -> Path:
        return directory / "out.duckdb"

    def read_natively(self, location, record_type):
        with duckdb.connect(location, read_only=True) as database:
            return database.sql(f'from "{record_type.name}"').pl()


@record("demo.line", layer="workflow", level="client")
class Line(Record):
    """A line."""

    text: str = field(role="subject", doc="The line.")
    labels: dict[str, str] | None = field(doc="What it is about.")


LINE = record_type(Line)


def lines(*texts: str):
    rows = [Line(text=t, labels={"t": t}, origin="/in", position=n) for n, t in enumerate(texts, 1)]
    return [(LINE, table_of(LINE, rows))]


@pytest.fixture
def driver(tmp_path: Path) -> SinkDriver:
    return SinkDriver(DuckdbSink(str(tmp_path / "out.duckdb")))


def ask(driver: SinkDriver, query: str) -> list[tuple]:
    with duckdb.connect(driver.sink.location, read_only=True) as database:
        return database.execute(query).fetchall()


def test_duckdb_reads_the_tables(driver: SinkDriver) -> None:
    driver.commit({"a": lines("one", "two"), "b": lines("three")})

    found = ask(driver, """select text, labels['t'] from "demo.line" order by text""")
    assert found == [("one", "one"), ("three", "three"), ("two", "two")]


def test_rows_that_stay_keep_their_order_among_new_ones(driver: SinkDriver) -> None:
    driver.commit({key: lines(f"{key}1", f"{key}2") for key in "ace"})
    driver.commit({"b": lines("b1"), "c": None, "e": lines("e9")})

    texts = [text for (text,) in ask(driver, 'select text from "demo.line"')]
    assert texts == ["a1", "a2", "b1", "e9"]
    assert driver.scan(LINE).collect()["text"].to_list() == texts


def test_columns_that_came_later_are_null_in_rows_of_before(driver: SinkDriver) -> None:
    old = table_of(LINE, [Line(text="old", origin="/in", position=1)]).drop_columns("labels")
    driver.commit({"a": [(LINE, old)]})
    driver.commit({"b": lines("new")})

    assert driver.scan(LINE).collect()["labels"].to_list() == [None, [{"key": "t", "value": "new"}]]


def test_a_database_that_others_changed_is_not_carried_over(driver: SinkDriver) -> None:
    driver.commit({"a": lines("one")})
    with duckdb.connect(driver.sink.location) as database:
        database.execute("""delete from "demo.line" """)

    with pytest.raises(DatasetError, match="not what was written"):
        driver.commit({"b": lines("two")})


def test_a_half_written_next_database_is_thrown_away(driver: SinkDriver) -> None:
    driver.commit({"a": lines("one")})
    (driver.sink.state / "next-killed").write_bytes(b"half")
    (driver.sink.state / "next-killed.wal").write_bytes(b"half")

    driver.recover("commit-1")

    assert list(driver.sink.state.glob("next-*")) == []
    assert ask(driver, 'select text from "demo.line"') == [("one",)]


class LineSource(harvest.Source):
    """Lines of text files."""

    name, record_types = "demo-lines", (Line,)

    def read(self, partition, ctx):
        for number, text in enumerate(partition.path.read_text().splitlines(), 1):
            yield Line(text=text, position=number)


def test_going_back_to_an_earlier_run_gives_its_rows(tmp_path: Path) -> None:
    plugins = harvest.plugins_of(LineSource, DuckdbSink)
    path, out = tmp_path / "a.txt", tmp_path / "out.duckdb"
    for text in ("one\ntwo\n", "three\n"):
        path.write_text(text)
        harvest.run(f"demo-lines:{path}", f"duckdb:{out}", plugins=plugins, workers=1)
    dataset = harvest.open(out, plugins=plugins)

    dataset.rollback(dataset.runs()[0]["run"])

    dataset = harvest.open(out, plugins=plugins)
    assert dataset["demo.line"].collect()["text"].to_list() == ["one", "two"]
    assert dataset.verify() == []
