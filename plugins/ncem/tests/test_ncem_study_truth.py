"""Whole studies with known truth: written as files, harvested, viewed, and compared.

Hypothesis draws ranges of scans, receivers that are missing or tie, scans without files, and a
start near the instants at which the clocks of California change.  The expectation is computed
from what was drawn with datetime, zoneinfo and statistics alone.
"""

import csv
import statistics
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import attrs
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from test_ncem_views import dataset, job, rows

from harvest import collect
from harvest.model import record_type
from harvest_ncem.config import NcemConfig
from harvest_ncem.records import DataFile, ReceiverStatus
from harvest_ncem.source import NcemSource
from harvest_ncem.views import clock_check, file_transfer, offload, streaming

PACIFIC = ZoneInfo("America/Los_Angeles")
SIZES = ("128x128", "256x256", "512x512", "1024x1024")
STARTS = (
    datetime(2023, 10, 13, 16, 0, tzinfo=UTC),
    datetime(2023, 11, 5, 7, 45, tzinfo=UTC),  # an hour and a quarter before the clocks go back
    datetime(2023, 3, 12, 9, 45, tzinfo=UTC),  # a quarter before they go forward
)


@attrs.frozen
class Scan:
    number: int
    receivers: dict[int, datetime]
    last_written: datetime | None
    nersc: datetime | None  # naive local time, to the second


@attrs.frozen
class Drawn:
    size: str
    first: int
    last: int
    scans: list[Scan]
    jobs: list[tuple[float, float]]  # elapsed by Slurm, by Distiller
    save: tuple[float, float] | None


@st.composite
def studies(draw) -> list[Drawn]:
    moment = draw(st.sampled_from(STARTS))
    sizes = draw(st.lists(st.sampled_from(SIZES), min_size=1, max_size=3, unique=True))
    number, found = 100, []
    for size in sizes:
        scans = []
        count = draw(st.integers(0, 6))
        for _ in range(count):
            moment += timedelta(seconds=draw(st.integers(1, 900)))
            told = draw(st.sets(st.integers(0, 3), max_size=4))
            # whole seconds and few values, so that ties are common
            times = {r: moment + timedelta(seconds=draw(st.integers(0, 3))) for r in sorted(told)}
            written = draw(st.none() | st.integers(4, 300_000))
            nersc = draw(st.none() | st.integers(4, 200))
            scans.append(
                Scan(
                    number,
                    times,
                    None if written is None else moment + timedelta(milliseconds=written),
                    None if nersc is None else local(moment + timedelta(seconds=nersc)),
                )
            )
            number += 1
        jobs = draw(
            st.lists(
                st.tuples(st.integers(1, 4000), st.integers(1, 4000)).map(
                    lambda pair: (float(pair[0]), float(pair[1]))
                ),
                max_size=5,
            )
        )
        save = draw(st.none() | st.tuples(st.floats(0, 30), st.floats(0, 3)))
        found.append(
            Drawn(size, number - count, max(number - 1, number - count), scans, jobs, save)
        )
        number += 10
    return found


def local(instant: datetime) -> datetime:
    return instant.astimezone(PACIFIC).replace(tzinfo=None)


def meant(naive: datetime) -> datetime:
    """What a naive time means: of an hour that came twice, the first."""
    return naive.replace(tzinfo=PACIFIC, fold=0).astimezone(UTC)


def is_twice(naive: datetime) -> bool:
    """Whether the clock showed this moment twice."""
    first, second = (naive.replace(tzinfo=PACIFIC, fold=n).utcoffset() for n in (0, 1))
    return first > second


