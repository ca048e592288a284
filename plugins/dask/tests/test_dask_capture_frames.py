"""Capture files as they are found on a disk: cut anywhere, with flipped bits, joined, foreign."""

import io
from pathlib import Path
from typing import Any

import captures
import msgpack
import pytest
from hypothesis import given
from hypothesis import strategies as st
from night import NIGHT

from harvest import Collected, collect
from harvest_dask.records.captures.container import LONGEST, Piece, pieces
from harvest_dask.records.captures.source import DaskSource

CONTENTS = [
    captures.start("worker"),
    captures.rows("worker_transition", [{"time": captures.T, "key": "x", **captures.change(0)}]),
    {"kind": "clock", "time": captures.T, "offset_s": 0.5},
    captures.END,
]
WHOLE = captures.frames(CONTENTS)
ENDS = [len(captures.frames(CONTENTS[:n])) for n in range(1, len(CONTENTS) + 1)]
"""Where each frame ends."""


def read(directory: Path, data: bytes) -> Collected:
    """What is found in one capture file; its account adds up."""
    path = directory / "worker-x.cap"
    path.write_bytes(data)
    found = collect(DaskSource(str(path)))
    assert found.units is None or found.units == found.accounted
    return found


def cut_up(data: bytes) -> list[Piece]:
    return list(pieces(io.BytesIO(data), len(data)))


def process(found: Collected) -> dict[str, Any]:
    (row,) = found.rows("dask.process")
    return row


@pytest.mark.parametrize("size", range(0, len(WHOLE), 1 if NIGHT else 5))
def test_a_file_cut_at_any_byte_gives_the_frames_before(tmp_path, size):
    # given a process that was killed, or still writes
    found = read(tmp_path, WHOLE[:size])

    # then the frames that are whole are read, and what is cut is not a fault
    whole = sum(end <= size for end in ENDS)
    assert not found.rejects
    assert len(found.rows("dask.worker_transition")) == (whole >= 2)
    if not size:
        assert not found.written
        assert found.notes == ["worker-x.cap is empty"]
        return
    row = process(found)
    assert (row["frames"], row["end_time"]) == (whole, None)
    assert row["cut_bytes"] == size - ([0, *ENDS][whole])
    # and its reader is notified, with the frame and the place
    (note,) = found.notes
    assert f"at byte {size}" in note
    assert (f"while frame {whole + 1} was being written" in note) == bool(row["cut_bytes"])
    (lost,) = found.rows("dask.log_event")
    assert (lost["kind"], lost["worker"]) == ("lost", captures.WORKER if whole else None)


@given(st.integers(0, ENDS[-1] - 1), st.integers(0, 7))
def test_any_flipped_bit_costs_its_frame_and_no_other(place, bit):
    # given a file with one bit flipped
    damaged = bytearray(WHOLE)
    damaged[place] ^= 1 << bit
    hit = sum(end <= place for end in ENDS)

    # when it is read, then all frames but that one are there
    found = cut_up(bytes(damaged))
    whole = [piece.index for piece in found if not piece.flaw]
    assert whole == [n for n in range(1, len(CONTENTS) + 1) if n != hit + 1]
    # and that one is damage, or looks cut off where the last one's length is not as it was
    (other,) = [piece for piece in found if piece.flaw]
    assert other.index == hit + 1
    assert not other.cut or hit + 1 == len(CONTENTS)


@given(st.lists(st.tuples(st.integers(0, len(WHOLE)), st.binary(max_size=40)), max_size=4))
def test_every_byte_is_accounted_for_whatever_is_put_between(insertions):
    data = WHOLE
    for place, more in insertions:
        data = data[:place] + more + data[place:]
    found = cut_up(data)
    assert sum(piece.size for piece in found) == len(data)
    whole = [piece.index for piece in found if not piece.flaw]
    assert whole == sorted(set(whole))


def test_a_frame_that_is_missing_is_a_reject_that_names_it(tmp_path):
    # given a file without its second frame
    found = read(tmp_path, WHOLE[: ENDS[0]] + WHOLE[ENDS[1] :])

    (reject,) = found.rejects
    assert (reject.position, reject.raw) == (2, b"")
    assert "frame 2 is missing" in reject.reason


