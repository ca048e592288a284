"""Rules on I/O, each with rows that make it speak and rows at the threshold, which do not."""

from typing import Any

import polars as pl
import pytest

import harvest
from harvest import View
from harvest.toolkit.frames import condition
from harvest_darshan.rules import RULES
from harvest_darshan.views.declared.jobs import JOBS, POSIX_FILES, REQUESTS
from harvest_testing import judge

BY_NAME = {rule.name: rule for rule in RULES}


def found(name: str, *rows: dict[str, Any], **thresholds: float) -> list[harvest.Finding]:
    """What a rule finds in rows of its view."""
    frame = pl.DataFrame(list(rows), infer_schema_length=None)
    return [each.finding for each in judge(BY_NAME[name], frame, **thresholds)]


def spoken(name: str, *rows: dict[str, Any], **thresholds: float) -> list[tuple[str, str, str]]:
    """Severity, headline and detail of what a rule says of rows of its view."""
    return [(f.severity, f.headline, f.detail) for f in found(name, *rows, **thresholds)]


def row(view: View, **values: Any) -> dict[str, Any]:
    """A row of a view on job 7; columns are null unless given."""
    null = {column.name: None for column in view.columns}
    return null | {"job": 7, "program": "a.out", "certainty": []} | values


def reads(**more: Any) -> dict[str, Any]:
    """A row of io.requests: reads of job 7, which take 30 % of the time."""
    base = {"op": "read", "requests": 10_000, "bytes": 10**9, "seconds": 30.0, "time_share": 0.3}
    base |= dict.fromkeys(("small", "small_in_file", "random", "shared", "shared_small"), 0)
    base |= {"redundant_bytes": 0, "uses_posix": True, "uses_mpiio": False, "largest_log": 4}
    return row(REQUESTS, **base | more)


def writes(**more: Any) -> dict[str, Any]:
    """The row of the same job's writes."""
    return reads(op="write", **more)


def job(**more: Any) -> dict[str, Any]:
    """A row of io.jobs: 4 ranks, which spend 10 % of their time in I/O."""
    base = {"logs": 1, "processes": 4, "largest_log": 4, "files": 1, "run": "/r"}
    base |= {"io_s": 40.0, "time_share": 0.1, "meta_s": 4.0, "meta_share": 0.01}
    base |= {"posix_s": 40.0, "posix_share": 0.1, "stdio_s": 0.0, "stdio_share": 0.0}
    base |= {"bytes": 10**9, "read_bytes": 5 * 10**8, "write_bytes": 5 * 10**8}
    base |= {"requests": 1000, "reads": 500, "writes": 500}
    base |= {"watched_memory": 1000, "watched_file": 1000, "missing_counters": False}
    base |= dict.fromkeys(("misaligned_memory", "misaligned_file", "copies"), 0)
    base |= dict.fromkeys(("stdio_bytes", "stdio_requests"), 0)
    base |= dict.fromkeys(("has_counters", "uses_posix", "uses_mpiio", "uses_stdio"), True)
    return row(JOBS, **base | more)


def file(**more: Any) -> dict[str, Any]:
    """A row of io.posix_files: /x, which takes 1 % of the time."""
    base = {"file": "/x", "processes": 4, "shared": False, "read_bytes": 100, "write_bytes": 0}
    base |= {"meta_s": 1.0, "slowest_meta_s": 1.0, "slowest_meta_most_s": 1.0, "time_share": 0.01}
    return row(POSIX_FILES, **base | more)


