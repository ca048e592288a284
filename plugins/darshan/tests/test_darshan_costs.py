"""What I/O gives and costs: bandwidth by layer, and jobs ranked by what there is to gain."""

from typing import Any

import pytest
from darshan_logs import counter_record, dataset_of, log
from reporting import page_of

from harvest_darshan.rules import RULES
from harvest_darshan.views import jobs
from harvest_darshan.views.gains import CONCERNED

X, Y = 7, 9
ALL = -1  # the rank of a record of all ranks


def rates(data: Any, **settings: Any) -> dict[str, tuple[Any, ...]]:
    """By layer: bytes, time of the slowest process, and three rates."""
    rows = data.view("io.bandwidth", **settings).collect().to_dicts()
    names = ("bytes", "slowest_s", "bytes_per_s", "read_bytes_per_s", "write_bytes_per_s")
    return {row["layer"]: tuple(row[name] for name in names) for row in rows}


def test_the_slowest_process_decides_the_bandwidth_of_a_job(opened):
    """Given a file of all ranks, and files of two ranks, then what a rank spends adds up."""
    posix = (
        counter_record("POSIX", X, ALL, BYTES_READ=600, F_READ_TIME=4.0, F_SLOWEST_RANK_TIME=3.0)
        + counter_record("POSIX", Y, 0, BYTES_WRITTEN=100, F_WRITE_TIME=1.0, F_META_TIME=0.5)
        + counter_record("POSIX", Y, 1, BYTES_WRITTEN=100, F_WRITE_TIME=2.0, F_META_TIME=0.5)
    )
    stdio = counter_record("STDIO", Y, 1, BYTES_WRITTEN=30, F_WRITE_TIME=0.5)
    modules = {"POSIX": (4, posix), "STDIO": (2, stdio)}
    data = opened(log("r/u_a_id50-1", 50, 0, 10, nprocs=2, modules=modules))
    # 3 s of the slowest rank of the shared file, and 2.5 s of rank 1 alone
    assert rates(data) == {
        "POSIX": (800, 5.5, 800 / 5.5, 600 / 4, 200 / 3),
        "STDIO": (30, 0.5, 60.0, None, 60.0),
    }


def test_logs_that_ran_together_wait_for_the_slowest_and_others_add_up(opened):
    def moved(seconds: float) -> dict[str, Any]:
        record = counter_record("POSIX", X, 0, BYTES_READ=100, F_READ_TIME=seconds)
        return {"modules": {"POSIX": (4, record)}}

    data = opened(
        log("r/u_a_id50-1", 50, 0, 10, **moved(2)),
        log("r/u_a_id50-2", 50, 5, 20, **moved(4)),
        log("r/u_a_id50-3", 50, 30, 40, **moved(1)),
    )
    assert rates(data)["POSIX"] == (300, 4 + 1, 60.0, 300 / 7, None)
    assert set(data.view("io.bandwidth", per="log").collect()["slowest_s"]) == {2.0, 4.0, 1.0}


def test_what_could_not_be_read_is_not_slow(opened):
    """Given a damaged module, then its layer has a row without numbers."""
    record = counter_record("POSIX", X, 0, BYTES_READ=100, F_READ_TIME=1.0)
    data = opened(log("r/u_a_id50-1", 50, 0, 10, modules={"POSIX": (4, record[:-9])}))
    assert rates(data) == {"POSIX": (None,) * 5}
    assert data.view("io.bandwidth").collect()["certainty"].to_list() == [
        ["lower_bound", "one_process"]
    ]


def ranked(data: Any, **settings: Any) -> list[tuple[Any, ...]]:
    rows = data.view("io.gains", **settings).collect()
    return [
        (row["job"], row["finding"], row["hours"] and round(row["hours"] * 3600, 6))
        for row in rows.iter_rows(named=True)
    ]


@pytest.fixture(scope="module")
def two_jobs(tmp_path_factory: Any) -> Any:
    """Job 51 with 2,000 small reads of 3 s and as many writes of 2 s; 52 with reads of 9 s."""

    def posix(**more: float) -> dict[str, Any]:
        sizes = {f"SIZE_{op}_1K_10K": 2000 for op in ("READ", "WRITE") if f"{op}S" in more}
        files = {"FILE_ALIGNMENT": 4096, "MAX_BYTE_READ": 9_999_999, "MAX_BYTE_WRITTEN": 9_999_999}
        return {"modules": {"POSIX": (4, counter_record("POSIX", X, 0, **files, **sizes, **more))}}

    reads = {"READS": 2000, "BYTES_READ": 10_000_000, "SEQ_READS": 2000}
    writes = {"WRITES": 2000, "BYTES_WRITTEN": 10_000_000, "SEQ_WRITES": 2000}
    return dataset_of(
        tmp_path_factory.mktemp("jobs"),
        log("r/u_a_id51-1", 51, 0, 100, **posix(**reads, **writes, F_READ_TIME=3, F_WRITE_TIME=2)),
        log("r/u_b_id52-2", 52, 200, 300, **posix(**reads, F_READ_TIME=9)),
        log("r/u_c_id53-3", 53, 400, 500),
    )


