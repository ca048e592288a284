"""``sacct --json`` of all generations, whole and damaged."""

import json
from pathlib import Path
from typing import Any

import pytest

from harvest import Collected, collect
from harvest_slurm.config import SlurmConfig
from harvest_slurm.source import SlurmSource


def tres(**amounts: int) -> list[dict[str, Any]]:
    return [
        {"type": name, "name": "", "id": n, "count": a}
        for n, (name, a) in enumerate(amounts.items(), 1)
    ]


def number(value: int | None, generation: str) -> Any:
    """A number as a generation of Slurm prints it."""
    if generation == "plain":
        return value
    return {"set": value is not None, "infinite": False, "number": value or 0}


def exit_of(code: int, generation: str) -> dict[str, Any]:
    status = "SUCCESS" if code == 0 else "ERROR"
    return {
        "status": [status] if generation == "lists" else status,
        "return_code": number(code, generation),
    }


def make_job(job_id: int, generation: str, **more: Any) -> dict[str, Any]:
    """A job as 21.08/22.05 (plain), 23.02 (structs) or 23.11 and later (lists) print it."""
    lists = generation == "lists"
    state = more.pop("state", "COMPLETED")
    clock = (lambda v: number(v, generation)) if more.pop("struct_times", False) else (lambda v: v)
    spent = {"seconds": 3, "microseconds": 250_000}
    step = {
        "step": {"id": f"{job_id}.batch" if lists else "batch", "name": "batch"},
        "state": [state] if lists else state,
        "exit_code": exit_of(0, generation),
        "time": {"elapsed": 60, "start": clock(1700000100), "end": clock(1700000160),
                 "suspended": 0, "total": spent, "user": spent,
                 "system": {"seconds": 0, "microseconds": 0}},
        "tasks": {"count": 2}, "task": {"distribution": "Cyclic"},
        "nodes": {"count": 1, "range": "n1", "list": ["n1"]},
        "statistics": {"energy": {"consumed": number(7, generation)}},
        "tres": {
            "requested": {"max": tres(mem=4096), "average": tres(mem=2048),
                          "total": tres(cpu=3250, mem=8192), "min": []},
            "consumed": {}, "allocated": tres(cpu=2, mem=64),
        },
    }  # fmt: skip
    return {
        "job_id": job_id, "name": "n", "user": "ann", "account": "a", "group": "g",
        "association": {"user": "ann", "account": "a"}, "allocation_nodes": 1, "nodes": "n1",
        "array": {"job_id": 0, "task_id": number(None, generation), "task": ""},
        "het": {"job_id": 0, "job_offset": number(None, generation)},
        "state": {"current": [state] if lists else state, "reason": "None"},
        "exit_code": exit_of(0, generation), "derived_exit_code": exit_of(0, generation),
        "priority": number(5, generation), "qos": "normal", "partition": "p", "cluster": "c",
        "required": {"CPUs": 2, "memory_per_node": number(64, generation)},
        "time": {"submission": 1700000000, "eligible": 1700000001, "start": 1700000100,
                 "end": 1700000160, "elapsed": 60, "suspended": 0,
                 "limit": number(10, generation), "total": {"seconds": 0, "microseconds": 0}},
        "tres": {"requested": tres(cpu=2, mem=64), "allocated": tres(cpu=2, mem=64)},
        "steps": [step], **more,
    }  # fmt: skip


def write(path: Path, jobs: list[Any], *, indent: int | None = 1, last: bool = False) -> Path:
    meta = {"meta": {"plugin": {"type": "openapi/dbv0.0.38"}}, "errors": []}
    document = {"jobs": jobs, **meta} if last else {**meta, "jobs": jobs}
    path.write_text(json.dumps(document, indent=indent))
    return path


def harvest(path: Path, **config: Any) -> Collected:
    found = collect(SlurmSource(str(path), SlurmConfig(**config)))
    assert found.units is None or found.units == found.accounted
    return found


