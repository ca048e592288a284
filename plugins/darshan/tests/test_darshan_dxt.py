"""DXT: stock and pthread_id layouts, told apart by their lengths alone."""

import struct
from datetime import UTC, datetime

import pytest
from darshan_logs import LogWriter, dxt_record
from hypothesis import given
from hypothesis import strategies as st

import harvest_darshan.read.dxt as dxt

START = datetime(2023, 11, 14, 22, 13, 20, 250_000, UTC)


@pytest.mark.parametrize("order", ["<", ">"])
@pytest.mark.parametrize("compression", ["zlib", "bzip2"])
def test_stock_segments(harvest_bytes, order, compression):
    records = dxt_record(order, 7, [(0, 10, 0.5, 0.75)], [(10, 5, 1.0, 1.5), (15, 5, 2.0, 2.5)])
    records += dxt_record(order, 2**64 - 1, [], [(0, 1, 3.0, 4.0)], rank=3, host="node2")
    log = LogWriter(order=order, compression=compression, modules={"DXT_POSIX": (1, records)})

    found = harvest_bytes(log.build())

    rows = found.rows("darshan.dxt_segment")
    keys = ("record_id", "path", "rank", "hostname", "pid", "thread", "op", "segment", "offset")
    assert [tuple(row[k] for k in keys) for row in rows] == [
        (7, "/scratch/x", 0, "node1", 815, None, "write", 0, 0),
        (7, "/scratch/x", 0, "node1", 815, None, "read", 0, 10),
        (7, "/scratch/x", 0, "node1", 815, None, "read", 1, 15),
        (2**64 - 1, "/etc/y", 3, "node2", None, None, "read", 0, 0),
    ]
    assert rows[0]["start_time"] == START.replace(microsecond=750_000)
    assert rows[0]["end_time"] == datetime(2023, 11, 14, 22, 13, 21, 0, UTC)
    assert found.rows("darshan.job")[0]["dxt_layout"] == "stock"


@pytest.mark.parametrize("order", ["<", ">"])
def test_segments_with_a_thread(harvest_bytes, order):
    threads = [22_505_133_057_792, 1, 2**59]
    reads = [(i, 1, float(i), i + 0.5, f"pthread_id={t}") for i, t in enumerate(threads)]
    log = LogWriter(order=order, modules={"DXT_POSIX": (1, dxt_record(order, 7, [], reads))})

    found = harvest_bytes(log.build())

    assert [r["thread"] for r in found.rows("darshan.dxt_segment")] == threads
    assert found.rows("darshan.job")[0]["dxt_layout"] == "pthread_id"
    assert found.rows("darshan.job")[0]["hostname"] == "node1"


def test_a_text_that_is_no_thread_is_kept(harvest_bytes):
    texts = ["pthread_id=12", "pthread_id=", "pthread_id=1x", "thread=5", ""]
    texts.append("pthread_id=" + "9" * 30)
    reads = [(0, 1, 0.0, 1.0, text) for text in texts]
    log = LogWriter(modules={"DXT_POSIX": (1, dxt_record("<", 7, [], reads))})

    rows = harvest_bytes(log.build()).rows("darshan.dxt_segment")

    assert [row["thread"] for row in rows] == [12, None, None, None, None, None]
    kept = [dict(row["extra"] or {}).get("dxt_extra") for row in rows]
    assert kept == [None, *texts[1:4], None, texts[5]]


@pytest.mark.parametrize("rest", [b"\1" * 40, struct.pack("<q", -1), struct.pack("<q", 2**62)])
def test_records_that_fill_the_region_in_neither_layout_are_unread(harvest_bytes, rest):
    # given bytes behind the last record, or a wrong number of reads at the end of its head
    good = dxt_record("<", 7, [], [(0, 1, 0.0, 1.0)])
    records = good + rest if len(rest) > 8 else good[:96] + rest + good[104:]
    found = harvest_bytes(LogWriter(modules={"DXT_POSIX": (1, records)}).build())

    assert found.rows("darshan.job")[0]["unread_modules"] == ["DXT_POSIX"]
    (reject,) = found.rejects
    assert "do not fill it" in reject.reason
    assert "darshan.dxt_segment" not in found.tables


