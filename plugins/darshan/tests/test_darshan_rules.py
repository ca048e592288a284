"""Rules on I/O, each with rows that make it speak and rows at the threshold, which do not."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest

from harvest_darshan.rules import RULES
from harvest_testing import judge

BY_NAME = {rule.name: rule for rule in RULES}


def spoken(name: str, *rows: dict[str, Any], **thresholds: float) -> list[tuple[str, str]]:
    """Severity and sentence of what a rule says of rows of its view."""
    found = judge(BY_NAME[name], pl.DataFrame(list(rows), infer_schema_length=None), **thresholds)
    return [(f.finding.severity, f.finding.text) for f in found]


def reads(**more: Any) -> dict[str, Any]:
    """A row of io.requests: reads of job 7, which take 30 % of the time."""
    base = {"job": 7, "pid": None, "program": "a.out", "op": "read", "requests": 10_000}
    base |= {"bytes": 10**9}
    base |= {"seconds": 30.0, "time_share": 0.3, "small": 0, "small_file": None}
    base |= {"small_in_file": 0, "random": 0, "random_file": None, "shared": 0, "shared_small": 0}
    base |= {"redundant_bytes": 0, "redundant_file": None, "independent": None}
    base |= {"collective": None, "nonblocking": None, "split": None}
    base |= {"mpiio_s": None, "mpiio_share": None, "certainty": []}
    base |= {"uses_posix": True, "uses_mpiio": False, "largest_log": 4}
    return base | more


def writes(**more: Any) -> dict[str, Any]:
    """The row of the same job's writes."""
    return reads(op="write", **more)


def job(**more: Any) -> dict[str, Any]:
    """A row of io.jobs: 4 ranks, which spend 10 % of their time in I/O."""
    base = {"job": 7, "pid": None, "program": "a.out", "logs": 1, "processes": 4}
    base |= {"largest_log": 4}
    base |= {"io_s": 40.0, "time_share": 0.1, "meta_s": 4.0, "meta_share": 0.01}
    base |= {"bytes": 10**9, "files": 1, "reads": 500, "writes": 500}
    base |= {"read_bytes": 5 * 10**8, "write_bytes": 5 * 10**8, "uses_mpiio": True}
    base |= {"misaligned_memory": 0, "misaligned_file": 0, "stdio_bytes": 0}
    base |= {"watched_memory": 1000, "watched_file": 1000, "posix_s": 40.0, "posix_share": 0.1}
    base |= {"stdio_requests": 0, "stdio_s": 0.0, "stdio_share": 0.0, "requests": 1000}
    base |= {"gaps": None, "missing_counters": False, "certainty": [], "copies": 0, "run": "/r"}
    base |= {"impossible": None}
    base |= {"has_counters": True, "uses_posix": True, "uses_stdio": True}
    return base | more


