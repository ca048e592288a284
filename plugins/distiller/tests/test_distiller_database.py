"""Distiller's database, a real PostgreSQL: what is read, and that no secret shows."""

import json
import logging
import pickle
import re

import pytest

from harvest import SourceError, collect
from harvest_distiller.source import DistillerConfig, DistillerSource

TABLES = (
    "DROP TABLE IF EXISTS jobs, scans",
    "CREATE TABLE scans (id serial PRIMARY KEY, scan_id int, metadata jsonb)",
    "CREATE TABLE jobs (id serial PRIMARY KEY, job_type text, slurm_id int, elapsed interval, "
    "scan_id int)",
    "GRANT SELECT ON scans, jobs TO reader",
)


@pytest.fixture
def database(server):
    """Empty tables of Distiller."""
    server.execute(*TABLES)
    return server


def read(uri: str, **config):
    found = collect(DistillerSource(uri, DistillerConfig(**config)))
    assert found.accounted == (found.units or 0)
    return found


def add(server, scan, metadata, *jobs):
    text = "NULL" if metadata is None else f"'{json.dumps(metadata)}'"
    server.execute(
        f"INSERT INTO scans (id, metadata) VALUES ({scan}, {text})",
        *(
            f"INSERT INTO jobs (scan_id, slurm_id, elapsed) VALUES ({scan}, {slurm}, {elapsed})"
            for slurm, elapsed in jobs
        ),
    )


@pytest.mark.slow
def test_jobs_are_read_with_the_size_of_their_scan(database):
    # given both spellings of the dimensions, blank ids and times, and a scan with several jobs
    add(database, 1, {"Dimensions.1": 128, "Dimensions.2": 128}, (11, "'00:04:19'"))
    add(
        database,
        2,
        {"Dimensions 1": "1024", "Dimensions 2": "512"},
        (13, "'1 day 02:03:04.5'"),
        (12, "NULL"),
        ("NULL", "NULL"),
    )
    add(database, 3, None, (14, "'19 minutes'"))
    add(database, 4, {"Dimensions.1": 5}, (15, "'3 s'"))
    add(database, 5, {"Dimensions.1": "wide", "Dimensions.2": 7}, (16, "'0'"))
    database.execute("INSERT INTO jobs (scan_id, slurm_id, elapsed) VALUES (NULL, 99, '1 s')")
    # when the database is read
    found = read(database.uri())
    # then every job is a row, or a reject
    rows = [
        (r["scan_id"], r["slurm_id"], r["elapsed_s"], r["scan_size"])
        for r in found.rows("distiller.job")
    ]
    assert rows == [
        (1, 11, 259.0, "128x128"),
        (2, 12, None, "1024x512"),
        (2, 13, 86400 + 7384.5, "1024x512"),
        (2, None, None, "1024x512"),
        (3, 14, 1140.0, None),
        (4, 15, 3.0, None),
        (5, 16, 0.0, None),
    ]
    assert found.rows("distiller.job")[6]["extra"] == [
        ("Dimensions.1", "wide"),
        ("Dimensions.2", "7"),
    ]
    assert [r.reason for r in found.rejects] == ["no scan id"]
    assert found.units == 8


@pytest.mark.slow
def test_more_rows_than_a_batch(database):
    count = 40_000
    database.execute(
        "INSERT INTO scans (id, metadata) "
        'VALUES (1, \'{"Dimensions.1": 256, "Dimensions.2": 256}\')',
        "INSERT INTO jobs (scan_id, slurm_id, elapsed) "
        f"SELECT 1, n, n * interval '1 second' FROM generate_series(1, {count}) n",
    )
    found = read(database.uri())
    table = found.tables["distiller.job"]
    assert table["slurm_id"].to_pylist() == list(range(1, count + 1))
    assert table["position"].to_pylist() == list(range(1, count + 1))
    # intervals above a day are written in hours here, since they were made of seconds
    assert table["elapsed_s"].to_pylist() == [float(n) for n in range(1, count + 1)]


@pytest.mark.slow
def test_values_that_do_not_fit_are_rejects(database):
    database.execute(
        "ALTER TABLE jobs ALTER slurm_id TYPE text",
        "INSERT INTO scans (id) VALUES (1)",
        "INSERT INTO jobs (scan_id, slurm_id, elapsed) VALUES "
        "(1, '12', '1 s'), (1, 'abc', '1 s'), (1, '14', '-5 s'), (1, '15', '2 months')",
    )
    found = read(database.uri())
    assert [r["slurm_id"] for r in found.rows("distiller.job")] == [12]
    assert [r.reason for r in found.rejects] == [
        "elapsed '-00:00:05' is negative",
        "elapsed '2 mons' is not a duration such as 00:04:19",
        "Slurm id 'abc' is not a number",
    ]
    assert found.rejects[2].raw == b"1,abc,00:00:01,,"


