"""Sums by job and file equal a plain count."""

from collections import defaultdict
from datetime import UTC, datetime, timedelta
from typing import Any

import polars as pl
import pytest
from darshan_logs import Reader, zeros
from hypothesis import given, settings
from hypothesis import strategies as st
from night import NIGHT

from harvest_darshan.views.posix_files import posix_files, requests

T0 = datetime(2024, 5, 6, 7, 0, tzinfo=UTC)


def job(origin: str, number: int) -> dict[str, Any]:
    """A process of 10 s."""
    end = T0 + timedelta(seconds=10)
    row = {"origin": origin, "uid": 1, "job_id": number, "pid": 1, "nprocs": 2, "exe": "a.out"}
    lists = {"modules": [], "partial_modules": [], "unread_modules": []}
    return row | lists | {"start_time": T0, "end_time": end, "run_time_s": 10.0}


JOBS = [*range(50, 60)]
RECORDS = st.lists(
    st.fixed_dictionaries(
        {
            "job_id": st.sampled_from(JOBS),
            "log": st.sampled_from(["a", "b"]),
            "record_id": st.sampled_from([7, 8]),
            "rank": st.sampled_from([-1, 0, 1]),
            "POSIX_READS": st.integers(0, 50),
            "POSIX_SEQ_READS": st.integers(0, 50),
            "POSIX_SIZE_READ_0_100": st.integers(0, 20),
            "POSIX_SIZE_READ_100K_1M": st.integers(0, 20),
            "POSIX_SIZE_READ_1M_4M": st.integers(0, 20),
            "POSIX_BYTES_READ": st.integers(0, 1000),
            "POSIX_MAX_BYTE_READ": st.integers(0, 1000),
            "POSIX_F_READ_TIME": st.integers(0, 1000).map(lambda n: n / 1000),
        }
    ),
    max_size=60,
    unique_by=lambda r: (r["job_id"], r["log"], r["record_id"], r["rank"]),
)


@pytest.mark.slow
@settings(max_examples=50 if NIGHT else 3)  # the first one is of no record
@given(RECORDS)
def test_requests_and_files_equal_a_plain_count(records):
    # given jobs of two logs each, whose records may be of single ranks or of all
    logs = [(number, name) for number in JOBS for name in "ab"]
    origins = {log: f"/runs/r/{log[0]}-{log[1]}.darshan" for log in logs}
    rows = [
        zeros("posix")
        | {k: v for k, v in record.items() if k != "log"}
        | {"origin": origins[record["job_id"], record["log"]], "path": f"/f{record['record_id']}"}
        for record in records
    ]
    data = Reader(job=[job(origins[log], log[0]) for log in logs], posix=rows)

    found = requests(data).filter(pl.col("op") == "read").collect()
    files = posix_files(data).collect()

    assert found["job"].to_list() == JOBS
    by_file: dict[Any, list[dict[str, Any]]] = defaultdict(list)
    for record in records:
        by_file[record["job_id"], record["record_id"]].append(record)
    for row in found.iter_rows(named=True):
        mine = [r for r in records if r["job_id"] == row["job"]]
        if not mine:  # nothing says that the job read nothing
            assert row["requests"] is None
            continue
        assert row["requests"] == sum(r["POSIX_READS"] for r in mine)
        small = [(r["POSIX_SIZE_READ_0_100"] + r["POSIX_SIZE_READ_100K_1M"], r) for r in mine]
        # bins with more requests than there were are unknown
        known = [count for count, r in small if count <= r["POSIX_READS"]]
        assert row["small"] == (sum(known) if known else None)
        assert row["random"] == sum(
            # the first of each process has none before it; there are 2 in each log
            max(r["POSIX_READS"] - r["POSIX_SEQ_READS"] - (2 if r["rank"] < 0 else 1), 0)
            for r in mine
        )
        assert row["shared"] == sum(r["POSIX_READS"] for r in mine if r["rank"] < 0)
        again = 0
        for (number, _), some in by_file.items():
            if number == row["job"]:
                moved = sum(r["POSIX_BYTES_READ"] for r in some)
                again += max(moved - max(r["POSIX_MAX_BYTE_READ"] for r in some) - 1, 0)
        assert row["redundant_bytes"] == again
        spent = sum(r["POSIX_F_READ_TIME"] for r in mine)
        assert row["time_share"] == pytest.approx(spent / (2 * 2 * 10))
    assert files.height == len(by_file)
    for row in files.iter_rows(named=True):
        some = by_file[row["job"], row["record_id"]]
        single = [r["POSIX_BYTES_READ"] for r in some if r["rank"] >= 0]
        spread = None if not single else 0.0
        if single and max(single):
            spread = (max(single) - min(single)) / max(single)
        assert row["read_spread"] == spread
        assert row["processes"] == len(single)
        assert row["shared"] == any(r["rank"] < 0 for r in some)