def harvest_text(folder: Path, text: str) -> Collected:
    path = folder / "j.json"
    path.write_text(text)
    return harvest(path)


@pytest.mark.parametrize("generation", ["plain", "structs", "lists"])
def test_generations_say_the_same(tmp_path: Path, generation: str) -> None:
    struct_times = generation == "lists"
    path = write(tmp_path / "j.json", [make_job(7, generation, struct_times=struct_times)])
    found = harvest(path)
    (job,), (step,) = found.rows("slurm.job"), found.rows("slurm.step")
    assert job["submit_time"].timestamp() == 1700000000
    assert (job["start_time"].timestamp(), job["end_time"].timestamp()) == (1700000100, 1700000160)
    assert (job["state"], job["exit_code"], job["exit_signal"]) == ("completed", 0, 0)
    assert (job["timelimit_s"], job["priority"], job["req_cpus"]) == (600.0, 5, 2)
    assert (job["total_cpu_s"], job["elapsed_s"]) == (3.25, 60.0)
    assert dict(job["alloc_tres"]) == {"cpu": 2, "mem": 64 * 2**20}
    assert (step["step_id"], step["job_position"], step["ntasks"]) == ("batch", job["position"], 2)
    assert (step["max_rss_bytes"], step["ave_rss_bytes"]) == (4096, 2048)
    assert dict(step["usage_in_tot"]) == {"cpu": 3.25, "mem": 8192.0}
    assert (step["start_time"].timestamp(), step["consumed_energy_j"]) == (1700000100, 7)


def test_states_signals_and_who(tmp_path: Path) -> None:
    killed = make_job(
        1, "lists", state="CANCELLED", kill_request_user="root",
        exit_code={"status": ["SIGNALED"], "return_code": number(None, "lists"),
                   "signal": {"id": number(9, "lists"), "name": "Killed"}},
    )  # fmt: skip
    requeued = make_job(2, "lists")
    requeued["state"]["current"] = ["FAILED", "REQUEUED"]
    unlimited = make_job(3, "lists")
    unlimited["time"]["limit"] = {"set": False, "infinite": True, "number": 0}
    one, two, three = harvest(write(tmp_path / "j.json", [killed, requeued, unlimited])).rows(
        "slurm.job"
    )
    assert (one["state"], one["state_by"]) == ("cancelled", "root")
    assert (one["exit_code"], one["exit_signal"]) == (0, 9)
    assert (two["state"], dict(two["extra"])["state"]) == ("failed", "requeued")
    assert three["timelimit_s"] is None
    assert dict(three["extra"])["Timelimit"] == "UNLIMITED"


def test_exit_codes_that_contradict_the_state_are_empty(tmp_path: Path) -> None:
    # 22.05 prints SUCCESS for a job that failed
    found = harvest(write(tmp_path / "j.json", [make_job(1, "plain", state="FAILED")]))
    assert found.rows("slurm.job")[0]["exit_code"] is None
    assert found.rows("slurm.step")[0]["exit_code"] is None
    assert "2 exit codes read SUCCESS" in found.notes[0]
    # later versions are right
    found = harvest(write(tmp_path / "k.json", [make_job(1, "lists", state="TIMEOUT")]))
    assert found.rows("slurm.job")[0]["exit_code"] == 0


def test_arrays_and_heterogeneous_jobs(tmp_path: Path) -> None:
    array = {"job_id": 10, "task_id": 3, "task": None, "limits": {"max": {"running": {"tasks": 2}}}}
    jobs = [
        make_job(11, "plain", array=array),
        make_job(10, "plain", array={**array, "task_id": None, "task": "0x1D"}),
        make_job(10, "plain", array={**array, "task_id": None, "task": "5-9%2"}),
        make_job(21, "plain", het={"job_id": 20, "job_offset": 1}),
    ]
    rows = harvest(write(tmp_path / "j.json", jobs)).rows("slurm.job")
    assert [row["job_id"] for row in rows] == ["10_3", "10_[0,2-4%2]", "10_[5-9%2]", "20+1"]
    assert [row["array_task_id"] for row in rows] == [3, None, None, None]
    assert [row["het_offset"] for row in rows] == [None, None, None, 1]


