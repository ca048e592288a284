"""The intervals of ``io.timeline`` suit each session, and no dataset as a whole."""

from collections import Counter
from datetime import UTC, datetime, timedelta

import pytest
from darshan_logs import Reader
from hypothesis import given
from hypothesis import strategies as st

from harvest_darshan.views.timeline import timeline

T0 = datetime(2024, 5, 6, 7, 0, tzinfo=UTC)


def dataset(jobs, operations):
    """Jobs as (origin, uid, start, end) and operations as (origin, start, end, bytes), in seconds.

    An end may be None: a job that was killed.
    """
    told = [
        {"origin": origin, "uid": uid, "start_time": at(start), "end_time": at(end)}
        for origin, uid, start, end in jobs
    ]
    one = {"record_id": 7, "module": "DXT_POSIX", "op": "read", "hostname": "node1"}
    traced = [
        {**one, "origin": origin, "length": length, "start_time": at(start), "end_time": at(end)}
        for origin, start, end, length in operations
    ]
    return Reader(job=told, dxt_segment=traced)


def at(second):
    return None if second is None else T0 + timedelta(seconds=second)


def widths(data, **setting):
    """Length of the intervals by session."""
    rows = timeline(data, **setting).collect()
    return dict(rows.select("began", "bin_s").unique().iter_rows())


DAY = 86_400
OLD = ("/logs/old.darshan", 1000, 0, 2)
NEW = ("/logs/new.darshan", 1000, 100 * DAY, 100 * DAY + 400)


def test_an_interval_may_be_asked_for_that_suits_each_session():
    # given a hundred days between two logs, which would be too many intervals of 0.1 s
    data = dataset([OLD, NEW], [(OLD[0], 0, 1, 10), (NEW[0], 100 * DAY, 100 * DAY + 1, 10)])
    assert set(widths(data, bin=0.1).values()) == {0.1}


def test_processes_of_a_run_share_their_intervals():
    # given a worker that reads early and one that reads late, while both live
    data = dataset(
        [("/runs/R1/a.darshan", 1000, 0, 60), ("/runs/R1/b.darshan", 1000, 1, 60)],
        [("/runs/R1/a.darshan", 2, 2.1, 10), ("/runs/R1/b.darshan", 50, 50.1, 10)],
    )
    assert widths(data) == {at(0): 0.5}  # 48.1 s in at most 200


def test_a_killed_job_lasts_until_its_last_operation():
    data = dataset(
        [("/runs/a.darshan", 1, 0, None), ("/runs/b.darshan", 1, 5, 8)],
        [("/runs/a.darshan", 1, 6, 10), ("/runs/b.darshan", 7, 8, 10)],
    )
    assert len(widths(data)) == 1


JOBS = st.lists(
    st.tuples(
        st.sampled_from(["/logs/x", "/logs/y"]),
        st.integers(1, 2),
        st.integers(0, 10**6),
        st.integers(1, 4 * 10**5),
    ),
    min_size=1,
    max_size=12,
)


@pytest.mark.slow
@given(JOBS)
def test_sessions_and_their_intervals_equal_a_plain_computation(drawn):
    # given jobs that read from their beginning to their end
    jobs = [
        (f"{folder}/{number}.darshan", uid, start, start + lasts)
        for number, (folder, uid, start, lasts) in enumerate(drawn)
    ]
    data = dataset(jobs, [(origin, start, end, 1000) for origin, _, start, end in jobs])

    rows = timeline(data).collect()

    expected: Counter = Counter()
    for members in sessions(jobs):
        began, end = min(j[2] for j in members), max(j[3] for j in members)
        key = (members[0][0].rpartition("/")[0], members[0][1], at(began))
        expected[*key, interval(end - began)] = 1000 * len(members)
    found: Counter = Counter()
    for run, uid, began, width, size in rows.select(
        "run", "uid", "began", "bin_s", "bytes"
    ).iter_rows():
        found[run, uid, began, width] += size
    assert found == expected
    assert rows["operations"].sum() == len(jobs)


def sessions(jobs):
    """Jobs that touch in time, of one directory and user: joined until nothing changes."""
    groups = [[job] for job in jobs]
    while pair := next(
        ((a, b) for a in groups for b in groups if a is not b and touch(a, b)), None
    ):
        groups = [g for g in groups if g is not pair[0] and g is not pair[1]]
        groups.append(pair[0] + pair[1])
    return groups


def touch(some, others):
    return any(
        a[0].rpartition("/")[0] == b[0].rpartition("/")[0]
        and a[1] == b[1]
        and a[2] <= b[3]
        and b[2] <= a[3]
        for a in some
        for b in others
    )


def interval(span):
    """The least of 1, 2, 5, 10, ... milliseconds of which 200 cover the span, in seconds."""
    millis = next(
        step * 10**power
        for power in range(12)
        for step in (1, 2, 5)
        if step * 10**power * 200 >= span * 1000
    )
    return millis / 1000


def test_two_hundred_intervals_are_allowed():
    data = dataset([("/x/a.darshan", 1, 0, 2)], [("/x/a.darshan", 0, 0.4, 1)])
    assert widths(data) == {at(0): 0.4 / 200}
