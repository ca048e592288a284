"""Numbers that cannot be: they are left out of sums and named, and no sum wraps.

What is expected is reckoned with Python's own integers, which have no end.
"""

import math
import struct
from collections.abc import Callable
from itertools import cycle
from pathlib import Path
from typing import Any

import pytest
from darshan_logs import VERSIONS, counter_record, dataset_of, dxt_record, modules
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from night import NIGHT
from reporting import page_of

from harvest.toolkit.amounts import bytes_in_words

READS = {"MPI-IO": "INDEP_READS", "DAOS": "KV_GETS", "PNETCDF_VAR": "COLL_READS"}
MOST = 2**63 - 1


@pytest.fixture
def dataset(opened: Any) -> Callable[..., Any]:
    """A dataset of a run for each of these: counters of each of its records, by module."""

    def build(*jobs: dict[str, list[dict[str, float]]], **more: Any) -> Any:
        logs = []
        for number, held in enumerate(jobs, 50):
            records = [(m, 7 + at, c) for m, some in held.items() for at, c in enumerate(some)]
            given = {"modules": modules(*records), "job_id": number, **more}
            logs.append((f"{'-'.join(held)}/u_a_id{number}-1_1-1-1-1_1.darshan", given))
        return opened(*logs)

    return build


def rows(data: Any, view: str, **chosen: Any) -> list[dict[str, Any]]:
    found = data.view(view).collect()
    return found.filter(**chosen).to_dicts() if chosen else found.to_dicts()


def of_each(data: Any, view: str) -> dict[str, dict[str, Any]]:
    """The only row of each module's log, by module."""
    return {Path(row["run"]).name: row for row in rows(data, view)}


def notes(data: Any) -> str:
    return " ".join(data.notes)


# ---- the kinds, layer by layer: a job for each ---------------------------------------------------


@pytest.mark.slow
def test_bytes_below_zero_are_left_out_and_named(dataset):
    # given two records of each module, of which one has bytes written that cannot be
    values = dict(zip(VERSIONS, cycle([-5, -1, -(2**63)]), strict=False))
    good = {"BYTES_WRITTEN": 30, "BYTES_READ": 4}
    jobs = ({m: [good, {"BYTES_WRITTEN": v, "BYTES_READ": 2}]} for m, v in values.items())
    data = dataset(*jobs, nprocs=2)

    layers, jobs = of_each(data, "io.bandwidth"), of_each(data, "io.jobs")

    # then both views have the sum of the rest, as a lower bound, and the bytes read
    assert layers.keys() == jobs.keys() == values.keys()
    found = data.findings(["io.impossible_values"]).found
    files = rows(data, "io.files")
    for module, value in values.items():
        layer, job = layers[module], jobs[module]
        assert (layer["write_bytes"], layer["read_bytes"], layer["bytes"]) == (30, 6, 36), module
        assert layer["certainty"] == job["certainty"] == ["lower_bound", "impossible_value"]
        assert job["bytes"] == 36
        counter = f"{module.replace('-', '')}_BYTES_WRITTEN"
        assert job["impossible"] == counter
        assert f"{counter} is {value}" in notes(data)
        # and of the file that has nothing else, nothing is known
        known = {f["record_id"]: f["write_bytes"] for f in files if Path(f["run"]).name == module}
        assert known == {7: 30, 8: None}
    assert found


