"""The chain across sources: each link with how it was made and how sure it is."""

from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import harvest
from harvest_insight.chain.lineage import chain, lineage

START = datetime(2026, 3, 1, 10)
RUN = "/data/R1"
SAMPLES = Path(__file__).resolve().parents[4] / "shared" / "data" / "mofka-dask"


class Rows:
    """A dataset of a few rows: columns by record type or view."""

    def __init__(self, **tables: list[dict[str, Any]]):
        self.tables = {name.replace("__", "."): rows for name, rows in tables.items()}

    def __contains__(self, name: object) -> bool:
        return bool(self.tables.get(str(name)))

    def __getitem__(self, name: str) -> pl.LazyFrame:
        return pl.from_dicts(self.tables[name], infer_schema_length=None).lazy()

    def view(self, name: str) -> pl.LazyFrame:
        if name == "dask.workers_processes" and name not in self:
            columns = ("run", "worker", "address_host", "host", "pid", "log", "tied_by")
            return pl.LazyFrame(
                schema={**dict.fromkeys(columns, pl.String), "candidates": pl.Int64}
            )
        return self[name]

    def views(self) -> list[str]:
        return [name for name in self.tables if name == "dask.run_summary"]


def utc(hours: float) -> datetime:
    """A time, in hours after the first."""
    return START + timedelta(hours=hours)


def job(number: int, begin: float, end: float | None, *, cluster: str = "a", nodes: str = "n1"):
    return {
        "cluster": cluster,
        "job_id_raw": number,
        "start_time": utc(begin),
        "end_time": None if end is None else utc(end),
        "node_list": nodes,
    }


def run(begin: float = 0.1, end: float = 0.9, name: str = RUN) -> dict[str, Any]:
    return {"run": name, "first_time": utc(begin), "last_time": utc(end)}


def variable(value: str, name: str = "SLURM_JOB_ID") -> dict[str, Any]:
    return {"name": name, "value": value, "origin": f"{RUN}/worker-1.cap"}


def log(number: int, begin: float, end: float, origin: str, *, pid: int = 5, host: str = "n1"):
    return {
        "job_id": number,
        "pid": pid,
        "hostname": host,
        "start_time": utc(begin),
        "end_time": utc(end),
        "origin": origin,
    }


def of(dataset: Rows, kind: str, *columns: str) -> list[tuple[Any, ...]]:
    """Some columns of the links of a kind."""
    return chain(dataset).filter(pl.col("link") == kind).select(columns).collect().rows()


def test_a_run_is_the_job_s_whose_id_its_processes_have_in_their_environment():
    dataset = Rows(
        dask__run_summary=[run()],
        run__environment=[variable("77"), variable("linux", "OSTYPE")],
        slurm__job=[job(77, 0, 1), job(78, 0, 1)],
    )

    assert of(dataset, "job to run", "cluster", "job_id", "run", "how", "sure", "found") == [
        ("a", 77, RUN, "SLURM_JOB_ID in a process's environment", "certain", True)
    ]


def test_a_pbs_job_is_tied_as_a_slurm_job_by_its_id_or_by_hosts_and_time():
    # given a job that waits in one log, starts in the next, and ends in the third
    waits = {**job(77, 0, None, cluster="pbs01"), "start_time": None, "node_list": None}
    jobs = [waits, job(77, 0, None, cluster="pbs01"), job(77, 0, 1, cluster="pbs01")]
    named = Rows(
        dask__run_summary=[run(), run(5, 6, name="/data/R2")],
        run__environment=[
            variable("77.pbs01.site.org", "PBS_JOBID"),
            {**variable("77.pbs01", "PBS_JOBID"), "origin": "/data/R2/worker-1.cap"},
        ],
        pbs__job=jobs,
    )
    nodes = [{"host": "n1.site.org", "origin": f"{RUN}/WorkerNodes"}]
    nameless = Rows(dask__run_summary=[run()], run__node=nodes, pbs__job=jobs)

    # then it ended before the second run
    assert of(named, "job to run", "cluster", "job_id", "run", "sure", "found") == [
        ("pbs01", 77, RUN, "certain", True),
        (None, 77, "/data/R2", "certain", False),
    ]
    assert of(nameless, "job to run", "cluster", "job_id", "sure") == [("pbs01", 77, "likely")]


