"""Every value of every type of column is in PostgreSQL what it is in the dataset."""

import json
import math
import socket
from pathlib import Path

import attrs
import polars as pl
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from postgresql import running
from zoo_rows import BLANK, ROWS, Point, ZooSource, rows, same, zoo

import harvest
from harvest.plugins import plugins_of
from harvest_exports import plugin
from harvest_exports.postgresql.columns import Column, encoded, sql_type
from harvest_parquet.sink import ParquetSink

pytestmark = pytest.mark.slow

PLUGINS = plugins_of(ZooSource, ParquetSink, plugin)


def in_json(value):
    """A value as JSON has it: numbers that it has not are words."""
    if isinstance(value, Point):
        return in_json(attrs.asdict(value))
    if isinstance(value, dict):
        return {key: in_json(each) for key, each in value.items()}
    if isinstance(value, list):
        return [in_json(each) for each in value]
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    return value


@settings(
    phases=(Phase.explicit, Phase.generate),
    suppress_health_check=list(HealthCheck),
    deadline=None,
)
@given(st.lists(rows, min_size=1, max_size=8))
def test_every_value_is_the_same_after_the_export(server, database, tmp_path_factory, given_rows):
    # given a dataset of these rows
    folder = tmp_path_factory.mktemp("zoo")
    (folder / "in.txt").write_text("x")
    ROWS[:] = given_rows
    harvest.run(f"zoo:{folder}/in.txt", f"parquet:{folder}/out", plugins=PLUGINS)
    # when it is exported
    dataset = harvest.open(folder / "out", plugins=PLUGINS)
    dataset.export("postgresql", server.uri(database), schema=folder.name)
    # then PostgreSQL has them
    names = list(given_rows[0])
    nested = {"words", "amounts", "point", "points", "table"}
    columns = ", ".join(f'"{n}"' + ("::text" if n in nested else "") for n in names)
    with server.connect(database) as connection:
        found = connection.execute(
            f'SELECT {columns} FROM "{folder.name}".zoo_row ORDER BY harvest_row'
        ).fetchall()
    assert len(found) == len(given_rows)
    for had, expected in zip(found, given_rows, strict=True):
        for name, value in zip(names, had, strict=True):
            wanted = expected[name]
            if name in nested and value is not None:
                assert same(json.loads(value), in_json(wanted)), (name, value, wanted)
            else:
                assert same(value, wanted), (name, value, wanted)


@pytest.fixture
def exported(server, database, tmp_path: Path):
    """A function that harvests and exports rows, and gives a connection to what came of it."""

    def export(*given_rows: dict):
        (tmp_path / "in.txt").write_text(str(given_rows))
        ROWS[:] = given_rows
        harvest.run(f"zoo:{tmp_path}/in.txt", f"parquet:{tmp_path}/out", plugins=PLUGINS)
        dataset = harvest.open(tmp_path / "out", plugins=PLUGINS)
        said = dataset.export("postgresql", server.uri(database)).text
        return said, server.connect(database)

    return export


def test_what_postgresql_cannot_hold_is_changed_marked_and_counted(exported):
    # given a NUL in a text, in texts and in a map, a key that is there twice, and a plain row
    said, connection = exported(
        {**BLANK, "text": "a\0b", "texts": ["x", "\0"], "words": {"k\0": "v\\u0000 \0"}},
        {**BLANK, "text": "plain", "texts": ["y"], "words": {"k": "v"}},
    )
    # then the values show it, the row says in which columns, and the account how many
    assert connection.execute(
        "SELECT text, texts, words::text, harvest_changed FROM harvest.zoo_row ORDER BY harvest_row"
    ).fetchall() == [
        ("a\\x00b", ["x", "\\x00"], json.dumps({"k\\x00": "v\\u0000 \\x00"}),
         ["text", "texts", "words"]),
        ("plain", ["y"], '{"k": "v"}', None),
    ]  # fmt: skip
    assert "3 values that PostgreSQL cannot hold changed" in said
    held = "SELECT changed_values FROM harvest.harvest_tables"
    assert connection.execute(held).fetchall() == [(3,)]