def write(folder, drawn: list[Drawn]) -> None:
    scans = [scan for part in drawn for scan in part.scans]
    with (folder / "write_times.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["scan_number", *(f"time{n}" for n in range(4)), "time_last_written"])
        writer.writerow([0, *(["2023-10-14T05:26:44+00:00"] * 5)])
        for scan in scans:
            times = [scan.receivers.get(n) for n in range(4)]
            cells = [t.isoformat() if t else "" for t in [*times, scan.last_written]]
            writer.writerow([scan.number, *cells])
    with (folder / "scan_times.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["distiller_id", "scan_number", "datetime"])
        for scan in scans:
            if scan.nersc:
                row = [f"{scan.number - 50:05d}", scan.number, scan.nersc.isoformat(" ")]
                writer.writerow(row)
    lines = ['[file_transfer]\nmax_elapsed = "29m"\n[sizes]']
    for part in drawn:
        if part.save:
            real, blank = part.save
            lines.append(f'[sizes."{part.size}"]')
            lines.append(f"subtract_save_time = {{ real = {real!r}, blank = {blank!r} }}")
    for part in drawn:
        for method in ("streaming", "file_transfer"):
            lines.append(f'[[range]]\nsize = "{part.size}"\nmethod = "{method}"')
            lines.append(f"scans = [{part.first}, {part.last}]")
    (folder / "study.toml").write_text("\n".join(lines))


def harvested(folder, drawn: list[Drawn]) -> dict[str, pl.LazyFrame]:
    source = NcemSource(str(folder), NcemConfig())
    found = collect(source)
    assert found.accounted == found.units
    assert not found.rejects
    pairs = [(part.size, job) for part in drawn for job in part.jobs]
    data = dataset(
        jobs=[job(n, slurm) for n, (_, (slurm, _)) in enumerate(pairs)],
        distiller=[(n + 50, n, elapsed, size) for n, (size, (_, elapsed)) in enumerate(pairs)],
    )
    for cls in (ReceiverStatus, DataFile):
        kind = record_type(cls)
        table = found.tables.get(kind.name, kind.arrow_schema.empty_table())
        data[kind.name] = pl.from_arrow(table.drop_columns(["extra", "origin"])).lazy()
    return data


def offload_of(scan: Scan) -> float | None:
    if not scan.receivers or scan.last_written is None:
        return None
    value = (scan.last_written - min(scan.receivers.values())).total_seconds()
    return value if value >= 0 else None


def streaming_of(scan: Scan) -> float | None:
    if not scan.receivers or scan.nersc is None:
        return None
    if is_twice(scan.nersc):
        return None  # nothing says which of both it is
    value = (meant(scan.nersc) - min(scan.receivers.values())).total_seconds()
    return value if value >= 0 else None


def near(value: float | None) -> object:
    return None if value is None else pytest.approx(value, rel=1e-9, abs=1e-9)


@pytest.mark.slow
@given(studies())
def test_the_views_find_the_truth(tmp_path_factory, drawn):
    folder = tmp_path_factory.mktemp("study")
    write(folder, drawn)
    data, study = harvested(folder, drawn), folder / "study.toml"
    means = {}
    ranges = {
        r["first_scan"]: r for r in offload.build(data, study, per="range").collect().to_dicts()
    }
    scans = {r["scan_number"]: r for r in offload.build(data, study).collect().to_dicts()}
    streams = {
        r["scan_number"]: r
        for r in streaming.build(data, study).collect().to_dicts()
        if r["excluded"] is None
    }
    clocks = {r["scan_number"]: r for r in clock_check.build(data, study).collect().to_dicts()}
    for part in drawn:
        values = [v for scan in part.scans if (v := offload_of(scan)) is not None]
        means[part.size] = statistics.fmean(values) if values else None
        row = ranges[part.first]
        mine = [scan for scan in scans.values() if scan["first_scan"] == part.first]
        assert (row["n"], row["n_excluded"]) == (len(values), len(mine) - len(values))
        assert (row["min_s"], row["max_s"]) == (
            min(values, default=None),
            max(values, default=None),
        )
        assert row["mean_s"] == near(means[part.size])
        assert row["median_s"] == near(statistics.median(values) if values else None)
        assert row["std_s"] == near(statistics.stdev(values) if len(values) > 1 else None)
        for scan in part.scans:
            expected = offload_of(scan)
            got = scans.get(scan.number, {"excluded": "no trace of it"})
            assert (got["excluded"] is None) == (expected is not None)
            if expected is not None:
                assert got["offload_s"] == expected
                assert got["range_mean_s"] == near(means[part.size])
            assert streams.get(scan.number, {}).get("duration_s") == streaming_of(scan)
            if scan.receivers:
                span = max(scan.receivers.values()) - min(scan.receivers.values())
                assert clocks[scan.number]["spread_s"] == span.total_seconds()
                flag = None if len(scan.receivers) < 2 else span.total_seconds() > 2.0
                assert clocks[scan.number]["unsynchronised"] == flag
    check_transfers(file_transfer.build(data, study).collect().to_dicts(), drawn, means)


def check_transfers(rows: list[dict], drawn: list[Drawn], means: dict) -> None:
    pairs = [(part, job) for part in drawn for job in part.jobs]
    assert len(rows) == len(pairs)
    for row, (part, (slurm, distiller)) in zip(rows, pairs, strict=True):
        counts = distiller <= 1740 and means[part.size] is not None
        assert (row["excluded"] is None) == counts
        if counts:
            real, blank = part.save or (0.0, 0.0)
            expected = slurm + means[part.size] - 2 * (real - blank)
            assert row["duration_s"] == near(expected)


@given(st.permutations([(scan, r) for scan in (1, 2) for r in range(4)]))
def test_the_order_of_rows_does_not_matter(order):
    # given four receivers of two scans, in any order, two of them tied
    late = (2, 1, 1, 3)

    found = clock_check.build(dataset([(s, r, s * 100 + late[r], None) for s, r in order]))

    assert [(row["spread_s"], row["worst_receiver"]) for row in rows(found)] == [(2.0, 3)] * 2