def test_an_id_whose_job_was_not_harvested_is_a_link_to_what_is_not_there():
    dataset = Rows(dask__run_summary=[run()], run__environment=[variable("77.host", "PBS_JOBID")])

    assert of(dataset, "job to run", "cluster", "job_id", "sure", "found") == [
        (None, 77, "certain", False)
    ]


def test_of_two_clusters_with_one_id_the_one_at_the_run_s_time_counts():
    at_once = [job(77, 0, 1), job(77, 500, 501, cluster="b")]
    both = [job(77, 0, 1), job(77, 0, None, cluster="b")]

    for jobs, expected in (
        (at_once, [("a", "certain", 1)]),
        (both, [("a", "possible", 2), ("b", "possible", 2)]),
    ):
        dataset = Rows(
            dask__run_summary=[run()], run__environment=[variable("77")], slurm__job=jobs
        )
        assert sorted(of(dataset, "job to run", "cluster", "sure", "candidates")) == expected


@pytest.mark.parametrize(
    "name", ["1873179.polaris-pbs-01.hsn.OU", "polaris.sh.e1873179", "slurm-1873179.out"]
)
def test_the_name_of_a_job_s_output_holds_its_id(name):
    dataset = Rows(dask__run_summary=[run()], run__software=[{"origin": f"{RUN}/{name}"}])

    assert of(dataset, "job to run", "job_id", "run") == [(1873179, RUN)]


def test_the_output_of_an_array_task_names_the_array_and_not_the_job():
    software = [{"origin": f"{RUN}/slurm-123_4.out"}]
    # the array's number is the id of its last task, which ran on another node
    tasks = [job(123, 0, 1, nodes="n2"), job(127, 0, 1)]
    dataset = Rows(
        dask__run_summary=[run()],
        run__node=[{"host": "n1", "origin": f"{RUN}/WorkerNodes"}],
        run__software=software,
        slurm__job=tasks,
    )

    assert of(dataset, "job to run", "job_id", "sure") == [(127, "likely")]


def test_a_darshan_log_in_the_run_holds_the_job_s_id_unless_it_is_the_process_s():
    inside, below = f"{RUN}/a.darshan", f"{RUN}/logs/b.darshan"
    dataset = Rows(
        dask__run_summary=[run()],
        darshan__job=[log(5, 0.1, 0.2, inside, pid=5), log(77, 0.1, 0.2, below, pid=5)],
    )

    assert of(dataset, "job to run", "job_id", "how") == [
        (77, "job id in a Darshan log of the run")
    ]
    assert of(dataset, "run to log", "run", "log", "sure") == [
        (RUN, inside, "certain"),
        (RUN, below, "certain"),
    ]
    assert of(dataset, "job to log", "log") == []


def test_a_run_without_an_id_is_the_job_s_that_had_its_hosts_at_its_time():
    nodes = [{"host": h, "origin": f"{RUN}/WorkerNodes"} for h in ("nid001.site.org", "nid003")]
    jobs = [
        job(1, 0, 1, nodes="nid[001-004]"),
        job(2, 0, 1, nodes="nid[001-002]"),  # not all of the run's hosts
        job(3, 2, 3, nodes="nid[001-004]"),  # later
    ]
    rival = job(4, -1, None, nodes="nid[003,001]")

    alone = Rows(dask__run_summary=[run()], run__node=nodes, slurm__job=jobs)
    shared = Rows(dask__run_summary=[run()], run__node=nodes, slurm__job=[*jobs, rival])

    assert of(alone, "job to run", "job_id", "how", "sure") == [
        (1, "the run's hosts and time", "likely")
    ]
    assert of(shared, "job to run", "job_id", "sure") == [(1, "possible"), (4, "possible")]


def captured(address: str, pid: int) -> dict[str, Any]:
    return {
        "address": address,
        "role": "worker",
        "host": "n1.site.org",
        "pid": pid,
        "start_time": utc(0.1),
        "last_time": utc(0.9),
        "origin": f"{RUN}/worker-{pid}.cap",
    }


