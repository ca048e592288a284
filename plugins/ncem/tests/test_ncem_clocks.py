"""Clocks that are wrong are corrected; times that they showed twice make no duration."""

import re
from datetime import UTC, datetime

import pytest

import harvest
from harvest_ncem.views.scans import UNDECIDED


def harvested(folder, offsets=None, **tables):
    """A dataset of the tables, and the notes of its run."""
    for name, text in tables.items():
        (folder / f"{name}.csv").write_text(text)
    settings = {"ncem": {"clock_offset": offsets or {}}}
    result = harvest.run(f"ncem:{folder}", f"parquet:{folder}/out", settings=settings, workers=1)
    return harvest.open(folder / "out"), result.notes


@pytest.mark.parametrize("given", [{}, {"1": "-3s"}])
def test_a_harvest_with_the_advice_to_a_wrong_clock_corrects_it(tmp_path, given):
    """Without an offset before, and with one of the wrong sign."""
    times = ",".join(f"2024-03-01T10:00:{second}Z" for second in (30, 27, 31))
    table = f"scan_number,time0,time1,time2\n1,{times}\n"
    data, _ = harvested(tmp_path, given, times=table)
    (first,) = data.findings(["ncem.clocks_apart"]).found
    advised = re.findall(r"--set ncem\.clock_offset\.(\d)=(\S+),", first.advice)
    data, _ = harvested(tmp_path, dict(advised), times=table)
    assert (len(advised), data.findings(["ncem.clocks_apart"]).found) == (1, ())


def test_streaming_is_not_timed_where_a_write_may_be_an_hour_later(tmp_path):
    # given scans of the morning on which California set its clocks back, with receivers in UTC
    data, notes = harvested(
        tmp_path,
        receivers="scan_number,time0,time1\n"
        "1,2023-11-05T07:59:00+00:00,2023-11-05T07:59:01+00:00\n"
        "2,2023-11-05T09:29:00+00:00,2023-11-05T09:29:01+00:00\n"
        "3,2023-11-05T10:29:00+00:00,2023-11-05T10:29:01+00:00\n",
        files="distiller_id,scan_number,datetime\n"
        "01,1,2023-11-05 00:59:30\n02,2,2023-11-05 01:29:30\n03,3,2023-11-05 02:29:30\n",
    )
    rows = data.view("ncem.streaming").collect().to_dicts()
    assert [(row["duration_s"], row["excluded"]) for row in rows] == [
        (30.0, None), (None, UNDECIDED), (30.0, None),
    ]  # fmt: skip
    assert sum("1 local time occurred twice in America/Los_Angeles" in note for note in notes) == 1
    (file,) = data.sql(
        "select modify_time, undecided_times from 'ncem.data_file' where scan_number = 2"
    ).to_dicts()
    assert file == {
        "modify_time": datetime(2023, 11, 5, 8, 29, 30, tzinfo=UTC),
        "undecided_times": "modify_time",
    }
    # a file that may be of the second occurrence is not older than its scan
    failed = data.view("ncem.failed_scans", show="all").collect()
    assert failed["early"].to_list() == [False, None, False]


def test_offload_is_not_timed_where_a_receiver_may_be_an_hour_later(tmp_path):
    data, _ = harvested(
        tmp_path,
        writes="scan_number,time0,time_last_written\n"
        "1,2023-11-05 00:59:00,2023-11-05T07:59:30+00:00\n"
        "2,2023-11-05 01:29:00,2023-11-05T09:29:30+00:00\n",
    )
    rows = data.view("ncem.offload").collect().to_dicts()
    assert [(row["offload_s"], row["excluded"]) for row in rows] == [(30, None), (None, UNDECIDED)]
