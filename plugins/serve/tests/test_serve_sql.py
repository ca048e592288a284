"""SQL reads the tables of its dataset and nothing else, for so long, in so much memory."""

import contextlib
import json
import re
import select
import socket
import threading
import time
from pathlib import Path
from urllib.parse import quote

import pytest
from serving import Answer, Server, until

from harvest import UsageError
from harvest_serve.sql import ask

READS = (
    "select * from read_text('/etc/passwd')",
    "select * from '/etc/passwd'",
    "with a as (from read_text('/etc/passwd')) from a",
    "select (select content from read_text('/etc/passwd'))",
    "select * from query('from read_text(''/etc/passwd'')')",
    "select * from query_table('/etc/passwd')",
    "select * from duckdb_settings()",
    "select * from information_schema.tables",
    "select * from 'https://example.org/x.parquet'",
    "select * from server",
    "select getenv('HOME')",
)
DECOYS = (
    "select (with duckdb_views as (select 1) select 1), v.sql from duckdb_views v",
    "select (with DUCKDB_COLUMNS as (select 1) select 1) from duckdb_columns",
    "with a as (with duckdb_views as (select 1) from duckdb_views) select * from a, duckdb_views",
    "with duckdb_views as (select * from duckdb_views) from duckdb_views",
    "with a as (from duckdb_views), duckdb_views as (select 1) from a",
    'with "pg_catalog.pg_views" as (select 1) from pg_catalog.pg_views',
    'with "system.main.duckdb_views" as (select 1) from system.main.duckdb_views',
    "with information_schema as (select 1) from information_schema.tables",
    "with recursive duckdb_views as (select sql from duckdb_views union all "
    "select sql from duckdb_views where false) from duckdb_views",
    "with recursive a as (select 1 n union all select n + 1 from a where n < 3), "
    "b as (with duckdb_tables as (from a) from duckdb_tables) from b, duckdb_tables",
    'with "duc\u212adb_views" as (select 1) from duckdb_views',
    "from (with duckdb_views as (select 1) from duckdb_views) union all (from duckdb_views)",
    "from (select 1), lateral (with duckdb_views as (select 1) from duckdb_views), duckdb_views",
    "select 1 from pg_tables where exists (with pg_tables as (select 1) from pg_tables)",
    "select 1 order by (with pg_class as (select 1) select 1), (select count(*) from pg_class)",
    "with duckdb_views as (select 1 a) "
    "from (pivot main.duckdb_views on type in ('VIEW') using first(sql))",
    "from (summarize duckdb_views)",
    "from (show all tables)",
    "from (values ((select any_value(sql) from duckdb_views)))",
    "from sqlite_master",
    "from duckdb_settings() s, (with duckdb_settings as (select 1) from duckdb_settings)",
    "from pragma_database_list",
    "select current_setting('temp_directory')",
    "select system.main.current_setting('allowed_paths')",
    "select 'temp_directory'.current_setting()",
    "select columns(c -> c = current_setting('temp_directory')) from range(1)",
    "with a as (select 1 limit (select length(current_setting('temp_directory')))) from a",
    "select pg_get_viewdef(range) from range(100000)",
    "select json_serialize_plan('from duckdb_views')",
    "select getvariable('x')",
)
"""Ways to what DuckDB knows of itself, most behind a name that a ``WITH`` has elsewhere."""

WRITES = (
    "copy (select 1) to '{}/stolen.csv'",
    "create table t as select 1",
    "attach '{}/stolen.db'",
    "install httpfs",
    "set enable_external_access = true",
    "pragma database_list",
    "call pragma_version()",
    "select 1; copy (select 1) to '{}/stolen.csv'",
    "explain analyze select 1",
    "",
    "select",
    "select 1; select 2",
)


@pytest.mark.parametrize("query", [*READS, *DECOYS])
def test_sql_reads_nothing_but_tables_and_learns_nothing_of_the_database(snapshot, query):
    with pytest.raises(UsageError) as refused:
        ask(snapshot, query)

    said = f"{refused.value} {refused.value.remedy}"
    assert not any(text in said for text in ("root:", "HOME=", str(snapshot.location)))


def test_a_refused_query_is_answered_with_a_reason(server, dataset):
    for query in (READS[0], DECOYS[0], WRITES[0]):
        answer = server.sql(query)

        assert answer.status == 400, answer.text
        assert answer.json["message"]
        assert str(dataset) not in answer.text


@pytest.mark.parametrize(
    ("query", "rows"),
    [
        ("with a as (select 1 n), b as (select n + 1 n from a) from a union all from b", 2),
        ("with a as (select 1 n) from (with a as (select 2 n) from a) x, a", 1),
        ("with recursive a as (select 1 n union all select n + 1 from a where n < 9) from a", 9),
        ("select (with a as (select 5 n) select n from a) + n from (select 1 n)", 1),
        ("with duckdb_views as (select 1) from duckdb_views", 1),
        ('with "served.thing" as (select 1 n) from "served.thing"', 1),
        ("with A as (select 1) from a where exists (from A)", 1),
    ],
)
def test_names_of_a_query_s_own_are_its_own(snapshot, query, rows):
    found, _ = ask(snapshot, query)

    assert found.num_rows == rows


