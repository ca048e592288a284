"""What is put into frames: keys, graphs in parts, columns, masked secrets, clocks, log records."""

import asyncio
import json
import logging
import subprocess
import sys
from typing import Any

import dask
import msgpack
import pytest
from distributed import Scheduler
from hypothesis import given
from hypothesis import strategies as st

from harvest_dask.content import scheduler_rows
from harvest_dask.content.logs import COLUMNS, LogTap
from harvest_dask.content.process import flat_config, mask_arguments, mask_values, measure
from harvest_dask.preload import dask_setup
from harvest_dask.settings import CaptureError, Settings, settings_from_dask
from harvest_dask.write import queues
from harvest_dask.write.queues import Stream, as_json
from harvest_dask.write.recorder import Recorder


@given(
    needs=st.lists(st.sets(st.integers(0, 30), max_size=6), max_size=30),
    asked=st.sets(st.integers(0, 40)),
    tasks=st.integers(1, 10),
    keys=st.integers(1, 20),
)
def test_the_parts_of_a_graph_are_the_graph(
    needs: list[set[int]], asked: set[int], tasks: int, keys: int
) -> None:
    """Given frames that hold little, each task stands in one part, in order, with its facts."""
    graph = [(("t", n), [("t", d) for d in sorted(found)]) for n, found in enumerate(needs)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(scheduler_rows, "PART_TASKS", tasks)
        patch.setattr(scheduler_rows, "PART_KEYS", keys)
        parts = list(
            scheduler_rows.graph_frames(
                {"graph": 3},
                requested=[("t", n) for n in asked],
                tasks=graph,
                annotations={"level": {("t", n): n for n in range(len(needs))}},
                code=["a = 1"],
            )
        )
    assert [key for p in parts for key in p["keys"]] == [str(key) for key, _ in graph]
    assert [d for p in parts for d in p["dependencies"]] == [
        [str(key) for key in found] for _, found in graph
    ]
    wanted = sorted(str(("t", n)) for n in asked)
    assert sorted(key for p in parts for key in p["requested"]) == wanted
    for part in parts:
        assert len(part["keys"]) <= tasks
        if len(part["keys"]) > 1:
            assert sum(1 + len(d) for d in part["dependencies"][:-1]) <= keys + 1
        assert set(part["annotations"].get("level", {})) == set(part["keys"])
    for part in parts[:-1]:
        assert set(part["requested"]) <= set(part["keys"])
    assert [p["code"] for p in parts] == ["a = 1"] + [None] * (len(parts) - 1)
    assert {p["graph"] for p in parts} == {3}


@given(st.lists(st.integers(0, 120), max_size=40))
def test_rows_that_make_a_frame_too_large_are_split(sizes: list[int]) -> None:
    """Given frames of 100 bytes at most, those that fit are kept in order, others are counted."""
    stream = Stream("log", lambda rows: {"message": ["x" * n for n in rows]}, 1000)
    for size in sizes:
        stream.append(size)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(queues, "LARGEST", 100)
        found = list(stream.frames())
    assert all(len(payload) <= 100 for payload, _ in found)
    kept = [len(m) for p, _ in found for m in msgpack.unpackb(p)["columns"]["message"]]
    small = [n for n in sizes if n <= 60]
    assert [n for n in kept if n <= 60] == small
    assert len(kept) + stream.take_lost()[0] == len(sizes)
    assert sum(rows for _, rows in found) == len(kept)


def test_secrets_are_masked_by_their_names_and_in_addresses() -> None:
    config = {
        "distributed": {
            "comm": {"tls": {"worker": {"key": "/home/me/key.pem", "cert": "/home/me/cert.pem"}}},
            "dashboard": {"link": "https://me:pw@host/x"},
        },
        "tokenize": {"ensure-deterministic": False},
        "coiled": {"token": "abc", "api-key": "def"},
        "empty": {},
    }
    assert mask_values(flat_config(config)) == {
        "distributed.comm.tls.worker.key": "***",
        "distributed.comm.tls.worker.cert": "/home/me/cert.pem",
        "distributed.dashboard.link": "https://***@host/x",
        "tokenize.ensure-deterministic": "False",
        "coiled.token": "***",
        "coiled.api-key": "***",
        "empty": "{}",
    }


def test_arguments_after_a_secret_s_name_are_masked() -> None:
    words = ["run.py", "--password", "pw", "--token=abc", "--size", "3", "--db=pg://me:pw@h/d"]
    assert mask_arguments(words) == [
        *("run.py", "--password", "***", "--token=***", "--size", "3", "--db=pg://***@h/d")
    ]


def test_the_offset_is_that_of_the_shortest_round_trip(monkeypatch: pytest.MonkeyPatch) -> None:
    """Given a scheduler 5 s ahead and trips of 0.4, 0.1, 0.3, ... s whose way back takes longer."""
    trips = iter([0.4, 0.1, 0.3, 0.4, 0.4, 0.4, 0.4])
    now = 100.0

    async def ask() -> float:
        nonlocal now
        trip = next(trips)
        now += trip * 0.25
        answer = now + 5.0
        now += trip * 0.75
        return answer

    monkeypatch.setattr("harvest_dask.content.process.time.time", lambda: now)
    monkeypatch.setattr("harvest_dask.content.process.time.perf_counter", lambda: now)
    offset, trip = asyncio.run(measure(ask))
    assert trip == pytest.approx(0.1)
    assert offset == pytest.approx(5.0, abs=0.05 + 1e-9)


def test_a_log_record_is_taken_once_by_the_processes_first_capture() -> None:
    recorder = Recorder(list, Settings("."), list)
    scheduler = LogTap(recorder, "scheduler", "one", None)
    worker = LogTap(recorder, "worker", "one", "tcp://w")
    scheduler.attach()
    worker.attach()
    logger = logging.getLogger("distributed.worker")
    logger.warning("first %d", 1)
    scheduler.detach()
    logger.warning("second %d", 2)
    worker.detach()
    logger.warning("third")
    streams = (scheduler._stream, worker._stream)
    found = [[dict(zip(COLUMNS, row, strict=True)) for row in stream.rows] for stream in streams]
    told = [[(r["message"], r["source"], r["level"]) for r in rows] for rows in found]
    assert told == [[("first 1", "worker", "warning")], [("second 2", "worker", "warning")]]


def test_a_message_is_json_whatever_it_holds() -> None:
    message = {"keys": {"b", "a"}, "function": b"abc", "who": {("x", 1): [ValueError("no")]}}
    assert json.loads(as_json(message)) == {
        "keys": ["a", "b"],
        "function": "3 bytes",
        "who": {"('x', 1)": ["no"]},
    }


@pytest.mark.parametrize(
    ("done", "absent"),
    [
        ("import harvest_dask.plugin as plugin; plugin.harvest_commands()", "dask distributed"),
        ("from harvest_dask import capture, dask_setup", "harvest pyarrow polars attrs attr"),
    ],
    ids=["harvest knows the command", "a job captures"],
)
def test_neither_imports_what_only_the_other_needs(done: str, absent: str) -> None:
    code = f"import sys; {done}; print({{*'{absent}'.split()}} & set(sys.modules))"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout == "set()\n"


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"interval": 0}, "interval is 0: give seconds"),
        ({"flush": 5.0}, "flush is 5.0: give seconds, more than 0 and at most 1"),
        ({"via": "worker"}, "via is 'worker': give 'scheduler'"),
        ({"queue": 0}, "queue is 0: give a number of rows"),
        ({"yappi": "sundial"}, "give 'cpu' or 'wall'"),
        ({"yappi": "cpu", "via": "scheduler"}, "leave via out"),
    ],
)
def test_a_wrong_setting_is_named(values: dict[str, Any], said: str) -> None:
    with pytest.raises(CaptureError, match=said):
        Settings("/x", **values)


def test_preloads_are_set_by_dasks_configuration() -> None:
    with dask.config.set({"harvest.capture": {"directory": "/x/R1", "interval": 2}}):
        assert settings_from_dask() == Settings("/x/R1", interval=2)


def test_a_preload_without_a_directory_leaves_the_cluster_alone(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Given a scheduler that nothing can be done with."""
    bare = type("Bare", (Scheduler,), {"__init__": lambda self: None})
    asyncio.run(dask_setup(bare()))
    (record,) = caplog.records
    assert record.levelname == "ERROR"
    assert "this cluster runs uncaptured: no directory for the capture" in record.getMessage()