@pytest.mark.parametrize(
    ("kind", "first"), [(pl.Date, -2_440_588), (pl.Datetime("us"), -210_866_803_200_000_000)]
)
def test_a_time_before_postgresql_s_first_is_sent_as_the_first_and_marked(kind, first):
    # given times (the first of PostgreSQL is 4714-11-24 BC, before every time of Python)
    times = pl.Series("at", [first - 1, first, None, 0], dtype=pl.Int64).cast(kind)

    table, changes = encoded(
        times.to_frame(), [Column("at", "at", sql_type(times.dtype))], pl.DataFrame()
    )

    sent = pl.from_arrow(table)
    assert sent["at"].to_physical().to_list() == [first, first, None, 0]
    assert sent["harvest_changed"].to_list() == [["at"], None, None, None]
    assert changes == 1


def test_a_view_is_a_table_for_each_of_its_settings(server, database, tmp_path):
    # given a view that wants a choice, and two choices
    dataset = zoo(tmp_path, BLANK)
    dataset.export("postgresql", server.uri(database), views="zoo.one:which=a;zoo.one:which=b")
    with server.connect(database) as connection:
        ask = "SELECT name, \"table\" FROM harvest.harvest_tables WHERE kind = 'view' ORDER BY 1"
        tables = connection.execute(ask).fetchall()
        assert tables == [(f"zoo.one:which={x}", f"zoo_one_which_{x}") for x in "ab"]
        # when a later export names none, then both are there still, and brought up to date
        connection.execute("UPDATE harvest.harvest_tables SET digest = 'of other rows'")
        zoo(tmp_path, BLANK, BLANK).export("postgresql", server.uri(database))
        assert connection.execute(ask).fetchall() == tables
        for name, table in tables:
            held = connection.execute(f"SELECT which FROM harvest.{table}").fetchall()
            assert held == [(name[-1],)]
    with pytest.raises(harvest.UsageError, match="has no setting"):
        dataset.export("postgresql", server.uri(database), views="zoo.one:witch=a")


def test_the_password_comes_from_the_environment_and_is_told_nowhere(tmp_path, monkeypatch):
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    uri = f"postgresql://admin@127.0.0.1:{port}/postgres"
    dataset = zoo(tmp_path, BLANK)
    with running(f"-c listen_addresses=127.0.0.1 -p {port}", password="right-one") as root:
        # given a password that is wrong, and one that is right, as programs of PostgreSQL take them
        monkeypatch.setenv("PGPASSWORD", "wrong-one")
        with pytest.raises(harvest.HarvestError, match="password authentication failed") as caught:
            dataset.export("postgresql", uri)
        assert "wrong-one" not in str(caught.value)
        monkeypatch.delenv("PGPASSWORD")
        (tmp_path / "pass").write_text(f"127.0.0.1:{port}:*:admin:right-one\n")
        (tmp_path / "pass").chmod(0o600)
        monkeypatch.setenv("PGPASSFILE", str(tmp_path / "pass"))
        said = dataset.export("postgresql", uri).text
        # then it is in nothing that is said or kept, not even in the server's log
        assert said.startswith("1 row written")
        kept = [path for path in (tmp_path / "out").rglob("*") if path.is_file()]
        assert not [p for p in (*kept, root / "log") if b"right-one" in p.read_bytes()]


def test_what_columns_mean_stands_in_the_catalogue(exported):
    _, connection = exported({**BLANK, "whole": 1})
    ask = (
        "SELECT col_description('harvest.zoo_row'::regclass, attnum) FROM pg_attribute "
        "WHERE attrelid = 'harvest.zoo_row'::regclass AND attname = %s"
    )
    assert connection.execute(ask, ["whole"]).fetchone() == ("Whole. [B]",)
    assert connection.execute(ask, ["flag"]).fetchone() == ("Whether; it's a flag.",)
    table = "SELECT obj_description('harvest.zoo_row'::regclass)"
    assert connection.execute(table).fetchone() == ("zoo.row: A column of each type.",)


def test_a_very_long_text_comes_whole(exported):
    _, connection = exported({**BLANK, "text": "ä" * 3_000_000})
    found = "SELECT length(text), octet_length(text) FROM harvest.zoo_row"
    assert connection.execute(found).fetchone() == (3_000_000, 6_000_000)