STRAGGLER = {"late_s": 20.0, "late_share": 0.2, "fastest_rank": 1, "slowest_rank": 3}
SMALL = reads(small=1001, small_file="/x", small_in_file=900)
FEW = writes(shared=1200, shared_small=1001, time_share=0.04)
RANDOM = reads(random=2001, random_file="/x", time_share=0.05)
AGAIN = reads(redundant_bytes=750_000_000, redundant_file="/x")
UPPER = {"uses_mpiio": True, "split": 0, "mpiio_s": 9.0}
ALONE = writes(independent=1001, collective=0, nonblocking=1, mpiio_share=0.06, **UPPER)
BLOCKING = reads(independent=1, collective=3, nonblocking=0, mpiio_share=0.9, **UPPER)
STDIO = job(stdio_bytes=100_000_001, stdio_requests=9, stdio_s=80.0, stdio_share=0.2)
LINES = job(stdio_requests=1001, stdio_bytes=31_031, requests=2001, stdio_share=0.01)
OPENS = job(meta_s=30.0, meta_share=0.25, files=1200)
CUT = job(gaps="POSIX cut off", missing_counters=True)
SLOW = file(file="/y", slowest_meta_s=45.0, slowest_meta_most_s=45.0, time_share=0.06)
# 31 s of each of its ranks
SHARED = file(
    shared=True, meta_s=35_280.0, slowest_meta_s=31.0, slowest_meta_most_s=35_280, time_share=0.3
)
# of 2,048 ranks, one that is late by a fifth of the run has little of the time of all
LATE = file(shared=True, time_imbalance=0.0003, rank_spread=0.5, **STRAGGLER)
UNEQUAL = file(write_spread=0.31, read_spread=0.1, time_share=0.9)
RANK = {"job": 7, "pid": None, "program": "a.out", "nprocs": 4, "host": "n1", "operations": 3}
RANK |= {"bytes": 9, "median_s": 2.0, "time_share": 0.3, "certainty": ["coarse_clock"]}
RANKS = [RANK | {"rank": n, "seconds": s} for n, s in enumerate((2.0, 4.0, 4.5, 6.0))]
ODD = job(impossible="POSIX_BYTES_READ, POSIX_F_META_TIME", certainty=["impossible_value"])

