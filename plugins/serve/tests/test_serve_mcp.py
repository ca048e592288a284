"""A client of the Model Context Protocol, the SDK's own, asks by tools alone.

One session asks all questions. What it is told is compared with what ``harvest findings`` and
``harvest view`` are made of.
"""

import asyncio
import json
import re
import signal
import subprocess
import sys
from datetime import datetime
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

import harvest
from harvest.model.json import encode_frame
from harvest_serve.mcp import answers
from harvest_serve.mcp.transport import Program
from harvest_serve.work import Turns

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(find_spec("mcp") is None, reason="the package mcp is not installed"),
]

HARVEST = (sys.executable, "-m", "harvest")
HEADER = (
    "JobID|JobName|User|Account|State|ExitCode|Submit|Start|End|Elapsed|AllocCPUS|TotalCPU|"
    "Timelimit|ReqMem|MaxRSS|NodeList"
)
JOBS = 600


def job(number: int) -> str:
    """Each tenth job fails, ann's jobs leave most of their CPUs idle."""
    user, account = ("ann", "maths") if number % 3 == 0 else (f"u{number % 7}", "physics")
    state, code = ("FAILED", "1:0") if number % 10 == 0 else ("COMPLETED", "0:0")
    hours, day = 1 + number % 9, 1 + number % 27
    used = f"00:{number % 60:02}:00" if user == "ann" else f"{hours * 7:02}:30:00"
    when = f"2025-03-{day:02}T00:00:00"
    name = "<script>\x1b[31m" if number == 5 else "run"
    return (
        f"{number}|{name}|{user}|{account}|{state}|{code}|{when}|{when}|"
        f"2025-03-{day:02}T{hours:02}:00:00|{hours:02}:00:00|8|{used}|12:00:00|1G||n{number % 4}"
    )


@pytest.fixture(scope="module")
def out(tmp_path_factory) -> Path:
    place = tmp_path_factory.mktemp("mcp")
    (place / "dump.txt").write_text("\n".join([HEADER, *map(job, range(1, JOBS + 1)), ""]))
    harvest.run(f"slurm:{place / 'dump.txt'}", f"parquet:{place / 'out'}", workers=1)
    return place / "out"


async def told(client: Any, tool: str, **arguments: Any) -> Any:
    """What a tool answers, read as JSON where it is."""
    result = await client.call_tool(tool, arguments)
    (content,) = result.content
    assert not result.is_error, content.text
    return json.loads(content.text) if content.text.startswith("{") else content.text


QUERY = (
    "select user, count(*) as jobs, 9007199254740992::bigint as exact, "
    "9007199254740993::bigint as odd, [18446744073709551615::ubigint] as large "
    "from slurm.job where user = 'ann' group by 1"
)


@pytest.fixture(scope="module")
def session(out: Path) -> dict[str, Any]:
    """What a client is told by ``harvest mcp``, over standard input and output."""
    import mcp

    command = mcp.StdioServerParameters(command=HARVEST[0], args=[*HARVEST[1:], "mcp", str(out)])

    async def ask() -> dict[str, Any]:
        async with mcp.Client(mcp.stdio_client(command)) as client:
            return {
                "info": client.server_info,
                "tools": (await client.list_tools()).tools,
                "exact": await client.call_tool("sql", {"query": QUERY}),
                # what is wrong?
                "findings": await told(client, "findings"),
                # why did jobs fail, by account?
                "reasons": await told(
                    client, "rows", table="slurm.reasons", settings={"by": "account"}
                ),
                # who wasted most?
                "wasted": await told(
                    client, "rows", table="slurm.usage", settings={"by": "user"},
                    sort=["-cpu_wasted_hours"], columns=["user", "cpu_wasted_hours"], limit=1,
                ),
                # how many of ann's jobs ran for more than eight hours?
                "long": await told(
                    client, "rows", table="slurm.job", limit=1, where=[
                        {"column": "user", "operator": "eq", "value": "ann"},
                        {"column": "elapsed_s", "operator": "gt", "value": 28800},
                    ],
                ),
                # how many jobs did each account run?
                "counted": await told(
                    client, "sql",
                    query="SELECT account, count(*) AS n FROM slurm.job GROUP BY 1 ORDER BY n",
                ),
                "wrong": [
                    await client.call_tool("rows", {"table": "slurm.jib"}),
                    await client.call_tool("sql", {"query": "COPY (SELECT 1) TO '/tmp/stolen'"}),
                    await client.call_tool("sql", {"query": "FROM read_text('/etc/passwd')"}),
                    await client.call_tool("report", {"report": "slurm.usage", "dataset": "x"}),
                ],
                "all": await told(client, "rows", table="slurm.job", limit=1000),
                "last": await told(client, "rows", table="slurm.job", sort=["job_id"], offset=590),
                "by sql": await told(client, "sql", query="SELECT * FROM slurm.job", dataset="out"),
                "report": await told(client, "report", report="slurm.usage"),
                "odd": await told(client, "rows", table="slurm.job", condition="name LIKE '<%'"),
            }  # fmt: skip

    return asyncio.run(ask())


def known(row: dict[str, Any]) -> dict[str, Any]:
    """The columns of a row whose value is known; a time however it is written."""
    values = {k: v for k, v in row.items() if v is not None and k != "record_type"}
    return {k: datetime.fromisoformat(v) if k.endswith("_time") else v for k, v in values.items()}


