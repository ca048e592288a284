"""Records of every module and version, written by hand in both byte orders."""

import struct
from datetime import UTC, datetime

import pytest
from darshan_logs import LogWriter

from harvest_darshan.read.autoperf import APMPI_COUNTERS, APMPI_TIMERS, APXC_COUNTERS
from harvest_darshan.read.fixed import FIXED

# sizes of a record by module, from its first version on, from Darshan's sources
SIZES_OF = {
    "POSIX": (680, 648, 664, 704),
    "STDIO": (240, 248),
    "MPI-IO": (544, 544, 560),
    "H5F": (40, 56, 80),
    "H5D": (904, 912),
    "PNETCDF_FILE": (48, 64, 152),
    "PNETCDF_VAR": (1120,),
    "BG/Q": (120, 112),
    "DFS": (584,),
    "DAOS": (696,),
}
SIZES = {(m, v): size for m, sizes in SIZES_OF.items() for v, size in enumerate(sizes, start=1)}
TYPE = {"MPI-IO": "mpiio", "BG/Q": "bgq"}


def test_all_layouts_have_the_size_that_darshan_gives_them():
    sizes = {(m, v): layout.size for m, by in FIXED.items() for v, layout in by.items()}
    assert sizes == SIZES


@pytest.mark.parametrize("order", ["<", ">"])
@pytest.mark.parametrize(("module", "version"), SIZES)
def test_each_word_of_a_record_reaches_its_column(harvest_bytes, module, version, order):
    # given two records whose every word is a number of its own
    words = FIXED[module][version].words
    values, data = [], b""
    for start in (1000, 5000):
        row = {"record_id": 2**64 - start, "rank": 0}
        for number, word in enumerate(words[2:], start=start):
            if word is not None:
                row[word] = number + 0.5 if "_F_" in word else number
        values.append(row)
        for place, word in enumerate(words):
            value = row.get(word, place)
            kind = "d" if isinstance(value, float) else "Q"
            data += struct.pack(order + kind, value)

    found = harvest_bytes(LogWriter(order=order, modules={module: (version, data)}).build())

    rows = found.rows(f"darshan.{TYPE.get(module, module.lower())}")
    assert len(rows) == 2
    for row, expected in zip(rows, values, strict=True):
        for word, value in expected.items():
            if word.startswith("+"):
                assert dict(row["extra"])[word[1:]] == str(value)
            elif not word.endswith("_uuid"):
                assert row[word] == value
        absent = set(FIXED[module][max(FIXED[module])].words) - set(expected) - {None}
        assert all(row[word] is None for word in absent)
    assert not found.rejects


def test_first_and_last_time_of_a_record(harvest_bytes):
    names = [w for w in FIXED["POSIX"][4].words if w and "_F_" in w]
    timers = dict.fromkeys(names, 0.0)
    timers |= {"POSIX_F_READ_START_TIMESTAMP": 2.0, "POSIX_F_CLOSE_END_TIMESTAMP": 7.5}
    data = struct.pack("<Qq69q17d", 7, 0, *[0] * 69, *timers.values())
    never = struct.pack("<Qq69q17d", 7, 0, *[0] * 69, *[0.0] * 17)

    found = harvest_bytes(LogWriter(modules={"POSIX": (4, data + never)}).build())

    first, second = found.rows("darshan.posix")
    assert first["first_time"] == datetime(2023, 11, 14, 22, 13, 22, 250_000, UTC)
    assert first["last_time"] == datetime(2023, 11, 14, 22, 13, 27, 750_000, UTC)
    assert (second["first_time"], second["last_time"]) == (None, None)


@pytest.mark.parametrize("order", ["<", ">"])
def test_lustre_version_1_is_one_component(harvest_bytes, order):
    data = struct.pack(order + "Qq5q3q", 7, -1, 248, 5, -1, 1 << 20, 3, 11, 22, 33)
    data += struct.pack(order + "Qq5q1q", 8, 0, 248, 5, -1, 1 << 20, 1, 44)

    log = LogWriter(order=order, modules={"LUSTRE": (1, data)})
    rows = harvest_bytes(log.build()).rows("darshan.lustre")

    assert [row["LUSTRE_COMP_OST_IDS"] for row in rows] == [[11, 22, 33], [44]]
    assert rows[0]["LUSTRE_COMP_STRIPE_SIZE"] == 1 << 20
    assert (rows[0]["LUSTRE_OSTS"], rows[0]["LUSTRE_MDTS"]) == (248, 5)
    assert (rows[0]["rank"], rows[0]["path"]) == (-1, "/scratch/x")
    assert rows[0]["LUSTRE_COMP_MIRROR_ID"] is None


@pytest.mark.parametrize("order", ["<", ">"])
def test_lustre_version_2_has_components(harvest_bytes, order):
    def component(size, count, pool=b""):
        return struct.pack(order + "7q16s", size, count, 0, 16, 0, -1, 0, pool)

    # room for four components and five stripes, of which two and three are used
    data = struct.pack(order + "Qqqq", 7, 0, 4, 5)
    data += component(4096, 1, b"flash") + component(65536, 2) + component(-1, 0) * 2
    data += struct.pack(order + "5q", 1, 2, 3, 0, 0)
    data += struct.pack(order + "Qqqq", 8, 0, 0, 0)

    found = harvest_bytes(LogWriter(order=order, modules={"LUSTRE": (2, data)}).build())

    rows = found.rows("darshan.lustre")
    keys = ("record_id", "component", "LUSTRE_COMP_POOL_NAME", "LUSTRE_COMP_OST_IDS")
    assert [tuple(row[k] for k in keys) for row in rows] == [
        (7, 0, "flash", [1]),
        (7, 1, None, [2, 3]),
        (8, None, None, None),
    ]
    assert [row["LUSTRE_NUM_COMPONENTS"] for row in rows] == [2, 2, 0]


