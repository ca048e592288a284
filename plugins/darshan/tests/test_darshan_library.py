"""Darshan's own library as the oracle, over all real samples; the variant by a few lines here."""

import struct
from functools import lru_cache
from pathlib import Path
from typing import Any

import pytest
from darshan_logs import LOGS, SAMPLES

import harvest
from harvest import collect
from harvest_darshan.counters import COUNTERS, TIMERS
from harvest_darshan.read.autoperf import APMPI_COUNTERS, APMPI_TIMERS, APXC_COUNTERS
from harvest_darshan.source import DarshanSource

pytestmark = pytest.mark.pandas

NAMES = [log.name[:60] for log in LOGS]
TYPE = {"MPI-IO": "mpiio", "BG/Q": "bgq"}
sample = pytest.mark.skipif(not LOGS, reason="no real samples beside this checkout")
each_log = pytest.mark.parametrize("log", LOGS, ids=NAMES)


@lru_cache(maxsize=4)
def harvested(log: Path) -> Any:
    return collect(DarshanSource(str(log)))


@pytest.fixture(scope="module")
def library() -> Any:
    pytest.importorskip("darshan", reason="PyDarshan is not installed")
    from darshan.backend import cffi_backend

    return cffi_backend


def wrong_in_library(name: str, version: int, data: bytes, ours: float) -> float | None:
    """What the library makes of timers that it gets wrong when it converts old POSIX records.

    Of the other byte order it forgets to swap the timers 10 to 12, for those are the numbers of
    integer counters that it sets itself.  Of version 3 it moves 16 bytes too few, and the last two
    timers become 0.
    """
    timers = TIMERS["POSIX"]
    if version == 3 and name in timers[-2:]:
        return 0.0
    if version < 4 and data[8:16] == struct.pack(">q", 6567223) and name in timers[10:13]:
        return float(struct.unpack("<d", struct.pack(">d", ours))[0])
    return None


def test_the_names_of_counters_are_those_of_the_library(library):
    for module in COUNTERS:
        known = {"BG/Q": "BGQ", "LUSTRE": "LUSTRE_COMP"}.get(module, module)
        if module != "MDHIM":
            assert list(COUNTERS[module]) == library.counter_names(known)
        if module in TIMERS and module != "MDHIM":
            assert list(TIMERS[module]) == library.fcounter_names(known)
    assert library.counter_names("APMPI") == APMPI_COUNTERS
    assert library.counter_names("APXC") == APXC_COUNTERS
    kinds = ("mpiop_totaltime_", "mpiop_synctime_", "mpi_global_")
    timers = [n for k in kinds for n in library.counter_names("APMPI", fcnts=True, special=k)]
    assert timers == APMPI_TIMERS


@sample
@each_log
def test_every_sample_is_opened_or_rejected_with_a_reason(log):
    found = harvested(log)

    assert found.rows("darshan.job") or found.rejects[0].reason
    assert found.units == found.accounted
    assert bool(found.rejects) == log.name.endswith(".darshan_partial")


@pytest.mark.slow
@sample
@each_log
def test_job_names_and_mounts_equal_the_librarys(log, library):
    handle = library.log_open(str(log))
    if handle["handle"] == library.ffi.NULL:
        assert harvested(log).rejects
        return
    job, exe = library.log_get_job(handle), library.log_get_exe(handle)
    mounts, names = library.log_get_mounts(handle), library.log_get_name_records(handle)
    modules = library.log_get_modules(handle)
    library.log_close(handle)

    found = harvested(log)

    (row,) = found.rows("darshan.job")
    assert (row["uid"], row["job_id"], row["nprocs"]) == (job["uid"], job["jobid"], job["nprocs"])
    assert (row["exe"] or "", row["log_version"]) == (exe, job["log_ver"])
    assert dict(row["metadata"]) == job["metadata"]
    assert row["run_time_s"] == pytest.approx(job["run_time"], abs=1e-6)
    assert row["start_time"].timestamp() == pytest.approx(
        job["start_time_sec"] + job["start_time_nsec"] / 1e9, abs=1e-6
    )
    assert {f["record_id"]: f["path"] for f in found.rows("darshan.file")} == names
    assert sorted((m["mount_point"], m["fs_type"]) for m in found.rows("darshan.mount")) == sorted(
        mounts
    )
    assert dict(row["module_versions"]) == {m: v["ver"] for m, v in modules.items()}
    assert row["partial_modules"] == [m for m, v in modules.items() if v["partial_flag"]]


@pytest.mark.slow
@sample
@each_log
def test_counters_equal_the_librarys(log, library):
    handle = library.log_open(str(log))
    if handle["handle"] == library.ffi.NULL:
        return
    found = harvested(log)
    compared = 0
    data, versions = log.read_bytes(), library.log_get_modules(handle)
    for module in versions:
        if module not in TIMERS or module == "MDHIM":
            continue
        rows = found.rows(f"darshan.{TYPE.get(module, module.lower())}")
        for row in rows:
            # the library leaves out old records with buffered I/O; here they are kept
            if row["extra"]:
                continue
            theirs = library.log_get_record(handle, module)
            assert (theirs["id"], theirs["rank"]) == (row["record_id"], row["rank"])
            for names, values in (
                (COUNTERS[module], theirs["counters"]),
                (TIMERS[module], theirs["fcounters"]),
            ):
                for name, value in zip(names, values.tolist(), strict=True):
                    version = versions[module]["ver"]
                    wrong = wrong_in_library(name, version, data, row[name])
                    if wrong is not None:
                        assert value == wrong, name
                    elif row[name] is None:  # not in this version: -1 or 0 in the library
                        assert value in (-1, 0)
                    else:
                        assert row[name] == value, name
            compared += 1
        assert library.log_get_record(handle, module) is None
    library.log_close(handle)
    assert compared or not any(t in found.tables for t in ("darshan.posix", "darshan.stdio"))