def test_what_is_new_goes_to_extra(tmp_path: Path) -> None:
    job = make_job(1, "lists", licenses="matlab:1", script="", restart_cnt=2, hold=False)
    (row,) = harvest(write(tmp_path / "j.json", [job])).rows("slurm.job")
    assert row["restarts"] == 2
    extra = dict(row["extra"])
    assert extra["licenses"] == "matlab:1"
    assert json.loads(extra["required"])["memory_per_node"]["number"] == 64
    assert "script" not in extra
    assert "hold" not in extra


def test_jobs_without_a_cluster_get_the_one_of_the_settings(tmp_path: Path) -> None:
    named, unnamed = make_job(1, "plain"), make_job(2, "plain", cluster=None)
    found = harvest(write(tmp_path / "j.json", [named, unnamed]), cluster="larch")
    for kind in ("slurm.job", "slurm.step"):
        assert [row["cluster"] for row in found.rows(kind)] == ["c", "larch"]


def test_a_file_cut_in_half(tmp_path: Path) -> None:
    jobs = [make_job(n, "lists") for n in range(1, 6)]
    path = write(tmp_path / "j.json", jobs)
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    found = harvest(path)
    assert [row["job_id"] for row in found.rows("slurm.job")] == ["1", "2"]
    (reject,) = found.rejects
    assert reject.reason == "the file ends inside this job"
    assert reject.raw.lstrip().startswith(b"{")


def test_json_without_jobs_is_a_reject(tmp_path: Path) -> None:
    (reject,) = harvest_text(tmp_path, '{"nodes": [{"name": "n1"}]}').rejects
    assert reject.reason == "no array 'jobs' in this JSON"


def test_filters_apply_to_json_too(tmp_path: Path) -> None:
    jobs = [make_job(1, "lists", name="keep"), make_job(2, "lists", name="drop")]
    found = harvest(write(tmp_path / "j.json", jobs), name_contains="keep")
    assert [row["job_id"] for row in found.rows("slurm.job")] == ["1"]
    assert [row["job_id"] for row in found.rows("slurm.step")] == ["1"]
    assert found.filtered == {"name does not contain 'keep'": 2}


@pytest.mark.parametrize(
    ("text", "raw"),
    [
        ('{"jobs": [1, 2]}', [b"1", b"2"]),
        ('{"jobs": [null, "a, b", [{"job_id": 1}], true]}',
         [b"null", b'"a, b"', b'[{"job_id": 1}]', b"true"]),
        ('{"jobs": {}}', [b'{"jobs": {}}']),
        ('{"jobs": null}', [b'{"jobs": null}']),
        ('{"data": {"jobs": [{}]}}', [b'{"data": {"jobs": [{}]}}']),
    ],
)  # fmt: skip
def test_jobs_of_a_wrong_shape_are_rejects(tmp_path: Path, text: str, raw: list[bytes]) -> None:
    found = harvest_text(tmp_path, text)
    assert found.written == 0
    assert [reject.raw for reject in found.rejects] == raw


def test_jobs_nested_deeper_than_python_goes_are_rejects(tmp_path: Path) -> None:
    path = write(tmp_path / "j.json", ["MARK", make_job(2, "lists")])
    deep = '{"a":' * 1000 + "1" + "}" * 1000
    job = json.dumps(make_job(1, "lists", new="MARK")).replace('"MARK"', deep)
    path.write_text(path.read_text().replace('"MARK"', job))
    found = harvest(path)
    assert [row["job_id"] for row in found.rows("slurm.job")] == ["2"]
    assert len(found.rejects) == 1
