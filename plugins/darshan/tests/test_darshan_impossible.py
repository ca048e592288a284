"""Numbers that cannot be: they are left out of sums and named, and no sum wraps.

What is expected is reckoned with Python's own integers, which have no end.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from strength import examples, pairs

import harvest
from harvest.toolkit.amounts import bytes_in_words

CASES = next(
    (p / "shared/data/cases" for p in Path(__file__).parents if (p / "shared/data/cases").is_dir()),
    Path("/nonexistent"),
)
VERSIONS = {"POSIX": 4, "MPI-IO": 3, "STDIO": 2, "DFS": 1, "DAOS": 1, "H5D": 2, "PNETCDF_VAR": 1}
READS = {"MPI-IO": "INDEP_READS", "DAOS": "KV_GETS", "PNETCDF_VAR": "COLL_READS"}
MOST = 2**63 - 1
VIEWS = (
    *("io.jobs", "io.files", "io.processes", "io.bandwidth", "io.requests", "io.posix_files"),
    *("io.ranks", "io.timeline", "io.gains"),
)


@pytest.fixture
def dataset(opened: Any, make_record: Callable[..., bytes]) -> Callable[..., Any]:
    """A dataset of one log; modules: counters of each of its records, by module."""

    def build(modules: dict[str, list[dict[str, float]]], **more: Any) -> Any:
        packed = {
            name: (
                VERSIONS[name],
                b"".join(make_record(name, 7 + at, **rec) for at, rec in enumerate(records)),
            )
            for name, records in modules.items()
        }
        return opened(("u_a_id50-1_1-1-1-1_1.darshan", {"modules": packed, "job_id": 50, **more}))

    return build


def rows(data: Any, view: str, **chosen: Any) -> list[dict[str, Any]]:
    found = data.view(view).collect()
    return found.filter(**chosen).to_dicts() if chosen else found.to_dicts()


def notes(data: Any) -> str:
    return " ".join(data.notes)


# ---- the kinds, layer by layer ------------------------------------------------------------------


@pytest.mark.parametrize(("module", "value"), pairs([*VERSIONS], [-5, -1, -(2**63)]))
def test_bytes_below_zero_are_left_out_and_named(dataset, module, value):
    # given two records, of which one has bytes written that cannot be
    good, bad = {"BYTES_WRITTEN": 30, "BYTES_READ": 4}, {"BYTES_WRITTEN": value, "BYTES_READ": 2}
    data = dataset({module: [good, bad]}, nprocs=2)

    (layer,) = rows(data, "io.bandwidth", layer=module)
    (job,) = rows(data, "io.jobs")

    # then both views have the sum of the rest, as a lower bound, and the bytes read
    assert (layer["write_bytes"], layer["read_bytes"], layer["bytes"]) == (30, 6, 36)
    assert layer["certainty"] == job["certainty"] == ["lower_bound", "impossible_value"]
    assert job["bytes"] == 36
    counter = f"{module.replace('-', '')}_BYTES_WRITTEN"
    assert job["impossible"] == counter
    assert f"{counter} is {value}" in notes(data)
    (found,) = (x for x in data.findings().found if x.rule.name == "io.impossible_values")
    assert counter in found.finding.text
    # and of the file that has nothing else, nothing is known
    files = {row["record_id"]: row["write_bytes"] for row in rows(data, "io.files")}
    assert files == {7: 30, 8: None}


@pytest.mark.parametrize(
    ("module", "value"), pairs([*VERSIONS], [math.nan, math.inf, -math.inf, 1e300, -1e300, 9.3e9])
)
def test_a_time_that_cannot_be_stops_no_view(dataset, module, value):
    good = {"F_META_TIME": 1.0, "F_READ_TIME": 2.0}
    data = dataset({module: [good, {"F_META_TIME": value, "F_READ_TIME": 4.0}]}, nprocs=2)

    views = {view: rows(data, view) for view in VIEWS}

    (job,) = views["io.jobs"]
    assert (job["meta_s"], job["io_s"]) == (1.0, 7.0)
    assert job["certainty"] == ["lower_bound", "impossible_value"]
    assert job["impossible"] == f"{module.replace('-', '')}_F_META_TIME"
    # a rate by a time that lacks a part would be too high
    (layer,) = views["io.bandwidth"]
    assert (layer["slowest_s"], layer["bytes_per_s"]) == (None, None)
    assert "io.impossible_values" in {x.rule.name for x in data.findings().found}
    assert len(data.report("darshan.io").html()) > 10_000


@pytest.mark.parametrize("module", VERSIONS)
def test_a_sum_that_passes_64_bits_is_null_and_says_why(dataset, module):
    big = {"BYTES_WRITTEN": MOST, "BYTES_READ": 5, READS.get(module, "READS"): MOST}
    data = dataset({module: [big, big]}, nprocs=2)

    (layer,) = rows(data, "io.bandwidth")
    (job,) = rows(data, "io.jobs")
    (log,) = rows(data, "io.processes")

    assert (layer["write_bytes"], layer["bytes"], layer["requests"]) == (None, None, None)
    assert layer["read_bytes"] == 10
    assert (job["bytes"], job["requests"]) == (None, None)
    assert (log["counted_write_bytes"], log["counted_read_bytes"]) == (None, 10)
    assert layer["certainty"] == job["certainty"] == log["certainty"] == ["too_large"]
    # what fits is given, up to the last
    assert {row["write_bytes"] for row in rows(data, "io.files")} == {MOST}
    report = data.report("darshan.io")
    assert "more bytes than a number of 64 bits holds" in " ".join(report.intro)
    assert len(report.html()) > 10_000


def test_the_largest_sum_that_fits_is_given(dataset):
    data = dataset({"POSIX": [{"BYTES_READ": 2**62}, {"BYTES_WRITTEN": 2**62 - 1}]})

    (job,) = rows(data, "io.jobs")

    assert (job["bytes"], job["certainty"]) == (MOST, ["one_process"])


def test_what_darshan_did_not_watch_is_no_fault(dataset):
    # given counters of which -1, and its sum over ranks, say that they were not watched
    unwatched = {
        "MMAPS": -4,
        "DUPS": -1,
        "FILENOS": -1,
        "MEM_NOT_ALIGNED": -1,
        "RENAME_TARGETS": -1,
    }
    more = {"FILE_ALIGNMENT": -1, "FASTEST_RANK": -1, "MAX_BYTE_READ": -1, "STRIDE1_STRIDE": -8}
    data = dataset({"POSIX": [{"BYTES_READ": 3, "READS": 1, **unwatched, **more}]}, nprocs=2)

    (job,) = rows(data, "io.jobs")

    assert (job["bytes"], job["certainty"], job["impossible"]) == (3, [], None)
    assert notes(data) == ""


# ---- the trace and heat maps --------------------------------------------------------------------


@pytest.mark.parametrize("module", ["DXT_POSIX", "DXT_MPIIO"])
def test_of_a_trace_what_cannot_be_is_left_out(opened, make_dxt, module):
    # given five reads: of -8 bytes, endless, without a time, that ends before it begins; one good
    times = [(1.0, 2.0), (1.0, math.inf), (math.nan, math.nan), (3.0, 1.0), (4.0, 4.5)]
    sizes = [-8, 16, 32, 64, 128]
    reads = [(at, size, *time) for at, (size, time) in enumerate(zip(sizes, times, strict=True))]
    version = 2 if module == "DXT_MPIIO" else 1
    modules = {module: (version, make_dxt("<", 7, reads=reads))}
    data = opened(("u_a_id50-1_1-1-1-1_1.darshan", {"modules": modules, "nprocs": 2}))

    (rank,) = rows(data, "io.ranks")
    (file,) = rows(data, "io.files")
    (log,) = rows(data, "io.processes")

    moved, spent = 16 + 32 + 64 + 128, 1.0 + 0.5
    assert (rank["bytes"], rank["seconds"], rank["operations"]) == (moved, spent, 5)
    assert rank["certainty"] == ["lower_bound", "impossible_value"]
    assert (file["read_bytes"], file["read_s"]) == (moved, spent)
    assert file["certainty"] == ["lower_bound"]
    # a read of -8 bytes is of no size
    assert sum(size["reads"] for size in file["sizes"]) == 4
    assert log["traced_read_bytes"] == moved
    assert sum(row["bytes"] or 0 for row in rows(data, "io.timeline")) == moved
    assert f"length of {module} is -8" in notes(data)
    assert f"time of {module} is inf and 2 others" in notes(data)
    assert len(data.report("darshan.io").html()) > 10_000


def test_lengths_of_a_trace_do_not_wrap(opened, make_dxt):
    reads = [(0, MOST, 1.0, 2.0), (MOST, MOST, 2.0, 3.0)]
    modules = {"DXT_POSIX": (1, make_dxt("<", 7, reads=reads))}
    data = opened(("u_a_id50-1_1-1-1-1_1.darshan", {"modules": modules, "nprocs": 2}))

    (rank,) = rows(data, "io.ranks")

    assert (rank["bytes"], rank["certainty"]) == (None, ["too_large"])
    # of intervals, each fits
    assert sum(row["bytes"] for row in rows(data, "io.timeline")) == 2 * MOST
    assert len(data.report("darshan.io").html()) > 10_000


@pytest.mark.parametrize("width", [math.nan, math.inf, 1e300, -1.0, 0.0])
def test_a_heat_map_of_no_time_is_no_picture(opened, width):
    bins = struct.pack("<QqdqQQ4q", 7, 0, width, 2, 0, 0, 5, -3, MOST, MOST)
    names = [(7, "heatmap:POSIX")]
    given = {"modules": {"HEATMAP": (1, bins)}, "names": names}
    data = opened(("u_a_id50-1_1-1-1-1_1.darshan", given))

    html = data.report("darshan.io").html()

    assert "hold neither heat maps" in html
    assert "HEATMAP_WRITE_BINS is -3" in notes(data)


def test_bytes_of_heat_maps_do_not_wrap(opened):
    bins = struct.pack("<QqdqQQ4q", 7, 0, 1.0, 2, 0, 0, 5, -3, MOST, MOST)
    given = {"modules": {"HEATMAP": (1, bins)}, "names": [(7, "heatmap:POSIX")]}
    report = opened(("u_a_id50-1_1-1-1-1_1.darshan", given)).report("darshan.io")

    (plot,) = (section for section in report.sections if section.name == "heat-map")

    # 2 times 2**63 - 1
    assert f"{bytes_in_words(2 * MOST)} read and 5 bytes written" in plot.alt
    assert len(report.html()) > 10_000


# ---- what a log says of itself ------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "end"),
    [
        ("u_a_id50-1_1-1-1-1_1.darshan", (0, 0)),
        ("u_a_id50-1_1-1-1-1_1.darshan_partial", (1_700_000_010, 0)),
    ],
)
def test_a_log_that_darshan_did_not_finish_says_so(opened, make_record, name, end):
    posix = make_record("POSIX", 7, BYTES_READ=30)
    data = opened((name, {"modules": {"POSIX": (4, posix)}, "end": end, "nprocs": 2}))

    (job,) = rows(data, "io.jobs")

    assert (job["bytes"], job["certainty"]) == (30, ["lower_bound"])
    assert (job["unfinished_logs"], job["gaps"]) == (1, "1 of 1 logs not finished")
    assert "did not finish the log" in notes(data)
    (found,) = (x for x in data.findings().found if x.rule.name == "io.incomplete_logs")
    assert (found.finding.severity, "lower bounds" in found.finding.text) == ("high", True)
    assert rows(data, "io.files")[0]["certainty"] == ["lower_bound"]


def test_a_clock_that_was_set_back_leaves_the_run_unknown(dataset):
    start, end = (1_700_000_100, 0), (1_700_000_000, 0)
    data = dataset({"POSIX": [{"F_READ_TIME": 2.0}]}, start=start, end=end, nprocs=2)

    (job,) = rows(data, "io.jobs")

    assert (job["io_s"], job["process_s"], job["wall_s"], job["time_share"]) == (2.0, *[None] * 3)
    assert "before it begins, by a clock that was set back" in notes(data)
    assert len(data.report("darshan.io").html()) > 10_000


def test_modules_that_darshan_cut_off_make_lower_bounds(opened, make_record):
    posix = make_record("POSIX", 7, BYTES_READ=30)
    data = opened(("a.darshan", {"modules": {"POSIX": (4, posix)}, "partial": ["POSIX"]}))

    assert rows(data, "io.files")[0]["certainty"] == ["lower_bound"]
    assert "lower_bound" in rows(data, "io.processes")[0]["certainty"]
    assert "incomplete modules" in notes(data)


# ---- whatever the numbers are -------------------------------------------------------------------

COUNT = st.sampled_from([0, 1, 7, 10**6, 2**62, MOST, -1, -5, -(2**63)]) | st.integers(-9, 10**9)
SECONDS = st.sampled_from([0.0, 0.5, 3.0, -2.0, math.nan, math.inf, -math.inf, 1e300, 1e12])
RECORD = st.fixed_dictionaries(
    {
        **dict.fromkeys(("BYTES_READ", "BYTES_WRITTEN", "READS", "WRITES"), COUNT),
        **dict.fromkeys(("F_READ_TIME", "F_WRITE_TIME", "F_META_TIME"), SECONDS),
    }
)


def whole(values: list[int]) -> int | None:
    """The sum of what can be; None where nothing can, or 64 bits do not hold it."""
    good = [value for value in values if value >= 0]
    return sum(good) if good and sum(good) <= MOST else None


def spent(values: list[float]) -> float | None:
    good = [max(value, 0.0) for value in values if abs(value) < 9e9]
    return math.fsum(good) if good else None


@settings(
    max_examples=examples(60),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(posix=st.lists(RECORD, min_size=1, max_size=3), stdio=st.lists(RECORD, max_size=2))
def test_views_have_what_python_reckons(tmp_path_factory, make_record, log_writer, posix, stdio):
    place = tmp_path_factory.mktemp("random")
    of = {"POSIX": posix, "STDIO": stdio}
    modules = {
        name: (
            VERSIONS[name],
            b"".join(make_record(name, 7 + at, **rec) for at, rec in enumerate(records)),
        )
        for name, records in of.items()
        if records
    }
    (place / "a.darshan").write_bytes(log_writer(modules=modules, nprocs=2).build())
    harvest.run(f"darshan:{place / 'a.darshan'}", f"parquet:{place / 'out'}", workers=1)
    data = harvest.open(place / "out")

    (job,) = rows(data, "io.jobs")
    layers = {row["layer"]: row for row in rows(data, "io.bandwidth")}

    for name, records in of.items():
        for what, column in (
            ("BYTES_READ", "read_bytes"),
            ("BYTES_WRITTEN", "write_bytes"),
        ):
            if records:
                assert layers[name][column] == whole([rec[what] for rec in records])
        for op in ("read", "write", "meta") if records else ():
            time = spent([rec[f"F_{op.upper()}_TIME"] for rec in records])
            assert layers[name][f"{op}_s"] == pytest.approx(time)
    both = [*posix, *stdio]
    assert job["reads"] == whole([rec["READS"] for rec in posix])
    assert job["meta_s"] == pytest.approx(spent([rec["F_META_TIME"] for rec in both]))
    parts = [[rec[name] for rec in both] for name in ("BYTES_READ", "BYTES_WRITTEN")]
    known = [[value for value in part if value >= 0] for part in parts]
    total = sum(map(sum, known)) if all(known) else MOST + 1
    assert job["bytes"] == (total if total <= MOST else None)
    wrong = any(
        value < 0 if isinstance(value, int) else not abs(value) < 9e9
        for rec in both
        for value in rec.values()
    )
    below = any(-9e9 < rec[f"F_{op}_TIME"] < 0 for rec in both for op in ("READ", "WRITE", "META"))
    assert ("impossible_value" in job["certainty"]) == wrong
    assert ("lower_bound" in job["certainty"]) == (wrong or below)
    assert {found.rule.name for found in data.findings().found} >= (
        {"io.impossible_values"} if wrong else set()
    )


# ---- the cases ----------------------------------------------------------------------------------


def counted(case: Path) -> dict[str, list[float]]:
    """What Darshan's own library reads of POSIX and STDIO, by counter."""
    report = pytest.importorskip("darshan", reason="PyDarshan is not installed").DarshanReport(
        str(case), read_all=True
    )
    found: dict[str, list[float]] = {}
    for module in ("POSIX", "STDIO"):
        for kind in ("counters", "fcounters"):
            frame = report.records[module].to_df()[kind]
            found |= {name: frame[name].tolist() for name in frame if name.startswith(module)}
    return found


