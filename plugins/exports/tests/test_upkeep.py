"""Exports one after another: the tables are the dataset, whatever happened in between."""

import multiprocessing
import os
import random
import signal
import threading
import time
from datetime import datetime
from pathlib import Path

import pytest

import harvest
from harvest.plugins import plugins_of
from harvest_exports import plugin
from harvest_exports.postgresql.database import connected
from harvest_parquet.sink import ParquetSink

pytestmark = pytest.mark.slow


@harvest.record("box.item", layer="system", level="client")
class Item(harvest.Record):
    """A line of a file."""

    word: str = harvest.field(doc="Its first word.")
    number: int = harvest.field(doc="Its second.")


class BoxSource(harvest.Source):
    """Files of words and numbers."""

    name, record_types = "box", (Item,)

    def read(self, partition, ctx):
        for line in partition.path.read_text().splitlines():
            word, number = line.split()
            yield Item(word=word, number=int(number))


def totals(dataset):
    """How many of each word: a view."""
    return dataset["box.item"].group_by("word").len("items").sort("word")


def one_word(dataset):
    """The word of a dataset that holds one: a view that is refused where there are several."""
    words = dataset["box.item"].select("word").unique()
    if words.collect().height > 1:
        raise harvest.UsageError("there are several words")
    return words


class Extra:
    """What declares the views."""

    @harvest.hookimpl
    def harvest_views(self):
        needs = {"requires": ("box.item",)}
        return [
            harvest.View(name="box.totals", doc="How many of each word.", build=totals, **needs),
            harvest.View(name="box.word", doc="The one word.", build=one_word, **needs),
        ]


PLUGINS = plugins_of(BoxSource, ParquetSink, plugin, Extra())


class Box:
    """A folder of inputs, the dataset and the database that it is exported into."""

    def __init__(self, folder: Path, server, database: str):
        self.inputs, self.out = folder / "in", folder / "out"
        self.inputs.mkdir()
        self.server, self.database = server, database

    def put(self, name: str, *numbers: int, word: str = "w") -> None:
        (self.inputs / name).write_text("".join(f"{word} {number}\n" for number in numbers))

    def harvest(self) -> harvest.Dataset:
        sink = f"parquet:{self.out}"
        harvest.run(f"box:{self.inputs}", sink, plugins=PLUGINS, deleted="drop")
        return harvest.open(self.out, plugins=PLUGINS)

    def export(self, **settings) -> str:
        dataset = harvest.open(self.out, plugins=PLUGINS)
        return dataset.export("postgresql", self.server.uri(self.database), **settings).text

    def rows(self, query: str) -> list[tuple]:
        with self.server.connect(self.database) as connection:
            return connection.execute(query).fetchall()

    def expected(self) -> list[tuple]:
        """What the inputs say, in plain Python."""
        lines = [
            (str(path), number, *line.split())
            for path in self.inputs.iterdir()
            for number, line in enumerate(path.read_text().splitlines(), start=1)
        ]
        return sorted((origin, position, word, int(n)) for origin, position, word, n in lines)

    def execute(self, statement: str) -> None:
        with self.server.connect(self.database) as connection:
            connection.execute(statement)

    def held(self) -> list[tuple]:
        found = self.rows("SELECT origin, position, word, number FROM harvest.box_item")
        return sorted(found)


@pytest.fixture
def box(tmp_path, server, database) -> Box:
    return Box(tmp_path, server, database)


def test_only_what_changed_is_sent_and_only_what_left_is_deleted(box, monkeypatch):
    # given three inputs, each with a file of the dataset for itself
    monkeypatch.setattr(ParquetSink, "shares_files", False)
    for name in "abc":
        box.put(name, *range(10))
    box.harvest()
    assert box.export().startswith("30 rows written and 0 rows removed in 1 table ")
    # when one input changes, one leaves and one comes
    box.put("a", 7, 8)
    (box.inputs / "b").unlink()
    box.put("d", 1)
    box.harvest()
    # then what did not change is neither sent nor deleted
    assert box.export().startswith("3 rows written and 20 rows removed in 1 table ")
    assert box.held() == box.expected()
    assert box.rows("SELECT rows FROM harvest.harvest_tables") == [(13,)]
    # and an export of what is there already does nothing
    assert box.export().startswith("0 rows written and 0 rows removed in 0 tables")
    token = harvest.open(box.out, plugins=PLUGINS).manifest.token
    assert box.rows("SELECT token FROM harvest.harvest_export") == [(token,)]