SPOKEN = [
    ("io.small_requests", [SMALL, writes()], "high",
     "Job 7 (a.out): 10 % of reads are below 1 MiB",
     "1,001 of 10,000 reads, 900 of them to /x; reads take 30 % of process time."),
    # without a scheduler Darshan names a log by a process id, which is no job's
    ("io.small_requests", [SMALL | {"job": None, "pid": 815, "time_share": None}], "low",
     "a.out (pid 815): 10 % of reads are below 1 MiB",
     "1,001 of 10,000 reads, 900 of them to /x; the share of process time is unknown."),
    ("io.small_requests_shared", [reads(), FEW], "low",
     "Job 7 (a.out): 83 % of shared-file writes are small",
     "1,001 of 1,200 writes to files that all ranks share are below 1 MiB; writes take 4 % of "
     "process time."),
    ("io.random_access", [RANDOM | {"job": None, "pid": 815, "logs": 3}, writes()], "medium",
     "a.out (3 logs): 20 % of reads are random",
     "2,001 of 10,000 reads start before the end of the last one, most in /x; reads take 5 % "
     "of process time."),
    ("io.redundant", [AGAIN, writes()], "high",
     "Job 7 (a.out): 75 % of bytes read are repeats",
     "715 MiB of 954 MiB were read before, most in /x; reads take 30 % of process time."),
    ("io.independent_mpiio", [reads(), ALONE], "medium",
     "Job 7 (a.out): 1,001 MPI-IO writes, none collective",
     "Every rank calls MPI-IO by itself for its writes; writes take 6 % of process time."),
    # never more than medium
    ("io.blocking_mpiio", [BLOCKING, writes()], "medium",
     "Job 7 (a.out): 4 blocking MPI-IO reads",
     "No read is non-blocking, so computing waits for all of them; reads take 90 % of process "
     "time."),
    ("io.stdio", [STDIO], "high",
     "Job 7 (a.out): 10 % of bytes go through STDIO",
     "95.4 MiB of 954 MiB use C's buffered streams; they take 20 % of process time."),
    ("io.many_stdio_requests", [LINES], "low",
     "Job 7 (a.out): 50 % of requests use STDIO",
     "1,001 of 2,001 requests move 31 bytes each on average; they take 1 % of process time."),
    ("io.no_mpiio", [job(uses_mpiio=False, time_share=0.7)], "medium",
     "Job 7 (a.out): 4 ranks move 954 MiB without MPI-IO",
     "They cannot use collective I/O; I/O takes 70 % of process time."),
    # what waits in MPI-IO is not misaligned: POSIX takes less than I/O
    ("io.misaligned_file", [job(misaligned_file=101, posix_share=0.007)], "low",
     "Job 7 (a.out): 10 % of requests start inside a block",
     "101 of 1,000 POSIX requests do not start at a block of the file system; POSIX takes 0.7 "
     "% of process time."),
    ("io.misaligned_memory", [job(misaligned_memory=500)], "medium",
     "Job 7 (a.out): 50 % of buffers are misaligned",
     "500 of 1,000 POSIX requests use a buffer that is not aligned in memory; POSIX takes 10 %"
     " of process time."),
    ("io.mostly_metadata", [OPENS], "high",
     "Job 7 (a.out): 75 % of I/O time is metadata",
     "Open, stat, seek and other metadata operations on 1,200 POSIX files take 30 s in all "
     "processes; this is 25 % of process time."),
    # threads that wait side by side
    ("io.mostly_metadata", [job(meta_s=90.0, io_s=91.0, meta_share=7.64)], "high",
     "Job 7 (a.out): 99 % of I/O time is metadata",
     "Open, stat, seek and other metadata operations on 1 POSIX file take 1.5 min in all "
     "processes; this is 764 % of process time, counted for each thread."),
    ("io.one_sided", [job(read_bytes=10**8, write_bytes=3 * 10**8)], "low",
     "Job 7 (a.out): 75 % of POSIX bytes are writes",
     "POSIX reads 25 % of 381 MiB and 50 % of 1,000 requests."),
    ("io.incomplete_logs", [job(), CUT], "high",
     "Job 7 (a.out): logs incomplete, POSIX cut off",
     "POSIX cut off: numbers are lower bounds, and files may be missing."),
    ("io.incomplete_logs", [CUT | {"missing_counters": False}], "medium",
     "Job 7 (a.out): logs incomplete, POSIX cut off",
     "POSIX cut off: the trace is incomplete, the counters are complete."),
    ("io.copied_logs", [job(), job(copies=2)], "low",
     "Job 7 (a.out): 2 copied logs are left out",
     "1 log counts; a copy has the same bytes as one of these."),
    ("io.long_metadata", [file(), SLOW], "medium",
     "/y: a process spends 45 s on metadata",
     "Open, stat, seek and similar, in job 7 (a.out); the file takes 6 % of process time."),
    ("io.long_metadata", [SHARED], "high",
     "/x: ranks spend 31 s on metadata on average",
     "Open, stat, seek and similar, in job 7 (a.out); the file takes 30 % of process time."),
    ("io.stragglers", [LATE, file()], "high",
     "/x: rank 3 is 20 s slower than rank 1",
     "The difference is 20 % of the run of job 7 (a.out)."),
    ("io.unequal_bytes", [LATE, file()], "high",
     "/x: one rank moves 50 % less than another",
     "Rank 3 is 20 s slower than rank 1, 20 % of the run of job 7 (a.out)."),
    ("io.unequal_processes", [UNEQUAL, file()], "medium",
     "/x: one process writes 31 % less than another",
     "4 processes of job 7 (a.out) use it; the file takes 90 % of process time."),
    ("io.slow_ranks", RANKS, "high",
     "Job 7 (a.out): rank 3 spends 6 s in I/O",
     "The median of its program is 2 s. 2 of 4 traced ranks (2 high) spend over 2 times the "
     "median; I/O takes 30 % of process time."),
    ("io.impossible_values", [ODD, job()], "medium",
     "Job 7 (a.out): 2 counters have impossible values",
     "POSIX_BYTES_READ, POSIX_F_META_TIME: below 0 or not a finite time. These values are left"
     " out, so sums are lower bounds."),
    ("io.impossible_values", [job(impossible=", ".join(f"C{n}" for n in range(8)))], "medium",
     "Job 7 (a.out): 8 counters have impossible values",
     "C0, C1, C2 and 5 more: below 0 or not a finite time. These values are left out, so sums "
     "are lower bounds."),
]  # fmt: skip

