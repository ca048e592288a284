"""Whole harvests of real run directories, against counts that know nothing of harvest.

The samples lie beside some checkouts only; elsewhere these tests are skipped.
"""

import ast
import csv
import json
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from polars.testing import assert_frame_equal

import harvest

CSV_TYPES = {
    "scheduler_transition": "dask.task_transition",
    "worker_transition": "dask.worker_transition",
    "worker_transfer": "dask.transfer",
    "worker": "dask.worker",
    "client": "dask.client",
}
RUNS = ["D2024-04-19_19:01:00_R1_W8", "D2024-04-19_19:01:02_R6_W8", "image-processing-head"]


@pytest.fixture(scope="module", params=RUNS)
def harvested(request, shared_data, tmp_path_factory):
    """A real run, harvested into Parquet and into one file of events."""
    directory = shared_data / "mofka-dask" / request.param
    if not directory.is_dir():
        pytest.skip(f"sample {request.param} is absent")
    out = tmp_path_factory.mktemp("real")
    sinks = [f"parquet:{out / 'D'}", f"jsonl:{out / 'F.jsonl'}"]
    result = harvest.run(f"mofka-dask:{directory}", sinks)
    return directory, out, result


def read_csv(path: Path) -> list[dict[str, str]]:
    csv.field_size_limit(1 << 30)
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def expected_rows(directory: Path) -> dict[str, int]:
    """Rows per record type that the CSVs alone make, counted with the csv module."""
    counts: dict[str, int] = {}
    for path in directory.glob("*.csv"):
        rows = read_csv(path)
        stem = next((s for s in CSV_TYPES if path.stem in (s, f"{s}_1000")), None)
        if path.stem == "graph":
            number = sum(
                len({*literal(row["dependencies"]), *literal(row["keys"])}) for row in rows
            )
            counts["dask.graph_task"] = counts.get("dask.graph_task", 0) + number
        elif stem == "worker_transfer":
            unique = {
                tuple(v for k, v in sorted(row.items()) if k not in ("", "time")) for row in rows
            }
            counts["dask.transfer"] = counts.get("dask.transfer", 0) + len(unique)
        elif stem is not None:
            counts[CSV_TYPES[stem]] = counts.get(CSV_TYPES[stem], 0) + len(rows)
    return counts


def literal(text: str):
    return ast.literal_eval(text.replace("set()", "[]"))


def test_parquet_holds_exactly_the_rows_of_an_independent_count(harvested):
    directory, out, _ = harvested
    for name, rows in expected_rows(directory).items():
        files = (out / "D" / name).glob("*.parquet")
        assert sum(pq.read_metadata(f).num_rows for f in files) == rows, name


def test_the_consolidated_file_holds_exactly_the_same_rows(harvested):
    directory, out, result = harvested
    counts: dict[str, int] = {}
    order = []
    with (out / "F.jsonl").open(encoding="utf-8") as lines:
        for line in lines:
            event = json.loads(line)
            counts[event["record_type"]] = counts.get(event["record_type"], 0) + 1
            order.append((event["origin"], event["position"]))
    for name, rows in expected_rows(directory).items():
        assert counts[name] == rows, name
    assert sum(counts.values()) == result.account.written
    assert order == sorted(order)


def test_jsonl_and_parquet_hold_equal_values(harvested):
    _, out, _ = harvested
    parquet, jsonl = harvest.open(out / "D"), harvest.open(out / "F.jsonl")
    assert parquet.record_types == jsonl.record_types
    for name in parquet:
        assert_frame_equal(
            parquet[name].collect().sort("origin", "position"),
            jsonl[name].collect().sort("origin", "position"),
        )
