"""The engine ``dask``: on workers of this machine, on a cluster that runs, in Slurm jobs."""

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import attrs
import plenty
import pytest
from clusters import Harvest, eventually, in_work, rows_files
from harvest_paced import MUCH, PacedConfig, PacedSource
from worker_functions import OnlyHere, deadly, doubled, full, refused, tasks_of

from harvest import Work
from harvest.engines import Terms
from harvest.errors import ConfigError, HarvestError, TooManyRejects, UsageError
from harvest.plugins.registry import manager
from harvest.reading.terms import absolute
from harvest_cluster.dask import engine as engine_module
from harvest_cluster.dask.cluster import _binary, connect
from harvest_cluster.dask.engine import ClusterTasks, DaskEngine
from harvest_cluster.dask.local_worker import local_workers

for package in ("dask", "distributed", "cryptography"):
    pytest.importorskip(package, reason=f"the package {package} is not installed")

SHUT = frozenset(("tls_ca", "tls_cert", "tls_key"))

NOTHING = Work(bundles=())
"""What an engine is given that is to fail before it reads anything."""

# --- what is refused


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"cluster": "pbs"}, "'pbs' does not fit: cluster must be one of local, slurm"),
        ({"threads": "0"}, "dask.threads"),
        ({"timeout": "-1"}, "dask.timeout"),
        ({"retries": "-1"}, "dask.retries"),
        ({"address": "tcp://h:1", "scheduler_file": "f"}, "give either this or the address"),
        ({"address": "tcp://h:1", "memory": "4G"}, "a running cluster has its own"),
        ({"address": "tcp://h:1", "tls": "no"}, "the address of a running cluster decides"),
        ({"directory": "/shared"}, "dask.directory: '/shared' does not fit; it needs dask.clu"),
        ({"partition": "cpu"}, "dask.partition: 'cpu' does not fit; it needs dask.cluster=slurm"),
        ({"tls_ca": "ca.pem"}, "TLS needs all of tls_ca, tls_cert and tls_key"),
        ({"cluster": "slurm"}, "give the memory of a job"),
        ({"cluster": "slurm", "memory": "4G", "directory": "/a b"}, "dask.directory: '/a b'"),
        ({"cluster": "slurm", "memory": "4G", "host": "h; rm -rf /"}, "dask.host"),
        ({"adress": "tcp://h:1"}, "has no setting 'adress'; did you mean 'address'"),
    ],
)
def test_a_setting_that_does_not_fit_is_named(settings, message):
    with pytest.raises(ConfigError) as caught:
        DaskEngine(**settings)
    assert message in str(caught.value)
    assert caught.value.exit_code == 2


def test_without_dask_the_error_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(UsageError, match=r"cannot import distributed .*hpc-harvest\[dask\]"):
        list(DaskEngine().run(NOTHING))


def test_a_scheduler_that_does_not_answer_is_told_of():
    engine = DaskEngine(address="tcp://127.0.0.1:9", timeout=0.5)
    with pytest.raises(HarvestError, match=r"tcp://127.0.0.1:9: no connection to the Dask sched"):
        list(engine.run(NOTHING))


def test_certificates_are_for_encrypted_connections_alone(tmp_path):
    files = {name: str(tmp_path / name) for name in SHUT}
    for path in files.values():
        Path(path).touch()
    (tmp_path / "scheduler.json").write_text('{"address": "tcp://127.0.0.1:9"}')
    for where in ({"address": "tcp://h:9"}, {"scheduler_file": str(tmp_path / "scheduler.json")}):
        with pytest.raises(ConfigError, match="the address must begin with tls://"):
            list(DaskEngine(**where, **files).run(NOTHING))


@pytest.mark.parametrize("text", [None, "{", "[]", "{}"])
def test_a_scheduler_file_that_tells_no_address_is_named(tmp_path, text):
    path = tmp_path / "scheduler.json"
    if text is not None:
        path.write_text(text)
    with pytest.raises(ConfigError, match=r"dask.scheduler_file: .*start the scheduler with"):
        list(DaskEngine(scheduler_file=str(path)).run(NOTHING))


