"""Jobs: their views, their findings and their page, over logs written by hand."""

import struct
from typing import Any

import pytest
from darshan_logs import counter_record, dxt_record, log
from reporting import page_of

from harvest import UsageError
from harvest.toolkit.frames import condition
from harvest_darshan.plugin import VIEWS
from harvest_darshan.report.traced import traced_plots
from harvest_darshan.views.grouping import logs_by_job

SHARED = 2**64 - 1  # rank -1
X, Y = 7, 9


def test_a_job_by_a_clock_of_whole_seconds_ran_through_its_last_one(opened):
    """Given a log of an old version that begins and ends in one second, it ran for up to that."""
    data = opened(log("a/u_a_id50-1", 50, 3, 3, nprocs=4, version="3.10"))

    (job,) = data.view("io.jobs").collect().to_dicts()

    assert (job["wall_s"], job["process_s"]) == (1.0, 4.0)


@pytest.mark.slow
def test_logs_of_one_job_id_are_one_job_and_without_a_scheduler_those_that_overlap(opened):
    # given a scheduled job of two logs; three processes of which the second lives through the
    # others; and one of the day after
    data = opened(
        log("a/u_a_id50-1", 50, 0, 10, nprocs=4),
        log("a/u_a_id50-2", 50, 100, 110),
        log("b/u_b_id11-11", 11, 0, 10),
        log("b/u_b_id12-12", 12, 5, 30),
        log("b/u_b_id13-13", 13, 25, 40),
        log("b/u_b_id14-14", 14, 86_400, 86_410),
    )

    jobs = data.view("io.jobs").collect()

    shown = jobs.select("job", "pid", "logs", "processes", "largest_log", "wall_s", "process_s")
    assert shown.sort("wall_s").rows() == [
        (None, 14, 1, 1, 1, 10.0, 10.0),
        (None, 11, 3, 3, 1, 40.0, 10.0 + 25.0 + 15.0),
        (50, None, 2, 5, 4, 110.0, 4 * 10.0 + 10.0),
    ]
    assert data.view("io.jobs", job=11).collect()["pid"].to_list() == [11]
    assert data.view("io.jobs", job=50).collect()["logs"].to_list() == [2]
    assert data.view("io.jobs", run="b", per="log").collect()["log"].n_unique() == 4
    with pytest.raises(UsageError, match="must be one of job, log, not 'week'"):
        data.view("io.jobs", per="week").collect()
    with pytest.raises(UsageError, match=r"job: 'x' does not fit: must be a whole number"):
        data.view("io.requests", job="x").collect()


@pytest.mark.slow
def test_a_job_is_called_after_the_program_that_moves_bytes(opened):
    """Given mpiexec, which starts first and reads little, then the job is that of its program."""

    def moved(read: int) -> dict[str, Any]:
        record = counter_record("POSIX", X, READS=1, BYTES_READ=read, F_READ_TIME=1.0)
        return {"modules": {"POSIX": (4, record)}}

    data = opened(
        log("r/u_mpiexec_id11-11", 11, 0, 30, exe="/usr/bin/mpiexec -n 2 sim", **moved(10)),
        log("r/u_sim_id12-12", 12, 1, 30, exe="/opt/sim in.nml", **moved(500)),
        log("r/u_uname_id13-13", 13, 2, 30, exe="uname -m"),
    )
    for view in ("io.requests", "io.posix_files"):
        assert set(data.view(view).select("program", "logs").collect().rows()) == {("sim", 3)}
    assert data.view("io.jobs").collect()["exe"].to_list() == ["/opt/sim in.nml"]
    assert data.view("io.jobs", per="log").collect()["program"].n_unique() == 3
    assert page_of(data, "darshan.io").title == "I/O of sim (3 logs)"