def test_a_record_without_segments_is_counted(harvest_bytes):
    records = dxt_record("<", 7) + dxt_record("<", 7, [(0, 1, 0.0, 1.0)])
    found = harvest_bytes(LogWriter(modules={"DXT_POSIX": (1, records)}).build())

    assert sum(found.folded.values()) == 1


def test_dxt_mpiio_version_1_has_no_offsets(harvest_bytes):
    records = dxt_record("<", 7, [(99, 1, 0.0, 1.0)])
    for version, offset in ((1, None), (2, 99)):
        found = harvest_bytes(LogWriter(modules={"DXT_MPIIO": (version, records)}).build())
        assert found.rows("darshan.dxt_segment")[0]["offset"] == offset


def test_times_that_cannot_be_are_null(harvest_bytes):
    reads = [(0, 1, float("nan"), 1.0), (0, 1, -1e300, float("inf"))]
    found = harvest_bytes(
        LogWriter(modules={"DXT_POSIX": (1, dxt_record("<", 7, [], reads))}).build()
    )

    rows = found.rows("darshan.dxt_segment")
    assert [row["start_time"] for row in rows] == [None, None]
    assert rows[1]["end_s"] == float("inf")


@pytest.mark.parametrize("variant", [False, True])
def test_batches_and_pieces_do_not_change_the_rows(harvest_bytes, monkeypatch, variant):
    # given records that are larger and smaller than a batch, of which nothing is kept in memory
    text = ("pthread_id=5",) if variant else ()
    records = b""
    for number, count in enumerate((1, 50, 3, 0, 17)):
        segments = [(i, i, float(i), i + 1.0, *text) for i in range(count)]
        records += dxt_record("<", number, segments, segments[:4])
    data = LogWriter(modules={"DXT_POSIX": (1, records)}).build()
    whole = harvest_bytes(data).tables["darshan.dxt_segment"]
    monkeypatch.setattr(dxt, "BATCH_ROWS", 7)
    monkeypatch.setattr("harvest_darshan.read.regions.KEEP", 0)
    monkeypatch.setattr("harvest_darshan.read.regions.PIECE", 100)

    parts = harvest_bytes(data).tables["darshan.dxt_segment"]

    assert parts.to_pylist() == whole.to_pylist()
    assert parts.num_rows == 71 + 1 + 4 + 3 + 0 + 4


segment = st.tuples(
    st.integers(-(2**63), 2**63 - 1),
    st.integers(-(2**63), 2**63 - 1),
    st.floats(0, 1e6),
    st.floats(0, 1e6),
)
record = st.tuples(
    st.integers(0, 2**64 - 1), st.lists(segment, max_size=5), st.lists(segment, max_size=5)
)


@pytest.mark.slow
@given(st.lists(record, min_size=1, max_size=5), st.booleans(), st.sampled_from("<>"))
def test_every_segment_comes_back(tmp_path_factory, made, variant, order):
    from harvest import collect
    from harvest_darshan.source import DarshanSource

    text = ("pthread_id=77",) if variant else ()
    data = b"".join(
        dxt_record(order, i, [(*s, *text) for s in w], [(*s, *text) for s in r]) for i, w, r in made
    )
    path = tmp_path_factory.mktemp("dxt") / "x.darshan"
    path.write_bytes(LogWriter(order=order, modules={"DXT_POSIX": (1, data)}).build())

    rows = collect(DarshanSource(str(path))).rows("darshan.dxt_segment")

    expected = [(i, *s) for i, w, r in made for s in (*w, *r)]
    keys = ("record_id", "offset", "length", "start_s", "end_s")
    assert [tuple(row[k] for k in keys) for row in rows] == expected
    assert {row["thread"] for row in rows} <= ({77} if variant else {None})