def file(**more: Any) -> dict[str, Any]:
    """A row of io.posix_files: /x, which takes 1 % of the time."""
    base = {"job": 7, "pid": None, "program": "a.out", "file": "/x", "processes": 4}
    base |= {"shared": False}
    base |= {"read_bytes": 100, "write_bytes": 0, "meta_s": 1.0}
    base |= {"slowest_meta_s": 1.0, "slowest_meta_most_s": 1.0, "certainty": []}
    base |= {"time_share": 0.01, "rank_spread": None, "time_imbalance": None}
    base |= {"late_s": None, "late_share": None, "fastest_rank": None, "slowest_rank": None}
    base |= {"read_spread": None, "write_spread": None}
    return base | more


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
     "Job 7 (a.out): 1,001 of 10,000 reads (10 %) are smaller than 1 MiB, the most (900) of /x; "
     "reads take 30 % of its processes' time."),
    # without a scheduler Darshan names a log by a process id, which is no job's
    ("io.small_requests", [SMALL | {"job": None, "pid": 815, "time_share": None}], "low",
     "The run of a.out (process 815): 1,001 of 10,000 reads (10 %) are smaller than 1 MiB, the "
     "most (900) of /x; how much of its processes' time that takes is not known."),
    ("io.small_requests_shared", [reads(), FEW], "low",
     "Job 7 (a.out): 1,001 of 1,200 writes (83 %) of files that all ranks share are smaller than "
     "1 MiB; writes take 4 % of its processes' time."),
    ("io.random_access", [RANDOM, writes()], "medium",
     "Job 7 (a.out): 2,001 of 10,000 reads (20 %) do not begin behind the one before, the most of "
     "/x; reads take 5 % of its processes' time."),
    ("io.redundant", [AGAIN, writes()], "high",
     "Job 7 (a.out): 715 MiB of 954 MiB read (75 %) were read before, the most of /x; reads take "
     "30 % of its processes' time."),
    ("io.independent_mpiio", [reads(), ALONE], "medium",
     "Job 7 (a.out): 1,001 writes through MPI-IO are independent, none is collective; writes take "
     "6 % of its processes' time."),
    # never more than medium
    ("io.blocking_mpiio", [BLOCKING, writes()], "medium",
     "Job 7 (a.out): its 4 reads through MPI-IO wait until they are done; none is non-blocking; "
     "reads take 90 % of its processes' time."),
    ("io.stdio", [STDIO], "high",
     "Job 7 (a.out): 95.4 MiB of 954 MiB (10 %) go through STDIO, the buffered streams of C; these "
     "take 20 % of its processes' time."),
    ("io.many_stdio_requests", [LINES], "low",
     "Job 7 (a.out): 1,001 of 2,001 requests (50 %) go through STDIO, of 31 bytes each on average; "
     "these take 1 % of its processes' time."),
    ("io.no_mpiio", [job(uses_mpiio=False, time_share=0.7)], "medium",
     "Job 7 (a.out): its 4 ranks move 954 MiB without MPI-IO; I/O takes 70 % of its processes' "
     "time."),
    # what waits in MPI-IO is not misaligned: POSIX takes less than I/O
    ("io.misaligned_file", [job(misaligned_file=101, posix_share=0.007)], "low",
     "Job 7 (a.out): 101 of 1,000 requests (10 %) to POSIX begin within a block of the file "
     "system; POSIX takes 0.7 % of its processes' time."),
    ("io.misaligned_memory", [job(misaligned_memory=500)], "medium",
     "Job 7 (a.out): the buffers of 500 of 1,000 requests (50 %) to POSIX are not aligned in "
     "memory; POSIX takes 10 % of its processes' time."),
    ("io.mostly_metadata", [OPENS], "high",
     "Job 7 (a.out): 75 % of its I/O time are metadata operations (30 s in all processes, on 1,200 "
     "files of POSIX); these take 25 % of its processes' time."),
    # threads that wait side by side
    ("io.mostly_metadata", [job(meta_s=90.0, io_s=91.0, meta_share=7.64)], "high",
     "Job 7 (a.out): 99 % of its I/O time are metadata operations (1.5 min in all processes, on 1 "
     "file of POSIX); these take 764 % of its processes' time, the time of each thread counted."),
    ("io.one_sided", [job(read_bytes=10**8, write_bytes=3 * 10**8)], "low",
     "Job 7 (a.out): of 381 MiB that go through POSIX, 25 % is read; 500 of 1,000 requests (50 %) "
     "to POSIX are reads."),
    ("io.incomplete_logs", [job(), CUT], "high",
     "Job 7 (a.out): its logs are incomplete (POSIX cut off): numbers are lower bounds, and files "
     "may be missing."),
    ("io.incomplete_logs", [CUT | {"missing_counters": False}], "medium",
     "Job 7 (a.out): its logs are incomplete (POSIX cut off): the counters are complete."),
    ("io.copied_logs", [job(), job(copies=2)], "low",
     "Job 7 (a.out): beside its 1 log there are 2 copies with the same bytes, which are left out."),
    ("io.long_metadata", [file(), SLOW], "medium",
     "/y of job 7 (a.out): a process spends 45 s in opening, seeking and asking about it (the file "
     "takes 6 % of its processes' time)."),
    ("io.long_metadata", [SHARED], "high",
     "/x of job 7 (a.out): its ranks spend, on average, 31 s in opening, seeking and asking about "
     "it (the file takes 30 % of its processes' time)."),
    ("io.stragglers", [LATE, file()], "high",
     "/x of job 7 (a.out): rank 3 needs 20 s longer than rank 1, 20 % of the run."),
    ("io.unequal_bytes", [LATE, file()], "high",
     "/x of job 7 (a.out): of its slowest and fastest rank one moves 50 % less than the other, and "
     "rank 3 needs 20 s longer than rank 1, 20 % of the run."),
    ("io.unequal_processes", [UNEQUAL, file()], "medium",
     "/x of job 7 (a.out): of its 4 processes one writes 31 % less than another (the file takes "
     "90 % of its processes' time)."),
    ("io.slow_ranks", RANKS, "high",
     "2 of 4 traced ranks (2 high) spend over 2 times as long in reads and writes as the median of "
     "their program: the longest, rank 3 of job 7 (a.out), 6 s where the median is 2 s; these are "
     "30 % of its processes' time."),
    ("io.impossible_values", [ODD, job()], "medium",
     "Job 7 (a.out): its logs have values that cannot be, below 0 or no finite time, of "
     "POSIX_BYTES_READ, POSIX_F_META_TIME: they are left out, and sums are lower bounds."),
    ("io.impossible_values", [job(impossible=", ".join(f"C{n}" for n in range(8)))], "medium",
     "Job 7 (a.out): its logs have values that cannot be, below 0 or no finite time, of C0, C1, "
     "C2, C3, C4, C5 and 2 more: they are left out, and sums are lower bounds."),
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


