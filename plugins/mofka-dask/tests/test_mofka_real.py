"""Real CSVs, field by field, against the csv module, ast and Decimal."""

import ast
import csv
import re
from datetime import UTC, datetime, timedelta
from decimal import ROUND_HALF_EVEN, Decimal

import pytest

from harvest import collect
from harvest_mofka_dask.source import MofkaDaskSource

csv.field_size_limit(1 << 30)

OF_CAPTURES = {
    "dask.task_transition": ("result_type", "run_id", "exception", "cause"),
    "dask.worker_transition": ("stimulus", "stimulus_id"),
    "dask.worker": ("name", "host", "nthreads", "memory_limit_bytes", "resources", "reason"),
    "dask.graph_task": ("stimulus_id", "annotations"),
}
"""Columns that the coupler does not record."""


def files(shared_data, pattern):
    found = sorted((shared_data / "mofka-dask").glob(pattern))
    if not found:
        pytest.skip(f"no samples {pattern}")
    return found


def plain(path):
    with path.open(newline="", encoding="utf-8") as file:
        return [{k: v or None for k, v in row.items()} for row in csv.DictReader(file)]


def moment(text):
    if text is None:
        return None
    micros = int((Decimal(text) * 1_000_000).to_integral_value(ROUND_HALF_EVEN))
    return datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=micros)


def whole(text):
    return None if text is None else int(Decimal(text))


def number(text):
    return None if text is None else float(text)


def rows_of(path, name):
    found = collect(MofkaDaskSource(str(path)))
    assert found.units == found.accounted
    assert not found.rejects
    assert not found.notes
    rows = found.rows(name)
    for row in rows:
        assert row.pop("origin") == str(path)
        assert row.pop("extra") is None
        for column in OF_CAPTURES.get(name, ()):
            assert row.pop(column) is None
    return rows


def of_scheduler(row):
    return {
        "time": moment(row["time"]),
        "key": row["key"],
        "prefix": row["prefix"],
        "group": row["group"],
        "start_state": row["start"],
        "finish_state": row["finish"],
        "stimulus": re.sub(r"-[0-9.]+$", "", row["stimulus_id"]),
        "stimulus_id": row["stimulus_id"],
        "scheduler": row["called_from"],
        "worker": row["worker"],
        "thread": whole(row["thread"]),
        "begins": moment(row["begins"]),
        "ends": moment(row["ends"]),
        "duration_s": number(row["duration"]),
        "size_bytes": whole(row["size"]),
    }


def of_worker(row):
    return {
        "time": moment(row["time"]),
        "key": row["key"],
        "start_state": row["start"],
        "finish_state": row["finish"],
        "worker": row["called_from"],
    }


def as_it_is(*columns):
    """What has these columns as the file has them, and a time."""
    return lambda row: {"time": moment(row["time"]), **{name: row[name] for name in columns}}


@pytest.mark.parametrize(
    ("pattern", "name", "expected"),
    [
        ("scheduler_transition*", "dask.task_transition", of_scheduler),
        ("worker_transition*", "dask.worker_transition", of_worker),
        ("worker", "dask.worker", as_it_is("worker", "action", "stimulus_id")),
        ("client", "dask.client", as_it_is("client", "action")),
    ],
)
def test_a_line_is_a_row(shared_data, pattern, name, expected):
    for path in files(shared_data, f"*/{pattern}.csv"):
        rows = enumerate(plain(path), 1)
        assert rows_of(path, name) == [
            {**expected(row), "position": position} for position, row in rows
        ]


def test_transfers(shared_data):
    for path in files(shared_data, "*/worker_transfer*.csv"):
        expected = {}
        for position, r in enumerate(plain(path), 1):
            same = tuple(v for k, v in r.items() if k not in ("", "time"))
            if same in expected:
                expected[same]["copies"] += 1
                continue
            incoming = r["type"] == "incoming_transfer"
            expected[same] = {
                "start_time": moment(r["start"]),
                "end_time": moment(r["stop"]),
                "duration_s": number(r["duration"]),
                "keys": [
                    {"key": str(k), "size_bytes": v} for k, v in ast.literal_eval(r["keys"]).items()
                ],
                "total_bytes": whole(r["total"]),
                "compressed_bytes": whole(r["compressed"]),
                "bandwidth": number(r["bandwidth"]),
                "direction": r["type"].removesuffix("_transfer"),
                "requestor": r["called_from"] if incoming else r["who"],
                "fulfiller": r["who"] if incoming else r["called_from"],
                "worker": r["called_from"],
                "time": moment(r["time"]),
                "copies": 1,
                "middle": moment(r["middle"]),
                "position": position,
            }
        assert rows_of(path, "dask.transfer") == list(expected.values())


def test_graphs(shared_data):
    for path in files(shared_data, "*/graph.csv"):
        expected = []
        for graph, r in enumerate(plain(path), 1):
            asked = ast.literal_eval(r["keys"])
            # literal_eval reads no set(), so name an empty list for it
            tasks = ast.literal_eval(r["dependencies"].replace("set()", "[]"))
            expected += [
                {
                    "time": moment(r["time"]),
                    "client": r["client"],
                    "key": str(key),
                    "dependencies": sorted(str(need) for need in needs),
                    "requested": key in asked,
                    "graph": graph,
                    "position": len(expected) + i,
                }
                for i, (key, needs) in enumerate(tasks.items(), 1)
            ]
            assert asked <= tasks.keys()
        assert rows_of(path, "dask.graph_task") == expected


def test_everything_in_the_samples_is_accounted_for(shared_data):
    if not (shared_data / "mofka-dask").is_dir():
        pytest.skip("no Mofka-Dask samples")
    found = collect(MofkaDaskSource(str(shared_data / "mofka-dask")))
    assert found.units == found.accounted
    assert not found.rejects
    names = [partition.id for partition in found.partitions]
    assert "image-processing-head/scheduler_transition_1000.csv" in names
    assert len(names) == len(set(names))


def test_software_of_the_samples(shared_data):
    for path in files(shared_data, "*/*.OU"):
        listed = re.findall(r"^\w+\.([\w-]+)@([^%\s]+)%gcc$", path.read_text(), re.MULTILINE)
        assert len(listed) > 100
        found = collect(MofkaDaskSource(str(path)))
        assert [(s["name"], s["version"]) for s in found.rows("run.software")] == listed
        assert {s["compiler"] for s in found.rows("run.software")} == {"gcc@11.2.0"}