def test_five_questions_are_answered_with_the_numbers_that_commands_print(session, out):
    dataset = harvest.open(out)

    def view(name: str) -> list[dict[str, Any]]:
        by = {"slurm.reasons": "account", "slurm.usage": "user"}[name]
        return list(map(json.loads, encode_frame(dataset.view(name, by=by).collect())))

    assert [each["headline"] for each in session["findings"]["findings"]] == [
        each["headline"] for each in dataset.findings().to_dict()["findings"]
    ]
    assert list(map(known, session["reasons"]["rows"])) == list(map(known, view("slurm.reasons")))
    wasted = session["wasted"]
    most = max(view("slurm.usage"), key=lambda row: row["cpu_wasted_hours"])
    assert wasted["rows"] == [{k: most[k] for k in ("user", "cpu_wasted_hours")}]
    assert {"name": "cpu_wasted_hours", "type": "number", "unit": "h"} in wasted["columns"]
    # counted from what was written
    hours = [1 + n % 9 for n in range(1, JOBS + 1) if n % 3 == 0]
    assert session["long"]["rows_that_fit"] == sum(each > 8 for each in hours)
    counted = [tuple(row.values()) for row in session["counted"]["rows"]]
    assert counted == [("maths", 200), ("physics", 400)]


def test_a_long_answer_is_cut_and_says_so_and_an_error_says_what_to_do(session):
    remedies = ("did you mean 'slurm.job'", "only read", "show tables", "use one of out")
    for one, said in zip(session["wrong"], remedies, strict=True):
        assert one.is_error
        assert said in one.content[0].text
    # the rows that are shown are so many, and the rest can be asked for
    all_rows, last, by_sql = session["all"], session["last"], session["by sql"]
    assert all_rows["rows_that_fit"] == JOBS
    assert 0 < all_rows["rows_shown"] == len(all_rows["rows"]) <= answers.MOST_ROWS
    assert len(json.dumps(all_rows["rows"])) < answers.MOST_CHARACTERS * 1.2
    assert f"offset={all_rows['rows_shown']}" in all_rows["not_shown"]
    assert (len(last["rows"]), "not_shown" in last) == (10, False)
    assert "more than these" in by_sql["not_shown"]
    assert by_sql["units_of_the_tables_that_it_reads"]["slurm.job"]["elapsed_s"] == "s"
    assert "ann" in session["report"]
    # what comes from data is data
    assert [row["name"] for row in session["odd"]["rows"]] == ["<script>\x1b[31m"]
    assert all(tool.annotations.read_only_hint for tool in session["tools"])
    assert session["info"].version == harvest.__version__


def test_the_tools_are_there_over_http_behind_the_same_guard(out):
    httpx = pytest.importorskip("httpx2")
    from mcp import Client
    from mcp.client.streamable_http import streamable_http_client

    command = [*HARVEST, "serve", str(out), "--no-open"]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        line = server.stdout.readline()
        address, token = re.search(r"(http://\S+/)\?token=(\S+)", line).groups()

        async def ask():
            stranger = httpx.AsyncClient()
            guest = httpx.AsyncClient(headers={"Authorization": f"Bearer {token}"}, timeout=60)
            async with stranger, guest:
                refused = await stranger.post(f"{address}mcp", json={})
                async with Client(
                    streamable_http_client(f"{address}mcp", http_client=guest)
                ) as client:
                    return refused, await told(client, "tables")

        refused, tables = asyncio.run(ask())
    finally:
        server.send_signal(signal.SIGINT)
        server.wait(20)

    assert refused.status_code == 401
    assert {"slurm.job", "slurm.usage"} <= {each["table"] for each in tables["tables"]}


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_it_without_a_word_though_its_input_is_open(out, number):
    command = [*HARVEST, "mcp", str(out)]
    pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    with subprocess.Popen(command, **pipes, text=True) as process:
        call = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
            "protocolVersion": "2025-06-18", "capabilities": {},
            "clientInfo": {"name": "test", "version": "1"},
        }}  # fmt: skip
        process.stdin.write(json.dumps(call) + "\n")
        process.stdin.flush()
        assert json.loads(process.stdout.readline())["result"]["serverInfo"]["name"] == "harvest"

        process.send_signal(number)

        assert process.wait(20) == 0
        assert (process.stdout.read(), process.stderr.read()) == ("", "")


def test_a_package_that_cannot_be_imported_is_an_error_and_no_wait(monkeypatch):
    monkeypatch.setitem(sys.modules, "mcp.server.transport_security", None)
    with pytest.raises(ImportError):
        asyncio.run(asyncio.wait_for(Program({}, Turns())({}, None, None), 20))


def test_the_result_of_a_query_comes_as_values_of_a_declared_shape(session):
    (tool,) = [each for each in session["tools"] if each.name == "sql"]
    result = session["exact"]

    (row,) = result.structured_content["rows"]
    # given: every third of the jobs is ann's
    assert (row["user"], row["jobs"]) == ("ann", JOBS // 3)
    assert (row["exact"], row["odd"], row["large"]) == (2**53, f"{2**53 + 1}", [f"{2**64 - 1}"])
    assert json.loads(result.content[0].text) == result.structured_content
    jsonschema = pytest.importorskip("jsonschema")
    jsonschema.validate(result.structured_content, tool.output_schema)
