"""A real Slurm: jobs that succeed, fail, are cancelled, and carry odd names, harvested live.

Needs the cluster that SLURM_CONF names (.ci/slurm makes one), or root and the helper that starts a
Slurm on this machine; skipped elsewhere.  What harvest says, from the live cluster and from dumps,
is compared with what the cluster was asked to do and with sacct's own JSON where that is right.
"""

import json
import shutil
import subprocess
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from clusters import real_slurm
from slurm_reader import Reader, zone_of

from harvest import Collected, SourceError, collect
from harvest_slurm.config import SlurmConfig
from harvest_slurm.job.find import find
from harvest_slurm.job.words import in_words
from harvest_slurm.source import SlurmSource
from harvest_slurm.window import Window

pytestmark = pytest.mark.slow  # a cluster and its jobs take a minute

ODD_NAMES = ["a|b", "two\nlines", "ä ö 日本 ✓", "say \"hi\" 'there'", " lead|\n|tail\n", "50%|;|x"]


@pytest.fixture(scope="module")
def cluster() -> Iterator[dict[str, str]]:
    """Environment of a running Slurm, taken down afterwards."""
    with real_slurm() as environment:
        yield environment


def run(cluster: dict[str, str], *command: str, **env: str) -> str:
    done = subprocess.run(
        command, env={**cluster, **env}, capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, (command, done.stderr)
    return done.stdout


def submit(cluster: dict[str, str], name: str, script: str, *options: str) -> int:
    listed = run(
        cluster, "sbatch", "--parsable", "-A", "main", "-o", "/dev/null", "-J", name, *options,
        "--wrap", script,
    )  # fmt: skip
    return int(listed.split(";")[0])


@pytest.fixture(scope="module")
def jobs(cluster: dict[str, str]) -> dict[str, int]:
    """Jobs of all kinds, after all but one have ended."""
    made = {
        "ok": submit(cluster, "ok", "true", "--mem=100M"),
        "fail": submit(cluster, "fail", "exit 3"),
        "signal": submit(cluster, "signal", "kill -SEGV $$"),
        "running": submit(cluster, "running", "sleep 600", "-t", "1"),
        "cancelled": submit(cluster, "cancelled", "sleep 600"),
        "steps": submit(cluster, "steps", 'srun -J "s|1" true; srun -n2 sleep 1', "-n", "2"),
        "array": submit(cluster, "array", "[ $SLURM_ARRAY_TASK_ID != 2 ]", "--array=1-3"),
        "early": submit(cluster, "early", "true", "--begin=now+2days"),
        "held": submit(cluster, "held", "true", "--hold"),
        "gpu": submit(cluster, "gpu", "sleep 1", "--gres=gpu:1"),
        "requeued": submit(
            cluster, "requeued",
            '[ -n "${SLURM_RESTART_COUNT-}" ] || { scontrol requeue $SLURM_JOB_ID; sleep 60; }',
            "--requeue",
        ),
    }  # fmt: skip
    for place, name in enumerate(ODD_NAMES):
        made[f"odd{place}"] = submit(cluster, name, "true")
    run(cluster, "scancel", str(made["early"]))
    stays = {str(made["running"]), str(made["held"])}
    for _ in range(2_000):
        waiting = set(run(cluster, "squeue", "-h", "-o", "%A").split()) - stays
        states = run(cluster, "squeue", "-h", "-o", "%A %T")
        if f"{made['cancelled']} RUNNING" in states:
            run(cluster, "scancel", str(made["cancelled"]))
        if not waiting and f"{made['running']} RUNNING" in states:
            break
        time.sleep(0.3)
    else:
        pytest.skip(f"jobs did not end in time: {waiting}")
    time.sleep(1.5)  # the accounting daemon gets the last records
    return made


@pytest.fixture(scope="module")
def in_cluster(cluster: dict[str, str]) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SLURM_CONF", cluster["SLURM_CONF"])
        yield


def harvest_live(**config: Any) -> Collected:
    found = collect(SlurmSource("live", SlurmConfig(**{"since": "2h", **config})))
    assert found.units is None or found.units == found.accounted
    return found


@pytest.fixture(scope="module")
def found(in_cluster: None, jobs: dict[str, int]) -> Collected:
    return harvest_live()


def by_id(found: Collected) -> dict[str, dict[str, Any]]:
    return {row["job_id"]: row for row in found.rows("slurm.job")}


def ours(found: Collected, jobs: dict[str, int]) -> list[dict[str, Any]]:
    """The rows of these jobs, which stay as they are; others may use the same cluster."""
    rows = found.rows("slurm.job")
    return [row for row in rows if (row["array_job_id"] or row["job_id_raw"]) in jobs.values()]


def test_every_job_is_there_as_it_was_asked_for(found: Collected, jobs: dict[str, int]) -> None:
    assert not found.rejects
    rows = by_id(found)
    said = {
        name: (row["state"], row["exit_code"], row["exit_signal"])
        for name, number in jobs.items()
        if (row := rows.get(str(number)))
    }
    assert said["ok"] == ("completed", 0, 0)
    assert said["fail"] == ("failed", 3, 0)
    assert said["signal"] == ("failed", 0, 11)
    assert said["cancelled"][0] == said["early"][0] == "cancelled"
    assert rows[str(jobs["cancelled"])]["state_by"] == "0"
    assert said["running"][0] == "running"
    assert rows[str(jobs["running"])]["end_time"] is None
    assert rows[str(jobs["running"])]["timelimit_s"] == 60.0
    array = [rows[f"{jobs['array']}_{task}"] for task in (1, 2, 3)]
    assert [row["state"] for row in array] == ["completed", "failed", "completed"]
    assert dict(rows[str(jobs["gpu"])]["alloc_tres"])["gres/gpu"] == 1
    assert rows[str(jobs["ok"])]["req_mem_bytes"] == 100 * 2**20
    # sacct lists no job that never became eligible
    assert str(jobs["held"]) not in rows


def test_odd_names_survive_exactly(found: Collected, jobs: dict[str, int]) -> None:
    rows = by_id(found)
    for place, name in enumerate(ODD_NAMES):
        stored = name.replace('"', "`")  # Slurm itself does that
        assert rows[str(jobs[f"odd{place}"])]["name"] == stored
    steps = [row for row in found.rows("slurm.step") if row["job_id"] == str(jobs["steps"])]
    assert {row["step_id"]: row["name"] for row in steps}["0"] == "s|1"
    assert {row["step_id"]: row["ntasks"] for row in steps}["1"] == 2


def test_a_requeued_job_has_two_runs(found: Collected, jobs: dict[str, int]) -> None:
    runs = [row for row in found.rows("slurm.job") if row["job_id"] == str(jobs["requeued"])]
    assert sorted(row["state"] for row in runs) == ["completed", "requeued"]
    steps = [row for row in found.rows("slurm.step") if row["job_id"] == str(jobs["requeued"])]
    assert {row["job_submit_time"] for row in steps} == {row["submit_time"] for row in runs}


def test_live_says_what_sacct_says_in_json(
    found: Collected, jobs: dict[str, int], cluster: dict[str, str]
) -> None:
    reported = json.loads(run(cluster, "sacct", "-a", "--json", "-S", "now-2hours"))["jobs"]
    mine = {(row["job_id_raw"], row["submit_time"]): row for row in ours(found, jobs)}
    seen = 0
    for job in reported:
        if (job["array"]["job_id"] or job["job_id"]) not in jobs.values():
            continue
        submitted = datetime.fromtimestamp(job["time"]["submission"], UTC)
        row = mine[job["job_id"], submitted]
        seen += 1
        state = job["state"]["current"]
        assert row["state"] == (state[0] if isinstance(state, list) else state).lower()
        assert (row["name"], row["user"]) == (job["name"], job["user"])
        assert (row["account"], row["partition"]) == (job["account"], job["partition"])
        assert row["node_list"] == job["nodes"]
        for column, name in (("start_time", "start"), ("eligible_time", "eligible")):
            moment = job["time"][name]
            assert row[column] == (datetime.fromtimestamp(moment, UTC) if moment else None)
        if row["state"] != "running":
            assert row["elapsed_s"] == job["time"]["elapsed"]
            assert row["end_time"].timestamp() == job["time"]["end"]
        counts = {
            f"{t['type']}/{t['name']}" if t["name"] else t["type"]: t["count"]
            for t in job["tres"]["allocated"]
            if t["count"] is not None and t["count"] >= 0
        }
        if "mem" in counts:
            counts["mem"] *= 2**20
        assert dict(row["alloc_tres"] or ()) == counts
        for step in job["steps"]:
            (inner,) = [
                other
                for other in found.rows("slurm.step")
                if other["job_position"] == row["position"]
                and other["step_id"] == str(step["step"]["id"]).rpartition(".")[2]
            ]
            assert inner["name"] == step["step"]["name"]
            assert inner["ntasks"] == step["tasks"]["count"]
            peak = [t["count"] for t in step["tres"]["requested"]["max"] if t["type"] == "mem"]
            if row["state"] != "running":
                assert inner["max_rss_bytes"] == (peak[0] if peak else None)
    # JSON leaves out the job that was cancelled before it became eligible
    assert seen >= len(mine) - 1


def test_dumps_say_what_live_says(
    found: Collected, jobs: dict[str, int], cluster: dict[str, str], tmp_path: Path
) -> None:
    fields = "JobID,JobIDRaw,JobName,User,Account,Partition,State,ExitCode,Submit,Start,End,Elapsed"
    fields += ",Timelimit,NNodes,AllocCPUS,ReqMem,AllocTRES,NTasks,MaxRSS,TotalCPU"
    window = ("-a", "-D", "-S", "now-2hours")
    layouts = {
        "parsable2": (["-P"], {}, {}),
        "parsable": (["-p", "--delimiter=;|;"], {}, {}),
        "zone": (["-P"], {"TZ": "Asia/Kolkata"}, {"timezone": "Asia/Kolkata"}),
        "noheader": (["-P", "-n"], {"TZ": "UTC"}, {"columns": tuple(fields.split(","))}),
    }
    skip = {"extra", "origin", "position", "job_position"}
    live_rows = {
        (row["job_id"], row["submit_time"]): row
        for row in ours(found, jobs)
        if row["state"] != "running" and row["job_id"] != str(jobs["early"])
    }
    for name, (options, env, config) in layouts.items():
        path = tmp_path / f"{name}.txt"
        dumped = run(
            cluster, "sacct", *window, *options, f"--format={fields}", **{"TZ": "UTC", **env}
        )
        path.write_text(dumped, encoding="utf-8", newline="")
        again = collect(SlurmSource(str(path), SlurmConfig(**{"timezone": "UTC", **config})))
        assert again.units == again.accounted
        assert not again.rejects, name
        rows = {(row["job_id"], row["submit_time"]): row for row in again.rows("slurm.job")}
        for key, row in live_rows.items():
            other = {c: v for c, v in rows[key].items() if c not in skip and v is not None}
            assert other == {c: row[c] for c in other}, name


def test_slices_share_out_every_job_once(
    found: Collected, jobs: dict[str, int], in_cluster: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Cut in slices of some seconds, the window gives each job and step exactly once."""
    bounds = Window.bounds
    rows = found.rows("slurm.job")
    ends = [row["end_time"] for row in rows if row["end_time"]]
    cuts = sorted({min(ends), *ends[::2], max(ends), min(ends) - timedelta(hours=1)})

    def sliced(window: Window) -> list[tuple[datetime, datetime]]:
        marks = [window.since, *(cut for cut in cuts if window.since < cut < window.until)]
        return list(zip(marks, [*marks[1:], window.until], strict=True))

    monkeypatch.setattr(Window, "bounds", sliced)
    parts = harvest_live()
    assert bounds is not sliced
    assert len(parts.partitions) > 5

    def keys(found: Collected) -> list[Any]:
        return sorted(
            (str(r["job_id"]), str(r.get("submit_time")), r.get("step_id") or "")
            for name in ("slurm.job", "slurm.step")
            for r in found.rows(name)
            if int(r["job_id"].partition("_")[0]) in jobs.values()
        )

    assert keys(parts) == keys(found)
    assert parts.filtered["belongs to another time slice"] > 0
    # a job that ran across a boundary has its steps in the slice that it ended in
    owners = {(r["origin"], r["job_id"], r["submit_time"]) for r in parts.rows("slurm.job")}
    assert all(
        (s["origin"], s["job_id"], s["job_submit_time"]) in owners for s in parts.rows("slurm.step")
    )


def test_users_states_and_windows(found: Collected, jobs: dict[str, int], in_cluster: None) -> None:
    only = harvest_live(users=("root",), states=("failed",))
    assert {row["state"] for row in only.rows("slurm.job")} == {"failed"}
    assert only.filtered["state is not in slurm.states"] > 0
    assert harvest_live(users=("nobody",)).written == 0
    assert harvest_live(since="3000d", until="2999d").written == 0


def test_a_cluster_that_does_not_answer(
    cluster: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    conf = Path(cluster["SLURM_CONF"]).read_text()
    lines = [
        "AccountingStoragePort=1" if line.startswith("AccountingStoragePort") else line
        for line in conf.splitlines()
    ]
    broken = tmp_path / "slurm.conf"
    broken.write_text("\n".join(lines) + "\n")
    monkeypatch.setenv("SLURM_CONF", str(broken))
    with pytest.raises(SourceError, match=r"sacct ended with status"):
        harvest_live()


def test_one_job_is_shown_as_sacct_and_seff_count_it(
    in_cluster: None, jobs: dict[str, int], cluster: dict[str, str]
) -> None:
    """Times and cores from sacct's JSON; where the cluster has ``seff``, its lines as well."""
    reader = Reader(Path("live"), since="2h")
    listed = json.loads(run(cluster, "sacct", "-a", "--json", "-S", "now-2hours"))["jobs"]
    reported = {job["job_id"]: job for job in listed}
    for name in ("ok", "fail", "steps", "gpu"):
        number = jobs[name]
        lines = list(in_words(find(reader, str(number)), zone_of(reader, "UTC")))
        head = lines[: lines.index("")]
        job = reported[number]
        counts = {t["type"]: t["count"] for t in job["tres"]["allocated"]}
        used = sum(
            step["time"]["total"]["seconds"] + step["time"]["total"]["microseconds"] / 1e6
            for step in job["steps"]
        )
        elapsed = job["time"]["elapsed"]
        assert head[0] == f"Job ID: {number}"
        assert f"User/Group: {job['user']}/{job['group']}" in head
        assert f"Job Wall-clock time: 00:{elapsed // 60:02}:{elapsed % 60:02}" in head
        assert f"CPU Utilized: 00:00:{int(used + 0.5):02}" in head
        cores = "Cores: 1" if counts["cpu"] == 1 else f"Cores per node: {counts['cpu']}"
        assert cores in head
        if shutil.which("seff"):
            theirs = run(cluster, "seff", str(number)).splitlines()
            # unlike seff, memory that was not sampled is not known
            assert [x for x in head if "Memory" not in x] == [
                x for x in theirs if "Memory" not in x
            ]
    failed = list(in_words(find(reader, str(jobs["fail"])), zone_of(reader, "UTC")))
    assert any(line.startswith("Failed in: step batch, FAILED (exit code 3)") for line in failed)
    array = list(in_words(find(reader, str(jobs["array"])), zone_of(reader, "UTC")))
    assert "Tasks: 3: 2 COMPLETED, 1 FAILED" in array