SILENT = [
    ("io.small_requests", SMALL | {"small": 1000}),
    ("io.small_requests", SMALL | {"small": 2000, "requests": 20_000}),  # a tenth
    ("io.small_requests_shared", FEW | {"shared_small": 1000}),
    ("io.random_access", RANDOM | {"random": 2000}),
    ("io.random_access", RANDOM | {"random": 1000, "requests": 1000}),
    ("io.redundant", AGAIN | {"redundant_bytes": 10**8}),
    ("io.redundant", AGAIN | {"redundant_bytes": 10**7, "bytes": 10**7}),
    ("io.independent_mpiio", ALONE | {"split": 1}),
    ("io.independent_mpiio", ALONE | {"collective": 1}),
    ("io.independent_mpiio", ALONE | {"independent": 1000}),
    ("io.independent_mpiio", ALONE | {"largest_log": 1}),  # none to gather requests with
    ("io.independent_mpiio", writes()),  # without MPI-IO
    ("io.blocking_mpiio", BLOCKING | {"nonblocking": 1}),
    ("io.blocking_mpiio", BLOCKING | {"independent": 0, "collective": 0}),
    ("io.stdio", STDIO | {"stdio_bytes": 100_000_000}),
    ("io.many_stdio_requests", LINES | {"stdio_requests": 1000}),
    ("io.many_stdio_requests", LINES | {"requests": 10_010}),
    ("io.many_stdio_requests", LINES | {"stdio_bytes": 1001 << 20}),  # none of them small
    ("io.no_mpiio", job()),
    ("io.no_mpiio", job(uses_mpiio=False, largest_log=1)),
    ("io.no_mpiio", job(uses_mpiio=False, bytes=0)),
    ("io.misaligned_file", job(misaligned_file=100)),
    ("io.misaligned_file", job(misaligned_file=None, watched_file=None)),
    ("io.misaligned_memory", job(misaligned_memory=100)),
    ("io.mostly_metadata", OPENS | {"meta_s": 20.0}),
    ("io.mostly_metadata", OPENS | {"meta_s": 10.0, "io_s": 10.0}),
    ("io.one_sided", job(read_bytes=11, write_bytes=9)),
    ("io.one_sided", job(reads=550, writes=450)),
    ("io.incomplete_logs", job()),
    ("io.copied_logs", job()),
    ("io.long_metadata", file(slowest_meta_s=30.0, slowest_meta_most_s=30.0)),
    ("io.long_metadata", SHARED | {"slowest_meta_s": 0.54}),  # 9.8 h of 65,536 ranks
    ("io.stragglers", LATE | {"late_s": 0.016, "late_share": 0.46}),  # 16 ms of 35 ms
    ("io.stragglers", LATE | {"late_share": 0.05}),
    ("io.stragglers", LATE | {"shared": False}),  # one process is not late
    ("io.unequal_bytes", LATE | {"late_s": 0.016, "late_share": 0.46}),
    ("io.unequal_bytes", LATE | {"rank_spread": 0.3}),
    ("io.unequal_processes", file(read_spread=0.3, write_spread=0.3)),
    ("io.slow_ranks", RANKS[1]),
    ("io.slow_ranks", RANKS[3] | {"nprocs": 1}),
    ("io.slow_ranks", RANKS[3] | {"seconds": 1.0, "median_s": 0.1}),
    ("io.impossible_values", job()),
]
"""Rows at a threshold, or that the rule is not about."""


@pytest.mark.parametrize(("rule", "rows", "severity", "headline", "detail"), SPOKEN)
def test_a_rule_says(rule, rows, severity, headline, detail):
    assert spoken(rule, *rows) == [(severity, headline, detail)]


@pytest.mark.parametrize(("rule", "row"), SILENT)
def test_a_rule_says_nothing(rule, row):
    assert spoken(rule, row) == []


def test_a_threshold_may_be_given():
    assert spoken("io.small_requests", SMALL | {"small": 11, "requests": 100}, requests=10) != []
    assert spoken("io.one_sided", job(reads=551, writes=449), difference=0.2) == []