@pytest.mark.parametrize(
    ("condition", "said"),
    [
        ('"harvest file" is not null', "no column is named"),
        ('"Harvest Row" > 1', "no column is named"),
        ("current_setting('temp_directory') > ''", "shows the database"),
    ],
)
def test_a_condition_sees_the_columns_of_its_table_alone(server, condition, said):
    answer = server.ask(f"/api/out/tables/served.thing/rows?condition={quote(condition)}")

    assert answer.status == 400
    assert said in answer.json["message"]


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ('pivot "served.thing" on number using count(*)', "PIVOT does not say which values"),
        (f"select {'+'.join('1' * 3000)}", "expression depth"),
        (f"select {2**128 - 1}::uhugeint as n", "n has the type UHUGEINT"),
        ("select ['infinity'::date] as d", "d has times outside"),
    ],
)
def test_what_cannot_be_answered_is_said_without_advice_that_nobody_can_follow(server, query, said):
    answer = server.sql(query)

    assert answer.status == 400
    assert said in answer.json["message"]
    assert "SET " not in answer.text
    assert "MULTI" not in answer.text


def asking(server: Server, query: str) -> socket.socket:
    """A connection that has asked a query, and does not read the answer."""
    body = json.dumps({"query": query})
    talk = socket.create_connection(("127.0.0.1", server.port))
    talk.sendall(
        "POST /api/out/sql HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        f"Authorization: Bearer {server.token}\r\n"
        f"Content-Length: {len(body)}\r\n\r\n{body}".encode()
    )
    return talk


ENDLESS = "with recursive r as (select 1 a union all select a + 1 from r) select max(a) from r"


def test_four_long_queries_keep_no_page_waiting(server):
    # given queries by SQL that take all of their time, in all of their turns
    with contextlib.ExitStack() as stack:
        talks = [stack.enter_context(asking(server, ENDLESS)) for _ in range(4)]
        assert until(lambda: len(family(server.process.pid)) == 6)
        # then pages and rows are answered
        assert server.ask("/d/out/").status == 200
        assert server.ask("/api/out/tables/served.thing/rows?limit=1").status == 200
        # and none of the four has been
        ready, _, _ = select.select(talks, [], [], 0)
        assert ready == []


def test_a_body_that_does_not_say_it_is_json_is_refused(server):
    # a form of another site can send text, and no JSON, without asking first
    answer = server.ask(
        "/api/out/sql",
        method="POST",
        body='{"query": "select 1"}',
        headers={"Content-Type": "text/plain"},
    )
    assert answer.status == 415
    assert "Content-Type: application/json" in answer.json["remedy"]


@pytest.mark.parametrize("query", WRITES)
def test_sql_writes_nothing_and_sets_nothing(snapshot, dataset, tmp_path, query):
    before = state_of(dataset)

    with pytest.raises(UsageError):
        ask(snapshot, query.format(tmp_path))

    assert list(tmp_path.iterdir()) == []
    assert state_of(dataset) == before


def state_of(dataset: Path) -> dict[str, tuple[int, int]]:
    found = {str(path): path.stat() for path in dataset.rglob("*")}
    return {name: (each.st_mtime_ns, each.st_size) for name, each in found.items()}


FILLS = (
    "select repeat('x', 2000000000)",
    *(
        pytest.param(query, marks=pytest.mark.slow(night=True))  # of half a minute each
        for query in (
            "select count(distinct a.range * b.range) from range(100000) a, range(100000) b",
            "select list(range) from range(1000000000)",
            "select string_agg(repeat('x', 1000000)) from range(100000)",
            ENDLESS,
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
    found = set()
    with contextlib.suppress(OSError):  # it has ended
        for task in Path(f"/proc/{pid}/task").iterdir():
            found |= set(map(int, (task / "children").read_text().split()))
    return [pid, *(each for child in found for each in family(child))]


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
    "query", ["select count(*) from range(1000000) a, range(100000000) b", ENDLESS]
)
def test_a_query_whose_client_leaves_ends(server, query):
    # given a server at rest: its process, and the one that makes those of queries
    server.sql("select 1 as one")
    assert until(lambda: len(family(server.process.pid)) == 2)
    with asking(server, query):
        assert until(lambda: len(family(server.process.pid)) > 2), "it is at work"
        time.sleep(0.2)

    assert until(lambda: len(family(server.process.pid)) == 2)
    assert server.sql("select 1 as one").status == 200


def test_what_sql_answers_is_plain(server):
    query = """
        select sum(size) as a, sum(size) as a, 1.5::decimal(3, 2) as b, interval 90 minutes as c,
               [1, 2]::int[2] as d, now() > '2026-01-01' as e, 'x'::blob as f, map {'k': 1} as g,
               [0.5] as h from served.thing where small = 1 and size < 100
    """
    rows = server.sql(query).json["rows"]
    things = server.ask("/api/out/tables/served.thing/rows?small.eq=1&size.lt=100&limit=1000").json[
        "rows"
    ]

    total = sum(row["size"] for row in things)
    assert rows == [
        {"a": total, "a_1": total, "b": 1.5, "c": 5400.0, "d": [1, 2], "e": True, "f": "eA==",
         "g": {"k": 1}, "h": [0.5]}
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
    [b"", b"{", b"[]", b"{}", b'{"query": 1}', b'{"query": "select 1", "limit": "x"}', b"\xff",
     b'{"query": "select 1", "limit": -1}', b'{"query": "select 1", "setting": {}}'],
)  # fmt: skip
def test_a_body_that_is_no_question_is_refused(server, body):
    answer = server.ask("/api/out/sql", method="POST", body=body)

    assert answer.status == 400
    assert answer.json["remedy"]


@pytest.mark.slow
def test_who_downloads_waits_for_a_turn(server):
    # given many more who download than may at the same time
    found: list[int] = []

    def download() -> None:
        found.append(server.ask("/api/out/tables/served.thing/rows?form=csv").status)

    asking = [threading.Thread(target=download) for _ in range(40)]
    for each in asking:
        each.start()
    for each in asking:
        each.join()

    assert found == [200] * 40