def test_a_captured_process_has_the_logs_of_its_host_and_process_id_at_its_time():
    there, later, elsewhere = "/darshan/x", "/darshan/later", "/darshan/elsewhere"
    dataset = Rows(
        dask__run_summary=[run()],
        dask__process=[captured("tcp://n1:1", 5), captured("tcp://n1:2", 6)],
        darshan__job=[
            log(0, 0.2, 0.8, there),
            log(0, 30, 31, later),  # the process id was used again
            log(0, 0.2, 0.8, elsewhere, host="n2"),
        ],
    )

    assert of(dataset, "run to process", "process", "pid", "sure") == [
        ("tcp://n1:1", 5, "certain"),
        ("tcp://n1:2", 6, "certain"),
    ]
    assert of(dataset, "process to log", "process", "log", "sure") == [
        ("tcp://n1:1", there, "certain")
    ]


def test_a_log_of_another_site_s_host_is_of_no_captured_process():
    # given a process on n1.site.org, and logs of its process id from hosts that are called alike
    hosts = ("n1", "N1.Site.org.", "n1.other.org", "10.1.0.5")
    logs = [log(77, 0.2, 0.8, f"/darshan/{host}", host=host) for host in hosts]
    dataset = Rows(dask__run_summary=[run()], dask__process=[captured("a", 5)], darshan__job=logs)

    assert sorted(of(dataset, "process to log", "log")) == [
        ("/darshan/N1.Site.org.",),
        ("/darshan/n1",),
    ]


@pytest.mark.parametrize(
    ("tied_by", "sure"),
    [("process id", "certain"), ("thread", "likely"), ("best of several", "possible")],
)
def test_a_worker_that_is_tied_by_its_threads_is_less_sure(tied_by, sure):
    tie = {
        "run": RUN,
        "worker": "tcp://n1:1",
        "address_host": "n1",
        "host": "n1",
        "pid": 5,
        "log": f"{RUN}/a.darshan",
        "tied_by": tied_by,
        "candidates": 1 + (sure == "possible"),
    }
    dataset = Rows(dask__run_summary=[run()], dask__workers_processes=[tie])

    assert of(dataset, "process to log", "process", "log", "sure") == [
        ("tcp://n1:1", f"{RUN}/a.darshan", sure)
    ]
    assert of(dataset, "run to process", "run", "process", "log") == [(RUN, "tcp://n1:1", None)]


def test_logs_outside_of_dask_runs_are_their_job_s():
    dataset = Rows(
        darshan__job=[log(77, 48, 49, "/logs/2"), log(77, 0.2, 0.8, "/logs/1")],
        slurm__job=[job(77, 0, 1)],
    )

    # in the order of the logs' names, whatever the order of the rows
    assert of(dataset, "job to log", "log", "cluster", "job_id", "found") == [
        ("/logs/1", "a", 77, True),
        ("/logs/2", None, 77, False),
    ]
    # the process id in the log is the key of neither end
    assert of(dataset, "job to log", "pid") == [(None,), (None,)]


def entry(path: str, inode: int, created: float, scan: float) -> dict[str, Any]:
    return {
        "path": path,
        "inode": inode,
        "generation": 1,
        "create_time": utc(created),
        "scan_time": utc(scan),
    }


def test_a_file_s_entry_is_less_sure_when_it_was_made_after_the_log_ended():
    names = [{"record_id": 9, "path": p, "origin": "/logs/1"} for p in ("/p/a", "/p/b", "/p/c")]
    dataset = Rows(
        darshan__job=[log(77, 0.2, 0.8, "/logs/1")],
        darshan__file=names,
        gpfs__file=[entry("/p/a", 1, 0.5, 24), entry("/p/b", 2, 2, 24), entry("/p/z", 3, 0, 24)],
    )

    assert of(dataset, "log to file", "log", "path") == [("/logs/1", f"/p/{n}") for n in "abc"]
    assert sorted(of(dataset, "file to entry", "path", "inode", "sure")) == [
        ("/p/a", 1, "likely"),
        ("/p/b", 2, "possible"),
    ]


