"""Every number of the report agrees with its tables, also where a kind of input is missing."""

import re
from collections import Counter
from pathlib import Path

import pytest
from reporting import page_of

EXAMPLE = Path(__file__).resolve().parents[3] / "examples" / "ncem-study"
STUDY = str(EXAMPLE / "study.toml")
LESS = (
    *("distiller", "distiller/256_256.csv", "ncem/ncem_file_created_times.csv"),
    *("ncem/receivers", "ncem/scan_times_*.csv", "ncem/write_times.csv"),
)
KINDS = ("nothing", "sacct.csv", *(pytest.param(kind, marks=pytest.mark.slow) for kind in LESS))


@pytest.fixture(scope="module", params=KINDS)
def study(request, inputs, example, example_without):
    """The example's inputs without one kind of them, the dataset that they give, and its report."""
    dataset = example
    if request.param != "nothing":
        inputs, dataset = example_without(request.param)
    return inputs, dataset, page_of(dataset, "ncem.comparison", study=STUDY)


def tables(report):
    return {table.name: table.data.to_dicts() for table in report.tables}


def test_each_row_of_the_views_and_each_line_counts_once(study):
    inputs, dataset, report = study
    found = tables(report)
    reported: Counter = Counter()
    for row in found["comparison"]:
        reported[row["method"]] += row["n"] if row["outliers"] == "kept" else 0
    absent: Counter = Counter()
    for row in found["left-out"]:
        reported[row["method"]] += row["n"]
        if row["excluded"] in ("unknown to Distiller", "no HDF5 file"):
            absent[row["method"]] += row["n"]
    expected: Counter = Counter()
    if {"slurm.job", "distiller.job"} <= set(dataset.record_types):
        expected["file_transfer"] = dataset.view("ncem.file_transfer", study=STUDY).collect().height
    expected["streaming"] = dataset.view("ncem.streaming", study=STUDY).collect().height
    assert reported == expected
    # and each line of Distiller, and each processed file
    if (inputs / "sacct.csv").exists():
        of_jobs = reported["file_transfer"] - absent["file_transfer"]
        assert of_jobs == lines(inputs.glob("distiller/*.csv"))
    of_files = reported["streaming"] - absent["streaming"]
    assert of_files == lines(inputs.glob("ncem/scan_times_*.csv"))


def lines(paths) -> int:
    """Rows of CSV files below their headers."""
    return sum(len(path.read_text().splitlines()) - 1 for path in paths)


def test_tiles_and_descriptions_give_the_numbers_of_the_table(study):
    _, _, report = study
    found = tables(report)
    factors = {
        (r["size"], f"{r['speed_up']:.2f}")
        for r in found["comparison"]
        if r["outliers"] == "removed" and r["speed_up"] is not None
    }
    *speed_ups, compared = report.tiles
    tiles = {(tile.label.split(", ")[-1], tile.value.rstrip("×")) for tile in speed_ups}
    assert tiles == (factors or {("speed-up of streaming", "unknown")})
    kept = sum(row["n"] for row in found["comparison"] if row["outliers"] == "kept")
    assert compared.value == f"{kept:,}"
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
