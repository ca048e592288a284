"""The CSVs of a run: columns by name, odd files, and what is set aside."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from harvest import Collected, collect
from harvest_mofka_dask.source import MofkaDaskSource
from harvest_toolkit.delimited import CUT

HEADER = ",key,start,finish,called_from,time"
ROW = "0,list-1,released,waiting,tcp://10.0.0.1:1,1713553301.5"


def read(tmp_path: Path, data: str | bytes, name: str = "worker_transition.csv") -> Collected:
    path = tmp_path / name
    path.write_bytes(data.encode() if isinstance(data, str) else data)
    found = collect(MofkaDaskSource(str(path)))
    assert (found.units or 0) == found.accounted
    return found


def test_columns_are_found_by_name_whatever_their_order(tmp_path):
    found = read(tmp_path, "time,finish,key,called_from,start\n1713553301.5,Waiting,k,w,RELEASED\n")
    (row,) = found.rows("dask.worker_transition")
    assert row["time"] == datetime(2024, 4, 19, 19, 1, 41, 500_000, tzinfo=UTC)
    assert (row["key"], row["start_state"], row["finish_state"], row["worker"]) == (
        *("k", "released", "waiting", "w"),
    )
    assert row["position"] == 1
    assert row["extra"] is None


def test_unknown_columns_go_to_extra_and_the_index_does_not(tmp_path):
    found = read(tmp_path, f"{HEADER},rank,note\n{ROW},7,\n{ROW},,\n")
    first, second = found.rows("dask.worker_transition")
    assert first["extra"] == [("rank", "7")]
    assert second["extra"] is None


def test_byte_order_mark_crlf_and_quoted_newlines_are_read(tmp_path):
    text = f'\ufeff{HEADER}\r\n0,"a ""b"",\nc",x,y,w,1713553301.5\r\n'
    (row,) = read(tmp_path, text).rows("dask.worker_transition")
    assert row["key"] == 'a "b",\nc'


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("1,k,a,b,w", "5 fields where the header has 6"),
        ("1,k,,b,w,1713553301.5", "column 'start' is empty"),
        ("1,k,a,b,w,soon", "column 'time' is 'soon', not a time"),
        ("1,k,a,b,w,1e300", "not a time"),
        ('1,"k"x,a,b,w,1713553301.5', "a quote is misplaced"),
    ],
)
def test_a_bad_row_is_rejected_and_its_neighbours_are_read(tmp_path, line, reason):
    found = read(tmp_path, f"{HEADER}\n{ROW}\n{line}\n{ROW}\n")
    assert [r["position"] for r in found.rows("dask.worker_transition")] == [1, 3]
    (reject,) = found.rejects
    assert (reject.position, reject.raw) == (2, line.encode())
    assert reason in reject.reason


def test_a_last_line_without_newline_is_set_aside_even_if_complete(tmp_path):
    found = read(tmp_path, f"{HEADER}\n{ROW}\n{ROW}")
    assert len(found.rows("dask.worker_transition")) == 1
    (reject,) = found.rejects
    assert (reject.position, reject.raw, reject.reason) == (2, ROW.encode(), CUT)
    assert "no final newline" in found.notes[0]


@pytest.mark.parametrize("data", ["", HEADER, HEADER + "\n", "\ufeff" + HEADER + "\r\n"])
def test_an_empty_file_or_a_bare_header_gives_no_rows_and_a_note(tmp_path, data):
    found = read(tmp_path, data)
    assert not found.tables
    assert not found.rejects
    assert len(found.notes) == 1


def test_a_header_without_its_columns_costs_the_file_only(tmp_path):
    (tmp_path / "worker_transition.csv").write_text(",key,begin,time\n0,k,a,1713553301.5\n")
    (tmp_path / "client.csv").write_text(",client,action,time\n0,C,add,1713553301.5\n")
    found = collect(MofkaDaskSource(str(tmp_path)))
    (reject,) = found.rejects
    assert "lacks start, finish" in reject.reason
    assert "found: key, begin, time" in reject.reason
    assert len(found.rows("dask.client")) == 1
    assert found.units == found.accounted


def test_blank_lines_are_counted_and_have_no_number(tmp_path):
    found = read(tmp_path, f"{HEADER}\n\n{ROW}\n\r\n{ROW}\n")
    assert [r["position"] for r in found.rows("dask.worker_transition")] == [1, 2]
    assert found.filtered == {"blank line": 2}


def test_nul_bytes_within_a_text_are_kept(tmp_path):
    (row,) = read(tmp_path, f"{HEADER}\n0,a\0b,x,y,w,1713553301.5\n").rows("dask.worker_transition")
    assert row["key"] == "a\0b"


def test_numbers_that_pandas_made_floats_are_whole_again(tmp_path):
    header = "key,thread,worker,prefix,group,start,finish,stimulus_id,called_from,begins,ends"
    header += ",duration,size,time"
    rows = [
        "k,140737353971456.0,w,p,g,processing,memory,task-finished-1713553304.44,s,"
        "1713553301.0,1713553302.25,1.25,50254.0,1713553304.5",
        "k,9223372036854775807,w,p,g,processing,memory,odd-stimulus,s,None,,nan,2.5e3,1713553304.5",
        "k,1.5,w,p,g,a,b,x,s,,,,,1713553304.5",
        "k,9223372036854775808,w,p,g,a,b,x,s,,,,,1713553304.5",
        "k,,w,p,g,a,b,x,s,,,fast,,1713553304.5",
    ]
    found = read(tmp_path, "\n".join([header, *rows, ""]), "scheduler_transition.csv")
    first, second = found.rows("dask.task_transition")
    assert (first["thread"], first["size_bytes"], first["duration_s"]) == (
        *(140737353971456, 50254, 1.25),
    )
    assert first["ends"] == datetime(2024, 4, 19, 19, 1, 42, 250_000, tzinfo=UTC)
    assert (first["stimulus"], second["stimulus"]) == ("task-finished", "odd-stimulus")
    assert (second["thread"], second["size_bytes"]) == (2**63 - 1, 2500)
    assert second["begins"] is second["duration_s"] is None
    assert [r.position for r in found.rejects] == [3, 4, 5]
    assert "column 'thread' is '1.5', not a whole number" in found.rejects[0].reason
    assert "column 'duration' is 'fast', not a number" in found.rejects[2].reason


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("client,time\nC,1713553301.5\n", None),
        ("client,action,time\nC,remove_client,1713553301.5\n", "remove"),
        ("client,action,time\nC,add,'1713553301.5'\n", "add"),
        ('client,action,time\nC,Add,"2024-04-19T21:01:41.5+02:00"\n', "add"),
    ],
)
def test_newer_couplers_drop_or_rename_actions_and_quote_times(tmp_path, text, expected):
    (row,) = read(tmp_path, text, "client.csv").rows("dask.client")
    assert row["action"] == expected
    assert row["time"] == datetime(2024, 4, 19, 19, 1, 41, 500_000, tzinfo=UTC)


def test_an_action_of_other_events_goes_to_extra(tmp_path):
    found = read(tmp_path, f"{HEADER},action\n{ROW},worker_transition\n")
    assert found.rows("dask.worker_transition")[0]["extra"] == [("action", "worker_transition")]


def test_a_worker_that_ends_tells_only_the_time(tmp_path):
    text = ",worker,action,stimulus_id,time\n0,,,,1713553301.5\n"
    (row,) = read(tmp_path, text, "worker.csv").rows("dask.worker")
    assert row["worker"] is None
    assert row["time"] is not None