@pytest.mark.parametrize("order", ["<", ">"])
def test_heat_maps(harvest_bytes, monkeypatch, order):
    # given batches of a single heat map, as long ones have
    monkeypatch.setattr("harvest_darshan.read.variable._ITEMS", 1)
    data = struct.pack(order + "QqdqQQ", 7, 0, 0.5, 3, 1, 2)
    data += struct.pack(order + "6q", 1, 2, 3, 4, 5, 6)
    data += struct.pack(order + "QqdqQQ", 8, 1, 0.5, 0, 1, 2)

    log = LogWriter(order=order, modules={"HEATMAP": (1, data)})
    rows = harvest_bytes(log.build()).rows("darshan.heatmap")

    assert [row["position"] for row in rows] == [1, 2]
    assert rows[0]["HEATMAP_WRITE_BINS"] == [1, 2, 3]
    assert rows[0]["HEATMAP_READ_BINS"] == [4, 5, 6]
    assert rows[0]["HEATMAP_F_BIN_WIDTH_SECONDS"] == 0.5
    assert rows[1]["HEATMAP_READ_BINS"] == []


@pytest.mark.parametrize("order", ["<", ">"])
def test_mdhim(harvest_bytes, order):
    data = struct.pack(order + "Qq5q4d3q", 7, 0, 1, 2, 3, 4, 3, 0.1, 0.2, 0.3, 0.4, 9, 8, 7)
    data += struct.pack(order + "Qq5q4d1q", 8, 0, 1, 2, 3, 4, 0, 0.1, 0.2, 0.3, 0.4, 6)

    log = LogWriter(order=order, modules={"MDHIM": (1, data)})
    rows = harvest_bytes(log.build()).rows("darshan.mdhim")

    assert [row["MDHIM_SERVER_HISTOGRAM"] for row in rows] == [[9, 8, 7], [6]]
    assert rows[0]["MDHIM_F_GET_MAX_DURATION"] == 0.4


@pytest.mark.parametrize("order", ["<", ">"])
def test_autoperf(harvest_bytes, order):
    mpi = struct.pack(order + "QqqI4xdd", 1, 0, 280520118345, 1, 0.25, 0.5)
    for rank in (0, 1):
        mpi += struct.pack(order + "Qq", 1, rank)
        mpi += struct.pack(f"{order}{len(APMPI_COUNTERS)}Q", *range(len(APMPI_COUNTERS)))
        mpi += struct.pack(f"{order}{len(APMPI_TIMERS)}d", *range(len(APMPI_TIMERS)))
        mpi += f"nid{rank}".encode().ljust(128, b"\0")
    router = struct.pack(order + "Qq6qQ", 1, 0, 5, 10, 11, 12, 1, 2, 99)
    router += struct.pack(order + "Qq4q", 1, 0, 1, 2, 3, 4)
    router += struct.pack(f"{order}{len(APXC_COUNTERS)}Q", *range(len(APXC_COUNTERS)))

    found = harvest_bytes(
        LogWriter(order=order, modules={"APXC": (1, router), "APMPI": (1, mpi)}).build()
    )

    rows = found.rows("darshan.apmpi")
    assert [row["hostname"] for row in rows] == ["nid0", "nid1"]
    assert dict(rows[1]["counters"]) == {n: i for i, n in enumerate(APMPI_COUNTERS)}
    assert dict(rows[1]["timers"]) == {n: float(i) for i, n in enumerate(APMPI_TIMERS)}
    assert rows[0]["MPI_TOTAL_COMM_TIME_VARIANCE"] == 0.25
    (row,) = found.rows("darshan.apxc")
    assert (row["node"], row["nblades"], row["cluster_mode"], row["appid"]) == (4, 10, 2, 99)
    assert dict(row["counters"])["APXC_AR_RTR_PT_5_7_INQ_PRF_RSP_ROWBUS_STALL_CNT"] == 391


@pytest.mark.parametrize(
    ("module", "version", "data"),
    [
        ("STDIO", 2, b"x" * 249),
        ("LUSTRE", 1, struct.pack("<Qq5q", 7, 0, 1, 1, 1, 1, 2**40)),
        ("LUSTRE", 2, struct.pack("<Qqqq", 7, 0, 2**50, 1)),
        ("LUSTRE", 2, b"x" * 31),
        ("HEATMAP", 1, struct.pack("<QqdqQQ", 7, 0, 0.5, 2**60, 1, 2)),
        ("HEATMAP", 1, struct.pack("<QqdqQQ", 7, 0, 0.5, -1, 1, 2)),
        ("MDHIM", 1, struct.pack("<Qq5q4d1q", 8, 0, 1, 2, 3, 4, 2**60, 0.1, 0.2, 0.3, 0.4, 6)),
        ("APMPI", 1, b"x" * 100),
        ("APXC", 1, b"x" * 10),
    ],
)
def test_records_that_do_not_fill_their_region(harvest_bytes, module, version, data):
    found = harvest_bytes(LogWriter(modules={module: (version, data)}).build())

    assert found.rows("darshan.job")[0]["unread_modules"] == [module]
    assert len(found.rejects) == 1