def test_of_many_jobs_the_costliest_is_named_and_each_other_has_a_severity_of_its_own():
    def many(job: int, number: int, share: float | None) -> list[dict[str, Any]]:
        mine = {"job": job, "time_share": share, "small_file": "/x", "small_in_file": number}
        return [reads(small=number, **mine), writes(job=job)]

    shares = {8: 0.01, 9: None, 10: 0.5, 11: 0.06, 12: 0.2}
    rows = [row for job, share in shares.items() for row in many(job, 2000, share)]
    ((severity, headline, detail),) = spoken("io.small_requests", *rows, *many(13, 0, 0.9))
    assert severity == "high"
    assert headline == "Job 10 (a.out): 20 % of reads are below 1 MiB"
    assert detail.startswith("2,000 of 10,000 reads, ")
    assert detail.endswith("Also 4 other jobs: 1 high, 1 medium, 2 low.")


def test_of_logs_with_gaps_each_has_the_severity_of_its_own_gap():
    cut, trace = ({"gaps": f"{name} cut off"} for name in ("POSIX", "DXT_POSIX"))
    rows = [job(**trace), job(job=8, missing_counters=True, **cut), job(job=9, **trace)]
    ((severity, headline, detail),) = spoken("io.incomplete_logs", *rows)
    assert severity == "high"
    assert headline == "Job 8 (a.out): logs incomplete, POSIX cut off"
    assert detail.endswith("Also 2 other jobs: 2 medium.")


def test_shared_files_name_others_that_are_less():
    ((severity, _, detail),) = spoken("io.stragglers", LATE, LATE | {"late_share": 0.06}, file())
    assert (severity, detail.endswith("Also 1 other file: 1 medium.")) == ("high", True)


def test_what_was_not_watched_makes_a_part_and_a_sum_of_ranks_a_lower_bound():
    assert certainty("io.misaligned_file", job(misaligned_file=101, watched_file=500)) == ("part",)
    # a sum beyond 64 bits is unknown, and says nothing of what was watched
    unknown = job(reads=None, misaligned_file=101, watched_file=500)
    assert certainty("io.misaligned_file", unknown) == ()
    assert certainty("io.misaligned_file", unknown, job(misaligned_file=101, watched_file=500)) == (
        "part",
    )
    assert certainty("io.long_metadata", SHARED) == ("lower_bound",)
    assert certainty("io.slow_ranks", *RANKS) == ("coarse_clock",)


def certainty(name: str, *rows: dict[str, Any]) -> tuple[str, ...]:
    (finding,) = found(name, *rows)
    return finding.certainty


def test_a_finding_is_as_sure_as_the_least_sure_of_its_jobs():
    def small(*words: str) -> dict[str, Any]:
        return reads(small=5000, small_file="/x", small_in_file=5000, certainty=list(words))

    assert certainty("io.small_requests", small(), small()) == ()
    assert certainty("io.small_requests", small(), small("lower_bound")) == ("lower_bound",)
    # only where all are of one process, there are no others that it could be about
    one, coarse = small("one_process"), small("coarse_clock", "one_process")
    assert certainty("io.small_requests", one, coarse) == ("coarse_clock", "one_process")
    assert certainty("io.small_requests", one, small("coarse_clock")) == ("coarse_clock",)


def test_jobs_that_are_less_sure_than_the_one_named_are_counted():
    def small(requests: int, *words: str) -> dict[str, Any]:
        some = {"small": requests, "small_file": "/x", "small_in_file": requests}
        return reads(requests=requests, certainty=list(words), **some)

    named, exact, coarse = small(9000), small(5000), small(4000, "coarse_clock", "one_process")
    ((_, _, detail),) = spoken(
        "io.small_requests", named, exact, coarse, small(3000, "lower_bound")
    )
    assert detail.endswith("Also 3 other jobs: 3 high; lower bound in 1; coarse clock in 1.")
    ((_, _, detail),) = spoken("io.small_requests", named, coarse)
    assert detail.endswith("Also 1 other job: 1 high; coarse clock in 1.")
    # what is so of the one named need not be said again
    ((_, _, detail),) = spoken("io.small_requests", small(9000, "coarse_clock"), coarse)
    assert detail.endswith("Also 1 other job: 1 high.")