def test_of_inputs_that_share_a_file_only_those_that_changed_are_sent(box):
    # given many inputs whose rows are in one file of the dataset
    for number in range(40):
        box.put(f"f{number:02}", *range(10))
    box.harvest()
    assert box.export().startswith("400 rows written and 0 rows removed in 1 table ")
    (file,) = harvest.open(box.out, plugins=PLUGINS).files("box.item")
    # when one changes, one leaves and one comes, and the commit writes the rest into another file
    box.put("f20", *range(3))
    (box.inputs / "f07").unlink()
    box.put("new", 1, 2)
    dataset = box.harvest()
    assert file not in dataset.files("box.item")
    # then the rows of the rest stay as they are, under what named them before
    ask = "SELECT harvest_piece, harvest_row FROM harvest.box_item WHERE origin LIKE '%f39'"
    before = box.rows(ask)
    assert box.export().startswith("5 rows written and 20 rows removed in 1 table ")
    assert box.held() == box.expected()
    assert box.rows(ask) == before
    # and also where one of them is left alone in its file, and where it gets company again
    for number in range(1, 40):
        (box.inputs / f"f{number:02}").unlink(missing_ok=True)
    (box.inputs / "new").unlink()
    box.harvest()
    assert box.export().startswith("0 rows written and 375 rows removed in 1 table ")
    box.put("last", 5)
    box.harvest()
    assert box.export().startswith("1 row written and 0 rows removed in 1 table ")
    assert box.held() == box.expected()
    # the account of what is there is that of the rows
    counted = "SELECT piece, rows FROM harvest.harvest_pieces ORDER BY 1"
    by_piece = "SELECT harvest_piece, count(*) FROM harvest.box_item GROUP BY 1 ORDER BY 1"
    assert box.rows(counted) == box.rows(by_piece)


def test_what_is_read_again_is_sent_again_where_its_file_differs(box):
    box.put("a", 1, 2)
    box.put("b", 3)
    box.harvest()
    box.export()
    # when all is read again with the same result, the files are the same ones
    harvest.run(f"box:{box.inputs}", f"parquet:{box.out}", plugins=PLUGINS, force=True)
    assert box.export().startswith("0 rows written and 0 rows removed in 0 tables ")
    # when one changes then, the other is of another run than the table's, and exact all the same
    box.put("a", 7)
    box.harvest()
    box.export()
    assert box.held() == box.expected()


def test_a_view_is_a_table_that_later_exports_bring_up_to_date(box):
    box.put("a", 1, 2)
    box.put("b", 3, word="v")
    box.harvest()
    box.export(views="box.totals")
    assert box.rows("SELECT word, items FROM harvest.box_totals ORDER BY 1") == [("v", 1), ("w", 2)]
    # a later export names no view
    box.put("b", 3, 4, word="v")
    box.harvest()
    box.export()
    assert box.rows("SELECT word, items FROM harvest.box_totals ORDER BY 1") == [("v", 2), ("w", 2)]
    # one that wants none takes it away
    box.export(views="none")
    assert box.rows("SELECT name FROM harvest.harvest_tables") == [("box.item",)]


def test_all_views_are_those_that_can_be_made_and_one_that_cannot_any_more_goes(box, capfd):
    box.put("a", 1)
    box.harvest()
    box.export(views="all")
    views = "SELECT name FROM harvest.harvest_tables WHERE name LIKE 'box.%' ORDER BY 1"
    assert box.rows(views) == [("box.item",), ("box.totals",), ("box.word",)]
    # when a view is refused where it was not
    box.put("b", 2, word="v")
    box.harvest()
    with pytest.raises(harvest.UsageError, match="there are several words"):
        box.export(views="box.word")
    assert capfd.readouterr().err == ""
    box.export(views="all")
    # then its rows of before are gone, and the command says so
    assert box.rows(views) == [("box.item",), ("box.totals",)]
    assert "the view box.word is left out: there are several words" in capfd.readouterr().err
    assert box.held() == box.expected()


def test_an_earlier_state_is_put_back_as_it_was(box):
    box.put("a", 1, 2)
    box.harvest()
    first = box.harvest().manifest.run
    before = box.expected()
    box.export()
    box.put("a", 3)
    dataset = box.harvest()
    box.export()
    assert box.held() == box.expected() != before
    dataset.rollback(first)
    box.export()
    assert box.held() == before