def test_two_lost_frames_are_one_reject_that_names_both(tmp_path):
    middle = bytes(ENDS[2] - ENDS[0])
    found = read(tmp_path, WHOLE[: ENDS[0]] + middle + WHOLE[ENDS[2] :])

    (reject,) = found.rejects
    assert reject.position == 2
    assert f"bytes {ENDS[0]} to {ENDS[2] - 1}" in reject.reason
    assert "frames 2 to 3 are lost" in reject.reason
    assert process(found)["frames"] == 2


def test_a_file_that_was_copied_behind_itself_gives_no_row_twice(tmp_path):
    found = read(tmp_path, WHOLE + WHOLE)

    assert len(found.rows("dask.worker_transition")) == 1
    assert [reject.position for reject in found.rejects] == [1, 2, 3, 4]
    assert all("once more" in reject.reason for reject in found.rejects)


def test_bytes_behind_the_end_are_a_reject(tmp_path):
    (reject,) = read(tmp_path, WHOLE + b"HDC1").rejects
    assert (reject.position, reject.raw) == (5, b"HDC1")
    (reject,) = read(tmp_path, WHOLE + bytes(9)).rejects
    assert reject.raw == bytes(9)


def test_a_length_that_no_frame_has_is_not_allocated():
    head = b"HDC1" + (LONGEST + 1).to_bytes(4, "little") + bytes(8)
    first, *_ = cut_up(head + WHOLE)
    assert "is above" in first.flaw
    assert not first.cut


def test_a_file_of_magic_numbers_alone_ends_soon(monkeypatch):
    # given heads whose frames reach over each other, and little patience
    monkeypatch.setattr("harvest_dask.records.captures.container._PATIENCE", 0)
    head = b"HDC1" + (30_000).to_bytes(4, "little") + bytes(8)
    data = head * 4_000

    class Counting(io.BytesIO):
        read_bytes = 0

        def read(self, size: int | None = -1) -> bytes:
            found = super().read(size)
            self.read_bytes += len(found)
            return found

    # when it is read, then no more is looked at than a few times its size
    stream = Counting(data)
    found = list(pieces(stream, len(data)))
    assert sum(piece.size for piece in found) == len(data)
    assert all(piece.flaw for piece in found)
    assert stream.read_bytes < 8 * len(data)


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (7, "not a map from texts"),
        ({1: 2}, "int is not allowed for map key"),
        ({"time": 1.0}, "its kind is None"),
        ({"kind": "log", "n": 2, "columns": {"message": ["x"]}}, "holds 1 values for 2 rows"),
        ({"kind": "log", "columns": {"message": 7}}, "column 'message' is not a list"),
        ({"kind": "log", "n": 1.0, "columns": {"message": ["x"]}}, "number of rows is 1.0"),
        ({"kind": "log", "n": 3, "columns": {}}, "3 rows and no column"),
        ({"kind": "log", "n": 1, "columns": [["x"]]}, "columns are not a map"),
        ({"kind": "graph", "keys": ["x"], "dependencies": []}, "0 lists for 1 keys"),
        ({"kind": "graph", "keys": [1.5, None], "dependencies": [[], []]}, "not a text"),
        ({"kind": "graph", "keys": ["x"], "dependencies": ["ab"]}, "not a list of lists"),
        ({"kind": "graph", "keys": ["x"], "dependencies": [[b"\xff"]]}, "holds what is not a text"),
        ({"kind": "graph", "keys": [], "dependencies": [], "annotations": 1}, "is not a map"),
        ({"kind": "config", "values": ["a"]}, "'values' is not a map"),
        ({"kind": "blind", "since": "long ago"}, "not a time"),
        (msgpack.ExtType(5, b"x"), "extension type 5"),
        (captures.start("worker"), "a second 'start'"),
    ],
)
def test_a_frame_that_says_something_else_is_a_reject_with_its_number(tmp_path, content, reason):
    found = read(tmp_path, captures.frames([captures.start("worker"), content, captures.END]))

    (reject,) = found.rejects
    assert reject.position == 2
    assert reject.raw == msgpack.packb(content)
    assert reason in reject.reason
    assert process(found)["reason"] == "closed"


@given(st.binary(max_size=60))
def test_any_payload_is_a_row_or_a_reject(tmp_path_factory, payload):
    whole = captures.sealed(2, payload)
    data = captures.frame(1, captures.start("worker")) + whole
    read(tmp_path_factory.mktemp("any"), data)