NAME = "n" * 300
COUNT = 9_999_999_999
LONGEST = {
    **dict.fromkeys(("requests", "reads", "writes", "processes", "files", "copies", "logs"), COUNT),
    **dict.fromkeys(("largest_log", "nprocs", "rank", "fastest_rank", "slowest_rank"), COUNT),
    **dict.fromkeys(("independent", "collective", "bytes", "shared", "stdio_requests"), COUNT),
    **dict.fromkeys(("late_s", "seconds", "slowest_meta_s", "meta_s", "io_s"), 1e9),
    **dict.fromkeys(("file", "host", "small_file", "random_file", "redundant_file"), NAME),
    "gaps": "; ".join([f"{NAME} cut off"] * 3),
    "impossible": ", ".join([NAME] * 9),
}
"""A value for each column that a finding may name, as long as one can be."""


@pytest.mark.parametrize(
    ("rule", "rows", "headline"), [(r, rows, h) for r, rows, _, h, _ in SPOKEN]
)
def test_a_headline_is_short_whatever_the_names_and_numbers(rule, rows, headline):
    # given the rows that the rule chooses, with the longest values instead of their own
    declared = BY_NAME[rule]
    limits = {name: limit.value for name, limit in declared.thresholds.items()}
    given = pl.DataFrame(rows, infer_schema_length=None)
    chosen = given.filter(condition(declared.condition(limits), given)).to_dicts()
    longest = [row | {k: v for k, v in LONGEST.items() if row.get(k) is not None} for row in chosen]
    longest = [row | {"job": None, "pid": COUNT, "program": NAME} for row in longest]
    frame = pl.DataFrame(longest, infer_schema_length=None).select(declared.columns)

    findings = list(declared.judge(frame, len(rows), **limits))

    assert findings
    for finding in findings:
        assert len(finding.headline) <= 80
        assert "…" in finding.headline
        assert NAME in finding.detail
    # names and numbers as they are usually fit behind the severity, on a terminal of 80 columns
    assert len(headline) <= 66
    assert not headline.endswith(".")
    assert ";" not in headline


def advised(name: str, **row: Any) -> str:
    """The advice of a rule to a job that is like the one that makes it speak, but for this."""
    rows = next(rows for rule, rows, *_ in SPOKEN if rule == name)
    (finding,) = found(name, rows[0] | row)
    return finding.advice or BY_NAME[name].advice


def test_advice_fits_the_program():
    """Collective calls are for ranks, passing data on for processes, MPI-IO for MPI programs."""
    mpi, one = {"largest_log": 4, "uses_mpiio": True}, {"largest_log": 1, "uses_mpiio": False}
    assert "collective" in advised("io.small_requests", **mpi)
    assert "collective" not in advised("io.small_requests", **one)
    assert "collective" not in advised("io.small_requests", largest_log=4, uses_mpiio=False)
    assert "MPI-IO" in advised("io.stdio", **mpi)
    assert "MPI" not in advised("io.stdio", **one)
    assert "broadcast" in advised("io.redundant")
    assert "broadcast" not in advised("io.redundant", certainty=["one_process"])
    assert "Read" not in advised("io.redundant", op="write")
    assert "one rank" in advised("io.long_metadata", **SHARED)
    assert "rank" not in advised("io.long_metadata", **SLOW | {"processes": 1})
    assert advised("io.one_sided", read_bytes=10**8, write_bytes=10**7).startswith("Tune reads")
    assert "NAME_EXCLUDE" in advised("io.incomplete_logs", **CUT)
    unread = advised("io.incomplete_logs", **CUT | {"gaps": "POSIX not read"})
    assert ("rejects" in unread, "MODMEM" in unread) == (True, False)


def test_advice_and_details_are_short():
    for rule, rows, *_ in SPOKEN:
        for finding in found(rule, *rows):
            assert len(finding.detail) <= 160, finding.detail
            assert len(finding.advice) <= 160, finding.advice
        assert len(BY_NAME[rule].advice) <= 160, rule


def test_every_rule_is_tried_here():
    """A rule that nobody tries is one that nobody knows to work."""
    names = {rule.name for rule in RULES}
    assert names == {rule for rule, *_ in SPOKEN} == {rule for rule, _ in SILENT}
