"""Scans that were lost, failed or have gaps: what becomes of a scan, and the table of them."""

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import harvest
from harvest_ncem.sections import failed_table, together
from harvest_ncem.study import Study, load_study

T0 = datetime(2023, 10, 13, 16, 0, tzinfo=UTC)


def acquired(folder: Path, scan: int, receivers: int = 4, modules: int = 4, done: float = 100.0):
    """A scan as its receivers and modules leave it."""
    begin = T0 + timedelta(minutes=scan)
    for receiver in range(receivers):
        told = {"time": begin.isoformat(), "last_scan_number": scan, "progress": done}
        path = folder / f"4dstem_rec_status_{receiver}_scan_{scan}.json"
        path.write_text(json.dumps({**told, "UUID": f"{scan:032x}"}))
    for module in range(modules):
        (folder / f"data_scan{scan:010d}_module{module:03d}.data").write_bytes(b"x")


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Scans 1 to 9 without 6 and 7: 2 lacks a receiver, 3 and 4 a module, 5 stopped, 8 is empty."""
    folder = tmp_path_factory.mktemp("scans")
    lacking = {2: {"receivers": 3}, 3: {"modules": 3}, 4: {"modules": 3}, 5: {"done": 40.0}}
    lacking[8] = {"modules": 0}
    for scan in (0, 1, 2, 3, 4, 5, 8, 9):
        acquired(folder, scan, **lacking.get(scan, {}))
    harvest.run(f"ncem:{folder}", f"parquet:{folder.parent / 'gaps'}", workers=1)
    return harvest.open(folder.parent / "gaps")


def fates(data: Any, **settings: Any) -> dict[int, tuple[str, str, int]]:
    rows = data.view("ncem.failed_scans", **settings).collect()
    columns = ("scan_number", "fate", "problem", "numbers")
    return {scan: (fate, problem, n) for scan, fate, problem, n in rows.select(columns).iter_rows()}


def test_what_is_missing_of_a_scan_and_between_scans_is_a_gap(data):
    assert fates(data) == {
        2: ("gapped", "status of 3 of 4 receivers", 1),
        3: ("gapped", "data of 3 of 4 modules", 1),
        4: ("gapped", "data of 3 of 4 modules", 1),
        5: ("failed", "progress is 40 %", 1),
        6: ("gapped", "neither status nor file: a gap in the numbers", 2),
    }


def test_with_the_ranges_of_a_study_what_is_missing_is_lost(data, tmp_path):
    study = tmp_path / "study.toml"
    study.write_text('[[range]]\nsize = "64x64"\nmethod = "file_transfer"\nscans = [1, 8]\n')
    found = fates(data, study=str(study))
    assert {scan: fate for scan, (fate, _, _) in found.items()} == {
        **dict.fromkeys((2, 3, 4), "gapped"),
        5: "failed",
        **dict.fromkeys((6, 7, 8), "lost"),
    }
    assert found[8][1] == "no data file"
    (table,) = failed_table(data, load_study(study))
    shown = table.data.select("fate", "scans", "n", "problem").rows()
    assert shown == [
        ("lost", "6 to 7", 2, "neither status nor file"),
        ("lost", "8", 1, "no data file"),
        ("failed", "5", 1, "progress is 40 %"),
        ("gapped", "2", 1, "status of 3 of 4 receivers"),
        ("gapped", "3 to 4", 2, "data of 3 of 4 modules"),
    ]
    assert str(table.note).startswith("7 scans: 3 lost, 1 failed, 3 with gaps;")
    (table,) = failed_table(data, Study())
    assert str(table.note).startswith("6 scan numbers: 1 failed, 3 with gaps, 2 without status")


def test_scans_in_a_row_are_one_line_as_far_as_they_are_alike():
    rows = [(1, "a"), (2, "a"), (3, "b"), (5, "b"), (6, "b")]
    frame = pl.DataFrame(rows, schema=["scan_number", "problem"], orient="row").with_columns(
        pl.lit("lost").alias("fate"),
        pl.lit("streaming").alias("method"),
        pl.lit(None, pl.String).alias("size"),
        pl.lit(1).alias("numbers"),
        pl.lit(T0).alias("first_receiver_time"),
    )
    lines = together(frame).select("scans", "n").rows()
    assert lines == [("1 to 2", 2), ("3", 1), ("5 to 6", 2)]