@pytest.mark.slow
def test_numbers_of_a_job_are_sums_over_its_logs_and_each_layer_counts_once(opened):
    # given two processes of 10 s: one reads /x through POSIX, twice; the other through MPI-IO,
    # which waits 2 s beyond the 1 s in POSIX; and writes /y through MPI-IO alone, and a stream
    first = counter_record(
        "POSIX", X, READS=4, SEQ_READS=1, BYTES_READ=400, MAX_BYTE_READ=199, SIZE_READ_0_100=4,
        F_READ_TIME=0.5, F_META_TIME=0.25, FILE_NOT_ALIGNED=3, MEM_NOT_ALIGNED=-1,
    )  # fmt: skip
    second = {
        "POSIX": (
            4,
            counter_record("POSIX", X, READS=1, BYTES_READ=200, MAX_BYTE_READ=199, F_READ_TIME=1),
        ),
        "MPI-IO": (
            3,
            counter_record("MPI-IO", X, INDEP_READS=1, BYTES_READ=200, F_READ_TIME=3)
            + counter_record("MPI-IO", Y, COLL_WRITES=2, BYTES_WRITTEN=50, F_WRITE_TIME=0.125),
        ),
        "STDIO": (2, counter_record("STDIO", Y, WRITES=5, BYTES_WRITTEN=25, F_WRITE_TIME=0.5)),
    }
    data = opened(
        log("r/u_a_id50-1", 50, 0, 10, modules={"POSIX": (4, first)}),
        log("r/u_a_id50-2", 50, 0, 10, modules=second),
    )

    (job,) = data.view("io.jobs").collect().to_dicts()
    read, write = data.view("io.requests").collect().to_dicts()
    (x,) = data.view("io.posix_files").collect().to_dicts()

    assert (job["bytes"], job["read_bytes"]) == (400 + 200 + 50 + 25, 600)
    assert job["io_s"] == 0.5 + 0.25 + 1 + (3 - 1) + 0.125 + 0.5
    assert job["time_share"] == job["io_s"] / 20
    assert (job["meta_s"], job["files"], job["reads"]) == (0.25, 1, 5)
    # of the second log neither alignment is known (0), of the first that in memory is not (-1)
    assert (job["misaligned_file"], job["watched_file"]) == (3, 4)
    assert (job["misaligned_memory"], job["watched_memory"]) == (None, None)
    assert (job["stdio_requests"], job["mpiio_bytes"], job["uses_mpiio"]) == (5, 250, True)
    # of each process the first request has none before it
    assert (read["requests"], read["small"], read["random"]) == (5, 4, (3 - 1) + (1 - 1))
    assert (read["redundant_bytes"], read["redundant_file"]) == (600 - 200, "/scratch/x")
    assert (read["independent"], read["collective"], read["mpiio_s"]) == (1, 0, 3.0)
    assert (write["requests"], write["collective"], write["seconds"]) == (0, 2, 0.0)
    assert (x["processes"], x["shared"], x["read_spread"]) == (2, False, (400 - 200) / 400)
    assert (x["read_extent"], x["time_share"]) == (200, 1.75 / 20)
    # and of each log alone
    alone = data.view("io.requests", per="log").collect()
    assert sorted(alone["redundant_bytes"]) == [0, 0, 0, 200]


@pytest.mark.slow
def test_a_shared_file_with_a_straggler_is_the_first_finding_of_its_page(opened):
    # given 4 ranks over 10 s; rank 3 is 4 s in a file for which rank 0 needs 1 s
    shared = counter_record(
        "POSIX", X, -1, WRITES=40, SEQ_WRITES=40, CONSEC_WRITES=40, BYTES_WRITTEN=4 << 20,
        SIZE_WRITE_100K_1M=40, MAX_BYTE_WRITTEN=(4 << 20) - 1, F_WRITE_TIME=8,
        FASTEST_RANK=0, SLOWEST_RANK=3, FASTEST_RANK_BYTES=1 << 20, SLOWEST_RANK_BYTES=1 << 20,
        F_FASTEST_RANK_TIME=1, F_SLOWEST_RANK_TIME=4,
    )  # fmt: skip
    upper = counter_record("MPI-IO", X, -1, COLL_WRITES=40, NB_WRITES=1, F_WRITE_TIME=8)
    modules = {"POSIX": (4, shared), "MPI-IO": (3, upper)}
    data = opened(
        log("r/u_a_id50-1", 50, 0, 10, nprocs=4, modules=modules, partial=["MPI-IO"]),
        log("r/u_a_id51-1", 51, 0, 10),
    )

    verdict = data.report("darshan.io").verdict

    assert [f.finding.text for f in verdict.found if f.finding.severity == "high"] == [
        "Job 50 (a.out): logs incomplete, MPI-IO cut off. MPI-IO cut off: numbers are lower "
        "bounds, and files may be missing.",
        "/scratch/x: rank 3 is 3 s slower than rank 0. The difference is 30 % of the run of job "
        "50 (a.out).",
    ]
    for found in verdict.found:
        rows = data.view(found.evidence.view, **found.evidence.settings).collect()
        # as ``harvest view --where`` does
        assert found.evidence.rows == rows.filter(condition(found.evidence.where, rows)).height