def test_the_runs_are_a_table_to_which_new_ones_are_added(box, monkeypatch):
    skipped: list[int] = []
    read = harvest.Dataset.runs

    def runs(self, skip=0):
        skipped.append(skip)
        return read(self, skip)

    monkeypatch.setattr(harvest.Dataset, "runs", runs)
    ask = (
        "SELECT run, action, started, ended, exit_code, partitions, read, written, rejected "
        "FROM harvest.harvest_runs ORDER BY number"
    )

    def recorded(dataset) -> list[tuple]:
        return [
            (each["run"], each["action"], *(datetime.fromisoformat(each[name])
             for name in ("started", "ended")), each["exit_code"], each["partitions"],
             *(each["account"][0][name] if each["account"] else None
               for name in ("read", "written", "rejected")))
            for each in read(dataset)
        ]  # fmt: skip

    # given two runs that were exported, the second of one new input
    box.put("a", 1, 2)
    first = box.harvest().manifest.run
    box.export()
    box.put("b", 3)
    dataset = box.harvest()
    box.export()
    box.export()
    # then they are as their records say, and the first record was not read again
    assert box.rows(ask) == recorded(dataset)
    assert [row[7] for row in box.rows(ask)] == [2, 1]
    assert skipped == [0, 1]
    # and going back is a run, too, that read nothing
    dataset.rollback(first)
    box.export()
    dataset = harvest.open(box.out, plugins=PLUGINS)
    assert box.rows(ask) == recorded(dataset)
    assert box.rows(ask)[-1][6:] == (None, None, None)
    # a table that holds other runs, or was dropped, is made anew
    for other in ("UPDATE harvest.harvest_runs SET run = 'x'", "DROP TABLE harvest.harvest_runs"):
        box.execute(other)
        box.export()
        assert box.rows(ask) == recorded(dataset)


def test_pieces_of_a_table_that_no_export_has_on_record_are_left_alone(box):
    # given a table of somebody's in the schema, and a piece on record that is of it
    box.put("a", 1)
    box.harvest()
    box.export()
    box.execute("CREATE TABLE harvest.mine (a integer)")
    box.execute("INSERT INTO harvest.harvest_pieces VALUES ('mine', 0, 'k', 'r', 1, 'f')")
    box.put("b", 2)
    box.harvest()
    # when the dataset is exported again, then its own tables are brought up to date
    box.export()
    assert box.held() == box.expected()


def test_of_a_consolidated_file_only_what_changed_is_sent(box, tmp_path):
    pytest.importorskip("harvest_jsonl")
    from harvest_jsonl.sink import JsonlSink

    plugins = plugins_of(BoxSource, JsonlSink, plugin)
    out = tmp_path / "events.jsonl"
    said: list[str] = []
    for numbers in ((1, 2), (3,)):
        box.put("a", *numbers)
        box.put("b", 9)
        harvest.run(f"box:{box.inputs}", f"jsonl:{out}", plugins=plugins)
        uri = box.server.uri(box.database)
        said.append(harvest.open(out, plugins=plugins).export("postgresql", uri).text)
        assert box.held() == box.expected()
    # but not those of the other input
    assert said[1].startswith("1 row written and 2 rows removed ")


def test_another_dataset_or_a_schema_of_others_is_refused(box, tmp_path_factory):
    box.put("a", 1)
    box.harvest()
    box.export()
    other = Box(tmp_path_factory.mktemp("other"), box.server, box.database)
    other.put("a", 1)
    other.harvest()
    with pytest.raises(harvest.UsageError, match=r"holds another dataset.*--schema NAME"):
        other.export()
    box.execute("CREATE SCHEMA mine; CREATE TABLE mine.t (x int)")
    with pytest.raises(harvest.UsageError, match=r"tables that no export made"):
        box.export(schema="mine")
    assert box.held() == box.expected()


def test_a_password_in_the_uri_is_refused_and_shown_nowhere(box):
    box.put("a", 1)
    dataset = box.harvest()
    for target in ("postgresql://u:s3cret@h/d", "postgresql://h/d?password=s3cret",
                   "postgres://u:s3cret@[h/d"):  # fmt: skip
        with pytest.raises(harvest.UsageError) as caught:
            dataset.export("postgresql", target)
        assert "s3cret" not in str(caught.value)