@pytest.mark.parametrize("name", ["bytes-negative", "bytes-overflow", "time-infinite"])
def test_the_cases_as_the_library_has_them(tmp_path, name):
    case = CASES / f"darshan-{name}.darshan"
    if not case.is_file():
        pytest.skip("no cases beside this checkout")
    known = counted(case)
    harvest.run(f"darshan:{case}", f"parquet:{tmp_path / 'out'}", workers=1)
    data = harvest.open(tmp_path / "out")

    (job,) = rows(data, "io.jobs")

    for column, counter in (("read_bytes", "READ"), ("write_bytes", "WRITTEN")):
        assert job[column] == whole([int(v) for v in known[f"POSIX_BYTES_{counter}"]])
    times = [*known["POSIX_F_META_TIME"], *known["STDIO_F_META_TIME"]]
    assert job["meta_s"] == pytest.approx(spent(times))
    assert {
        "bytes-negative": ("POSIX_BYTES_WRITTEN", "impossible_value"),
        "bytes-overflow": (None, "too_large"),
        "time-infinite": ("POSIX_F_META_TIME", "impossible_value"),
    }[name] == (job["impossible"], (set(job["certainty"]) - {"lower_bound", "coarse_clock"}).pop())
    assert all(rows(data, view) for view in VIEWS)
    assert len(data.report("darshan.io").html()) > 10_000