@pytest.mark.slow
def test_the_transaction_is_read_only(database, monkeypatch):
    from harvest_distiller import database as module

    monkeypatch.setattr(
        module, "QUERY", "INSERT INTO jobs (scan_id) VALUES (1) RETURNING 1,2,3,4,5"
    )
    with pytest.raises(SourceError):
        read(database.uri("owner"))
    add(database, 1, None)
    monkeypatch.undo()
    assert read(database.uri("owner")).written == 0


@pytest.mark.parametrize(
    ("statement", "message"),
    [
        ("ALTER TABLE jobs DROP COLUMN elapsed", "column jobs.elapsed does not exist"),
        ("DROP TABLE jobs", 'relation "jobs" does not exist'),
        ("ALTER TABLE scans ALTER metadata TYPE text", "operator does not exist"),
        ("REVOKE SELECT ON jobs FROM reader", "permission denied for table jobs"),
    ],
)
def test_other_tables_are_a_clear_error(database, statement, message):
    database.execute(statement)
    with pytest.raises(SourceError) as caught:
        read(database.uri())
    assert message in str(caught.value)
    assert caught.value.remedy


def everything(caught) -> str:
    """All that a person or a log could see of an error, its chain included."""
    error, seen = caught.value, []
    while error is not None:
        seen.append(f"{error!s} {error!r} {vars(error)}")
        error = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
    return " ".join(seen)


WRONG = "wr0ng/%:@pass"


def test_a_wrong_password_is_told_without_it(database, caplog):
    caplog.set_level(logging.DEBUG)
    with pytest.raises(SourceError, match="no connection to the database") as caught:
        read(database.uri(password=WRONG))
    assert "password authentication failed" in str(caught.value)
    for text in (WRONG, "wr0ng", "%3A%40pass"):
        assert text not in everything(caught)
        assert text not in caplog.text


def test_a_database_that_is_down_is_told(server):
    uri = re.sub(r":\d+/", ":1/", server.uri())
    with pytest.raises(SourceError, match="no connection") as caught:
        read(uri, connect_timeout=2)
    assert "s3cret" not in everything(caught)
    with pytest.raises(SourceError, match="does not exist"):
        read(server.uri(name="absent"))


@pytest.mark.parametrize(
    "uri",
    [
        "postgresql://u:hush:hush@host:port/db",
        "postgresql://u:hu%zzsh@host/db",
        "postgresql://u:hush@ho st:99999999/db?nonsense=1",
        "postgresql://u:hush?hush@host:x/db",
    ],
)
def test_an_invalid_uri_is_told_without_its_password(uri):
    pytest.importorskip("psycopg")
    with pytest.raises(SourceError) as caught:
        read(uri, connect_timeout=1)
    assert "hush@" not in everything(caught)
    assert "hush:" not in everything(caught)
    assert "zzsh" not in everything(caught)


def test_the_password_may_come_from_the_environment(database, monkeypatch):
    monkeypatch.setenv("PGPASSWORD", database.password)
    assert read(database.uri(password=None)).units is None


def test_partitions_and_rows_carry_no_password(database):
    add(database, 1, None, (1, "NULL"))
    source = DistillerSource(database.uri())
    (partition,) = source.plan()
    assert b"s3cret" not in pickle.dumps(partition)
    assert partition.origin == f"postgresql://reader@127.0.0.1:{database.port}/distiller"
    (row,) = read(database.uri()).rows("distiller.job")
    assert row["origin"] == partition.origin


def test_nothing_that_a_run_leaves_holds_the_password(database, tmp_path):
    # given a run into a dataset, if the sink is installed
    import harvest

    pytest.importorskip("harvest_parquet")
    add(database, 1, {"Dimensions.1": 64, "Dimensions.2": 64}, (1, "'3 s'"))
    harvest.run([f"distiller:{database.uri()}"], [f"parquet:{tmp_path / 'out'}"])
    # then no file of it holds the password, in either spelling
    files = [p for p in (tmp_path / "out").rglob("*") if p.is_file()]
    assert any(p.suffix == ".parquet" for p in files)
    for path in files:
        content = path.read_bytes()
        assert b"s3cret" not in content, path
    dataset = harvest.open(tmp_path / "out")
    assert dataset["distiller.job"].collect()["scan_size"].to_list() == ["64x64"]
