"""SQL reads the tables of its dataset and nothing else, for so long, in so much memory."""

from __future__ import annotations

import json
import re
import socket
import threading
import time
from pathlib import Path

import pytest
from serving import Answer, Server, until

READS = (
    "select * from read_csv('/etc/passwd')",
    "select * from read_text('/etc/passwd')",
    "select * from read_blob('/proc/self/environ')",
    "select * from read_json('/etc/passwd')",
    "select * from read_parquet('/etc/passwd')",
    "select * from '/etc/passwd'",
    "select * from 'x.csv'",
    "select * from glob('/etc/*')",
    "select * from sniff_csv('/etc/passwd')",
    "select * from parquet_metadata('/etc/passwd')",
    "with a as (from read_text('/etc/passwd')) from a",
    "select (select content from read_text('/etc/passwd'))",
    "select * from query('from read_text(''/etc/passwd'')')",
    "select * from query_table('/etc/passwd')",
    "select * from duckdb_settings()",
    "select * from duckdb_secrets()",
    "select * from information_schema.tables",
    "select * from sqlite_scan('a', 'b')",
    "select * from 'https://example.org/x.parquet'",
    "select * from read_csv('https://example.org/x.csv')",
    "select * from server",
    "select * from os",
    "select getenv('HOME')",
)
WRITES = (
    "copy (select 1) to '{}/stolen.csv'",
    "copy \"served.thing\" to '{}/stolen.parquet'",
    "copy (select 1) to '{}/stolen.csv' (use_tmp_file false)",
    "create table t as select 1",
    'create or replace view "served.thing" as select 1',
    'insert into "served.thing" values (1)',
    'delete from "served.thing"',
    'update "served.thing" set name = 1',
    'drop view "served.thing"',
    'alter table "served.thing" add column x int',
    "export database '{}/stolen'",
    "attach '{}/stolen.db'",
    "detach memory",
    "use memory",
    "install httpfs",
    "load httpfs",
    "force install json from 'http://example.org'",
    "set enable_external_access = true",
    "set memory_limit = '100GB'",
    "set threads = 100",
    "reset lock_configuration",
    "pragma enable_profiling",
    "pragma database_list",
    "call pragma_version()",
    "checkpoint",
    "vacuum",
    "begin",
    "prepare q as select 1",
    "execute q",
    "create secret s (type s3)",
    "create macro m() as 1",
    "select 1; copy (select 1) to '{}/stolen.csv'",
    "explain analyze select 1",
    "",
    ";",
    "select",
    "select 1; select 2",
)


@pytest.mark.parametrize("query", READS)
def test_sql_reads_nothing_but_tables(server, query):
    answer = server.sql(query)

    assert answer.status == 400, answer.text
    assert "root:" not in answer.text
    assert "HOME=" not in answer.text


@pytest.mark.parametrize("query", WRITES)
def test_sql_writes_nothing_and_sets_nothing(server, dataset, tmp_path, query):
    before = state_of(dataset)

    answer = server.sql(query.format(tmp_path))

    assert answer.status == 400, answer.text
    assert answer.json["message"]
    assert list(tmp_path.iterdir()) == []
    assert state_of(dataset) == before


def state_of(dataset: Path) -> dict[str, tuple[int, int]]:
    found = {str(path): path.stat() for path in dataset.rglob("*")}
    return {name: (each.st_mtime_ns, each.st_size) for name, each in found.items()}


FILLS = (
    "select repeat('x', 2000000000)",
    *(
        pytest.param(query, marks=pytest.mark.night)  # of half a minute each
        for query in (
            "select count(distinct a.range * b.range) from range(100000) a, range(100000) b",
            "select list(range) from range(1000000000)",
            "select string_agg(repeat('x', 1000000)) from range(100000)",
            "with recursive r as (select 1 a union all select a + 1 from r) select max(a) from r",
        )
    ),
)


@pytest.mark.slow
@pytest.mark.parametrize("query", FILLS)
def test_sql_that_wants_all_time_and_memory_gets_little_of_both(server, query):
    before = used(server)
    most = [before]
    asking = threading.Thread(target=lambda: answers.append(server.sql(query)))
    answers: list[Answer] = []

    asking.start()
    while asking.is_alive():
        most.append(used(server))
        assert server.ask("/api/").status == 200
        time.sleep(0.05)

    (answer,) = answers
    assert answer.status in (400, 422), answer.text
    assert max(most) - before < 700
    assert server.sql("select 1 as one").json["rows"] == [{"one": 1}]


def used(server: Server) -> float:
    """MB that the server and its processes hold."""
    return sum(status_kb(pid, "RssAnon") for pid in family(server.process.pid)) / 1024


def family(pid: int) -> list[int]:
    """A process and all below it."""
    try:
        below = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    except FileNotFoundError:
        return []
    found = [each for tid in Path(f"/proc/{pid}/task").iterdir() for each in children(tid)]
    return [pid, *(each for child in {*found, *map(int, below)} for each in family(child))]