@pytest.mark.slow
def test_a_time_that_cannot_be_stops_no_view(dataset):
    odd = cycle([math.nan, math.inf, -math.inf, 1e300, -1e300, 9.3e9])
    values = dict(zip(VERSIONS, odd, strict=False))
    good = {"F_META_TIME": 1.0, "F_READ_TIME": 2.0}
    jobs = ({m: [good, {"F_META_TIME": v, "F_READ_TIME": 4.0}]} for m, v in values.items())
    data = dataset(*jobs, nprocs=2)

    layers, jobs = of_each(data, "io.bandwidth"), of_each(data, "io.jobs")

    for module in values:
        job, layer = jobs[module], layers[module]
        assert (job["meta_s"], job["io_s"]) == (1.0, 7.0), module
        assert job["certainty"] == ["lower_bound", "impossible_value"]
        assert job["impossible"] == f"{module.replace('-', '')}_F_META_TIME"
        # a rate by a time that lacks a part would be too high
        assert (layer["slowest_s"], layer["bytes_per_s"]) == (None, None)
    # and all other views, and what the page reads beside them
    assert len(rows(data, "io.timeline") + rows(data, "io.processes")) == len(VERSIONS)
    assert len(rows(data, "io.files")) == 2 * len(VERSIONS)
    assert rows(data, "io.gains")
    assert page_of(data, "darshan.io", job=50).only("layers").tables


@pytest.mark.slow
def test_a_sum_that_passes_64_bits_is_null_and_says_why(dataset):
    big = {"BYTES_WRITTEN": MOST, "BYTES_READ": 5}
    records = {module: big | {READS.get(module, "READS"): MOST} for module in VERSIONS}
    data = dataset(*({module: [record] * 2} for module, record in records.items()), nprocs=2)

    layers, jobs = of_each(data, "io.bandwidth"), of_each(data, "io.jobs")
    logs = of_each(data, "io.processes")

    for module in VERSIONS:
        layer, job, log = layers[module], jobs[module], logs[module]
        summed = (layer["write_bytes"], layer["bytes"], layer["requests"])
        assert (*summed, job["bytes"], job["requests"]) == (None,) * 5, module
        assert layer["read_bytes"] == 10
        assert (log["counted_write_bytes"], log["counted_read_bytes"]) == (None, 10)
        assert layer["certainty"] == job["certainty"] == log["certainty"] == ["too_large"]
    # what fits is given, up to the last
    assert {row["write_bytes"] for row in rows(data, "io.files")} == {MOST}
    page = page_of(data, "darshan.io", job=50)
    assert "bytes moved: too large (in 1 log)" in map(str, page.tiles)


def test_the_largest_sum_that_fits_is_given(dataset):
    data = dataset({"POSIX": [{"BYTES_READ": 2**62}, {"BYTES_WRITTEN": 2**62 - 1}]})

    (job,) = rows(data, "io.jobs")

    assert (job["bytes"], job["certainty"]) == (MOST, ["one_process"])


def test_what_darshan_did_not_watch_is_no_fault(dataset):
    # given counters of which -1, and its sum over ranks, say that they were not watched
    unwatched = {"MMAPS": -4, "DUPS": -1, "FILENOS": -1, "MEM_NOT_ALIGNED": -1}
    more = {"FILE_ALIGNMENT": -1, "FASTEST_RANK": -1, "MAX_BYTE_READ": -1, "STRIDE1_STRIDE": -8}
    data = dataset({"POSIX": [{"BYTES_READ": 3, "READS": 1, **unwatched, **more}]}, nprocs=2)

    (job,) = rows(data, "io.jobs")

    assert (job["bytes"], job["certainty"], job["impossible"]) == (3, [], None)
    assert notes(data) == ""


# ---- the trace and heat maps --------------------------------------------------------------------