# ---- the page -----------------------------------------------------------------------------------


@pytest.mark.slow
def test_the_page_shows_what_the_log_has(opened):
    # given a rank with 3 reads, of which one is traced; and a stream
    modules = {
        "POSIX": (
            4,
            counter_record(
                "POSIX", X, READS=3, OPENS=2, MMAPS=-1, BYTES_READ=3000, SIZE_READ_100_1K=3,
                F_READ_TIME=2, SEQ_READS=2, CONSEC_READS=1,
            ),
        ),
        "STDIO": (2, counter_record("STDIO", Y, WRITES=5, BYTES_WRITTEN=25, F_META_TIME=1)),
        "DXT_POSIX": (1, dxt_record("<", X, reads=[(0, 1000, 1.0, 3.0)])),
    }  # fmt: skip
    data = opened(log("r/u_a_id50-1", 50, 0, 10, modules=modules))

    report = page_of(data, "darshan.io", top=1)

    tables = {table.name: table.data for table in report.tables}
    layers = {row["layer"]: row for row in tables["layers"].to_dicts()}
    assert (layers["POSIX"]["requests"], layers["POSIX"]["read_bytes"]) == (3, 3000)
    assert (layers["traced (DXT)"]["read_s"], layers["traced (DXT)"]["read_bytes"]) == (2.0, 1000)
    assert (layers["STDIO"]["meta_s"], layers["STDIO"]["share"]) == (1.0, 0.1)
    assert tables["files"]["file"].to_list() == ["/scratch/x"]
    assert tables["sizes"]["reads"].sum() == 3
    assert tables["use"]["files"].to_list() == [1, 1, 0, 0]
    operations = dict(tables["operations"].select("operation", "POSIX").rows())
    assert (operations["opens"], operations["sequential reads"]) == (2, 2)
    assert operations["maps into memory"] is None
    notes = {table.name: table.note for table in report.tables}
    assert notes["files"].startswith("1 of 2 files, with 67 % of the time")
    assert {plot.name for plot in report.plots} == {"cost", "sizes-plot", "heat-map", "traced"}
    text = report.text(80)
    assert max(map(len, text.splitlines())) <= 80
    assert "wall time" in text
    assert "from 2023-11-14 22:13 UTC" in " ".join(map(str, report.tiles))
    assert "<svg" in report.html()


@pytest.mark.slow
def test_the_page_of_logs_without_what_it_counts_is_written(opened):
    # given a log without records, and one of AutoPerf alone
    mpi = struct.pack("<QqqI4xdd", 1, 0, 280520118345, 1, 0.25, 0.5)
    data = opened(
        log("r/u_a_id50-1", 50, 0, 10),
        log("r/u_a_id51-1", 51, 0, 10, modules={"APMPI": (1, mpi)}),
    )

    report = data.report("darshan.io")

    assert len(report.html()) > 10_000
    tables = {table.name: table.data for table in report.tables}
    assert sum(tables["use"]["files"]) == 0


@pytest.mark.slow
def test_the_heat_map_holds_every_byte_where_it_was_moved(opened):
    # given bins of 2 s: 100 bytes read in the second, and 40 written in the last, beyond the end
    heat = struct.pack("<QqdqQQ", 1, 0, 2.0, 6, 0, 0)
    heat += struct.pack("<6q", 0, 0, 0, 0, 0, 40) + struct.pack("<6q", 0, 100, 0, 0, 0, 0)
    modules = {"HEATMAP": (1, heat)}
    data = opened(log("r/u_a_id50-1", 50, 0, 10, modules=modules, names=[(1, "heatmap:POSIX")]))

    (plot,) = page_of(data, "darshan.io").only("heat-map").plots

    assert "100 bytes read and 40 bytes written" in plot.alt
    figure = _drawn(plot)
    above = [axes for axes in figure.axes if axes.get_title() in ("read", "write")]
    moved = []
    for axes in above:
        steps = axes.patches[0].get_data()
        widths = steps.edges[1:] - steps.edges[:-1]
        moved.append((steps.values * widths).sum())
        assert steps.edges[-1] == 12.0
    assert moved == [pytest.approx(100), pytest.approx(40)]


