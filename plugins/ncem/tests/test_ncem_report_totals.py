"""Every number of the report agrees with its tables, also where a kind of input is missing."""

from __future__ import annotations

import csv
import re
import shutil
from collections import Counter
from pathlib import Path

import pytest
from reporting import page_of
from scripts import run_script

import harvest
from harvest.plugins.registry import manager

EXAMPLE = Path(__file__).resolve().parents[3] / "examples" / "ncem-study"
STUDY = str(EXAMPLE / "study.toml")
KINDS = (
    "nothing",
    "sacct.csv",
    "ncem/write_times.csv",
    *(
        pytest.param(kind, marks=pytest.mark.slow)
        for kind in (
            "distiller",
            "distiller/256_256.csv",
            "ncem/ncem_file_created_times.csv",
            "ncem/receivers",
            "ncem/scan_times_*.csv",
        )
    ),
)


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """The example's inputs."""
    made = tmp_path_factory.mktemp("whole") / "study"
    run_script(EXAMPLE / "make_study.py", made)
    return made


@pytest.fixture(scope="module", params=KINDS)
def study(request, whole, tmp_path_factory):
    """The example's inputs without one kind of them, the dataset that they give, and its report."""
    needed = {"slurm", "distiller", "ncem"}
    if not needed <= set(manager().sources) or "parquet" not in manager().sinks:
        pytest.skip("needs the plugins slurm, distiller and parquet")
    inputs = tmp_path_factory.mktemp("inputs") / "study"
    shutil.copytree(whole, inputs)
    for path in inputs.glob(request.param):
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    parts = {"slurm": "sacct.csv", "distiller": "distiller", "ncem": "ncem"}
    harvest.run(
        [f"{name}:{inputs / part}" for name, part in parts.items() if (inputs / part).exists()],
        f"parquet:{inputs.parent / 'out'}",
        settings={"slurm": {"timezone": "America/Los_Angeles"}},
        workers=1,
    )
    dataset = harvest.open(inputs.parent / "out")
    return inputs, dataset, page_of(dataset, "ncem.comparison", study=STUDY)


def tables(report):
    return {table.name: table.data.to_dicts() for table in report.tables}


def test_each_row_of_the_views_counts_once(study):
    _, dataset, report = study
    found = tables(report)
    reported: Counter = Counter()
    for row in found["comparison"]:
        if row["outliers"] == "kept":
            reported[row["method"]] += row["n"]
    for row in found["left-out"]:
        reported[row["method"]] += row["n"]
    expected: Counter = Counter()
    if {"slurm.job", "distiller.job"} <= set(dataset.record_types):
        expected["file_transfer"] = dataset.view("ncem.file_transfer", study=STUDY).collect().height
    expected["streaming"] = dataset.view("ncem.streaming", study=STUDY).collect().height
    assert reported == expected


def test_each_line_of_distiller_and_each_processed_file_is_in_the_report(study):
    inputs, _, report = study
    found = tables(report)
    counts: Counter = Counter()
    for row in found["comparison"]:
        counts[row["method"]] += row["n"] if row["outliers"] == "kept" else 0
    for row in found["left-out"]:
        if row["excluded"] not in ("not known to Distiller", "no HDF5 file"):
            counts[row["method"]] += row["n"]
    if (inputs / "sacct.csv").exists():
        assert counts["file_transfer"] == lines(inputs.glob("distiller/*.csv"))
    assert counts["streaming"] == lines(inputs.glob("ncem/scan_times_*.csv"))


def lines(paths) -> int:
    """Rows of CSV files below their headers."""
    count = 0
    for path in paths:
        with path.open(newline="") as file:
            count += len(list(csv.reader(file))) - 1
    return count


def test_outliers_are_what_lies_between_kept_and_removed(study):
    _, _, report = study
    found = tables(report)
    counts = {(r["size"], r["method"], r["outliers"]): r["n"] for r in found["comparison"]}
    limits = found.get("outliers", [])
    assert len(counts) == 2 * len(limits)
    for row in limits:
        one = row["size"], row["method"]
        assert row["n"] == counts[*one, "kept"]
        assert row["n"] - row["n_outliers"] == counts[*one, "removed"]


def test_sentences_and_descriptions_give_the_numbers_of_the_table(study):
    _, _, report = study
    found = tables(report)
    factors = {
        (r["size"], f"{r['speed_up']:.2f}")
        for r in found["comparison"]
        if r["outliers"] == "removed" and r["speed_up"] is not None
    }
    intro = report.intro[0]
    assert {(size, f) for f, size in re.findall(r"([\d.]+) times at (\d+x\d+)", intro)} == factors
    described = {}
    for plot in report.plots:
        if size := re.match(r"Histograms of the durations at (\d+x\d+)", plot.alt):
            for method, n, out in re.findall(
                r"(file transfer|streaming): ([\d,]+) values.*?, ([\d,]+) outliers",
                plot.alt,
                re.IGNORECASE,
            ):
                key = size[1], method.lower().replace(" ", "_")
                described[key] = int(n.replace(",", "")), int(out.replace(",", ""))
    limits = found.get("outliers", [])
    assert described == {(r["size"], r["method"]): (r["n"], r["n_outliers"]) for r in limits}