@sample
@each_log
def test_lustre_heat_maps_and_stock_dxt_equal_the_librarys(log, library):
    found = harvested(log)
    if found.rejects:
        return
    layout = found.rows("darshan.job")[0]["dxt_layout"]
    handle = library.log_open(str(log))
    modules = library.log_get_modules(handle)
    if "LUSTRE" in modules:
        theirs = []
        while (record := library.log_get_record(handle, "LUSTRE")) is not None:
            for part in record["components"]:
                size, count = part["counters"][:2].tolist()
                theirs.append((record["id"], record["rank"], size, count, part["ost_ids"].tolist()))
        keys = ("record_id", "rank", "LUSTRE_COMP_STRIPE_SIZE", "LUSTRE_COMP_STRIPE_COUNT")
        rows = found.rows("darshan.lustre")
        assert theirs == [(*(r[k] for k in keys), r["LUSTRE_COMP_OST_IDS"]) for r in rows]
    if "HEATMAP" in modules:
        for row in found.rows("darshan.heatmap"):
            record = library.log_get_record(handle, "HEATMAP")
            assert (record["id"], record["rank"]) == (row["record_id"], row["rank"])
            assert record["bin_width_seconds"] == row["HEATMAP_F_BIN_WIDTH_SECONDS"]
            # the library trims or fills a bin where a runtime bug left one too many or too few
            for key, column in (("read_bins", "READ"), ("write_bins", "WRITE")):
                ours = row[f"HEATMAP_{column}_BINS"]
                assert record[key].tolist()[: len(ours)] == ours[: len(record[key])]
                assert abs(len(ours) - len(record[key])) <= 1
        assert library.log_get_record(handle, "HEATMAP") is None
    for module in ("DXT_POSIX", "DXT_MPIIO"):
        if module not in modules or (module == "DXT_POSIX" and layout == "pthread_id"):
            continue
        theirs = []
        while (record := library.log_get_record(handle, module)) is not None:
            for op in ("write", "read"):
                for segment in record[f"{op}_segments"]:
                    theirs.append((record["id"], record["rank"], record["hostname"], op,
                                   *segment.values()))  # fmt: skip
        keys = ("record_id", "rank", "hostname", "op", "offset", "length", "start_s", "end_s")
        rows = [r for r in found.rows("darshan.dxt_segment") if r["module"] == module]
        for row in rows:  # no offset: -1 in the library
            row["offset"] = -1 if row["offset"] is None else row["offset"]
        assert theirs == [tuple(row[k] for k in keys) for row in rows]
    library.log_close(handle)


@sample
def test_autoperf_equals_the_library(library):
    # the library can read one AutoPerf log per process: it counts headers in a static variable
    (log,) = (log for log in LOGS if "apmpi" in log.name)
    handle = library.log_open(str(log))
    from darshan.backend.apmpi import log_get_apmpi_record

    log_get_apmpi_record(handle, "APMPI", "HEADER")
    rows = harvested(log).rows("darshan.apmpi")
    assert len(rows) == 128
    for row in rows:
        theirs = log_get_apmpi_record(handle, "APMPI", "PERF")
        assert (theirs["rank"], theirs["node_name"]) == (row["rank"], row["hostname"])
        ours = dict(row["counters"]) | dict(row["timers"])
        assert theirs["all_counters"] == ours
    library.log_close(handle)


@sample
@pytest.mark.slow
def test_bandwidths_are_those_that_darshan_estimates(library, tmp_path):
    """Given all real logs, then each layer has the bytes, time and rate that the library has."""
    from darshan import DarshanReport

    harvest.run(f"darshan:{SAMPLES / 'darshan'}", f"parquet:{tmp_path / 'out'}", workers=1)
    rows = harvest.open(tmp_path / "out").view("io.bandwidth", per="log").collect().to_dicts()
    compared = 0
    for row in rows:
        if row["layer"] not in ("POSIX", "MPI-IO", "STDIO") or not row["slowest_s"]:
            continue
        report = DarshanReport(row["log"], read_all=True)
        records = report.records[row["layer"]].to_df()
        known = library.accumulate_records(
            records, row["layer"], report.metadata["job"]["nprocs"]
        ).derived_metrics
        assert row["bytes"] == known.total_bytes
        # a time has nanoseconds here
        assert row["slowest_s"] == pytest.approx(known.agg_time_by_slowest, rel=1e-5, abs=1e-8)
        rate = known.agg_perf_by_slowest * 2**20
        assert row["bytes_per_s"] == pytest.approx(rate, rel=1e-4)
        compared += 1
    assert compared > 100