def children(task: Path) -> list[int]:
    try:
        return list(map(int, (task / "children").read_text().split()))
    except OSError:
        return []


def status_kb(pid: int, name: str) -> int:
    try:
        status = Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return 0
    found = re.search(rf"{name}:\s+(\d+) kB", status)
    return int(found[1]) if found else 0


def test_sql_that_is_nested_deeply_fells_nothing(server):
    deep = "select " + "(" * 20_000 + "1" + ")" * 20_000
    long = "select " + " + ".join(["1"] * 30_000)

    assert server.sql(deep).status in (400, 422)
    assert server.sql(long).status in (400, 422)
    assert server.sql("select 1" + " " * 200_000).status == 400
    assert server.sql("select 1 as one").json["rows"] == [{"one": 1}]


@pytest.mark.parametrize(
    "query",
    [
        "select count(*) from range(1000000) a, range(100000000) b",
        "with recursive r as (select 1 a union all select a + 1 from r) select max(a) from r",
    ],
)
def test_a_query_whose_client_leaves_ends(server, query):
    body = json.dumps({"query": query})
    request = (
        "POST /api/out/sql HTTP/1.1\r\nHost: localhost\r\n"
        f"Authorization: Bearer {server.token}\r\nContent-Length: {len(body)}\r\n\r\n{body}"
    )
    # given a server at rest: its process, and the one that makes those of queries
    server.sql("select 1 as one")
    assert until(lambda: len(family(server.process.pid)) == 2)
    with socket.create_connection(("127.0.0.1", server.port)) as talk:
        talk.sendall(request.encode())
        assert until(lambda: len(family(server.process.pid)) > 2), "it is at work"
        time.sleep(0.2)

    assert until(lambda: len(family(server.process.pid)) == 2)
    assert server.sql("select 1 as one").status == 200


def test_what_sql_answers_is_plain(server):
    query = """
        select sum(size) as a, sum(size) as a, 1.5::decimal(3, 2) as b, interval 90 minutes as c,
               [1, 2]::int[2] as d, now() > '2026-01-01' as e, 'x'::blob as f, map {'k': 1} as g
        from served.thing where small = 1 and size < 100
    """
    rows = server.sql(query).json["rows"]
    things = server.ask("/api/out/tables/served.thing/rows?small.eq=1&size.lt=100&limit=1000").json[
        "rows"
    ]

    total = sum(row["size"] for row in things)
    assert rows == [
        {"a": total, "a_1": total, "b": 1.5, "c": 5400.0, "d": [1, 2], "e": True, "f": "eA==",
         "g": {"k": 1}}
    ]  # fmt: skip


def test_a_result_is_cut_at_its_limit_and_says_so(server):
    whole = server.sql('select name from "served.thing"', limit=1000).json
    cut = server.sql("select name from served.thing", limit=10).json

    assert (len(whole["rows"]), whole["cut"]) == (300, False)
    assert (cut["rows"], cut["cut"]) == (whole["rows"][:10], True)
    assert server.sql("from range(20000)", limit=10**9).json["cut"]


def test_views_are_tables_too_with_their_settings(server):
    query = "select count(*) as n, min(things) as least from served.by_word"

    every = server.sql(query).json["rows"][0]
    some = server.sql(query, settings={"served.by_word": {"least": 30}}).json["rows"][0]

    assert some["least"] >= 30
    assert some["n"] < every["n"] == 10
    assert server.sql(query, settings={"served.thing": {}}).status == 400
    assert "did you mean" in server.sql("from served.by_words").json["remedy"]
    listed = server.sql("show tables").json["rows"]
    assert {"name": "served.thing", "kind": "record type", "rows": 300} in listed


@pytest.mark.parametrize("form", ["csv", "jsonl"])
def test_a_result_can_be_had_as_a_file(server, form):
    query = "select small, count(*) as n from served.thing group by 1 order by 1"
    body = json.dumps({"query": query})

    answer = server.ask(f"/api/out/sql?form={form}", method="POST", body=body)

    rows = server.sql(query).json["rows"]
    lines = answer.text.splitlines()
    if form == "csv":
        assert lines == ["small,n", *(f"{row['small']},{row['n']}" for row in rows)]
    else:
        assert list(map(json.loads, lines)) == rows
    assert "attachment" in answer.headers["content-disposition"]


@pytest.mark.parametrize(
    "body",
    [b"", b"{", b"[]", b"{}", b'{"query": 1}', b'{"query": "select 1", "limit": "x"}', b"\xff"],
)
def test_a_body_that_is_no_question_is_refused(server, body):
    answer = server.ask("/api/out/sql", method="POST", body=body)

    assert answer.status == 400
    assert answer.json["remedy"]


def test_one_question_learns_nothing_of_another_s(server):
    server.sql("select 1 as secret")

    assert server.sql("select getvariable('x') as v").json["rows"] == [{"v": None}]
    assert server.sql("from duckdb_logs()").status == 400