def test_certificates_that_are_not_there_are_named():
    engine = DaskEngine(address="tls://127.0.0.1:9", **dict.fromkeys(SHUT, "/no/file"))
    with pytest.raises(ConfigError, match=r"dask.tls_ca: '/no/file' does not fit; no such file"):
        list(engine.run(NOTHING))


@pytest.mark.parametrize(
    ("slurm", "dask"), [("4G", "4GiB"), ("500m", "500MiB"), ("4096", "4096MiB"), ("1T", "1TiB")]
)
def test_memory_means_the_same_in_both(slurm, dask):
    assert _binary(slurm) == dask


def test_a_worker_with_other_versions_or_files_is_refused(tmp_path):
    (tmp_path / "probe").write_text("other")
    probes = (str(tmp_path / "probe"), str(tmp_path / "absent" / "probe"))
    terms = Terms(token="t", versions=(("hpc-harvest", "0"), ("hpc-none", "1")), probes=probes)

    with pytest.raises(UsageError) as caught:
        terms.require()

    told = str(caught.value)
    assert "and 0 here" in told
    assert "hpc-none is not installed there" in told
    assert f"{tmp_path} is not the directory there that it is here" in told
    assert f"{tmp_path / 'absent'} is not the directory" in told


def test_a_task_means_the_same_in_another_working_directory(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.txt").write_text("one\n")
    for name in ("parquet", "jsonl"):
        pytest.importorskip(f"harvest_{name}", reason=f"the sink {name} is not installed")
    sinks = [manager().sink("parquet")("p"), manager().sink("jsonl")("all.jsonl")]
    sinks.append(manager().sink("jsonl")("~/x"))
    source = PacedSource("a.txt", PacedConfig(prefix="> "))

    there, *elsewhere = map(absolute, (source, *sinks))

    assert there.location == str(tmp_path / "a.txt")
    assert there.config == source.config
    states = [sink.state for sink in sinks]
    monkeypatch.chdir("/")
    assert [sink.state for sink in elsewhere] == states


# --- tasks and workers


@pytest.fixture(scope="module")
def cluster() -> Iterator[str]:
    """The address of a cluster that runs."""
    with running_cluster() as running:
        yield running.address


@attrs.frozen
class Running:
    """A cluster that was started for a test."""

    address: str
    scheduler: subprocess.Popen[str]


@contextlib.contextmanager
def running_cluster(
    *options: str, protocol: str = "tcp", env: dict[str, str] | None = None
) -> Iterator[Running]:
    """A scheduler and a worker of two threads, as a site starts them; each with the options."""
    processes = []

    def start(program: str, *arguments: str) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            [sys.executable, "-P", "-m", f"distributed.cli.{program}", *arguments, *options],
            env=env, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        processes.append(process)
        return process

    try:
        scheduler = start(
            "dask_scheduler", "--host", "127.0.0.1", "--port", "0", "--no-dashboard",
            "--dashboard-address", "127.0.0.1:0", "--no-show", "--protocol", protocol,
        )  # fmt: skip
        for line in scheduler.stderr:
            if "Scheduler at:" in line:
                address = line.split()[-1]
                break
        else:
            pytest.fail("the scheduler did not start")
        start(
            "dask_worker", address, "--nthreads", "2", "--no-nanny", "--no-dashboard",
            "--host", "127.0.0.1",
        )  # fmt: skip
        yield Running(address, scheduler)
    finally:
        for process in processes:
            process.kill()
        for process in processes:
            process.communicate(timeout=60)


def applied(engine, function, tasks):
    """Results of any function on an engine's cluster."""
    with connect(engine.config, engine.workers, 0) as client:
        yield from ClusterTasks(client, engine.config, function).results(tasks)


@pytest.mark.slow
def test_results_come_as_they_are_done_and_few_are_given_out_at_a_time(cluster, monkeypatch):
    most = []
    give = engine_module.ClusterTasks._give

    def counting(work, task, *, lost):
        give(work, task, lost=lost)
        most.append(len(work.given))

    monkeypatch.setattr(engine_module.ClusterTasks, "_give", counting)

    found = list(applied(DaskEngine(address=cluster), doubled, range(60)))

    assert sorted(found) == [2 * n for n in range(60)]
    assert max(most) <= engine_module.AHEAD * 2, "for two threads"


@pytest.mark.parametrize(
    ("function", "kind", "told"),
    [
        (refused, TooManyRejects, "file 1: more than 3 rejects; look"),
        (full, OSError, "[Errno 28] No space left on device: '/data/x'"),
    ],
)
def test_what_a_worker_raises_is_raised_here(cluster, function, kind, told):
    with pytest.raises(kind) as caught:
        list(applied(DaskEngine(address=cluster), function, [1]))
    assert type(caught.value) is kind
    assert str(caught.value) == told


@pytest.mark.slow
def test_what_was_not_begun_is_dropped_when_nobody_wants_it(cluster, tmp_path):
    import distributed

    results = applied(DaskEngine(address=cluster), doubled, range(1000))
    next(results)
    results.close()

    with distributed.Client(cluster, set_as_default=False) as client:
        eventually(lambda: not client.run_on_scheduler(tasks_of), "no task is left")


@pytest.mark.slow
def test_a_worker_of_another_environment_is_told_of(cluster):
    with pytest.raises(UsageError, match="No module named 'package_of_another_environment'"):
        list(applied(DaskEngine(address=cluster), doubled, [OnlyHere()]))


@pytest.mark.slow
def test_a_task_that_kills_every_worker_ends_the_run():
    import dask

    engine = DaskEngine(workers=1, retries=1)
    with (
        dask.config.set({"distributed.scheduler.allowed-failures": 0}),
        pytest.raises(HarvestError, match="its workers were lost repeatedly") as caught,
    ):
        list(applied(engine, deadly, [1]))
    assert "finished partitions are kept" in str(caught.value)


@pytest.mark.slow
def test_a_scheduler_that_dies_ends_the_run():
    with running_cluster() as cluster:
        results = applied(DaskEngine(address=cluster.address), doubled, range(100_000))
        next(results)

        cluster.scheduler.kill()

        with pytest.raises(HarvestError, match="the connection to the Dask scheduler is lost"):
            list(results)


# --- whole harvests


@pytest.fixture
def folder(tmp_path):
    """Lines in files, some of which halt until the file ``go`` exists."""
    (tmp_path / "in $(touch PWNED)").mkdir()
    for number in range(6):
        hold = f"hold {tmp_path / 'go'}\n" if number in (2, 3) else ""
        text = f"{MUCH}{number}\n{hold}bad\nlast {number}\n"
        (tmp_path / "in $(touch PWNED)" / f"f{number}").write_text(text)
    return tmp_path / "in $(touch PWNED)"


def local_rows(harvest: Harvest, folder: Path) -> dict[str, bytes]:
    (harvest.cwd / "go").touch()
    harvest.run("run", "-s", f"paced:{folder}", "-k", "jsonl:local", code=3)
    return rows_files(harvest.cwd / "local")


def children(pid: int) -> list[int]:
    """The processes below one, the nearest first."""
    found: list[int] = []
    for task in Path(f"/proc/{pid}/task").glob("*/children"):
        with contextlib.suppress(OSError):
            found += [int(word) for word in task.read_text().split()]
    return found + [deeper for child in found for deeper in children(child)]


def writers_of(pid: int, path: Path) -> list[int]:
    """Processes below one that have a file of a directory open."""
    found = []
    for child in children(pid):
        with contextlib.suppress(OSError):
            opened = [str(fd.readlink()) for fd in Path(f"/proc/{child}/fd").iterdir()]
            if any(name.startswith(str(path)) for name in opened):
                found.append(child)
    return found


@pytest.mark.slow
def test_a_worker_of_our_own_that_cannot_start_is_reported(capfd):
    with (
        pytest.raises(HarvestError, match="could not start: it ended with exit code 1"),
        local_workers(1, "unknown://127.0.0.1:1", None, {}),
    ):
        pytest.fail("it did start")

    assert "unknown" in capfd.readouterr().err


@pytest.mark.slow
def test_a_killed_worker_leaves_the_dataset_of_a_local_run(anywhere, folder, tmp_path):
    out = tmp_path / "out"
    running = anywhere.start(
        "run", "-s", f"paced:{folder}", "-k", f"jsonl:{out}", "--engine", "dask", "--workers", "2"
    )
    (attempt,) = eventually(lambda: in_work(out, "f2"), "it is in work")
    (victim,) = eventually(lambda: writers_of(running.pid, attempt), "it is being written")

    os.kill(victim, signal.SIGKILL)

    eventually(lambda: len(in_work(out, "f2")) == 2, "another worker has begun it again")
    (tmp_path / "go").touch()
    anywhere.end(running, code=3)
    assert rows_files(out) == local_rows(anywhere, folder)
    assert len(rows_files(out)) == 6
    assert not list((out / "_harvest" / "staging").iterdir())


def threads_open_to(number, pid):
    """The threads of a process that a signal reaches; not those of multiprocessing's tracker."""
    command = Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode()
    if "resource_tracker" in command:
        return
    for thread in Path(f"/proc/{pid}/task").iterdir():
        fields = dict(line.split(":\t", 1) for line in (thread / "status").read_text().splitlines())
        if not int(fields["SigBlk"], 16) >> (number - 1) & 1:
            yield f"{fields['Name']} of {command}"


@pytest.mark.slow
def test_an_interrupted_run_stops_its_workers(anywhere, folder, tmp_path):
    out = tmp_path / "out"
    running = anywhere.start(
        "run", "-s", f"paced:{folder}", "-k", f"jsonl:{out}", "--engine", "dask", "--workers", "2"
    )
    eventually(lambda: in_work(out, "f2") and in_work(out, "f3"), "both workers halt")
    below = children(running.pid)
    open_to_it = [about for pid in below for about in threads_open_to(signal.SIGINT, pid)]

    os.killpg(running.pid, signal.SIGINT)
    anywhere.end(running, code=130)

    assert open_to_it == []  # a library in a worker could take it before we do

    eventually(lambda: not any(Path(f"/proc/{pid}/cmdline").exists() and
                               Path(f"/proc/{pid}/cmdline").read_bytes() for pid in below),
               "no process is left")  # fmt: skip
    assert local_rows(anywhere, folder)
    anywhere.run("run", "-s", f"paced:{folder}", "-k", f"jsonl:{out}", code=3)
    assert rows_files(out) == rows_files(tmp_path / "local")


@pytest.mark.slow(night=True)
@pytest.mark.slow
def test_neither_client_nor_workers_hold_the_rows(tmp_path):
    # given 800 MB of rows in four partitions, none of them large on disk
    batches, size_mb = 200, 200
    (tmp_path / "in").mkdir()
    for number in range(4):
        (tmp_path / "in" / f"f{number}").write_text(str(batches))

    # when four workers harvest them, and the client sums them up
    program = Path(plenty.__file__).with_name("plenty_on_dask.py")
    done = subprocess.run(
        [sys.executable, program, tmp_path / "in", tmp_path / "out"],
        check=True, capture_output=True, text=True, timeout=600,
    )  # fmt: skip
    found = json.loads(done.stdout)

    # then all are there, and Dask's own log is not
    assert done.stderr == ""
    rows = 4 * batches * plenty.ROWS
    assert found["rows"] == rows
    assert found["summed"] == [rows // 10] * 10
    # and no process had as many of them as there are in one partition
    assert found["harvested_mb"] < found["before_mb"] + size_mb / 2
    assert found["summed_mb"] < found["before_mb"] + size_mb
    dask_mb = 100  # what a worker is before it has read anything
    assert found["worker_mb"] < found["before_mb"] + dask_mb + size_mb * 3 / 4
    # and the client saw them come
    assert found["reports"] > 10
    assert rows / 2 < found["reported"] <= rows


def certificates(folder: Path) -> dict[str, str]:
    """A certificate authority, and a certificate of it."""
    if shutil.which("openssl") is None:
        pytest.skip("no openssl to make certificates with")
    folder.mkdir()

    def openssl(*arguments: str) -> None:
        subprocess.run(["openssl", *arguments], cwd=folder, check=True, capture_output=True)

    openssl("req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=authority",
            "-keyout", "ca.key", "-out", "ca.pem")  # fmt: skip
    openssl("req", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=worker", "-keyout", "key.pem",
            "-out", "request.pem")  # fmt: skip
    openssl("x509", "-req", "-in", "request.pem", "-CA", "ca.pem", "-CAkey", "ca.key", "-days", "2",
            "-CAcreateserial", "-out", "cert.pem")  # fmt: skip
    return {f"tls_{kind}": str(folder / f"{kind}.pem") for kind in ("ca", "cert", "key")}


@pytest.mark.slow
def test_a_cluster_with_tls_lets_in_who_has_a_certificate(anywhere, folder, tmp_path):
    mine, stranger = certificates(tmp_path / "mine"), certificates(tmp_path / "stranger")
    site = [
        "--tls-ca-file",
        mine["tls_ca"],
        "--tls-cert",
        mine["tls_cert"],
        "--tls-key",
        mine["tls_key"],
    ]
    with running_cluster(*site, protocol="tls", env=anywhere.env) as running:
        address = running.address
        assert address.startswith("tls://")
        with pytest.raises(ConfigError, match="is encrypted: give tls_ca, tls_cert and tls_key"):
            list(DaskEngine(address=address).run(NOTHING))
        with pytest.raises(HarvestError, match="no connection to the Dask scheduler"):
            list(DaskEngine(address=address, timeout=5, **stranger).run(NOTHING))

        (tmp_path / "go").touch()
        settings = {"address": address, **mine}
        options = [
            word for name, value in settings.items() for word in ("-o", f"dask.{name}={value}")
        ]
        anywhere.run(
            "run", "-s", f"paced:{folder}", "-k", "jsonl:out", "--engine", "dask", *options, code=3
        )

    assert rows_files(tmp_path / "out") == local_rows(anywhere, folder)


@pytest.mark.slow(night=True)
def test_slurm_jobs_as_workers_one_of_which_is_killed(on_slurm, folder, tmp_path):
    pytest.importorskip("dask_jobqueue", reason="dask-jobqueue is not installed")
    out = tmp_path / "out"
    running = on_slurm.start(
        "run", "-s", f"paced:{folder}", "-k", f"jsonl:{out}", "--engine", "dask", "--workers", "2",
        "-o", "dask.cluster=slurm", "-o", "dask.memory=500M", "-o", "dask.time=10",
        "-o", "dask.host=127.0.0.1", "-o", f"dask.directory={tmp_path / 'jobs'}",
        "-o", "dask.env_setup=export WORD='a b'",
    )  # fmt: skip
    eventually(lambda: in_work(out, "f2") and in_work(out, "f3"), "both jobs' workers halt")
    jobs = on_slurm.slurm("squeue", "-h", "-n", "harvest", "-o", "%A").split()
    assert len(jobs) == 2

    on_slurm.slurm("scancel", "--signal=KILL", "--full", jobs[0])

    eventually(lambda: len(in_work(out, "f2")) + len(in_work(out, "f3")) == 3, "it is begun again")
    (tmp_path / "go").touch()
    on_slurm.end(running, code=3)
    assert rows_files(out) == local_rows(on_slurm, folder)
    # the jobs have ended, and their certificates and logs are gone
    eventually(
        lambda: not on_slurm.slurm("squeue", "-h", "-n", "harvest").strip(), "no job is left"
    )
    assert list((tmp_path / "jobs").iterdir()) == []