def test_of_a_trace_what_cannot_be_is_left_out(opened):
    # given five reads: of -8 bytes, endless, without a time, that ends before it begins; one good;
    # and a run that traced them in POSIX, one that did in MPI-IO
    times = [(1.0, 2.0), (1.0, math.inf), (math.nan, math.nan), (3.0, 1.0), (4.0, 4.5)]
    sizes = [-8, 16, 32, 64, 128]
    reads = [(at, size, *time) for at, (size, time) in enumerate(zip(sizes, times, strict=True))]
    traced = dxt_record("<", 7, reads=reads)
    versions = {"DXT_POSIX": 1, "DXT_MPIIO": 2}
    logs = {m: {"modules": {m: (version, traced)}, "nprocs": 2} for m, version in versions.items()}
    data = opened(*((f"{m}/u_a_id50-1_1-1-1-1_1.darshan", log) for m, log in logs.items()))

    ranks, files = of_each(data, "io.ranks"), of_each(data, "io.files")
    logs, times = of_each(data, "io.processes"), rows(data, "io.timeline")

    moved, spent = 16 + 32 + 64 + 128, 1.0 + 0.5
    for module in versions:
        rank, file = ranks[module], files[module]
        assert (rank["bytes"], rank["seconds"], rank["operations"]) == (moved, spent, 5)
        assert rank["certainty"] == ["lower_bound", "impossible_value"]
        assert (file["read_bytes"], file["read_s"]) == (moved, spent)
        assert file["certainty"] == ["lower_bound"]
        # a read of -8 bytes is of no size
        assert sum(size["reads"] for size in file["sizes"]) == 4
        assert logs[module]["traced_read_bytes"] == moved
        of_run = [row for row in times if row["run"].endswith(module)]
        assert sum(row["bytes"] or 0 for row in of_run) == moved
        assert f"length of {module} is -8" in notes(data)
        assert f"time of {module} is inf and 2 more" in notes(data)


def test_lengths_of_a_trace_do_not_wrap(opened):
    reads = [(0, MOST, 1.0, 2.0), (MOST, MOST, 2.0, 3.0)]
    modules = {"DXT_POSIX": (1, dxt_record("<", 7, reads=reads))}
    data = opened(("u_a_id50-1_1-1-1-1_1.darshan", {"modules": modules, "nprocs": 2}))

    (rank,) = rows(data, "io.ranks")

    assert (rank["bytes"], rank["certainty"]) == (None, ["too_large"])
    # of intervals, each fits
    assert sum(row["bytes"] for row in rows(data, "io.timeline")) == 2 * MOST


@pytest.mark.slow
def test_a_heat_map_of_no_time_is_no_picture(opened):
    # given a log for each of these widths of a bin, in seconds
    logs = []
    for number, width in enumerate([math.nan, math.inf, 1e300, -1.0, 0.0]):
        bins = struct.pack("<QqdqQQ4q", 7, 0, width, 2, 0, 0, 5, -3 - number, MOST, MOST)
        given = {"modules": {"HEATMAP": (1, bins)}, "names": [(7, "heatmap:POSIX")]}
        logs.append((f"u_a_id{number}-1_1-1-1-1_1.darshan", given))
    data = opened(*logs)

    (picture,) = page_of(data, "darshan.io").only("heat-map").sections

    assert "have no heat map" in picture.items[0]
    assert "HEATMAP_WRITE_BINS is -3" in notes(data)


def test_bytes_of_heat_maps_do_not_wrap(opened):
    bins = struct.pack("<QqdqQQ4q", 7, 0, 1.0, 2, 0, 0, 5, -3, MOST, MOST)
    given = {"modules": {"HEATMAP": (1, bins)}, "names": [(7, "heatmap:POSIX")]}
    report = page_of(opened(("u_a_id50-1_1-1-1-1_1.darshan", given)), "darshan.io")

    (plot,) = report.only("heat-map").plots

    # 2 times 2**63 - 1
    assert f"{bytes_in_words(2 * MOST)} read and 5 bytes written" in plot.alt


# ---- what a log says of itself ------------------------------------------------------------------


@pytest.mark.slow
def test_a_log_that_darshan_did_not_finish_says_so(opened):
    # given a log without an end, and one whose name says so
    log = {"modules": {"POSIX": (4, counter_record("POSIX", 7, BYTES_READ=30))}, "nprocs": 2}
    endless = ("a/u_a_id50-1_1-1-1-1_1.darshan", {**log, "end": (0, 0)})
    partial = ("b/u_a_id51-1_1-1-1-1_1.darshan_partial", {**log, "end": (1_700_000_010, 0)})
    data = opened(endless, partial)

    jobs, files = rows(data, "io.jobs"), rows(data, "io.files")

    for job in jobs:
        assert (job["bytes"], job["certainty"]) == (30, ["lower_bound"])
        assert (job["unfinished_logs"], job["gaps"]) == (1, "1 of 1 logs not finished")
    assert sum("did not finish the log" in note for note in data.notes) == 2
    (found,) = data.findings(["io.incomplete_logs"]).found
    assert (found.finding.severity, "lower bounds" in found.finding.text) == ("high", True)
    assert [file["certainty"] for file in files] == [["lower_bound"]] * 2


