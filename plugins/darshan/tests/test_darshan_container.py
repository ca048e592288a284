"""The container: versions, byte orders, compressions, and files that are no log."""

import contextlib
import struct
from datetime import UTC, datetime

import pytest
from darshan_logs import STDIO, LogWriter
from hypothesis import given
from hypothesis import strategies as st

from harvest_darshan.read.container import HEADER_BYTES, DamagedError, parse_header

POSIX = struct.pack("<Qq69q17d", 7, 0, *[1] * 69, *[0.0] * 17)
VERSIONS = ["3.00", "3.10", "3.20", "3.21", "3.41"]


@pytest.mark.parametrize("compression", ["zlib", "bzip2", "none"])
@pytest.mark.parametrize("order", ["<", ">"])
@pytest.mark.parametrize("version", VERSIONS)
def test_every_version_order_and_compression(harvest_bytes, version, order, compression):
    # given a log with a job, mounts, names and one module
    stdio = struct.pack(order + "Qq14q15d", 7, 0, *range(14), *[0.0] * 15)
    modules = {"STDIO": (2, stdio)}
    log = LogWriter(version=version, order=order, compression=compression, modules=modules)

    found = harvest_bytes(log.build())

    # then everything is there, to the last unit
    (job,) = found.rows("darshan.job")
    assert (job["job_id"], job["uid"], job["exe"], job["pid"]) == (4711, 1000, "./a.out -v", 815)
    assert job["modules"] == ["STDIO"]
    assert job["unread_modules"] == []
    assert dict(job["metadata"]) == {"lib_ver": "3.4.4", "h": "a=b;c=d"}
    micro = 250_000 if version == "3.41" else 0
    assert job["start_time"] == datetime(2023, 11, 14, 22, 13, 20, micro, UTC)
    assert job["run_time_s"] == (10.5 if version == "3.41" else 11.0)
    assert [(f["record_id"], f["path"], f["fs_type"]) for f in found.rows("darshan.file")] == [
        (7, "/scratch/x", "lustre"),
        (2**64 - 1, "/etc/y", "ext4"),
    ]
    assert [m["mount_point"] for m in found.rows("darshan.mount")] == ["/", "/scratch"]
    (row,) = found.rows("darshan.stdio")
    assert (row["path"], row["STDIO_SLOWEST_RANK_BYTES"]) == ("/scratch/x", 13)
    assert found.units == found.accounted == 6
    assert not found.rejects


@pytest.mark.parametrize("version", ["3.10", "3.21", "3.41"])
def test_modules_keep_their_names_and_flags_over_renumberings(harvest_bytes, version):
    bgq = struct.pack("<Qq11qd", 7, 0, *range(11), 0.5)
    log = LogWriter(
        version=version, modules={"BG/Q": (2, bgq), "STDIO": (2, STDIO)}, partial=["STDIO"]
    )

    found = harvest_bytes(log.build())

    (job,) = found.rows("darshan.job")
    assert job["modules"] == ["BG/Q", "STDIO"]
    assert job["partial_modules"] == ["STDIO"]
    assert found.rows("darshan.bgq")[0]["BGQ_TORUSENABLED"] == 10
    assert "incomplete" in found.notes[0]


def test_one_line_for_each_kind_of_file_that_is_no_log(harvest_bytes):
    whole = LogWriter().build()
    cases = {
        b"": "the file is empty",
        b"\0" * 4096: "all zero",
        b"hello": "only 5 bytes",
        b"time,key,worker\n" * 9: "magic",
        whole[:700]: "truncated: the header",
        whole[: HEADER_BYTES + 20]: "job record",
        b"4.00" + whole[4:]: "version '4.00'",
        whole[:16] + b"\x09" + whole[17:]: "unknown compression 9",
    }
    for data, reason in cases.items():
        found = harvest_bytes(data)
        assert found.tables == {}
        assert len(found.rejects) == 1
        assert reason in found.rejects[0].reason
        assert "\n" not in found.rejects[0].reason
        assert found.rejects[0].raw == data[:HEADER_BYTES]
        assert found.units == found.accounted == 1


