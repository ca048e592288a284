"""Rules on a study, each with rows that make it speak and rows that just do not."""

from __future__ import annotations

import polars as pl
import pytest

import harvest
from harvest.testing import judge
from harvest_ncem.rules import RULES

BY_NAME = {rule.name: rule for rule in RULES}


def spoken(name: str, rows: dict[str, list], **thresholds: float) -> list[tuple[str, str]]:
    """What a rule says of rows of its view."""
    found = judge(BY_NAME[name], pl.DataFrame(rows), **thresholds)
    return [(f.finding.severity, f.finding.text) for f in found]


def test_a_clock_beyond_two_seconds_is_named_with_its_direction():
    rows = {
        "receiver": [0, 1, 2],
        "median_offset_s": [2.0, -2.5, 0.1],
        "n": [10, 1200, 12],
        "n_beyond": [0, 12, 0],
        "suggested_clock_offset_s": [-2.0, 2.5, -0.1],
    }

    assert spoken("ncem.clocks_apart", rows) == [
        (
            "high",
            "The clock of receiver 1 is 2.5 s behind the others' (median of 1,200 scans; "
            "2 s are allowed).",
        )
    ]
    assert len(spoken("ncem.clocks_apart", rows, seconds=1.9)) == 2
    assert spoken("ncem.clocks_apart", rows, seconds=2.5) == []


def test_scans_whose_receivers_disagree_are_counted_and_the_worst_is_named():
    rows = {
        "scan_number": [0, 7, 8, 9],
        "take": [1, 1, 1, 2],
        "spread_s": [99.0, 2.0, 2.1, 4.0],
        "worst_receiver": [0, 1, 2, 3],
        "worst_offset_s": [99.0, 1.0, 1.1, 3.0],
    }

    assert spoken("ncem.scans_apart", rows) == [
        (
            "medium",
            "In 2 of 4 scans the receivers' times lie over 2 s apart; the most, 4 s, in scan 9.",
        )
    ]
    assert spoken("ncem.scans_apart", rows, seconds=4) == []


def test_scans_without_a_receiver_are_counted():
    rows = {
        "scan_number": [0, 7, 8],
        "take": [1, 1, 1],
        "receivers": [1, 4, 3],
        "first_receiver_time": [None, None, None],
    }

    assert spoken("ncem.receivers_missing", rows) == [
        (
            "medium",
            "1 of 3 scans have statuses of fewer than 4 receivers, the poorest of 3: their first "
            "and last times may be missing.",
        )
    ]
    assert spoken("ncem.receivers_missing", rows, receivers=3) == []


@pytest.mark.parametrize(("others", "severity"), [(9, "low"), (8, "medium")])
def test_scans_that_are_left_out_are_counted_by_reason(others, severity):
    """One of ten weighs little, one of nine more."""
    rows = pl.DataFrame(
        {
            "scan_number": range(others + 1),
            "take": 1,
            "excluded": ["no data file"] + [None] * others,
            "first_receiver_time": None,
            "data_files": 0,
        }
    )
    found = judge(BY_NAME["ncem.scans_left_out"], rows)

    assert [(f.finding.severity, f.finding.text) for f in found] == [
        (severity, f"1 of {others + 1} scans are left out of the offload: no data file.")
    ]
    assert judge(BY_NAME["ncem.scans_left_out"], rows.tail(others)) == []


def test_a_coarse_clock_is_named_by_size_and_method():
    rows = {
        "size": ["128x128", "256x256"],
        "method": ["streaming", "streaming"],
        "n": [3, 3],
        "n_outliers": [1, 0],
        "clock_step_s": [1.0, 1.0],
        "warning": ["both quartiles are 3 s", None],
    }

    assert spoken("ncem.clock_too_coarse", rows) == [
        ("medium", "128x128 by streaming: both quartiles are 3 s.")
    ]
    rows["warning"] = [None, None]
    assert spoken("ncem.clock_too_coarse", rows) == []


def test_a_study_with_a_wrong_clock_says_so_on_the_first_page(tmp_path):
    """Receiver 3 is 5 s late in each of three scans: its dataset's findings name it."""
    times = ["2024-03-01 10:0{scan}:00"] * 3 + ["2024-03-01 10:0{scan}:05"]
    lines = [",".join(["{scan}", *times]).format(scan=scan) for scan in (1, 2, 3)]
    table = ["scan_number,time0,time1,time2,time3", *lines]
    (tmp_path / "ncem_file_created_times.csv").write_text("\n".join(table) + "\n")
    harvest.run(
        [f"ncem:{tmp_path / 'ncem_file_created_times.csv'}"],
        f"parquet:{tmp_path / 'out'}",
        workers=1,
    )

    verdict = harvest.open(tmp_path / "out").findings(["ncem.clocks_apart"])

    assert [found.finding.text for found in verdict.found] == [
        "The clock of receiver 3 is 5 s ahead of the others' (median of 3 scans; 2 s are allowed)."
    ]