def _drawn(plot: Any) -> Any:
    matplotlib = pytest.importorskip("matplotlib.figure")
    figure = matplotlib.Figure(figsize=plot.size, layout="constrained")
    plot.draw(figure)
    return figure


@pytest.mark.slow
def test_waiting_in_mpi_io_is_shown_beside_what_reached_the_file(opened):
    # given 2 ranks that write a second each through MPI-IO, of which POSIX has 0.1 s
    upper = b"".join(dxt_record("<", X, [(0, 100, 1.0, 2.0)], rank=rank) for rank in (0, 1))
    below = b"".join(dxt_record("<", X, [(0, 100, 1.9, 2.0)], rank=rank) for rank in (0, 1))
    modules = {"DXT_POSIX": (1, below), "DXT_MPIIO": (2, upper)}
    data = opened(log("r/u_a_id50-1", 50, 0, 10, nprocs=2, modules=modules))

    plots = {plot.name: plot for plot in traced_plots(data, logs_by_job(data), "")}

    assert plots["traced"].alt.startswith("2 operations on 2 lines")
    assert plots["traced-mpiio"].alt.startswith("2 operations on 2 lines")
    cells = {
        name: (_drawn(plots[name]).axes[0].images[0].get_array()[..., 3] > 0).sum(axis=1).tolist()
        for name in ("traced", "traced-mpiio")
    }
    # of 600 columns in 10 s, a second covers 60, and a tenth 6
    assert cells == {"traced": [6, 6], "traced-mpiio": [60, 60]}


def test_settings_that_mean_nothing_are_refused(opened):
    data = opened(log("one/r/u_a_id50-1", 50, 0, 10), log("two/q/u_a_id51-1", 51, 0, 10))
    for setting, message in (
        ({"job": 99}, "the dataset holds no job 99"),
        ({"run": "elsewhere"}, "the dataset holds no run 'elsewhere'"),
        ({"top": "many"}, "'many' does not fit: must be a whole number"),
        ({"by": "name"}, "must be one of time, bytes, not 'name'"),
    ):
        with pytest.raises(UsageError, match=message):
            data.report("darshan.io", **setting)
    for view in VIEWS:
        with pytest.raises(UsageError, match="holds no run 'elsewhere'") as refused:
            data.view(view.name, run="elsewhere")
        assert refused.value.remedy == "choose one of: r, q"
        if "job" in view.settings:
            with pytest.raises(UsageError, match=r"holds no job 51 of run '.*one/r'") as refused:
                data.view(view.name, run="r", job=51)
            assert refused.value.remedy == "choose one of: 50"


def test_a_run_that_two_directories_are_named_like_is_refused(opened):
    data = opened(log("one/r/u_a_id50-1", 50, 0, 10), log("two/r/u_a_id51-1", 51, 0, 10))

    with pytest.raises(UsageError, match="2 runs are named 'r'") as refused:
        data.view("io.jobs", run="r")

    assert "one/r, " in refused.value.remedy
    assert refused.value.remedy.endswith("two/r")
    assert data.view("io.jobs", run="one/r").collect()["job"].to_list() == [50]


@pytest.mark.slow
def test_of_many_jobs_the_page_lists_those_with_most_io(opened):
    logs = [
        log(
            f"r/u_a_id{number}-1", number, 0, 10,
            modules={"POSIX": (4, counter_record("POSIX", X, READS=1, F_READ_TIME=number / 10))},
        )
        for number in (51, 52, 53)
    ]  # fmt: skip
    report = page_of(opened(*logs), "darshan.io", top=2)

    (jobs,) = report.only("jobs").tables
    assert jobs.data["job"].to_list() == [53, 52]
    assert jobs.note == "2 of 3 jobs, the most time in I/O first."
    assert report.title == "I/O of 3 jobs"
    assert report.intro[-1].startswith("Plots over time show job 53")