def test_a_file_is_followed_to_its_job_as_surely_as_the_weakest_link():
    dataset = Rows(
        dask__run_summary=[run()],
        dask__process=[captured("tcp://n1:1", 5)],
        run__environment=[variable("77")],
        slurm__job=[job(77, 0, 1), job(88, 0, 1)],
        darshan__job=[log(5, 0.2, 0.8, "/logs/w"), log(88, 0.2, 0.8, "/logs/m", pid=6)],
        darshan__file=[
            {"record_id": 9, "path": "/p/a", "origin": "/logs/w"},
            {"record_id": 9, "path": "/p/b", "origin": "/logs/m"},
            {"record_id": 9, "path": "/p/c", "origin": "/logs/nobody"},
        ],
        gpfs__file=[entry("/p/a", 1, 0, 24), entry("/p/a", 2, 0, 48)],
    )

    found = lineage(dataset).collect().sort("path")

    assert found.select("path", "job_id", "run", "process", "inode", "sure").rows() == [
        ("/p/a", 77, RUN, "tcp://n1:1", 2, "likely"),
        ("/p/b", 88, None, None, None, "certain"),
        ("/p/c", None, None, None, None, None),
    ]


def test_the_microscope_s_scans_are_followed_to_their_jobs_and_files():
    files = [
        {"scan_number": 7, "distiller_id": 70, "kind": "h5", "path": "/h/7", "modify_time": utc(1)},
        {"scan_number": 8, "distiller_id": 80, "kind": "h5", "path": "/h/8", "modify_time": utc(9)},
        {"scan_number": 7, "distiller_id": None, "kind": "data", "path": "", "modify_time": utc(1)},
    ]
    dataset = Rows(
        ncem__data_file=files,
        distiller__job=[{"scan_id": 70, "slurm_id": 77}, {"scan_id": 80, "slurm_id": 99}],
        slurm__job=[job(77, 0.5, 1.0)],
    )

    assert of(dataset, "scan to Distiller", "scan_number", "scan_id", "found") == [
        (7, 70, True),
        (8, 80, True),
    ]
    assert of(dataset, "Distiller to job", "scan_id", "job_id", "cluster", "found") == [
        (70, 77, "a", True),
        (80, 99, None, False),
    ]
    assert of(dataset, "job to file", "job_id", "path", "sure") == [(77, "/h/7", "likely")]


def test_a_dataset_without_any_of_it_has_no_links():
    assert chain(Rows()).collect().height == 0


@pytest.mark.slow
def test_real_runs_of_polaris_are_the_job_s_whose_output_lies_with_them(tmp_path):
    if not SAMPLES.is_dir():
        pytest.skip(f"no real samples here: {SAMPLES} is absent")
    for module in ("harvest_mofka_dask", "harvest_darshan", "harvest_parquet", "harvest_pbs"):
        pytest.importorskip(module)
    runs = sorted(SAMPLES.glob("D2024*_R1_*"))
    log = tmp_path / "20240419"
    log.write_text(
        "04/19/2024 19:30:00;E;1873179.polaris-pbs-01;user=ann queue=debug ctime=1713553200 "
        f"start={1713553200 + 60} end={1713553200 + 1800} exec_host=x3001/0*64 Exit_status=0\n"
    )
    sources = [*(f"{name}:{runs[0]}" for name in ("mofka-dask", "darshan")), f"pbs:{log}"]
    harvest.run(sources, f"parquet:{tmp_path / 'out'}", workers=1)
    dataset = harvest.open(tmp_path / "out")

    found = dataset.view("run.chain").collect()

    jobs = found.filter(pl.col("link") == "job to run")
    assert jobs.select("cluster", "job_id", "run", "sure", "found").rows() == [
        ("polaris-pbs-01", 1873179, str(runs[0]), "certain", True)
    ]
    logs = found.filter(pl.col("link").is_in(["process to log", "run to log"]))
    assert sorted(logs["log"].to_list()) == sorted(map(str, runs[0].glob("*.darshan")))
    files = dataset["darshan.file"].select(pl.len()).collect().item()
    followed = dataset.view("run.lineage").collect()
    assert followed.height == files
    assert followed["job_id"].unique().to_list() == [1873179]
