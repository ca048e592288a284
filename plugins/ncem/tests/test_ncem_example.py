"""The example of the study: its inputs are made, read and viewed without a loss."""

from __future__ import annotations

import csv
import statistics
from datetime import UTC, datetime
from pathlib import Path

import polars as pl
import pytest
from scripts import run_script

from harvest import collect
from harvest.model import record_type
from harvest_ncem.records import DataFile, ReceiverStatus
from harvest_ncem.source import NcemSource
from harvest_ncem.study import load_study
from harvest_ncem.views import offload, streaming

EXAMPLE = Path(__file__).resolve().parents[3] / "examples" / "ncem-study"


@pytest.fixture(scope="module")
def inputs(tmp_path_factory) -> Path:
    """The inputs that the example's script writes."""
    folder = tmp_path_factory.mktemp("study")
    run_script(EXAMPLE / "make_study.py", folder)
    return folder


def test_the_example_gives_its_own_means(inputs):
    found = collect(NcemSource(str(inputs / "ncem")))
    assert found.accounted == found.units
    assert not found.rejects
    data = {
        record_type(cls).name: pl.from_arrow(
            found.tables[record_type(cls).name].drop_columns(["extra", "origin"])
        ).lazy()
        for cls in (ReceiverStatus, DataFile)
    }
    study = load_study(EXAMPLE / "study.toml")
    ranges = offload.build(data, study, per="range").collect().to_dicts()
    # an independent reading of the table of last writes
    with (inputs / "ncem" / "write_times.csv").open(newline="") as file:
        lines = list(csv.DictReader(file))
    for row in ranges:
        values = [
            (moment(line["time_last_written"]) - first).total_seconds()
            for line in lines
            if row["first_scan"] <= int(line["scan_number"]) <= row["last_scan"]
            for first in [min(moment(line[f"time{n}"]) for n in range(4) if line[f"time{n}"])]
        ]
        assert row["n"] == len(values) == 30
        assert row["mean_s"] == pytest.approx(statistics.fmean(values), rel=1e-9)
    frame = streaming.build(data, study).collect()
    counted = frame.filter(pl.col("excluded").is_null())
    assert set(counted["size"]) == {"128x128", "256x256", "512x512", "1024x1024"}
    assert set(frame["excluded"]) <= {None, "no HDF5 file", "no receiver time"}


def moment(text: str) -> datetime:
    return datetime.fromisoformat(text[:25]).astimezone(UTC)