@pytest.mark.parametrize(("rule", "rows", "severity", "text"), SPOKEN)
def test_a_rule_says(rule, rows, severity, text):
    assert spoken(rule, *rows) == [(severity, text)]


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
    ((severity, text),) = spoken("io.small_requests", *rows, *many(13, 0, 0.9))
    assert severity == "high"
    assert text.startswith("Job 10 (a.out): 2,000 of 10,000 reads")
    assert text.endswith("The same holds for 4 others: 1 high, 1 medium, 2 low.")


def test_of_logs_with_gaps_each_has_the_severity_of_its_own_gap():
    cut, trace = ({"gaps": f"{name} cut off"} for name in ("POSIX", "DXT_POSIX"))
    rows = [job(**trace), job(job=8, missing_counters=True, **cut), job(job=9, **trace)]
    ((severity, text),) = spoken("io.incomplete_logs", *rows)
    assert severity == "high"
    assert text.startswith("Job 8 (a.out): its logs are incomplete (POSIX cut off)")
    assert text.endswith("The same holds for 2 others: 2 medium.")


def test_shared_files_name_others_that_are_less():
    ((severity, text),) = spoken("io.stragglers", LATE, LATE | {"late_share": 0.06}, file())
    assert (severity, text.endswith("The same holds for 1 other (medium).")) == ("high", True)


def test_what_was_not_watched_makes_a_part_and_a_sum_of_ranks_a_lower_bound():
    assert certainty("io.misaligned_file", job(misaligned_file=101, watched_file=500)) == ("part",)
    # a sum that 64 bits do not hold is not known, and says nothing of what was watched
    unknown = job(reads=None, misaligned_file=101, watched_file=500)
    assert certainty("io.misaligned_file", unknown) == ()
    assert certainty("io.misaligned_file", unknown, job(misaligned_file=101, watched_file=500)) == (
        "part",
    )
    assert certainty("io.long_metadata", SHARED) == ("lower_bound",)
    assert certainty("io.slow_ranks", *RANKS) == ("coarse_clock",)


def certainty(name: str, *rows: dict[str, Any]) -> tuple[str, ...]:
    (found,) = judge(BY_NAME[name], pl.DataFrame(list(rows), infer_schema_length=None))
    return found.finding.certainty


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
    ((_, text),) = spoken("io.small_requests", named, exact, coarse, small(3000, "lower_bound"))
    assert text.endswith(
        "holds for 3 others: 3 high; 1 of them a lower bound; 1 of them by a coarse clock."
    )
    ((_, text),) = spoken("io.small_requests", named, coarse)
    assert text.endswith("holds for 1 other (high), by a coarse clock.")
    # what is so of the one named need not be said again
    ((_, text),) = spoken("io.small_requests", small(9000, "coarse_clock"), coarse)
    assert text.endswith("holds for 1 other (high).")


def test_every_rule_says_what_it_rests_on():
    for rule in RULES:
        assert all((rule.numerator, rule.judged, rule.unable)), rule.name
        shares = any("share" in name or name == "difference" for name in rule.thresholds)
        assert not shares or rule.denominator, rule.name


def test_every_rule_is_tried_here():
    """A rule that nobody tries is one that nobody knows to work."""
    names = {rule.name for rule in RULES}
    assert names == {rule for rule, *_ in SPOKEN} == {rule for rule, _ in SILENT}