def test_garbage_in_the_job_record_is_a_reject(harvest_bytes):
    for change, word in (
        ({"start": (2**62, 0)}, "start time"),
        ({"start": (1, 10**9)}, "start nanoseconds"),
        ({"nprocs": 0}, "number of processes"),
    ):
        found = harvest_bytes(LogWriter(**change).build())
        assert "is damaged: its" in found.rejects[0].reason
        assert word in found.rejects[0].reason


def test_a_damaged_module_costs_that_module_alone(harvest_bytes):
    data = LogWriter(modules={"POSIX": (4, POSIX), "STDIO": (2, STDIO)}).build()
    posix_at = struct.unpack_from("<Q", data, 48 + 16)[0]
    # given one flipped bit in the compressed POSIX records
    damaged = bytearray(data)
    damaged[posix_at + 10] ^= 4

    found = harvest_bytes(bytes(damaged))

    (job,) = found.rows("darshan.job")
    assert job["unread_modules"] == ["POSIX"]
    assert [r.reason.split(":")[0] for r in found.rejects] == ["POSIX"]
    assert found.rejects[0].record_type == "darshan.posix"
    assert len(found.rows("darshan.stdio")) == 1


def test_a_truncated_log_names_what_is_lost(harvest_bytes):
    data = LogWriter(modules={"POSIX": (4, POSIX)}).build()

    found = harvest_bytes(data[:-9])

    assert found.rows("darshan.job")[0]["unread_modules"] == ["POSIX"]
    assert "truncated" in found.rejects[0].reason


def test_unknown_modules_and_versions_are_named(harvest_bytes):
    data = LogWriter(modules={"40": (1, b"?" * 50), "POSIX": (9, b"!" * 704)}).build()

    found = harvest_bytes(data)

    assert found.rows("darshan.job")[0]["unread_modules"] == ["POSIX", "module 40"]
    assert {r.reason for r in found.rejects} == {
        "POSIX: unknown version 9 of its records; known are 1, 2, 3, 4",
        "module 40: unknown module",
    }


def test_names_that_repeat_collide_or_are_no_utf8(harvest_bytes):
    log = LogWriter(names=[(1, "/a"), (1, "/a"), (1, "/b"), (2, "")])

    found = harvest_bytes(log.build())

    rows = [(f["record_id"], f["path"], f["position"]) for f in found.rows("darshan.file")]
    assert rows == [(1, "/a", 1), (1, "/b", 2), (2, "", 3)]
    assert found.folded == {"repeated name": 1}


def test_too_many_names_cost_the_names_alone(harvest_bytes, monkeypatch):
    monkeypatch.setattr("harvest_darshan.read.names.MOST", 3)
    log = LogWriter(names=[(i, f"/{i}") for i in range(4)], modules={"STDIO": (2, STDIO)})

    found = harvest_bytes(log.build())

    assert [r.reason for r in found.rejects] == ["names: the map of names has more than 3 entries"]
    assert found.rows("darshan.stdio")[0]["path"] is None


def test_a_mount_is_the_longest_that_leads_to_the_path(harvest_bytes):
    mounts = [("ext4", "/"), ("nfs", "/home"), ("lustre", "/home/big")]
    paths = ["/home/big/x", "/home/bigger", "/homework", "<STDIN>", "/home"]
    log = LogWriter(mounts=mounts, names=list(enumerate(paths)))

    found = harvest_bytes(log.build())

    points = [f["mount_point"] for f in found.rows("darshan.file")]
    assert points == ["/home/big", "/home", "/", None, "/home"]


def test_lines_that_are_no_mount_are_rejects(harvest_bytes):
    found = harvest_bytes(LogWriter(mounts=[("ext4", "/"), ("", "/cut")]).build())

    assert [(r.position, r.raw) for r in found.rejects] == [(2, b"\t/cut")]


@given(st.binary(max_size=1400))
def test_any_bytes_are_a_header_or_damaged(data):
    # nothing but DamagedError may come out
    with contextlib.suppress(DamagedError):
        assert parse_header(data, len(data)).job.length >= 0