def test_rights_are_the_owners_alone(box):
    box.put("a", 1)
    box.harvest()
    # given that new tables are everybody's to read by default
    box.execute("ALTER DEFAULT PRIVILEGES GRANT SELECT ON TABLES TO PUBLIC")
    box.export()
    box.execute("DROP ROLE IF EXISTS stranger; CREATE ROLE stranger LOGIN")
    ask = "SELECT has_schema_privilege('stranger', 'harvest', 'USAGE')"
    assert box.rows(ask) == [(False,)]
    tables = box.rows("SELECT tablename FROM pg_tables WHERE schemaname = 'harvest'")
    for (table,) in tables:
        ask = f"SELECT has_table_privilege('stranger', 'harvest.{table}', 'SELECT')"
        assert box.rows(ask) == [(False,)], table


def test_of_two_exports_at_once_one_waits(box):
    box.put("a", 1)
    box.harvest()
    box.export()
    with connected(box.server.uri(box.database)) as held:
        # given another export at work
        held.rows("SELECT pg_advisory_xact_lock(hashtextextended('harvest:harvest', 0))")
        thread = threading.Thread(target=box.export)
        thread.start()
        waiting = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted"
        while box.rows(waiting) == [(0,)]:
            time.sleep(0.01)
        assert thread.is_alive()
    thread.join(timeout=60)
    assert not thread.is_alive()


def _export_once(out: Path, uri: str) -> None:
    harvest.open(out, plugins=PLUGINS).export("postgresql", uri, views="box.totals")


@pytest.mark.parametrize(
    "kills", [pytest.param(3), pytest.param(100, marks=pytest.mark.slow(night=True))]
)
def test_after_any_kill_the_tables_are_a_whole_commit_and_the_next_export_goes_on(box, kills):
    chance = random.Random(kills)
    tokens: dict[str, list[tuple]] = {}
    seen: list[str] = []
    stop = threading.Event()

    def read() -> None:
        """A reader in a loop: rows and token in one transaction are of one commit."""
        with box.server.connect(box.database) as connection:
            connection.autocommit = False
            while not stop.is_set():
                connection.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
                ((token,),) = connection.execute("SELECT token FROM harvest.harvest_export")
                rows = sorted(connection.execute(
                    "SELECT origin, position, word, number FROM harvest.box_item"
                ).fetchall())  # fmt: skip
                ((views,),) = connection.execute("SELECT sum(items) FROM harvest.box_totals")
                connection.rollback()
                assert rows == tokens[token], token
                assert views == len(rows)
                seen.append(token)

    def failing() -> None:
        try:
            read()
        except BaseException as error:
            failed.append(error)
            raise

    failed: list[BaseException] = []
    for number in range(30):
        box.put(f"f{number}", *range(chance.randrange(1, 2000)), word=f"w{number % 5}")
    tokens[box.harvest().manifest.token] = box.expected()
    box.export(views="box.totals")
    reader = threading.Thread(target=failing)
    reader.start()
    uri, context, killed = box.server.uri(box.database), multiprocessing.get_context("fork"), 0
    try:
        while killed < kills:
            # a commit that adds, changes or removes inputs
            for _ in range(chance.randrange(1, 4)):
                name = f"f{chance.randrange(40)}"
                if chance.random() < 0.3 and (box.inputs / name).exists():
                    (box.inputs / name).unlink()
                else:
                    numbers = range(chance.randrange(1, 2000))
                    box.put(name, *numbers, word=f"w{chance.randrange(5)}")
            tokens[box.harvest().manifest.token] = box.expected()
            # an export that is killed at some moment
            process = context.Process(target=_export_once, args=(box.out, uri))
            process.start()
            process.join(timeout=chance.uniform(0.0, 0.25))
            if process.is_alive():
                os.kill(process.pid, signal.SIGKILL)
                killed += 1
            process.join()
            # whatever it did, the tables are one commit's; after the next export, the last one's
            assert not failed
            if chance.random() < 0.5:
                _export_once(box.out, uri)
                assert box.held() == box.expected()
        _export_once(box.out, uri)
        assert box.held() == box.expected()
    finally:
        stop.set()
        reader.join()
    assert not failed
    assert seen