def test_a_clock_that_was_set_back_leaves_the_run_unknown(dataset):
    start, end = (1_700_000_100, 0), (1_700_000_000, 0)
    data = dataset({"POSIX": [{"F_READ_TIME": 2.0}]}, start=start, end=end, nprocs=2)

    (job,) = rows(data, "io.jobs")

    assert (job["io_s"], job["process_s"], job["wall_s"], job["time_share"]) == (2.0, *[None] * 3)
    assert "before it begins, because its clock was set back" in notes(data)


def test_modules_that_darshan_cut_off_make_lower_bounds(opened):
    posix = counter_record("POSIX", 7, BYTES_READ=30)
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


LOG = st.tuples(st.lists(RECORD, min_size=1, max_size=3), st.lists(RECORD, max_size=2))


@pytest.mark.slow
@settings(
    max_examples=50 if NIGHT else 2,  # the first one is of zeros
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(logs=st.lists(LOG, min_size=10, max_size=10))
def test_views_have_what_python_reckons(tmp_path_factory, logs):
    # given logs of POSIX and STDIO, each in a directory of its own
    written = []
    for number, (posix, stdio) in enumerate(logs):
        held = [("POSIX", 7 + at, rec) for at, rec in enumerate(posix)]
        held += [("STDIO", 7 + at, rec) for at, rec in enumerate(stdio)]
        given = {"modules": modules(*held), "nprocs": 2, "job_id": number + 1}
        written.append((f"{number}/a.darshan", given))
    data = dataset_of(tmp_path_factory.mktemp("random"), *written)

    jobs = {Path(row["run"]).name: row for row in rows(data, "io.jobs")}
    layers = {(Path(row["run"]).name, row["layer"]): row for row in rows(data, "io.bandwidth")}

    assert len(jobs) == len(logs)
    wrong = [check(jobs[str(n)], n, layers, posix, stdio) for n, (posix, stdio) in enumerate(logs)]
    found = {found.rule.name for found in data.findings(["io.impossible_values"]).found}
    assert found == ({"io.impossible_values"} if any(wrong) else set())


def check(job, number, layers, posix, stdio) -> bool:
    """Compare what views have of a log with its records; gives whether one of these is wrong."""
    for name, records in (("POSIX", posix), ("STDIO", stdio)):
        layer = layers.get((str(number), name))
        for what, column in (("BYTES_READ", "read_bytes"), ("BYTES_WRITTEN", "write_bytes")):
            if records:
                assert layer[column] == whole([rec[what] for rec in records])
        for op in ("read", "write", "meta") if records else ():
            time = spent([rec[f"F_{op.upper()}_TIME"] for rec in records])
            assert layer[f"{op}_s"] == pytest.approx(time)
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
    return wrong


@pytest.mark.slow
def test_counts_of_more_requests_than_there_were_are_unknown(dataset):
    # given bins with more reads than were counted, and misaligned ones of an impossible count
    none = {"OPENS": 1, "BYTES_READ": 5, "SIZE_READ_0_100": 5000}
    lost = {"OPENS": 1, "READS": -5, "MEM_NOT_ALIGNED": 5000, "MEM_ALIGNMENT": 8}
    data = dataset({"POSIX": [none]}, {"POSIX": [none, lost]})

    small = [row["small"] for row in rows(data, "io.requests", op="read")]
    found = {found.rule.name for found in data.findings().found}

    assert small == [None, None]
    assert not found & {"io.small_requests", "io.misaligned_memory"}
