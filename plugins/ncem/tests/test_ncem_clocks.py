"""Times that the clock showed twice make no duration, and views say why."""

from datetime import UTC, datetime

import harvest
from harvest_ncem.views.scans import UNDECIDED


def harvested(folder, **tables):
    """A dataset of the tables, and the notes of its run."""
    for name, text in tables.items():
        (folder / f"{name}.csv").write_text(text)
    result = harvest.run(f"ncem:{folder}", f"parquet:{folder / 'out'}", workers=1, progress=False)
    return harvest.open(folder / "out"), result.notes


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
