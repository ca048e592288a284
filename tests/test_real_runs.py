"""Whole harvests of real run directories: both forms of a dataset hold the same.

That the rows are those of the CSVs is what the plugin's test_mofka_real.py compares by value.
The samples lie beside some checkouts only; elsewhere these tests are skipped.
"""

import json
from collections import Counter

import pyarrow.parquet as pq
import pytest
from polars.testing import assert_frame_equal

import harvest

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


def test_both_forms_hold_the_rows_that_the_account_counts(harvested):
    _, out, result = harvested
    with (out / "F.jsonl").open(encoding="utf-8") as lines:
        events = [json.loads(line) for line in lines]
    counts = Counter(event["record_type"] for event in events)
    assert counts.total() == result.account.written
    for name, rows in counts.items():
        files = (out / "D" / name).glob("*.parquet")
        assert sum(pq.read_metadata(file).num_rows for file in files) == rows, name
    places = [(event["origin"], event["position"]) for event in events]
    assert places == sorted(places)


def test_jsonl_and_parquet_hold_equal_values(harvested):
    _, out, _ = harvested
    parquet, jsonl = harvest.open(out / "D"), harvest.open(out / "F.jsonl")
    assert parquet.record_types == jsonl.record_types
    for name in parquet:
        assert_frame_equal(
            parquet[name].collect().sort("origin", "position"),
            jsonl[name].collect().sort("origin", "position"),
        )