def test_gains_and_findings_share_the_rows_of_all_jobs(opened, monkeypatch):
    built: list[int] = []
    monkeypatch.setattr(jobs, "_totals", lambda logs, of=jobs._totals: built.append(0) or of(logs))
    data = opened(log("r/u_a_id51-1", 51, 0, 100), log("r/u_b_id52-2", 52, 200, 300))

    data.findings()
    data.view("io.gains").collect()

    assert data.view("io.jobs").collect()["job"].to_list() == [51, 52]
    assert len(built) == 1
    assert data.view("io.jobs", job=52).collect()["job"].to_list() == [52]


@pytest.mark.slow
def test_jobs_are_ranked_by_what_their_findings_concern(two_jobs):
    first, second = two_jobs.view("io.gains").collect().to_dicts()

    # one small read or write costs what the other does not: their times add up
    spent = [(job["job"], job["finding"], job["hours"] * 3600) for job in (first, second)]
    assert spent == [(52, "io.small_requests", 9.0), (51, "io.small_requests", 5.0)]
    assert first["share"] == pytest.approx(9 / 100)
    assert first["findings"] == ["io.small_requests", "io.one_sided"]
    assert first["certainty"] == ["one_process"]
    assert ranked(two_jobs, job=51) == [(51, "io.small_requests", 5.0)]


@pytest.mark.slow
def test_a_finding_that_costs_no_time_has_no_hours(two_jobs):
    """Given a job that mostly reads, then this is a finding, and nothing is to be gained by it."""
    assert ranked(two_jobs, per="finding") == [
        (52, "io.small_requests", 9.0),
        (51, "io.small_requests", 5.0),
        (52, "io.one_sided", None),
    ]


@pytest.mark.slow
def test_findings_on_the_same_time_count_once(opened):
    """Given reads that are small and random, then their time counts once; STDIO's is not added."""
    counts = {"READS": 2000, "SIZE_READ_1K_10K": 2000, "BYTES_READ": 10**7, "MAX_BYTE_READ": 10**7}
    posix = counter_record("POSIX", X, 0, **counts, F_READ_TIME=4.0, F_META_TIME=20.0)
    stdio = counter_record("STDIO", Y, 0, BYTES_READ=10**8, READS=5, F_READ_TIME=7.0)
    data = opened(
        log("r/u_a_id50-1", 50, 0, 100, modules={"POSIX": (4, posix), "STDIO": (2, stdio)})
    )
    found = {name: spent for _, name, spent in ranked(data, per="finding")}
    assert found == {
        "io.small_requests": 4.0,
        "io.random_access": 4.0,
        "io.mostly_metadata": 20.0,
        "io.stdio": 7.0,
        "io.one_sided": None,
    }
    assert ranked(data) == [(50, "io.mostly_metadata", 24.0)]


def test_every_rule_says_what_time_it_concerns_or_is_known_to_cost_none():
    informs = {"io.one_sided", "io.incomplete_logs", "io.copied_logs"}
    informs |= {"io.impossible_values"}
    assert CONCERNED.keys() | informs == {rule.name for rule in RULES}
    assert not CONCERNED.keys() & informs


@pytest.mark.slow
def test_the_page_begins_with_gains_and_its_key_numbers_are_the_sums_of_the_tables(two_jobs):
    """Given 30 MB in 14 s of two jobs of 100 s, and a third job without counters."""
    report = page_of(two_jobs, "darshan.io")

    tables = {table.name: table.data for table in report.tables}

    assert next(iter(tables)) == "gains"
    assert tables["gains"]["job"].to_list() == [52, 51]
    assert tables["gains"]["findings"].to_list()[0] == "small_requests, one_sided"
    assert tables["bandwidth"]["layer"].to_list() == ["POSIX", "POSIX"]
    assert [str(tile) for tile in report.tiles] == [
        "jobs: 3 (3 processes)",
        "bytes moved: at least 28.6 MiB (2 of 3 jobs)",
        "time in I/O: 7 % (of process time, at least 14 s in I/O, 2 of 3 jobs)",
        "possible gain: 14 s (of process time, at most)",
    ]
    assert (tables["jobs"].height, tables["jobs"]["bytes"].sum()) == (3, 30_000_000)
    assert round(3600 * tables["gains"]["hours"].sum(), 6) == 14
    assert report.picture.name == "cost"
