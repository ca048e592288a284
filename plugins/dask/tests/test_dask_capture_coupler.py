"""A captured workload, and its events in the coupler's CSVs, are the same rows to harvest."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import cap_reader as cap
import dask_work as work
import pytest
from coupler import write_csv
from distributed import wait

from harvest import Collected, collect, record_type
from harvest_dask import capture

pytest.importorskip("harvest_mofka_dask")

from harvest_dask.records.captures.source import DaskSource
from harvest_dask.records.types import RECORD_TYPES
from harvest_mofka_dask.source import MofkaDaskSource

Rows = Sequence[Mapping[str, Any]]


def as_coupled(directory: Path, out: Path) -> None:
    """Write a capture's events as the coupler would have."""
    tables: dict[str, list[dict[str, Any]]] = {}
    for path in sorted(directory.glob("*.cap")):
        frames, _ = cap.read_frames(path)
        here = {"called_from": frames[0]["address"]}
        for kind, name, convert in (
            ("scheduler_transition", "scheduler_transition", scheduler_row),
            ("worker_transition", "worker_transition", worker_row),
            ("transfer", "worker_transfer", transfer_row),
            ("worker_event", "worker", came_or_went("worker", "stimulus_id")),
            ("client_event", "client", came_or_went("client")),
        ):
            tables.setdefault(name, []).extend(
                here | convert(row) for row in cap.rows(frames, kind)
            )
        tables.setdefault("graph", []).extend(map(graph_row, cap.of_kind(frames, "graph")))
    out.mkdir(parents=True)
    for name, rows in tables.items():
        write_csv(out / f"{name}.csv", rows)


def scheduler_row(row: Mapping[str, Any]) -> dict[str, Any]:
    begins, ends = row["begins"], row["ends"]
    same = ("time", "key", "prefix", "group", "stimulus_id", "worker", "thread")
    return {
        **{name: row[name] for name in same},
        "start": row["start_state"],
        "finish": row["finish_state"],
        "begins": begins,
        "ends": ends,
        "duration": None if begins is None else ends - begins,
        "size": row["size_bytes"],
    }


def worker_row(row: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "time": row["time"],
        "key": row["key"],
        "start": row["start_state"],
        "finish": row["finish_state"],
    }


def transfer_row(row: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "start": row["start_time"],
        "stop": row["end_time"],
        "middle": row["middle"],
        "duration": row["duration_s"],
        "keys": dict(row["keys"]),
        "total": row["total_bytes"],
        "bandwidth": row["bandwidth"],
        "who": row["peer"],
        "type": f"{row['direction']}_transfer",
        "time": row["time"],
        "compressed": row["compressed_bytes"],
    }


def came_or_went(*names: str) -> Any:
    return lambda row: {name: row[name] for name in (*names, "action", "time")}


def graph_row(frame: Mapping[str, Any]) -> dict[str, Any]:
    pairs = zip(frame["keys"], frame["dependencies"], strict=True)
    return {
        "client": frame["client"],
        "keys": set(frame["requested"]) or {},
        "dependencies": {key: set(needs) or {} for key, needs in pairs},
        "time": frame["time"],
    }


def rows_of(found: Collected, name: str) -> Counter[str]:
    """Rows in the columns that runs recorded through Mofka have, in any order."""
    (kind,) = (kind for kind in map(record_type, RECORD_TYPES) if kind.name == name)
    own = ("extra", "origin", "position")  # of a form of record
    shared = [
        column.name
        for column in kind.columns
        if "captures only" not in column.doc and column.name not in own
    ]
    return Counter(repr([(column, row[column]) for column in shared]) for row in found.rows(name))


@pytest.mark.slow
def test_a_workload_is_the_same_captured_and_coupled(tmp_path: Path) -> None:
    # given a workload with tuple keys, transfers, an error and a retry
    with work.cluster() as client, capture(client, tmp_path / "captured" / "R1"):
        one, two = client.scheduler_info()["workers"]
        first = client.map(work.increment, range(20), key=[("x", n) for n in range(20)])
        sums = [client.submit(work.add, *first, workers=w, pure=False) for w in (one, two)]
        retried = client.submit(work.fail_once, str(tmp_path / "mark"), retries=1)
        wait([*sums, retried, client.submit(work.fail, 1)])

    # when its events are written by the coupler, too
    as_coupled(tmp_path / "captured" / "R1", tmp_path / "coupled" / "R1")

    # then both sources give the same rows
    captured = collect(DaskSource(str(tmp_path / "captured" / "R1")))
    coupled = collect(MofkaDaskSource(str(tmp_path / "coupled" / "R1")))
    assert not captured.rejects
    assert not coupled.rejects
    assert {"dask.task_transition", "dask.transfer", "dask.graph_task"} <= coupled.tables.keys()
    for name in coupled.tables:
        assert rows_of(coupled, name) == rows_of(captured, name), name
